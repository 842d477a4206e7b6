"""What a policy does on a set of states: one affine law, and how far it may be from it. Standard library only.

Every leaf that may answer somewhere in the set has laws of its own, clipped to the limits of the actuators. A proof
names one law for all of them; what is between is bounded here, leaf by leaf. Where a leaf answers, conditions hold: its
expert is ahead of each rival, the tests on the way to it went its way. A multiplier of such a condition, or of that of
a limit which clips, may be used; whichever it is, as long as it is not negative, the bound is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from operator import mul
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.laws import PlainLaws, clipped
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.inputs.gate import Sum
from moet.verify.checker.loops.flowpipe.forms import up
from moet.verify.checker.loops.flowpipe.program import Program
from moet.verify.checker.loops.flowpipe.sets import Columns, Zonotope, mapped, narrowed, whole
from moet.verify.checker.loops.intervals import BITS, ONE, Undefined
from moet.verify.checker.meter import Meter

LAW, AT_LOW, AT_HIGH = range(3)
"""Where an output is: between its bounds, clipped to the low one, or to the high one."""

Key = tuple[int, int, int, int, int]
"""Expert, leaf, output, place of the output, and side: 0 for the upper bound, 1 for the lower."""

Leaves = list[tuple[int, int]]
"""Experts, and leaves of theirs."""

Multipliers = dict[Key, list[tuple[int, int]]]
"""Numbers of conditions, and what they are multiplied with."""


class Line(NamedTuple):
    """row·y + constant, as integers, each rounded down."""

    row: list[int]
    constant: int


class Seen(NamedTuple):
    """What the policy sees of a set: a zonotope of features, and the error that is added to each."""

    points: Zonotope
    errors: list[int]

    def ends(self, line: Line) -> tuple[int, int]:
        """Least and largest value of a line, its rounding included."""
        center, radius = self.points.extent(line.row)
        radius += up(sum(abs(a) * e for a, e in zip(line.row, self.errors, strict=True)))
        radius += self.size + 2
        return center + line.constant - radius, center + line.constant + radius

    @property
    def size(self) -> int:
        """What a line is off if every number of it is off by one."""
        reach = zip(self.points.middle, self.points.radii, self.errors, strict=True)
        return sum(abs(m) + r + e for m, r, e in reach) >> BITS

    def box(self) -> list[tuple[int, int]]:
        """Least and largest value of every feature."""
        parts = zip(self.points.middle, self.points.radii, self.errors, strict=True)
        return [(m - r - e, m + r + e) for m, r, e in parts]


def seen(system: PlainSystem, program: Program | None, points: Zonotope, meter: Meter) -> Seen:
    """What a policy sees of a set of states: features, noise, and the rounding to float64 and float32."""
    d = len(system.states)
    states = Zonotope(points.middle[:d], [column[:d] for column in points.columns])
    errors = [whole(e) + 1 for e in system.noise]
    if program is not None:
        radii = states.radii
        try:
            forms = program.forms(states.middle, radii, meter)
        except Undefined as error:
            raise CertificateError(str(error)) from None
        matrix = [[form.slopes.get(k, 0) for k in range(d)] for form in forms]
        zero = Zonotope([0] * d, states.columns)
        _, columns, loss = mapped(matrix, zero, meter)
        states = Zonotope([form.center for form in forms], columns)
        errors = [e + form.radius + loss for e, form in zip(errors, forms, strict=True)]
    unit = 23 if system.float32 else 51  # twice the unit of rounding, for rounding twice
    largest = [abs(m) + r + e for m, r, e in zip(states.middle, states.radii, errors, strict=True)]
    return Seen(states, [e + (size >> unit) + 2 for e, size in zip(errors, largest, strict=True)])


class Policy:
    """A mixture of laws that acts on a system."""

    def __init__(self, model: PlainLaws, system: PlainSystem) -> None:
        self.model, self.system = model, system
        self.n_outputs = len(model.outputs)
        self.low, self.high = _limits(model, system)
        self._logits = [
            Line([whole(Fraction(w)) for w in row], whole(Fraction(b)))
            for row, b in zip(model.weights, model.bias, strict=True)
        ]
        self._laws: dict[tuple[int, int], list[Line]] = {}

    def relaxed(
        self, seen: Seen, lines: list[Line] | None, multipliers: Multipliers, meter: Meter, only: Leaves | None = None
    ) -> tuple[list[Line], list[tuple[int, int]]]:
        """One line per output, and what the policy may add to it.

        Without lines, all leaves that may answer must have the same laws, which are the lines. If ``only`` some
        answer in this set, others do not count.
        """
        leaves = [leaf for leaf in self._leaves(seen, meter) if only is None or leaf[:2] in only]
        if only and not leaves:  # nobody is here
            leaves = [(*only[0], [])]
        if lines is None:
            laws = [self._laws_of(*leaf[:2]) for leaf in leaves]
            if any(law != laws[0] for law in laws):
                raise CertificateError(f"{len(leaves)} leaves may answer, and there is no law for all of them")
            lines = laws[0]
        bounds = []
        for o, line in enumerate(lines):
            least: int | None = None
            most: int | None = None
            for expert, leaf, guards in leaves:
                meter.spend(20 * len(seen.points.columns) * (len(guards) + 4))
                low, high = self._bounds(seen, line, o, (expert, leaf), guards, multipliers)
                least, most = low if least is None else min(least, low), high if most is None else max(most, high)
            assert least is not None
            assert most is not None
            bounds.append((least, most))
        return lines, bounds

    def cases(self, seen: Seen, groups: list[Leaves], meter: Meter) -> list[list[tuple[int, int]]]:
        """For groups of leaves, the sides of the columns of a set between which one of the group may answer."""
        possible = {leaf[:2]: leaf[2] for leaf in self._leaves(seen, meter)}
        listed = {leaf for group in groups for leaf in group}
        if not all(groups) or not all(self._is_leaf(*leaf) for leaf in listed):
            raise CertificateError("a case has no leaf, or one that there is not")
        if not set(possible) <= listed:
            raise CertificateError("a leaf may answer that is in none of the cases")
        return [self._sides(seen, [possible[leaf] for leaf in group if leaf in possible], meter) for group in groups]

    def _is_leaf(self, expert: int, node: int) -> bool:
        trees = self.model.trees
        return 0 <= expert < len(trees) and 0 <= node < len(trees[expert].feature) and trees[expert].feature[node] < 0

    def _sides(self, seen: Seen, leaves: list[list[Line]], meter: Meter) -> list[tuple[int, int]]:
        """Sides of all columns between which the guards of one of the leaves may hold."""
        everywhere = [(-ONE, ONE)] * len(seen.points.columns)
        found = []
        for guards in leaves:
            rows = []
            for guard in guards:
                meter.spend(4 * len(everywhere))
                row = [sum(map(mul, guard.row, column)) >> BITS for column in seen.points.columns]
                center = sum(map(mul, guard.row, seen.points.middle)) >> BITS
                blur = up(sum(abs(a) * e for a, e in zip(guard.row, seen.errors, strict=True))) + seen.size
                rows.append((row, center + guard.constant + blur + len(row) + 4))
            sides = narrowed(everywhere, rows + rows, meter)
            if sides is not None:
                found.append(sides)
        if not found:  # nobody is here, whatever is said of it
            return [(0, 0)] * len(everywhere)
        return [(min(low for low, _ in one), max(high for _, high in one)) for one in zip(*found, strict=True)]

    def _bounds(
        self, seen: Seen, line: Line, o: int, leaf: tuple[int, int], guards: list[Line], multipliers: Multipliers
    ) -> tuple[int, int]:
        """Least and largest difference between an output of a leaf and a line."""
        law = self._laws_of(*leaf)[o]
        error = self._rounding(leaf, o, seen)
        least, most = seen.ends(law)
        low, high = self.low[o], self.high[o]
        cases = []
        if (low is None or most >= low) and (high is None or least <= high):
            limits = ([] if low is None else [_minus(law, low)]) + ([] if high is None else [_minus(high, law)])
            cases.append((LAW, law, limits))
        if low is not None and least < low:
            cases.append((AT_LOW, Line([0] * len(law.row), low), [_minus(low, law)]))
        if high is not None and most > high:
            cases.append((AT_HIGH, Line([0] * len(law.row), high), [_minus(law, high)]))
        lows, highs = [], []
        for place, value, limits in cases:
            difference = _minus(value, line)
            known = [*guards, *limits]
            highs.append(_most(seen, difference, known, multipliers.get((*leaf, o, place, 0), [])))
            lows.append(-_most(seen, _opposite(difference), known, multipliers.get((*leaf, o, place, 1), [])))
        return min(lows) - error, max(highs) + error

    def _leaves(self, seen: Seen, meter: Meter) -> Iterator[tuple[int, int, list[Line]]]:
        """Leaves that may answer: expert, node, and lines that are at least 0 where it does."""
        box = seen.box()
        for expert, tree in enumerate(self.model.trees):
            ahead = self._lead(expert, seen, meter)
            if ahead is None:
                continue
            waiting: list[tuple[int, list[Line]]] = [(0, ahead)]
            while waiting:
                node, guards = waiting.pop()
                meter.spend(10 + len(box))
                k = tree.feature[node]
                if k < 0:
                    yield expert, node, guards
                    continue
                threshold = whole(Fraction(tree.threshold[node]))
                unit = [(1 << BITS) if i == k else 0 for i in range(len(box))]
                if box[k][1] > threshold:
                    waiting.append((tree.right[node], [*guards, Line(unit, -threshold)]))
                if box[k][0] <= threshold + 1:
                    waiting.append((tree.left[node], [*guards, Line([-a for a in unit], threshold + 1)]))

    def _lead(self, expert: int, seen: Seen, meter: Meter) -> list[Line] | None:
        """How far an expert is ahead of its rivals, rounding included; None if it is surely behind one."""
        if len(self._logits) == 1:
            return []
        errors = [self._sum_error(self.model.weights[e], self.model.bias[e], seen) for e in range(len(self._logits))]
        lines = []
        for rival, logit in enumerate(self._logits):
            if rival == expert:
                continue
            meter.spend(4 * len(seen.points.columns))
            lead = _minus(self._logits[expert], logit)
            lead = Line(lead.row, lead.constant + errors[expert] + errors[rival])
            if seen.ends(lead)[1] < 0:
                return None
            lines.append(lead)
        return lines

    def _laws_of(self, expert: int, leaf: int) -> list[Line]:
        if (expert, leaf) not in self._laws:
            laws = self.model.trees[expert].laws[leaf]
            self._laws[expert, leaf] = [Line([whole(w) for w in law.weights], whole(law.bias)) for law in laws]
        return self._laws[expert, leaf]

    def _rounding(self, leaf: tuple[int, int], o: int, seen: Seen) -> int:
        """Error of the float64 sum of a law, and how far the effect of an action may be from it."""
        law: Sum = self.model.trees[leaf[0]].laws[leaf[1]][o]
        spread = whole(law.error) + 1 if law.error else 0
        return spread + (self._sum_error(law.weights, law.bias, seen) if any(law.weights) else 0)

    def _sum_error(self, weights: Sequence[Fraction | float], bias: Fraction | float, seen: Seen) -> int:
        """Error of a sum of products in float64, see :func:`moet.verify.checker.inputs.gate.rounded_sum`."""
        sizes = (max(abs(low), abs(high)) for low, high in seen.box())
        total = abs(whole(Fraction(bias))) + 1
        total += up(sum((abs(whole(Fraction(w))) + 1) * size for w, size in zip(weights, sizes, strict=True)))
        if total >> BITS >= 2**1023:
            raise CertificateError("sums of the policy may overflow")
        return (total * (len(weights) + 2) >> 53) + 2


def control_rows(seen: Seen, lines: list[Line], bounds: list[tuple[int, int]]) -> tuple[list[int], Columns]:
    """Controls of a set: their middles, and columns, one for each of the set and one for each control."""
    middles, radii, rows = [], [], []
    for line, (low, high) in zip(lines, bounds, strict=True):
        middle = sum(map(mul, line.row, seen.points.middle)) >> BITS
        shake = up(sum(abs(a) * e for a, e in zip(line.row, seen.errors, strict=True)))
        middles.append(middle + line.constant + ((low + high) >> 1))
        radii.append(((high - low) >> 1) + shake + len(seen.points.columns) + 4)
        rows.append(line.row)
    columns = [[sum(map(mul, row, column)) >> BITS for row in rows] for column in seen.points.columns]
    own = [[radius if i == k else 0 for i in range(len(rows))] for k, radius in enumerate(radii)]
    return middles, columns + own


def _limits(model: PlainLaws, system: PlainSystem) -> tuple[list[int | None], list[int | None]]:
    """Bounds of the outputs, clipped first by the model and then by the plant."""
    lows: list[int | None] = []
    highs: list[int | None] = []
    for low, high, (least, most) in zip(model.low, model.high, system.controls.values(), strict=True):
        lows.append(whole(least if low is None else clipped(low, least, most)))
        highs.append(whole(most if high is None else clipped(high, least, most)))
    return lows, highs


def _minus(a: Line | int, b: Line | int) -> Line:
    if isinstance(a, int):
        return _opposite(_minus(b, a))
    if isinstance(b, int):
        return Line(a.row, a.constant - b)
    return Line([x - y for x, y in zip(a.row, b.row, strict=True)], a.constant - b.constant)


def _opposite(line: Line) -> Line:
    return Line([-a for a in line.row], -line.constant)


def _most(seen: Seen, line: Line, guards: list[Line], multipliers: list[tuple[int, int]]) -> int:
    """Largest value of a line where the guards are not negative: that of it plus multiples of them is not smaller."""
    for guard, factor in multipliers:
        if not 0 <= guard < len(guards) or factor < 0:
            raise CertificateError("a multiplier is negative, or of a condition that there is not")
        row = [a + (factor * b >> BITS) for a, b in zip(line.row, guards[guard].row, strict=True)]
        # the condition itself is rounded: it may be missed by what a line is off
        slack = up(factor * (seen.size + 4)) + seen.size + 4
        line = Line(row, line.constant + (factor * guards[guard].constant >> BITS) + 1 + slack)
    return seen.ends(line)[1]
