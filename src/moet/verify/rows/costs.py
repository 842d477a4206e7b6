"""What a change of a row costs: convex in its relaxation, exact where it is counted."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.verify.rows.domain import Domain
from moet.verify.rows.space import Body

Floats = NDArray[np.float64]
Kind = Literal["sum", "columns", "largest"]


class Slopes(NamedTuple):
    """Cost of a body from below: ``fixed``, and per unit that a variable moves down or up."""

    fixed: float
    down: Floats
    up: Floats


class Costs:
    """Weights by column, and what they multiply.

    Parameters
    ----------
    kind : {"sum", "columns"}
        The change of a number (1 for a category), or whether a column changes at all.
    weights : dict
        By column.
    rows : Domain
    x : array of float
        The row that changes.
    """

    def __init__(self, kind: Kind, weights: dict[str, float], rows: Domain, x: Floats) -> None:
        self.kind, self.weights, self._rows, self.x = kind, weights, rows, x
        self._n = len(x)

    def claim(self) -> dict[str, Any]:
        """What a certificate says of it."""
        return {"kind": self.kind, "weights": self.weights}

    def of(self, y: Floats) -> Fraction:
        """Exact cost of becoming ``y``."""
        parts = [Fraction(0)]
        changed = set(np.flatnonzero(y != self.x).tolist())
        for part in self._rows.values:
            own = list(part.features)
            if changed.isdisjoint(own):
                continue
            weight = Fraction(self.weights[part.column.name])
            if part.column.kind == "category" or self.kind == "columns":
                change = Fraction(1)
            else:
                change = abs(Fraction(float(y[own[0]])) - Fraction(float(self.x[own[0]])))
            parts.append(weight * change)
        return max(parts) if self.kind == "largest" else sum(parts, Fraction(0))

    def slopes(self, body: Body, changed: frozenset[int]) -> Slopes:
        """Lower bound of the cost over a body; columns that are ``changed`` are charged for it."""
        down, up, fixed = np.zeros(self._n), np.zeros(self._n), 0.0
        for c, part in enumerate(self._rows.values):
            weight, own = self.weights[part.column.name], list(part.features)
            if c in changed or (self.kind == "columns" and not self._may_stay(own, body)):
                fixed += weight
            elif part.column.kind == "category":
                up[own] = np.where(self.x[own] == 1.0, 0.0, weight)
            else:
                k = own[0]
                room_up, room_down = body.hi[k] - self.x[k], self.x[k] - body.lo[k]
                if self.kind == "sum":
                    room_up = room_down = 1.0
                up[k] = weight / room_up if room_up > 0.0 else 0.0
                down[k] = weight / room_down if room_down > 0.0 else 0.0
        return Slopes(fixed, down, up)

    def _may_stay(self, own: list[int], body: Body) -> bool:
        x = self.x[own]
        inside = (x >= body.lo[own]) & (x <= body.hi[own]) & ~(body.above[own] & (x == body.lo[own]))
        return bool(np.all(inside))

    def most(self, direction: Floats, factor: float, body: Body, changed: frozenset[int]) -> float:
        """Largest direction·z − factor·cost(z) over the closed body, up to rounding: what the checker computes."""
        total = 0.0
        for c, part in enumerate(self._rows.values):
            own, price = list(part.features), factor * self.weights[part.column.name]
            v, low, high = direction[own], body.lo[own], body.hi[own]
            if part.column.kind == "category":
                charged = (self.x[own] != 1.0) | (c in changed)
                total += float((v - price * charged)[high == 1.0].max())
            elif self.kind == "columns":
                ends = max(v[0] * low[0], v[0] * high[0]) - price
                stays = c not in changed and self._may_stay(own, body)
                total += float(max(ends, v[0] * self.x[own[0]]) if stays else ends)
            else:
                nearest = np.clip(self.x[own[0]], low[0], high[0])
                places = np.array([low[0], high[0], nearest])
                total += float((v[0] * places - price * np.abs(places - self.x[own[0]])).max())
        return total

    def uncounted(self, z: Floats, body: Body, changed: frozenset[int]) -> int | None:
        """Column of numbers that a point changes for less than its weight, if costs count columns."""
        if self.kind != "columns":
            return None
        best, worst = None, 1e-7
        for c, part in enumerate(self._rows.values):
            own = list(part.features)
            if c in changed or part.column.kind == "category" or not self._may_stay(own, body):
                continue
            moved = abs(z[own[0]] - self.x[own[0]])
            if body.hi[own[0]] > body.lo[own[0]] and moved > worst:
                best, worst = c, moved
        return best

    def kept(self, c: int, body: Body) -> Body:
        """The part of a body where a column stays as it is."""
        own = list(self._rows.values[c].features)
        lo, hi, above = body.lo.copy(), body.hi.copy(), body.above.copy()
        lo[own] = hi[own] = self.x[own]
        above[own] = False
        return Body(lo, hi, above)


def weights_of(cost: str | Mapping[str, float] | None, rows: Domain) -> tuple[Kind, dict[str, float]]:
    """What ``cost`` means: None, ``"columns"``, or weights by column."""
    names = {part.column.name: part for part in rows.values}
    if cost == "columns":
        return "columns", dict.fromkeys(names, 1.0)
    if cost is None:
        return "sum", {name: _share_of_range(part) for name, part in names.items()}
    if not isinstance(cost, Mapping):
        raise InputError(f'cost must be "columns", or weights by column, got {cost!r}')
    if strange := [name for name in cost if name not in names]:
        raise InputError(f"there is no column {strange[0]!r}; the table has {', '.join(names)}")
    defaults = {name: _share_of_range(part) for name, part in names.items()}
    weights = {name: float(cost.get(name, defaults[name])) for name in names}
    if not all(0.0 <= weight < 1e100 for weight in weights.values()):
        raise InputError(f"a cost must be a finite number, not below 0, got {dict(cost)}")
    return "sum", weights


def _share_of_range(part: Any) -> float:
    if part.column.kind == "category":
        return 1.0
    low, high = part.column.reach
    return 1.0 / (high - low) if high > low else 1.0
