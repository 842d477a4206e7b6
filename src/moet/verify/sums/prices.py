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
        return cls(np.zeros(int(cells.last.sum()) + cells.n), np.zeros(cells.n, dtype=np.int32), False)

    @classmethod
    def of(cls, kind: Kind, weights: dict[str, float], rows: Domain, cells: Cells, x: Floats) -> Prices:
        """Costs of becoming another row than ``x``; a variable of a group costs where its category is left or taken."""
        parts, home, number = [], [], cells.variable_of[0]
        for part in rows.values:
            own = [i for i in number[list(part.features)] if i >= 0]
            weight = weights[part.column.name]
            if part.column.kind == "category":
                prices = _categories(own, cells, x, weight)
            else:
                prices = [_number(cells, int(i), x, weight, kind == "columns") for i in own]
            parts += prices
            home += [int(np.argmin(costs)) for costs in prices]
        cost = np.concatenate([*parts, np.empty(0)])
        return cls(cost, np.array(home, dtype=np.int32), kind == "largest", _base(kind, weights, rows, cells, x))

    def rough(self, Y: Floats, cells: Cells) -> Floats:
        """Least costs of the cells of rows."""
        places = np.array([np.searchsorted(own, Y[:, k]) for own, k in zip(cells.cuts, cells.variables, strict=True)])
        costs = (
            self.cost[places + np.cumsum([0, *(cells.last[:-1] + 1)])[:, None]] if cells.n else np.zeros((1, len(Y)))
        )
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


def _number(cells: Cells, i: int, x: Floats, weight: float, counts: bool) -> Floats:
    k = cells.variables[i]
    cuts = cells.cuts[i]
    bottom = np.concatenate([[cells.low[k]], cuts + 1.0 if cells.whole[k] else cuts])
    top = np.concatenate([cuts, [cells.high[k]]])
    change = np.maximum(np.maximum(bottom - x[k], x[k] - top), 0.0)
    if counts:
        is_home = (
            (x[k] >= bottom) & (x[k] <= top) & ~((x[k] == bottom) & (np.arange(len(bottom)) > 0) & ~cells.whole[k])
        )
        return np.where(is_home, 0.0, weight)
    return weight * change
