"""What it costs to bring a variable into a cell: a cost of a row is their sum, or the largest of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.verify.rows.costs import Kind
from moet.verify.rows.domain import Domain
from moet.verify.sums.cells import Cells

Floats = NDArray[np.float64]


class Prices(NamedTuple):
    """Least cost of every cell of every variable, one after another, and the cheapest cell of each.

    ``base`` is what variables without a test cost, which the row that changes may be outside of.
    """

    cost: Floats
    home: NDArray[np.int32]
    largest: bool
    base: float = 0.0

    @classmethod
    def free(cls, cells: Cells) -> Prices:
        """Nothing costs anything."""
        return cls(np.zeros(int(cells.start[-1])), np.zeros(cells.n, dtype=np.int32), False)

    @classmethod
    def of(cls, kind: Kind, weights: dict[str, float], rows: Domain, cells: Cells, x: Floats) -> Prices:
        """Costs of becoming another row than ``x``; a variable of a group costs where its category is left or taken."""
        weight = np.array([weights[part.column.name] for part in rows.values])[_column_of(rows)]
        cost = _numbers(cells, x, kind == "columns") * weight[cells.owner]
        for part in rows.values:
            if part.column.kind != "category":
                continue
            own = [int(i) for i in cells.variable_of[0][list(part.features)] if i >= 0]
            if own:
                places = cells.start[own][:, None] + [0, 1]
                cost[places] = _categories(own, cells, x, weights[part.column.name])
        return cls(cost, _cheapest(cost, cells), kind == "largest", _base(kind, weights, rows, cells, x))

    def at(self, y: Floats, cells: Cells) -> float:
        """Least cost of the cells of one row."""
        costs = self.cost[cells.start[:-1] + cells.places(y)]
        return float(costs.max(initial=0.0) if self.largest else costs.sum())

    def rough(self, Y: Floats, cells: Cells) -> Floats:
        """Least costs of the cells of rows."""
        costs = self.cost[cells.all_places(Y) + cells.start[:-1, None]] if cells.n else np.zeros((1, len(Y)))
        total: Floats = costs.max(axis=0) if self.largest else costs.sum(axis=0)
        return total


def _base(kind: Kind, weights: dict[str, float], rows: Domain, cells: Cells, x: Floats) -> float:
    """Cost of columns of numbers without a test, if the row is not within their sides."""
    costs = [0.0]
    for part in rows.values:
        k = part.features[0]
        if part.column.kind != "category" and cells.variable_of[0][k] < 0 and not part.low <= x[k] <= part.high:
            change = 1.0 if kind == "columns" else max(part.low - x[k], x[k] - part.high)
            costs.append(weights[part.column.name] * float(change))
    return max(costs) if kind == "largest" else sum(costs)


def _categories(own: list[int], cells: Cells, x: Floats, weight: float) -> list[Floats]:
    """The price of another category is paid where the present one is left, or where another one is taken."""
    here = [bool(x[cells.variables[i]] == 1.0) for i in own]
    leave, take = np.array([weight, 0.0]), np.array([0.0, 0.0 if any(here) else weight])
    return [leave if is_here else take for is_here in here]


def _cheapest(cost: Floats, cells: Cells) -> NDArray[np.int32]:
    """The first of the cheapest cells of every variable."""
    if not cells.n:
        return np.empty(0, dtype=np.int32)
    first = cells.start[:-1]
    least = np.minimum.reduceat(cost, first)
    places = np.flatnonzero(cost == np.repeat(least, np.diff(cells.start)))
    return (places[np.searchsorted(places, first)] - first).astype(np.int32)


def _column_of(rows: Domain) -> list[int]:
    """Number of the column of every feature."""
    return [c for c, part in enumerate(rows.values) for _ in part.features]


def _numbers(cells: Cells, x: Floats, counts: bool) -> Floats:
    """How far every cell is from a row, or whether the row is elsewhere."""
    here, bottom, top = x[cells.owner], cells.bottom, cells.top
    if counts:
        return ((here < cells.least) | (here > top)).astype(np.float64)
    change: Floats = np.maximum(np.maximum(bottom - here, here - top), 0.0)
    return change
