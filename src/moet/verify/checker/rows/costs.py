"""What a change of a row costs, as a part of cuts: the largest value of a linear function less a multiple of the cost.

Standard library only. A cost is a sum over columns, and so is that largest value.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import ceil, gcd, lcm
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.rows.body import Body, Space
from moet.verify.checker.rows.claims import Recourse, Rows, ball


class Costs:
    """The cost of a claim about recourse.

    ``sum``: a column costs its weight times the change of a number, and its weight if a category changes; ``columns``:
    its weight if it changes at all. Then all costs are multiples of a common divisor, and to be below the claim is to
    be at most the multiple before it.
    """

    def __init__(self, claim: Recourse) -> None:
        self._columns = [values.column for values in claim.rows]
        self._row = claim.row
        self._weights = claim.cost.weights
        self._counts = claim.cost.kind == "columns"
        assert claim.at_least is not None
        self._limit, self.is_strict = claim.at_least, True
        self._claimed = claim.at_least
        used = [weight for weight in self._weights if weight]
        if self._counts and used:
            unit = reduce(_common_divisor, used)
            self._limit, self.is_strict = (ceil(claim.at_least / unit) - 1) * unit, False
        numbers = (self._claimed, self._limit, *self._weights)
        self._scale = lcm(*(number.denominator for number in numbers))
        self._prices = [int(weight * self._scale) for weight in self._weights]

    def most(self, direction: list[int], factor: int, space: Space, body: Body, changed: frozenset[int]) -> Fraction:
        """Largest direction·z − factor·(cost(z) − limit) over the closed body, times the unit of the space."""
        scale = self._scale
        total = int(self._limit * scale) * factor * space.unit
        for c, (column, weight) in enumerate(zip(self._columns, self._prices, strict=True)):
            k, price = column.first, factor * weight
            if column.kind == "category":
                total += max(
                    (direction[j] * scale - (price if c in changed or not self._row[j] else 0)) * space.unit
                    for j in range(k, k + len(column.labels))
                    if body.high[j]
                )
            elif self._counts:
                total += self._counted(direction[k] * scale, price * space.unit, k, space, body, c in changed)
            else:
                total += self._measured(direction[k] * scale, price, k, space, body)
        return Fraction(total, scale)

    def _counted(self, v: int, price: int, k: int, space: Space, body: Body, is_changed: bool) -> int:
        most = max(v * body.low[k], v * body.high[k]) - price
        return most if is_changed or not self._may_stay(k, space, body) else max(most, v * self._here(k, space))

    def _here(self, k: int, space: Space) -> int:
        """The row's own value, times the unit, which is a multiple of all of the row's numbers."""
        here = self._row[k] * space.unit
        if here.denominator != 1:
            raise CertificateError("the row is no multiple of the unit")
        return here.numerator

    def _may_stay(self, k: int, space: Space, body: Body) -> bool:
        here = self._here(k, space)
        return body.low[k] <= here <= body.high[k] and not (body.above[k] and here == body.low[k])

    def _measured(self, v: int, price: int, k: int, space: Space, body: Body) -> int:
        here, low, high = self._here(k, space), body.low[k], body.high[k]
        nearest = min(max(here, low), high)
        return max(v * place - price * abs(place - here) for place in (low, high, nearest))

    def cheap(self, space: Space, body: Body, changed: frozenset[int]) -> Body | None:
        """What of a body may cost less than the claim, every column for itself; None if nothing."""
        scale = self._scale * space.unit
        least = [self._least(c, space, body, c in changed) for c in range(len(self._columns))]
        room = int(self._claimed * scale) - sum(least)
        if room <= 0:
            return None
        low, high, above = list(body.low), list(body.high), list(body.above)
        for c, column in enumerate(self._columns):
            left, k, price = room + least[c], column.first, self._prices[c]
            if c in changed or not price:
                continue
            if column.kind == "category":
                own = range(k, k + len(column.labels))
                here = next(j for j in own if self._row[j])
                if body.high[here] and left <= price * space.unit:
                    for j in own:
                        low[j] = high[j] = int(j == here)
            elif not self._counts:
                step, here = -(-left // price), self._here(k, space)
                if space.is_whole[k]:  # as the row is
                    step = left // (price * space.unit) * space.unit
                above[k] = above[k] and here - step <= low[k]
                low[k], high[k] = max(low[k], here - step), min(high[k], here + step)
            elif left <= price * space.unit and self._may_stay(k, space, body):
                low[k] = high[k] = self._here(k, space)
                above[k] = False
        if any(a > b for a, b in zip(low, high, strict=True)):
            return None
        return Body(low, high, above)

    def _least(self, c: int, space: Space, body: Body, is_changed: bool) -> int:
        """Least cost of a column, times the scale of the costs and the unit of the space."""
        column, price = self._columns[c], self._prices[c]
        k = column.first
        if is_changed:
            return price * space.unit
        if column.kind == "category":
            stays = any(self._row[j] and body.high[j] for j in range(k, k + len(column.labels)))
            return 0 if stays else price * space.unit
        if self._counts:
            return 0 if self._may_stay(k, space, body) else price * space.unit
        here = self._here(k, space)
        return price * max(body.low[k] - here, here - body.high[k], 0)

    def kept_or_not(
        self, space: Space, body: Body, changed: frozenset[int], c: int
    ) -> list[tuple[Body, frozenset[int]]]:
        """Rows that are as they were in a column, and those that are charged for it; the first last."""
        if not self._counts or not 0 <= c < len(self._columns) or c in changed:
            raise CertificateError(f"column {c} is none that may be kept or not")
        column = self._columns[c]
        features = range(column.first, column.first + len(column.features))
        parts = [(body, changed | {c})]
        low, high, above = list(body.low), list(body.high), list(body.above)
        for k in features:
            if space.group[k] >= 0:
                if self._row[k] and not body.high[k]:
                    return parts
                low[k] = high[k] = int(self._row[k])
            else:
                if not self._may_stay(k, space, body):
                    return parts
                low[k] = high[k] = self._here(k, space)
                above[k] = False
        return [*parts, (Body(low, high, above), changed)]


class Limited(NamedTuple):
    """Rows that a claim about recourse is about, and what their cost is compared with, if anything."""

    rows: Rows
    costs: Costs | None


def limited(claim: Recourse) -> Limited | None:
    """What a claim is about: the rows of a ball if the largest change counts; None if nothing is claimed."""
    if claim.at_least is None:
        return Limited(claim.rows, None)
    if claim.cost.kind != "largest":
        return Limited(claim.rows, Costs(claim))
    if set(claim.cost.weights) != {Fraction(1)} or claim.at_least < 0:
        raise CertificateError("the largest change is one without weights, and not negative")
    if claim.at_least == 0:
        return None
    return Limited(ball(claim.rows, claim.row, [claim.at_least] * len(claim.rows)), None)


def _common_divisor(a: Fraction, b: Fraction) -> Fraction:
    scale = a.denominator * b.denominator
    return Fraction(gcd(int(a * scale), int(b * scale)), scale)
