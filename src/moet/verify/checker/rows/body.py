"""Bodies of possible rows: products of intervals, of groups of which one variable is 1, and of pairs that are in order.

Standard library only. The variables are those of one row, or of two rows that share columns. Coordinates are integers:
real ones are multiplied by a unit that makes all sides and thresholds whole, and whole ones by the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.model import PlainModel
from moet.verify.checker.rows.claims import Rows


class Body(NamedTuple):
    """Sides of every variable, times the unit; ``above`` where it is greater than ``low``. Groups: low 0 and high 1."""

    low: list[int]
    high: list[int]
    above: list[bool]


class Space:
    """Variables of one row, or of two rows.

    Attributes
    ----------
    maps : list of list of int
        Variable of every feature, by row.
    is_whole, group : list
        By variable; group is -1 where there is none.
    """

    def __init__(
        self,
        rows: Rows,
        models: Sequence[PlainModel],
        free: set[str] | None,
        order: str | None,
        others: Sequence[Fraction] = (),
    ) -> None:
        self.unit = _unit(rows, models, others)
        self.is_whole: list[bool] = []
        self.group: list[int] = []
        self.groups: list[list[int]] = []
        self.orders: list[tuple[int, int]] = []
        low: list[int] = []
        high: list[int] = []

        def add(values: Rows) -> list[int]:
            first = len(low)
            for column, least, most, allowed in values:
                if column.kind == "category":
                    own = list(range(len(low), len(low) + len(column.labels)))
                    low.extend(int(allowed == [k]) for k in range(len(own)))
                    high.extend(int(k in allowed) for k in range(len(own)))
                    self.group.extend([len(self.groups)] * len(own))
                    self.groups.append(own)
                    self.is_whole.extend([True] * len(own))
                else:
                    low.append(int(least * self.unit))
                    high.append(int(most * self.unit))
                    self.group.append(-1)
                    self.is_whole.append(column.is_whole)
            return list(range(first, len(low)))

        self.maps = [add(rows)]
        if free is not None:
            self.maps.append(list(self.maps[0]))
            for values in rows:
                if values.column.name in free:
                    own, start = add([values]), values.column.first
                    self.maps[1][start : start + len(own)] = own
                    if values.column.name == order:
                        self.orders.append((start, own[0]))
        self.body = Body(low, high, [False] * len(low))

    def place(self, variable: int, threshold: Fraction) -> int:
        """A threshold in the units of a variable; of whole numbers, and in groups, rounded down."""
        if self.group[variable] >= 0:
            return threshold.numerator // threshold.denominator
        if self.is_whole[variable]:
            return (threshold.numerator // threshold.denominator) * self.unit
        return int(threshold * self.unit)

    def halves(self, body: Body, k: int, place: int) -> tuple[Body | None, Body | None]:
        """The parts where z_k <= place, and where it is greater; None for one without a point."""
        if self.group[k] >= 0:
            if place >= 1:
                return body, None
            if place < 0:
                return None, body
            return self._without(body, k), self._alone(body, k)
        low, high, above = body
        below: Body | None = body
        if place < high[k]:
            below = None
            if place > low[k] or (place == low[k] and not above[k]):
                below = self._in_order(Body(low, [*high[:k], place, *high[k + 1 :]], above))
        rest: Body | None = body
        bottom = place + self.unit if self.is_whole[k] else place
        if bottom >= low[k]:
            rest = None
            if bottom < high[k] or (self.is_whole[k] and bottom == high[k]):
                strict = [*above[:k], not self.is_whole[k], *above[k + 1 :]]
                rest = self._in_order(Body([*low[:k], bottom, *low[k + 1 :]], high, strict))
        return below, rest

    def _without(self, body: Body, k: int) -> Body | None:
        if not body.high[k]:
            return body
        low, high = list(body.low), list(body.high)
        high[k] = 0
        left = [j for j in self.groups[self.group[k]] if high[j]]
        if len(left) == 1:
            low[left[0]] = 1
        return Body(low, high, body.above) if left else None

    def _alone(self, body: Body, k: int) -> Body | None:
        if not body.high[k]:
            return None
        low, high = list(body.low), list(body.high)
        for j in self.groups[self.group[k]]:
            low[j] = high[j] = int(j == k)
        return Body(low, high, body.above)

    def _in_order(self, body: Body) -> Body | None:
        for i, j in self.orders:
            if body.low[i] > body.high[j] or (body.low[i] == body.high[j] and body.above[i]):
                return None
        return body

    def most(self, direction: list[int], body: Body) -> int:
        """Largest direction·z over the closed body, times the unit."""
        total = 0
        for v, low, high, group in zip(direction, body.low, body.high, self.group, strict=True):
            if v and group < 0:
                total += v * (high if v > 0 else low)
        for members in self.groups:
            total += self.unit * max(direction[k] for k in members if body.high[k])
        for i, j in self.orders:
            a, b = direction[i], direction[j]
            separate = sum(v * (body.high[k] if v > 0 else body.low[k]) for v, k in ((a, i), (b, j)) if v)
            total += max(a * x + b * y for x, y in self._corners(body, i, j)) - separate
        return total

    @staticmethod
    def _corners(body: Body, i: int, j: int) -> list[tuple[int, int]]:
        """Corners of {(x, y) : x <= y} in a rectangle."""
        x, y = (body.low[i], body.high[i]), (body.low[j], body.high[j])
        corners = [(a, b) for a in x for b in y if a <= b]
        low, high = max(x[0], y[0]), min(x[1], y[1])
        return corners + [(v, v) for v in (*x, *y) if low <= v <= high]


def _unit(rows: Rows, models: Sequence[PlainModel], others: Sequence[Fraction]) -> int:
    """Number that makes all sides and thresholds of real columns integers, and others that are given."""
    real = {values.column.first for values in rows if values.column.kind == "number"}
    sides = [side for values in rows if values.column.kind == "number" for side in (values.low, values.high)]
    thresholds = (
        Fraction(threshold)
        for model in models
        for tree in model.trees
        for feature, threshold in zip(tree.feature, tree.threshold, strict=True)
        if feature in real
    )
    unit = lcm(*{number.denominator for number in (*sides, *thresholds, *others)})
    if unit.bit_length() > 2200:
        raise CertificateError("the sides of the domain have too many digits")
    return unit
