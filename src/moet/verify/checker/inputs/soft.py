"""Checker of proofs about soft models: a tree of boxes, and in each of its leaves bounds that leave too few answers.

A soft model answers with the class c of largest F_c(x) = Σ_e exp(logit_e(x))·p_e(c|x). In a box, class c is ruled out
by a class c' if for some expert r

    Σ_e (p_e(c) − p_e(c'))·exp(logit_e − logit_r) < 0    for all x in the box,

where p_e may be that of any leaf which the box reaches. Differences of logits are intervals here, made of integers, and
the exponential function is that of :mod:`~moet.verify.checker.exp_bounds`. Bounds are widened by what float64
arithmetic may do to the deployed model: each logit is off by at most (d + 2)·2⁻⁵³·(|b| + Σ|w_k||x_k|) + 2⁻³⁰⁰, its
difference from the largest by 2⁻⁵³ of both, exp by a relative 2⁻⁵⁰ (four units in the last place), each product, sum
and quotient by a relative 2⁻⁵³, and what underflows by an absolute 2⁻¹⁰⁷⁰ where the largest term is 1. So what is
proved holds in exact arithmetic and as deployed.

The records are those of the tree in preorder: ``split`` with a feature and a number, x <= number coming first, or
``sure``. The proof that two models are the same function by construction is a single record, ``same``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import inf, lcm, nextafter
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Records
from moet.verify.checker.documents.model import PlainModel, PlainTree, typed
from moet.verify.checker.exp_bounds import BITS, LARGEST, exponential
from moet.verify.checker.inputs import claims
from moet.verify.checker.meter import cost

_SPLIT, _SURE, _SAME = 0, 3, 4
_COORDINATE_BITS = 128
_ALL_BITS = 1074
"""Binary places of coordinates; of every float64 number, for gates whose weights make the places after them count."""
_LARGE_WEIGHT = 2**64
_LARGEST_LOGIT = 2**1020
_MOST_WAITING = 10**7

Number = Any  # a float, or None where a side is open


class Side(NamedTuple):
    """What a feature may be, between float64 numbers; ``above``: greater than ``low``."""

    low: Number
    high: Number
    above: bool = False


Box = list[Side]


def check_always(claim: claims.Always, model: PlainModel, records: Records) -> None:
    """Raise :class:`CertificateError` unless only permitted classes are possible in every leaf."""
    permitted = set(map(typed, claim.answers))
    forbidden = {c for c, label in enumerate(model.classes) if typed(label) not in permitted}
    box = _bounded(claim.box)
    bounds = _Bounds(model, box, records)
    _walk(records, box, lambda box: not bounds.possible(box) & forbidden)


def check_equivalent(claim: claims.Equivalent, pair: Sequence[PlainModel], records: Records) -> None:
    """Raise :class:`CertificateError` unless the models have one answer in common in every leaf, or are the same."""
    wanted = None if claim.classes is None else set(map(typed, claim.classes))
    groups = [
        [typed(label) if wanted is None or typed(label) in wanted else None for label in model.classes]
        for model in pair
    ]

    @cache
    def bounds() -> list[_Bounds]:
        return [_Bounds(model, _bounded(claim.box), records) for model in pair]

    def agree(box: Box) -> bool:
        a, b = ({group[c] for c in bound.possible(box)} for bound, group in zip(bounds(), groups, strict=True))
        return len(a) == 1 and a == b

    _walk(records, _sides(claim.box), agree, are_same=lambda: _are_same(*pair))


def check_closest(claim: claims.Closest, model: PlainModel, records: Records) -> None:
    """Raise :class:`CertificateError` unless no leaf that the open ball meets may have a wanted answer."""
    box, radius = _sides(claim.box), claim.distance
    ball = None if radius is None else _ball(claim.point, radius)
    whole = _bounded(claim.box) if ball is None else _common(box, ball)
    if whole is None or radius == 0:
        return
    point = [float(x) for x in claim.point]
    reach = [Side(min(side.low, x), max(side.high, x)) for side, x in zip(whole, point, strict=True)]
    bounds = _Bounds(model, reach, records)
    wanted = _wanted(claim, model, bounds)

    def keeps_away(box: Box) -> bool:
        body = box if ball is None else _common(box, ball)
        return body is None or not bounds.possible(body) & wanted

    def is_outside(box: Box) -> bool:
        if radius is None or ball is None:
            return False
        return _is_beside(box, ball) or (claim.norm == "l1" and _sum_of_gaps(box, claim.point) >= radius)

    _walk(records, box, keeps_away, is_outside)


def _wanted(claim: claims.Closest, model: PlainModel, bounds: _Bounds) -> set[int]:
    if claim.answer is not None:
        return {c for c, label in enumerate(model.classes) if typed(label) == typed(claim.answer)}
    own = bounds.possible([Side(float(x), float(x)) for x in claim.point])
    if len(own) != 1:
        raise CertificateError("the answer at the point itself is too close to call")
    return set(range(len(model.classes))) - own


def _bounded(body: claims.Body) -> Box:
    if None in body.lo or None in body.hi:
        raise CertificateError("proofs about soft models need a bounded domain")
    return _sides(body)


def _sides(body: claims.Body) -> Box:
    """The sides of a claim, which are float64 numbers."""
    sides = zip(body.lo, body.hi, strict=True)
    return [Side(None if low is None else float(low), None if high is None else float(high)) for low, high in sides]


def _ball(point: list[Fraction], radius: Fraction) -> Box:
    """Float64 numbers around the closed ball of the largest change, which that of the sum lies in.

    No threshold lies between a side and what it was rounded to.
    """
    sides = []
    for x in point:
        low, high = _below(x - radius), -_below(-x - radius)
        sides.append(Side(low, high, low > -inf and Fraction(low) != x - radius))
    return sides


def _below(value: Fraction) -> float:
    """The largest float64 number that is not above; minus infinity if there is none."""
    if value >= 2**1023:
        return float(2**1023)
    if value < -(2**1023):
        return -inf
    near = float(value)
    return near if Fraction(near) <= value else nextafter(near, -inf)


def _common(box: Box, ball: Box) -> Box | None:
    """What a box and a ball have in common; None if that is nothing."""
    inside = []
    for (low, high, above), (least, most, beyond) in zip(box, ball, strict=True):
        cut = low is None or low < least or (low == least and beyond)
        side = Side(least if cut else low, most if high is None or high > most else high, beyond if cut else above)
        if side.low > side.high:
            return None
        inside.append(side)
    return inside


def _is_beside(box: Box, ball: Box) -> bool:
    """Whether some feature is not in the inside of a ball: as far from its centre as the ball is large, or further."""
    for (low, high, _), (least, most, _) in zip(box, ball, strict=True):
        if (low is not None and low >= most) or (high is not None and high <= least):
            return True
    return False


def _sum_of_gaps(box: Box, point: list[Fraction]) -> Fraction:
    """How far a box is from a point, by the sum of all changes."""
    gaps = [
        Fraction(low) - x if low is not None and x < low else x - Fraction(high) if high is not None and x > high else 0
        for (low, high, _), x in zip(box, point, strict=True)
    ]
    return Fraction(sum(gaps))


def _walk(
    records: Records,
    whole: Box,
    is_fine: Callable[[Box], bool],
    is_outside: Callable[[Box], bool] = lambda _: False,
    are_same: Callable[[], bool] = lambda: False,
) -> None:
    """Go through the tree; every leaf that is not outside must be fine, or the models the same."""
    stack = [whole]
    while stack:
        box = stack.pop()
        if is_outside(box):
            continue
        if len(stack) * len(box) > _MOST_WAITING:
            raise CertificateError("too many boxes wait to be looked at: the tree is too deep")
        code = records.code()
        if code == _SURE:
            if not is_fine(box):
                raise CertificateError("in a box another answer is possible, as far as bounds tell")
        elif code == _SAME and box is whole:
            if not are_same():
                raise CertificateError("the models are not the same function by construction")
        elif code == _SPLIT:
            (k,), (place,) = records.refs(1), records.numbers(1)
            if not 0 <= k < len(box):
                raise CertificateError(f"there is no feature {k}")
            low, high, above = box[k]
            right = Side(low, high, above) if low is not None and place < low else Side(place, high, True)
            left = Side(low, high if high is not None and high < place else place, above)
            stack += [[*box[:k], right, *box[k + 1 :]], [*box[:k], left, *box[k + 1 :]]]
        else:
            raise CertificateError(f"unknown code {code}")


class _Bounds:
    """Which classes a model may answer with somewhere in a box, that lies in a given one."""

    def __init__(self, model: PlainModel, whole: Box, records: Records) -> None:
        self._trees = model.trees
        self._soft = not model.is_hard
        self._n_classes = len(model.classes)
        self._meter = records.meter
        rows = [[Fraction(number) for number in (*w, b)] for w, b in zip(model.weights, model.bias, strict=True)]
        scale = lcm(*(number.denominator for row in rows for number in row))  # a power of two
        self._gate = [[int(number * scale) for number in row] for row in rows]
        is_steep = any(abs(weight) > _LARGE_WEIGHT for *weights, _ in rows for weight in weights)
        self._places = _ALL_BITS if is_steep else _COORDINATE_BITS
        self._shift = scale.bit_length() - 1 + self._places - BITS
        self._slack = _slacks(rows, whole) if len(rows) > 1 else [0]
        # leaf probabilities rounded down and up
        self._down = [[[_floor(p, BITS) for p in row] for row in tree.value] for tree in model.trees]
        self._up = [[[-_floor(-p, BITS) for p in row] for row in tree.value] for tree in model.trees]
        experts = len(rows)
        nodes = sum(len(tree.feature) for tree in model.trees)
        bits = self._shift + BITS
        self._price = 5 * cost(experts * (len(whole) * (1 if self._soft else experts) + 100) + nodes, bits)

    def possible(self, box: Box) -> set[int]:
        """Classes that no other surely beats."""
        self._meter.spend(self._price)
        if any(side.low > side.high or (side.above and side.low == side.high) for side in box):
            return set()
        low = [_floor(side.low, self._places) for side in box]
        high = [-_floor(-side.high, self._places) for side in box]
        leaves = [_reached(tree, box) for tree in self._trees]
        return self._soft_winners(low, high, leaves) if self._soft else self._hard_winners(low, high, leaves)

    def _difference(self, e: int, r: int, low: list[int], high: list[int]) -> tuple[int, int]:
        """Bounds of logit e less logit r, rounding included."""
        *weights, bias = (a - b for a, b in zip(self._gate[e], self._gate[r], strict=True))
        least = most = bias << self._places
        for w, u, v in zip(weights, low, high, strict=True):
            if w > 0:
                least += w * u
                most += w * v
            elif w < 0:
                least += w * v
                most += w * u
        slack = self._slack[e] + self._slack[r]
        return (least >> self._shift) - slack, -(-most >> self._shift) + slack

    def _hard_winners(self, low: list[int], high: list[int], leaves: list[list[int]]) -> set[int]:
        experts = range(len(self._trees))
        return {
            self._trees[e].label[leaf]
            for e in experts
            if all(self._difference(e, r, low, high)[1] >= 0 for r in experts if r != e)
            for leaf in leaves[e]
        }

    def _soft_winners(self, low: list[int], high: list[int], leaves: list[list[int]]) -> set[int]:
        middle = [a + b for a, b in zip(low, high, strict=True)]
        logits = [
            sum(w * m for w, m in zip(row, middle, strict=False)) + (row[-1] << (self._places + 1))
            for row in self._gate
        ]
        first = logits.index(max(logits))
        found = self._winners_beside(first, low, high, leaves)
        for reference in range(len(logits)):  # where experts tie, the search may have taken another; all are right
            if len(found) > 1 and reference != first:
                self._meter.spend(self._price)
                found &= self._winners_beside(reference, low, high, leaves)
        return found

    def _winners_beside(self, reference: int, low: list[int], high: list[int], leaves: list[list[int]]) -> set[int]:
        """Classes that may win, as far as differences from the logit of one expert tell."""
        least, most, largest = [], [], 0
        for e in range(len(self._trees)):
            a, b = self._difference(e, reference, low, high) if e != reference else (0, 0)
            if b > LARGEST:
                return set(range(self._n_classes))
            least.append(exponential(a)[0])
            most.append(exponential(b)[1])
            largest = max(largest, most[-1])
        n = len(self._trees)
        lost = (largest * n >> 1070) + 1  # what underflows
        classes = range(self._n_classes)
        return {c for c in classes if not any(self._loses(c, r, least, most, leaves, lost) for r in classes if r != c)}

    def _loses(self, c: int, rival: int, least: list[int], most: list[int], leaves: list[list[int]], lost: int) -> bool:
        """Whether class c surely has less than its rival, whatever is rounded on the way."""
        total = size = 0
        for e, (reached, small, large) in enumerate(zip(leaves, least, most, strict=True)):
            up, down = self._up[e], self._down[e]
            lead = max(up[leaf][c] - down[leaf][rival] for leaf in reached)
            total += lead * (large if lead > 0 else small)
            size += max(up[leaf][c] + up[leaf][rival] for leaf in reached) * large
        return total + (size * (len(leaves) + 16) >> 50) + (lost << BITS) < 0


def _slacks(rows: list[list[Fraction]], whole: Box) -> list[int]:
    """What rounding may add to each logit and to its difference from the largest, in units of 2^-BITS, rounded up."""
    reach = [*(max(abs(Fraction(side.low)), abs(Fraction(side.high))) for side in whole), Fraction(1)]
    sizes = [sum((abs(w) * x for w, x in zip(row, reach, strict=True)), Fraction(0)) for row in rows]
    if max(sizes) >= _LARGEST_LOGIT:
        raise CertificateError("the gate's logits may overflow in the domain")
    unit, d = Fraction(1, 2**53), len(whole)
    slacks = [((d + 3) * size + 2 * max(sizes)) * unit for size in sizes]
    return [-_floor(-slack, BITS) + 1 for slack in slacks]


def _floor(value: Number, bits: int) -> int:
    numerator, denominator = value.as_integer_ratio()
    return int((numerator << bits) // denominator)


def _reached(tree: PlainTree, box: Box) -> list[int]:
    """Leaves that some input of a box gets to."""
    found, stack = [], [0]
    while stack:
        node = stack.pop()
        if tree.label[node] >= 0:
            found.append(node)
            continue
        (low, high, above), threshold = box[tree.feature[node]], tree.threshold[node]
        if high > threshold:
            stack.append(tree.right[node])
        if low < threshold or (low == threshold and not above):
            stack.append(tree.left[node])
    return found


def _are_same(a: PlainModel, b: PlainModel) -> bool:
    """Whether two soft models have equal trees behind gates that differ by a common logit."""
    if a.is_hard or b.is_hard or list(map(typed, a.classes)) != list(map(typed, b.classes)):
        return False
    parts = _parts(a, 0)
    return any(parts == _parts(b, reference) for reference in range(len(b.trees)))


def _parts(model: PlainModel, reference: int) -> Counter[Any]:
    """Experts as what they are: a tree, and differences of gate numbers from a reference expert."""
    gate = [[Fraction(number) for number in (*w, b)] for w, b in zip(model.weights, model.bias, strict=True)]
    moved = [tuple(u - v for u, v in zip(row, gate[reference], strict=True)) for row in gate]
    return Counter((row, repr(tree)) for row, tree in zip(moved, model.trees, strict=True))
