"""Checker of proofs that two grouped models agree in a body: a box, or a box and an open ball. Standard library only.

The checker goes through all pairs of experts and, for each, through both trees: first the tests of the first model
until all leaves below give one group, then those of the second. Boxes without a point and nodes whose groups agree need
no proof. For every other node a record says either ``split``, and the checker looks at both children, or ``cut`` with
multipliers λ >= 0 of the conditions under which the two experts answer, row_i·x >= bound_i. The cut is right if

    max {Σ_i λ_i row_i·x : x in the body} < Σ_i λ_i bound_i,

or if both are equal and one of the conditions, or one of the sides where the maximum lies, is strict. At a node that
has no test left only a cut is a proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Records
from moet.verify.checker.documents.model import PlainTree, Tests
from moet.verify.checker.meter import Meter, cost

SPLIT, CUT, EXACT_CUT = 0, 1, 2
"""Codes of records: both children follow; or the multipliers of a contradiction, with exponents if exact."""

_LARGEST_EXPONENT = 2**16
_MOST_MULTIPLIERS = 10**4
MOST_WAITING = 10**7
"""Sides of boxes that wait to be looked at."""


class Side(NamedTuple):
    """A bound of a coordinate; ``place`` is infinite where there is none."""

    place: Any  # an integer, or an infinite float
    strict: bool = False

    @property
    def is_open(self) -> bool:
        """Whether there is no bound."""
        return isinstance(self.place, float)


class Ball(NamedTuple):
    """Open ball of the 1-norm."""

    centre: list[int]
    radius: int


class Condition(NamedTuple):
    """coefficients·x >= bound, or > if strict."""

    coefficients: list[int]
    bound: int
    strict: bool


class Grouped(NamedTuple):
    """Trees with the group of all leaves below each node (-1: several), and conditions(e)[k]: e answers, not k."""

    trees: list[PlainTree]
    only: list[list[int]]
    conditions: Callable[[int], list[Condition]]


def check_agreement(
    records: Records, a: Grouped, b: Grouped, sides: list[tuple[Side, Side]], ball: Ball | None
) -> None:
    """Raise :class:`CertificateError` unless the records prove that ``a`` and ``b`` agree."""
    for e, tree_a in enumerate(a.trees):
        for f, tree_b in enumerate(b.trees):
            silent = {e, len(a.trees) + f}  # an expert is no rival of its own
            stack = [(0, 0, sides)]
            while stack:
                node_a, node_b, box = stack.pop()
                group_a, group_b = a.only[e][node_a], b.only[f][node_b]
                if group_a == group_b >= 0 or is_empty(box, ball):
                    continue
                if len(stack) * len(sides) > MOST_WAITING:
                    raise CertificateError("too many boxes wait to be looked at: the trees are too deep")
                code = records.code()
                if code in (CUT, EXACT_CUT):
                    conditions = [*a.conditions(e), *b.conditions(f)]
                    check_cut(read_multipliers(records, code), conditions, silent, box, ball, records.meter)
                elif code != SPLIT:
                    raise CertificateError(f"unknown code {code}")
                elif group_a < 0:
                    low, high = halves(tree_a, node_a, box)
                    stack += [(tree_a.right[node_a], node_b, high), (tree_a.left[node_a], node_b, low)]
                elif group_b < 0:
                    low, high = halves(tree_b, node_b, box)
                    stack += [(node_a, tree_b.right[node_b], high), (node_a, tree_b.left[node_b], low)]
                else:
                    raise CertificateError(f"no proof that experts {e} and {f} agree in nodes {node_a} and {node_b}")


def read_multipliers(records: Records, code: int) -> list[tuple[int, Fraction]]:
    """Conditions with their multipliers, none of them negative; in an exact cut each comes with an exponent."""
    (count,) = records.refs(1)
    if not 0 <= count <= _MOST_MULTIPLIERS:
        raise CertificateError(f"a cut with {count} multipliers")
    if code == CUT:
        return [(ref, Fraction(number)) for ref, number in records.multipliers(count)]
    refs, numbers = records.refs(2 * count), records.numbers(count)
    found = []
    for ref, exponent, number in zip(refs[::2], refs[1::2], numbers, strict=True):
        if number < 0.0 or abs(exponent) > _LARGEST_EXPONENT:
            raise CertificateError(f"a multiplier is negative or out of range: {number}·2^{exponent}")
        found.append((ref, Fraction(number) * Fraction(2) ** exponent))
    return found


def check_cut(
    multipliers: list[tuple[int, Fraction]],
    conditions: list[Condition],
    silent: set[int],
    box: list[tuple[Side, Side]],
    ball: Ball | None,
    meter: Meter,
) -> None:
    """Raise unless the conditions, times their multipliers, contradict the body; ``silent`` ones are no conditions."""
    scale = math.lcm(*(factor.denominator for _, factor in multipliers))
    direction, bound, strict = [0] * len(box), 0, False
    for ref, factor in multipliers:
        if not 0 <= ref < len(conditions) or ref in silent:
            raise CertificateError(f"there is no condition {ref}")
        condition, whole = conditions[ref], int(factor * scale)
        meter.spend(cost(len(box) + 1, whole.bit_length() + condition.bound.bit_length()))
        direction = [total + whole * c for total, c in zip(direction, condition.coefficients, strict=True)]
        bound += whole * condition.bound
        strict |= condition.strict and whole > 0
    most, attained = _most(direction, box, ball)
    if not (most < bound or (most == bound and (strict or not attained))):
        raise CertificateError("the multipliers of a cut do not contradict the box")


def _most(direction: list[int], box: list[tuple[Side, Side]], ball: Ball | None) -> tuple[int | float, bool]:
    """Largest direction·x in the closed body, and whether a point of the body itself attains it."""
    ends = [high if v > 0 else low for v, (low, high) in zip(direction, box, strict=True)]
    attained = not any(v and end.strict for v, end in zip(direction, ends, strict=True))
    if ball is None:
        if any(v and end.is_open for v, end in zip(direction, ends, strict=True)):
            return math.inf, False
        return sum(v * end.place for v, end in zip(direction, ends, strict=True) if v), attained
    # from the nearest point of the box on, spend what is left of the radius where it gains most
    start = [_clamp(c, low, high) for c, (low, high) in zip(ball.centre, box, strict=True)]
    left = ball.radius - sum(abs(s - c) for s, c in zip(start, ball.centre, strict=True))
    most = sum(v * s for v, s in zip(direction, start, strict=True))
    for v, end, s in sorted(zip(direction, ends, start, strict=True), key=lambda move: -abs(move[0])):
        if v:
            room = left if end.is_open else min(abs(end.place - s), left)
            most += abs(v) * room
            left -= room
            if left == 0:  # the ball is open
                return most, False
    return most, attained


def _clamp(value: int, low: Side, high: Side) -> Any:
    return min(max(value, low.place), high.place)


def is_empty(box: list[tuple[Side, Side]], ball: Ball | None) -> bool:
    """Whether a box has no point, or none in the ball."""
    for low, high in box:
        if low.place > high.place or (low.place == high.place and (low.strict or high.strict)):
            return True
    if ball is None:
        return False
    distances = (abs(_clamp(c, low, high) - c) for c, (low, high) in zip(ball.centre, box, strict=True))
    return bool(sum(distances) >= ball.radius)


def halves(
    tree: Tests, node: int, box: list[tuple[Side, Side]]
) -> tuple[list[tuple[Side, Side]], list[tuple[Side, Side]]]:
    """Parts of a box where x[feature] <= threshold, and where it is greater. Thresholds are coordinates here."""
    k, threshold = tree.feature[node], tree.threshold[node]
    low, high = box[k]
    below = (low, min(high, Side(threshold), key=from_above))
    above = (max(low, Side(threshold, True)), high)
    return [*box[:k], below, *box[k + 1 :]], [*box[:k], above, *box[k + 1 :]]


def from_above(side: Side) -> tuple[int | float, bool]:
    """Order of upper bounds: of two at the same place, the strict one is lower."""
    return side.place, not side.strict
