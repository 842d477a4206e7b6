"""Between which numbers the outputs of a model are."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.regression.mixture import RegressionMixture
from moet.verify.arguments import CPU_LIMIT, domain_bounds, parts_of_one_sign
from moet.verify.box import Box
from moet.verify.exact import as_float, exactly, rounded
from moet.verify.limits import Deadline, Stopped
from moet.verify.outputs.laws import Laws, Sum, hard_laws, used_features
from moet.verify.outputs.linear import inputs_near, largest, proposal, upper_bound
from moet.verify.outputs.possible import MOST_PIECES, Possible
from moet.verify.outputs.questions import deployed_outputs, first_inputs, prove_bounds
from moet.verify.outputs.search import NowhereSearch
from moet.verify.polytopes import Polytope
from moet.verify.rational import ZERO, Row
from moet.verify.result import Proved, Range, Unknown
from moet.verify.rounding import OVERFLOW, may_overflow
from moet.verify.systems.conditions import HalfSpace

Floats = NDArray[np.float64]

TOLERANCE = 1e-9
"""Share of the size of an output by which a proved bound may exceed what is attained without a word about it."""

_CLOSE = 1e-14
"""So near, as a share, to what is possible nothing better is looked for."""

_HALVINGS = 60
_SAME = 1e-6
"""Exact arithmetic agrees with the deployed predictor on an output up to this share: both use the same law."""


def range(  # named as the question is
    model: Any,
    domain: Box | None = None,
    *,
    timeout: float | None = None,
    cpu_limit: float | None = CPU_LIMIT,
    seed: int = 0,
) -> Range | Unknown:
    """Find the least and the largest value of every output of a model in a box, and prove that none is beyond.

    The bounds hold for the model as deployed, whatever float64 arithmetic rounds in its gate and its laws. They exceed
    what is attained by little more than that rounding; ``gap`` says by how much. Where a side of the box is open, an
    output that no bound clips may grow without end: then its bound is infinite.

    Parameters
    ----------
    model : RegressionMixture, regressor, policy, model file or scikit-learn tree
        A hard one, which answers with numbers.
    domain : Box, optional
        All inputs by default.
    timeout : float or None
        Seconds of the wall clock after which the answer is Unknown; no limit by default.
    cpu_limit : float or None
        Seconds of CPU time after which the answer is Unknown.
    seed : int
        Seed of the random search for first values.

    Examples
    --------
    >>> from moet import RegressionMixture, RegressionTree
    >>> law = RegressionTree.leaf([0.5], slope=[[2.0, -1.0]])
    >>> brake = RegressionMixture([[0.0, 0.0]], [0.0], [law], ["torque"], high=[2], feature_names=["angle", "speed"])
    >>> found = range(brake, Box(angle=(-1, 1), speed=(0, 1)))
    >>> found.least.tolist(), found.largest.tolist(), found.checked
    ([-2.5], [2.0], True)
    """
    deadline = Deadline(timeout, cpu_limit)
    mixture = hard_laws(model)
    lo, hi = domain_bounds(domain, mixture)
    possible = Possible(mixture, domain)
    if may_overflow(mixture.gate_weights, mixture.gate_bias, lo, hi):
        return Unknown(reason=OVERFLOW, effort={"seconds": deadline.seconds})
    try:
        ends = _ExtentSearch(mixture, possible, lo, hi, deadline, seed).run()
    except Stopped:
        return Unknown(reason=deadline.reason, effort={"seconds": deadline.seconds})
    if any(end.at is None for end in ends):
        return Unknown(reason="no input of the domain was found that the model answers: its laws overflow there")
    conditions = [end.condition(mixture.n_outputs) for end in ends if end.bound is not None]
    if not conditions:
        return Unknown(
            reason="no output has a bound in this domain, on either side: give the domain sides, or the model bounds",
            effort={"seconds": deadline.seconds},
        )
    proved = prove_bounds(mixture, conditions, possible, lo, hi, deadline, lambda x: False)
    if isinstance(proved, Proved):
        return _range(mixture, ends, proved)
    assert isinstance(proved, Unknown)
    return proved


def _range(mixture: RegressionMixture, ends: list[_End], proved: Proved) -> Range:
    lower, upper = ends[1::2], ends[::2]
    parts: dict[str, Any] = {
        "low": np.array([-end.outermost for end in lower]),
        "high": np.array([end.outermost for end in upper]),
        "least": np.array([-end.best for end in lower]),
        "largest": np.array([end.best for end in upper]),
        "least_at": np.array([end.at for end in lower]),
        "largest_at": np.array([end.at for end in upper]),
    }
    caveats = tuple(end.caveat(mixture.outputs[end.output]) for end in ends if end.is_loose)
    shared = {field.name: getattr(proved, field.name) for field in fields(Proved)} | {"caveats": caveats}
    gap = max(end.outermost - end.best for end in ends)
    return Range(outputs=mixture.outputs, gap=gap, **parts, **shared)


@dataclass
class _End:
    """The largest value of an output (or, with sign -1, of its negative): what is attained, and what it is at most."""

    output: int
    sign: int
    clipped: Fraction | None
    best: float = -math.inf
    at: Floats | None = None
    bound: Fraction | None = None
    """Never exceeded; None if there is no such number."""

    @property
    def reached(self) -> bool:
        """Whether the bound that the output is clipped to is attained: no more is possible."""
        return self.clipped is not None and self.best >= self.clipped

    def comes_close_to(self, bound: Fraction) -> bool:
        """Whether what is attained is so near to a bound that nothing better is looked for."""
        return self.at is not None and bound - Fraction(self.best) <= Fraction(_CLOSE) * _size(bound)

    @property
    def outermost(self) -> float:
        """The bound as a float64 number, rounded up."""
        if self.bound is None:
            return math.inf
        near = as_float(self.bound)
        return near if Fraction(near) >= self.bound else math.nextafter(near, math.inf)

    @property
    def is_loose(self) -> bool:
        """Whether the bound is beyond what is attained by more than rounding explains."""
        return self.outermost - self.best > TOLERANCE * max(1.0, abs(self.best))

    def condition(self, n_outputs: int) -> HalfSpace:
        """The claim that the bound is never exceeded."""
        unit = tuple(Fraction(self.sign) if o == self.output else ZERO for o in _count(n_outputs))
        return HalfSpace(unit, Fraction(self.outermost))

    def caveat(self, name: str) -> str:
        """What to say of a bound that is not tight."""
        side, value = ("largest", self.best) if self.sign > 0 else ("least", -self.best)
        if self.bound is None:
            return f"{name} has no {'upper' if self.sign > 0 else 'lower'} bound that was found in this domain"
        bound = self.sign * self.outermost
        return f"the {side} {name} that was found is {value:.17g}, the proved bound is {bound:.17g}: it is in between"


def _count(n: int) -> Any:
    return np.arange(n).tolist()


class _Piece(NamedTuple):
    """Part of a box: what is possible there at most, negative so that the most promising comes first, and where."""

    negative: Fraction
    number: int
    lo: Floats
    hi: Floats
    vertex: Floats

    @property
    def bound(self) -> Fraction:
        return -self.negative


class _ExtentSearch:
    """Finds both ends of every output: by samples, then by a linear program for every leaf that may matter."""

    def __init__(
        self, mixture: RegressionMixture, possible: Possible, lo: Floats, hi: Floats, deadline: Deadline, seed: int
    ) -> None:
        self._mixture, self._possible = mixture, possible
        self._lo, self._hi = lo, hi
        self._deadline = deadline
        self._exact = Laws(mixture, lo, hi, rounded=False)
        self._ends: list[_End] = []
        for o in _count(mixture.n_outputs):
            self._ends += [_End(o, 1, self._exact.high[o]), _End(o, -1, _negative(self._exact.low[o]))]
        for x in first_inputs([mixture], possible, lo, hi, seed):
            self._look_at(x, self._ends)

    def run(self) -> list[_End]:
        """Both ends of every output, the upper one first."""
        for end in self._ends:
            end.bound = Fraction(end.best) if end.at is not None else ZERO
        waiting = [end for end in self._ends if not end.reached]
        if not self._possible.are_all:
            for end in waiting:
                self._raise_by_pieces(end)
        elif waiting:
            for part_lo, part_hi in parts_of_one_sign(self._mixture, used_features(self._mixture), self._lo, self._hi):
                rounded_laws = Laws(self._mixture, part_lo, part_hi, rounded=True)
                for polytope, laws in self._leaves(rounded_laws, part_lo, part_hi):
                    for end in waiting:
                        self._deadline.look()
                        self._raise(end, polytope, laws[end.output])
        for end in self._ends:
            if end.clipped is not None and (end.bound is None or end.bound > end.clipped):
                end.bound = end.clipped
            if math.isinf(end.outermost):  # no float64 number is beyond it: nothing to claim
                end.bound = None
        return self._ends

    def _leaves(self, laws: Laws, lo: Floats, hi: Floats) -> Iterator[tuple[Polytope, list[Sum]]]:
        """Where leaves answer in a box, and their laws."""
        search = NowhereSearch([laws], [], lo, hi, self._deadline, shared=self._possible.rows)
        for (expert,), node, rows in search.regions():
            cell = node.cell
            yield Polytope(cell.lo, cell.hi, cell.above, tuple(rows)), laws.laws(expert, node.nodes[0])

    def _raise_by_pieces(self, end: _End) -> None:
        """Raise an end to what possible rows attain, and its bound to what they may: the most promising piece first."""
        # errors of the whole box: those of a piece are smaller, and the proof begins with the whole
        laws = Laws(self._mixture, self._lo, self._hi, rounded=True)
        known, pieces = [], self._pieces(end, laws, 0, [(self._lo, self._hi)])
        for number in _count(MOST_PIECES):
            if not pieces or end.comes_close_to(pieces[0].bound):
                break
            piece = heapq.heappop(pieces)
            division = self._possible.division(piece.vertex, piece.lo, piece.hi)
            if division is None:
                known.append(piece.bound)
                continue
            for part in self._pieces(end, laws, 2 * number + 1, division.parts(piece.lo, piece.hi)):
                heapq.heappush(pieces, part)
        attained = [] if end.at is None else [Fraction(end.best)]
        end.bound = max([*known, *attained, *(piece.bound for piece in pieces)], default=ZERO)

    def _pieces(self, end: _End, laws: Laws, number: int, boxes: Sequence[tuple[Floats, Floats]]) -> list[_Piece]:
        """What an end may attain in boxes, and where; none of those in which nobody answers."""
        pieces = (self._piece(end, laws, number + k, lo, hi) for k, (lo, hi) in enumerate(boxes))
        return [piece for piece in pieces if piece is not None]

    def _piece(self, end: _End, laws: Laws, number: int, lo: Floats, hi: Floats) -> _Piece | None:
        """What an end may attain in a box, and where; None if nobody answers there."""
        self._deadline.look()
        most, place = None, lo
        for polytope, own in self._leaves(laws, lo, hi):
            _, row = _objective(end, own[end.output])
            multipliers, vertex = proposal(polytope, row)
            bound = upper_bound(polytope, row, multipliers)
            assert bound is not None  # possible rows have finite sides
            self._look_at(self._possible.nearest(vertex), [end])
            if most is None or bound > most:
                most, place = bound, vertex
        if most is None:
            return None
        return _Piece(-(most if end.clipped is None else min(most, end.clipped)), number, lo, hi, place)

    def _raise(self, end: _End, polytope: Polytope, law: Sum) -> None:
        """Raise an end to what one leaf attains, and its bound to what it may attain."""
        if end.bound is None or end.reached:
            return
        slope, row = _objective(end, law)
        most = largest(polytope, slope)
        if most is not None and most - row.bound <= end.bound:
            return
        multipliers, vertex = proposal(polytope, row)
        bound = upper_bound(polytope, row, multipliers)
        for x in inputs_near(polytope, vertex):
            self._look_at(x, [end])
            if bound is not None and end.comes_close_to(bound):
                break
        if end.at is not None:
            end.bound = max(end.bound, Fraction(end.best))
        if bound is None or bound > end.bound + Fraction(TOLERANCE) * _size(end.bound):
            bound = self._exact_bound(end, polytope, row, bound)
        end.bound = None if bound is None else max(end.bound, bound)

    def _exact_bound(self, end: _End, polytope: Polytope, row: Row, known: Fraction | None) -> Fraction | None:
        """Bound of a row that floats did not bound well: lowered as long as exact arithmetic rules values out."""
        known = _bound_of_cone(polytope, row) if known is None else known
        least = asked = end.bound or ZERO
        if known is None:
            return None if isinstance(polytope.decide(_start(polytope)), list) else least
        for _ in _count(_HALVINGS):
            self._deadline.look()
            above = Row(row.coefficients, row.bound + asked, True)
            exceeding = Polytope(polytope.lo, polytope.hi, polytope.above, (*polytope.rows, above))
            verdict = exceeding.decide(_start(polytope))
            if isinstance(verdict, dict):
                known = asked
            else:
                self._look_at(rounded(verdict), [end])
                least = asked
            if known - least <= Fraction(TOLERANCE) / 4 * _size(least):
                break
            asked = (least + known) / 2
        return known

    def _look_at(self, x: Floats, ends: list[_End]) -> None:
        """Take note of what the model answers, deployed and, nearly the same, in exact arithmetic."""
        x = np.clip(x, self._lo, self._hi)
        deployed = deployed_outputs(self._mixture, x) if x in self._possible else None
        if deployed is None:
            return
        better = [end for end in ends if end.sign * deployed[end.output] > end.best]
        if better:
            exact = self._exact.answer(exactly(x.tolist()))
            for end in better:
                off = abs(Fraction(deployed[end.output]) - exact[end.output])
                if off <= Fraction(_SAME) * _size(exact[end.output]):
                    end.best, end.at = end.sign * deployed[end.output], x


def _objective(end: _End, law: Sum) -> tuple[list[Fraction], Row]:
    """The law in the direction of an end, rounded up: its slope, and a row with row·x − bound."""
    slope = [end.sign * s + e for s, e in zip(law.slope, law.error_slope, strict=True)]
    return slope, Row(slope, -(end.sign * law.value + law.error))


def _start(polytope: Polytope) -> list[Fraction]:
    """Where exact arithmetic begins: the point of the box that is nearest to 0."""
    return exactly(np.clip(0.0, polytope.lo, polytope.hi).tolist())


def _bound_of_cone(polytope: Polytope, row: Row) -> Fraction | None:
    """Some bound of a row over a polytope with open sides; None if it grows without end along a direction."""
    flat = [Row(r.coefficients, ZERO) for r in polytope.rows]
    lower = [0.0 if math.isfinite(side) else -math.inf for side in polytope.lo.tolist()]
    upper = [0.0 if math.isfinite(side) else math.inf for side in polytope.hi.tolist()]
    grows = Row(row.coefficients, Fraction(1))
    cone = Polytope(np.array(lower), np.array(upper), np.zeros(len(lower), dtype=bool), (*flat, grows))
    verdict = cone.decide([ZERO] * len(lower))
    if isinstance(verdict, list):
        return None
    weight = verdict.pop(len(flat), ZERO)
    if not weight:
        return None
    return upper_bound(polytope, row, {i: factor / weight for i, factor in verdict.items()})


def _size(value: Fraction) -> Fraction:
    return max(Fraction(1), abs(value))


def _negative(value: Fraction | None) -> Fraction | None:
    return None if value is None else -value
