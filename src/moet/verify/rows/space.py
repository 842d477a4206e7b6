"""The variables of a question: those of one row, or of two rows that have columns in common.

A body is a set of values of all variables: intervals, of whole numbers or of reals, groups of which exactly one
variable is 1, and pairs that are in order. It is a product of parts, so the largest value of a linear function over it
is a sum, and the checker computes it without any search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.verify.rows.domain import Domain

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Body(NamedTuple):
    """Sides of every variable; ``above`` where it is greater than ``lo``."""

    lo: Floats
    hi: Floats
    above: NDArray[np.bool_]


class Space:
    """Variables and their structure.

    Parameters
    ----------
    domain : Domain
    free : set of str or None
        Columns in which a second row is independent of the first; None if there is no second row.
    order : str or None
        One of them in which the first row is not above the second.

    Attributes
    ----------
    maps : list of array of int
        Variable of every feature, one list per row.
    whole : array of bool
    groups : list of array of int
        Variables of which exactly one is 1.
    group_of : array of int
        Group of every variable, -1 if it is in none.
    orders : list of (int, int)
        Variables i, j with z_i <= z_j.
    body : Body
        All possible rows.
    """

    def __init__(self, domain: Domain, free: set[str] | None = None, order: str | None = None) -> None:
        self.domain = domain
        n_features = sum(len(part.features) for part in domain.values)
        low, high = domain.bounds()
        first = np.arange(n_features)
        second = first.copy()
        lo, hi = low.tolist(), high.tolist()
        self.orders: list[tuple[int, int]] = []
        groups, whole = [], np.zeros(n_features, dtype=bool)
        for part in domain.values:
            features = np.array(part.features)
            whole[features] = part.column.is_whole or part.column.kind == "category"
            if part.column.kind == "category":
                groups.append(features)
        for part in domain.values:
            if free is None or part.column.name not in free:
                continue
            features = np.array(part.features)
            second[features] = np.arange(len(lo), len(lo) + len(features))
            if part.column.kind == "category":
                groups.append(second[features])
            if part.column.name == order:
                self.orders.append((int(features[0]), int(second[features[0]])))
            lo += low[features].tolist()
            hi += high[features].tolist()
            whole = np.concatenate([whole, whole[features]])
        self.maps: list[Ints] = [first] if free is None else [first, second]
        self.whole, self.groups = whole, groups
        self.group_of = np.full(len(lo), -1)
        for g, members in enumerate(groups):
            self.group_of[members] = g
        self.body = Body(np.array(lo), np.array(hi), np.zeros(len(lo), dtype=bool))

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.whole)

    def below(self, body: Body, k: int, place: float) -> Body | None:
        """The part where z_k <= place; None if it is empty."""
        if self.group_of[k] >= 0:
            return body if place >= 1.0 else None if place < 0.0 else self._without(body, k)
        top = np.floor(place) if self.whole[k] else place
        if top >= body.hi[k]:
            return body
        if top < body.lo[k] or (top == body.lo[k] and body.above[k]):
            return None
        hi = body.hi.copy()
        hi[k] = top
        return self._in_order(Body(body.lo, hi, body.above))

    def over(self, body: Body, k: int, place: float) -> Body | None:
        """The part where z_k > place; None if it is empty."""
        if self.group_of[k] >= 0:
            return body if place < 0.0 else None if place >= 1.0 else self._with(body, k)
        bottom = np.floor(place) + 1.0 if self.whole[k] else place
        if bottom < body.lo[k]:
            return body
        if bottom > body.hi[k] or (not self.whole[k] and bottom == body.hi[k]):
            return None
        lo, above = body.lo.copy(), body.above.copy()
        lo[k], above[k] = bottom, not self.whole[k]
        return self._in_order(Body(lo, body.hi, above))

    def _without(self, body: Body, k: int) -> Body | None:
        if body.hi[k] == 0.0:
            return body
        members = self.groups[self.group_of[k]]
        hi, lo = body.hi.copy(), body.lo.copy()
        hi[k] = 0.0
        left = members[hi[members] == 1.0]
        if len(left) == 0:
            return None
        if len(left) == 1:
            lo[left[0]] = 1.0
        return Body(lo, hi, body.above)

    def _with(self, body: Body, k: int) -> Body | None:
        if body.hi[k] == 0.0:
            return None
        members = self.groups[self.group_of[k]]
        hi, lo = body.hi.copy(), body.lo.copy()
        hi[members] = 0.0
        lo[k] = hi[k] = 1.0
        return Body(lo, hi, body.above)

    def _in_order(self, body: Body) -> Body | None:
        for i, j in self.orders:
            if body.lo[i] > body.hi[j] or (body.lo[i] == body.hi[j] and body.above[i]):
                return None
        return body

    def support(self, direction: Floats, body: Body) -> float:
        """Largest direction·z over the closed body, up to rounding."""
        ends = np.where(direction > 0.0, direction * body.hi, direction * body.lo)
        total = float(ends.sum())
        for members in self.groups:
            own = direction[members]
            total += float(own[body.hi[members] == 1.0].max()) - float(ends[members].sum())
        for i, j in self.orders:
            total += self._in_pair(direction[i], direction[j], body, i, j) - float(ends[i] + ends[j])
        return total

    @staticmethod
    def _in_pair(a: float, b: float, body: Body, i: int, j: int) -> float:
        (lx, hx), (ly, hy) = (body.lo[i], body.hi[i]), (body.lo[j], body.hi[j])
        corners = [(x, y) for x in (lx, hx) for y in (ly, hy) if x <= y]
        corners += [(v, v) for v in (lx, hx, ly, hy) if max(lx, ly) <= v <= min(hx, hy)]
        return float(max(a * x + b * y for x, y in corners))

    def contains(self, body: Body, z: Floats) -> bool:
        """Whether a point satisfies the sides of a body (its groups and orders are those of all bodies)."""
        return bool(np.all((z >= body.lo) & (z <= body.hi) & ~(body.above & (z == body.lo))))

    def rounded(self, z: Floats, body: Body) -> Floats:
        """A possible point near another: whole numbers whole, one variable of every group 1."""
        near = np.where(self.whole, np.clip(np.round(z), body.lo, body.hi), np.clip(z, body.lo, body.hi))
        near = np.where(body.above & (near <= body.lo), np.nextafter(body.lo, np.inf), near)
        for members in self.groups:
            allowed = np.where(body.hi[members] == 1.0, z[members], -1.0)
            near[members] = 0.0
            near[members[int(np.argmax(allowed))]] = 1.0
        for i, j in self.orders:
            if near[i] > near[j]:
                near[j] = near[i] if near[i] <= body.hi[j] else near[j]
                near[i] = min(near[i], near[j])
        return near
