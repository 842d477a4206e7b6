"""Possible rows as boxes of cells, for proofs about sums of trees. Standard library only.

A column's tests cut its feature into cells; cell j of a variable is what is above the first j of its cuts, and not
above the next. Variables are those of one row, or of two that share columns. A body has the first and the last cell of
every variable; a variable of a group has the cells 0 (no) and 1 (yes).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.model import PlainModel, PlainTree
from moet.verify.checker.documents.schema import PlainColumn

Number = Any  # a float, an integer or a Fraction: all are exact, and compare exactly
Side = Fraction | None

_MOST_BITS = 8000


class Part(NamedTuple):
    """What a column may be: an interval, open where a side is None, or some of its categories."""

    column: PlainColumn
    low: Side
    high: Side
    allowed: list[int]


class Body(NamedTuple):
    """First and last cell of every variable."""

    low: list[int]
    high: list[int]


class Prices(NamedTuple):
    """Least cost of every cell of every variable, the cheapest cell of each, and what a row must cost less than.

    ``used`` are the variables of which some cell costs something.
    """

    costs: list[list[int]]
    home: list[int]
    limit: int
    largest: bool
    used: list[int]


class Thresholds(NamedTuple):
    """Numbers that a feature is compared with, in order, and the same rounded down."""

    own: list[Number]
    floors: list[int]


def thresholds_of(models: Sequence[PlainModel]) -> list[Thresholds]:
    """Where trees of any of the models test their features."""
    found: list[set[Number]] = [set() for _ in models[0].feature_names]
    for tree in (tree for model in models for tree in model.trees):
        for feature, threshold in zip(tree.feature, tree.threshold, strict=True):
            if feature >= 0:
                found[feature].add(threshold)
    return [Thresholds(sorted(own), sorted({number.__floor__() for number in own})) for own in found]


def as_float(x: Any) -> Any:
    """A number as a float, which compares sooner, if it is one without rounding."""
    numerator, denominator = x.as_integer_ratio()
    is_float = numerator.bit_length() <= 53 and denominator.bit_length() <= 1000 and not denominator & (denominator - 1)
    return numerator / denominator if is_float else x


class CellSpace:
    """Variables of one row, or of two rows of which ``free`` columns differ; in ``order``, the first is not above.

    They are cut where trees of any of the models test them.

    Attributes
    ----------
    maps : list of list of int
        Variable of every feature, by row.
    cuts : list of list
        Numbers that cut each variable, within its sides and in order.
    body : Body
        All possible rows.

    ``thresholds`` are those of the models, given where many spaces are made of them.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        models: Sequence[PlainModel],
        free: set[str] | None = None,
        order: str | None = None,
        thresholds: list[Thresholds] | None = None,
    ) -> None:
        thresholds = thresholds or thresholds_of(models)
        self.parts = list(parts)
        self._near: list[tuple[Number | None, Number | None]] = []
        self._tests: dict[tuple[int, int], list[int | None]] = {}
        self._scaled: tuple[int, list[list[int]]] | None = None
        self.whole: list[bool] = []
        self.sides: list[tuple[Side, Side]] = []
        self.cuts: list[list[Number]] = []
        self.groups: list[list[int]] = []
        self.spare: list[bool] = []
        self.orders: list[tuple[int, int]] = []
        self.maps = [self._add(parts, thresholds)]
        if free is not None:
            self.maps.append(list(self.maps[0]))
            for part in parts:
                if part.column.name in free:
                    own, start = self._add([part], thresholds), part.column.first
                    self.maps[1][start : start + len(own)] = own
                    if part.column.name == order:
                        self.orders.append((start, own[0]))
        self.body = Body([0] * len(self.cuts), [len(own) for own in self.cuts])

    def _add(self, parts: Sequence[Part], thresholds: list[Thresholds]) -> list[int]:
        first = len(self.cuts)
        for column, low, high, allowed in parts:
            if column.kind != "category":
                self._variable(low, high, column.is_whole, thresholds[column.first])
                continue
            members = range(len(self.cuts), len(self.cuts) + len(column.labels))
            for k in range(len(column.labels)):
                lowest, highest = Fraction(allowed == [k]), Fraction(k in allowed)
                self._variable(lowest, highest, True, thresholds[column.first + k])
            tested = [k for k in members if self.cuts[k]]
            if tested:
                self.groups.append(tested)
                self.spare.append(any(not self.cuts[k] and self.sides[k][1] == 1 for k in members))
        return list(range(first, len(self.cuts)))

    def _variable(self, low: Side, high: Side, whole: bool, thresholds: Thresholds) -> None:
        places = thresholds.floors if whole else thresholds.own
        near = None if low is None else as_float(low), None if high is None else as_float(high)
        first = 0 if near[0] is None else bisect_left(places, near[0])
        self.whole.append(whole)
        self.sides.append((low, high))
        self._near.append(near)
        self.cuts.append(places[first : None if near[1] is None else max(first, bisect_left(places, near[1]))])

    def test(self, variable: int, threshold: Number) -> int:
        """The last cell in which a test holds: -1 if it never does, the last of all if it always does."""
        low, high = self._near[variable]
        place = threshold.__floor__() if self.whole[variable] else threshold
        if low is not None and place < low:
            return -1
        if high is not None and place >= high:
            return len(self.cuts[variable])
        return bisect_left(self.cuts[variable], place)

    def tests(self, row: int, number: int, tree: PlainTree) -> list[int | None]:
        """What :meth:`test` said of nodes of the tree with this number, as one of the rows sees it; None: not asked."""
        if (row, number) not in self._tests:
            self._tests[row, number] = [None] * len(tree.feature)
        return self._tests[row, number]

    def settle(self, body: Body, prices: Prices | None) -> Body | None:
        """A body as small as its possible rows that cost less than the limit; None if it has none."""
        low, high = list(body.low), list(body.high)
        for members, spare in zip(self.groups, self.spare, strict=True):
            chosen = [k for k in members if low[k]]
            left = [k for k in members if high[k]]
            if len(chosen) > 1 or not (left or spare):
                return None
            if not chosen and not spare and len(left) == 1:
                low[left[0]] = 1
            for k in left if chosen else ():
                high[k] = int(k == chosen[0])
        for i, j in self.orders:
            low[j], high[i] = max(low[i], low[j]), min(high[i], high[j])
        if any(a > b for a, b in zip(low, high, strict=True)):
            return None
        settled = Body(low, high)
        return settled if prices is None else _cheap(settled, prices)

    def prices(self, row: Sequence[Fraction], kind: str, weights: Sequence[Fraction], limit: Fraction) -> Prices:
        """What cells cost a row that becomes another, times a number that makes all of it whole."""
        unit = lcm(self._cuts_by_unit()[0], *{number.as_integer_ratio()[1] for number in row})
        scale = lcm(limit.denominator, *(weight.denominator for weight in weights))
        if unit.bit_length() + scale.bit_length() > _MOST_BITS:
            raise CertificateError("costs have too many digits")
        costs: list[list[int]] = []
        for part, weight in zip(self.parts, weights, strict=True):
            own = range(part.column.first, part.column.first + len(part.column.features))
            price = weight.numerator * (scale // weight.denominator)
            if part.column.kind == "category":
                is_tested = any(row[k] and self.cuts[k] for k in own)
                costs += [self._category(k, row[k] == 1, is_tested, price * unit) for k in own]
            else:
                changes = self._changes(own[0], row[own[0]], unit)
                if kind == "columns":
                    home = self._home(own[0], row[own[0]])
                    changes = [unit * (cell != home) for cell in range(len(changes))]
                costs.append([price * change for change in changes])
        least = [own.index(min(own)) for own in costs]
        used = [k for k, own in enumerate(costs) if any(own)]
        return Prices(costs, least, int(limit * scale) * unit, kind == "largest", used)

    def _cuts_by_unit(self) -> tuple[int, list[list[int]]]:
        """A number that makes all sides and cuts whole, and the cuts times that number."""
        if self._scaled is None:
            sides = (side for pair in self.sides for side in pair if side is not None)
            numbers = (*sides, *(cut for own in self.cuts for cut in own))
            unit = lcm(*{number.as_integer_ratio()[1] for number in numbers})
            self._scaled = unit, [[_times(cut, unit) for cut in own] for own in self.cuts]
        return self._scaled

    def _category(self, k: int, is_here: bool, is_tested: bool, price: int) -> list[int]:
        """The price of another category is paid where the present one is left; if no tree asks for that, elsewhere."""
        if not self.cuts[k]:
            return [0]
        return [price, 0] if is_here else [0, 0 if is_tested else price]

    def _home(self, k: int, x: Fraction) -> int:
        """The cell of a number; -1 if it is beyond the sides."""
        low, high = self.sides[k]
        inside = (low is None or low <= x) and (high is None or x <= high)
        return bisect_left(self.cuts[k], x) if inside else -1

    def _changes(self, k: int, x: Fraction, unit: int) -> list[int]:
        """How far a number is from every cell, times the unit."""
        if not self.cuts[k] and self.sides[k] == (None, None):
            return [0]
        (low, high), (part, scaled) = self.sides[k], self._cuts_by_unit()
        cuts = [cut * (unit // part) for cut in scaled[k]]
        here, step = _times(x, unit), unit if self.whole[k] else 0
        bottoms = [None if low is None else _times(low, unit), *(cut + step for cut in cuts)]
        tops = [*cuts, None if high is None else _times(high, unit)]
        return [
            bottom - here
            if bottom is not None and here < bottom
            else here - top
            if top is not None and here > top
            else 0
            for bottom, top in zip(bottoms, tops, strict=True)
        ]


def _times(number: Number, unit: int) -> int:
    """A number times a multiple of its denominator."""
    numerator, denominator = number.as_integer_ratio()
    return int(numerator * (unit // denominator))


def _cheap(body: Body, prices: Prices) -> Body | None:
    """What of a body may cost less than the limit: every variable for itself, the others as cheap as they can be."""
    low, high = body
    least = [prices.costs[k][min(max(prices.home[k], low[k]), high[k])] for k in prices.used]
    total = max(least, default=0) if prices.largest else sum(least)
    if total >= prices.limit:
        return None
    for k, cost in zip(prices.used, least, strict=True):
        own, home = prices.costs[k], prices.home[k]
        room = prices.limit if prices.largest else prices.limit - total + cost
        while low[k] < min(home, high[k]) and own[low[k]] >= room:
            low[k] += 1
        while high[k] > max(home, low[k]) and own[high[k]] >= room:
            high[k] -= 1
    return body
