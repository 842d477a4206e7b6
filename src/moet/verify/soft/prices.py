"""What it costs to bring a row into a body, for many bodies at once: what is cheap enough of it, and multipliers."""

from __future__ import annotations

import math

import numpy as np

from moet.verify.rows.costs import Costs
from moet.verify.rows.domain import Domain
from moet.verify.rows.space import Ints, Space
from moet.verify.soft.voters import Bodies, Bools, Floats

_WIDER = 1.0 + 1e-12
"""Sides that a cost sets are this much further away than it says, for the checker computes them without rounding."""


class Prices:
    """Costs of a question about one row, by column.

    Parameters
    ----------
    costs : Costs
    rows : Domain
    space : Space
    """

    def __init__(self, costs: Costs, rows: Domain, space: Space) -> None:
        self.costs, self._x, self._space = costs, costs.x, space
        self.counts = costs.kind == "columns"
        weights = [costs.weights[part.column.name] for part in rows.values]
        self._weight = np.array(weights)
        self._numbers = [c for c, part in enumerate(rows.values) if part.column.kind != "category"]
        self._categories = [c for c, part in enumerate(rows.values) if part.column.kind == "category"]
        self.features: list[Ints] = [np.array(part.features) for part in rows.values]
        self._own = [int(own[np.argmax(self._x[own])]) for own in self.features]
        self._k = np.array([self._own[c] for c in self._numbers], dtype=np.int64)
        self._price = self._weight[self._numbers]

    def room(self, limit: float) -> float:
        """What rows of cost below a limit cost at most."""
        return math.ceil(limit) - 1.0 if self.counts else limit

    def least(self, bodies: Bodies) -> Floats:
        """Least cost of each column in each body."""
        found = np.zeros((len(bodies.lo), len(self._weight)))
        lo, hi, x = bodies.lo[:, self._k], bodies.hi[:, self._k], self._x[self._k]
        if self.counts:
            found[:, self._numbers] = np.where(self._may_stay(bodies), 0.0, self._price)
        else:
            found[:, self._numbers] = self._price * np.maximum(np.maximum(lo - x, x - hi), 0.0)
        for c in self._categories:
            found[:, c] = np.where(bodies.hi[:, self._own[c]] == 1.0, 0.0, self._weight[c])
        return np.where(bodies.changed, self._weight, found)

    def _may_stay(self, bodies: Bodies) -> Bools:
        """Whether each column of numbers may be as it was."""
        lo, hi, above, x = bodies.lo[:, self._k], bodies.hi[:, self._k], bodies.above[:, self._k], self._x[self._k]
        stays: Bools = (x >= lo) & (x <= hi) & ~(above & (x == lo))
        return stays

    def shrunk(self, bodies: Bodies, limit: float) -> tuple[Bodies, Bools]:
        """What may cost less than a limit, every column for itself; and whether anything does."""
        least = self.least(bodies)
        room = limit - least.sum(axis=1)
        lo, hi, above = bodies.lo.copy(), bodies.hi.copy(), bodies.above.copy()
        left = room[:, None] + least  # of each column, the others being as cheap as they can be
        if self.counts:
            fixed = (left[:, self._numbers] <= self._price) & self._may_stay(bodies)
            for n, k in enumerate(self._k):
                lo[fixed[:, n], k] = hi[fixed[:, n], k] = self._x[k]
                above[fixed[:, n], k] = False
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.where(self._price > 0.0, left[:, self._numbers] / self._price * _WIDER + 1e-300, np.inf)
            bottom, top = self._x[self._k] - step, self._x[self._k] + step
            whole = self._space.whole[self._k]
            bottom, top = np.where(whole, np.ceil(bottom), bottom), np.where(whole, np.floor(top), top)
            above[:, self._k] &= bottom <= lo[:, self._k]
            lo[:, self._k], hi[:, self._k] = np.maximum(lo[:, self._k], bottom), np.minimum(hi[:, self._k], top)
        for c in self._categories:
            own, k = self.features[c], self._own[c]
            stays = (bodies.hi[:, k] == 1.0) & ~bodies.changed[:, c] & (left[:, c] <= self._weight[c])
            hi[np.ix_(stays, own)] = lo[np.ix_(stays, own)] = 0.0
            hi[stays, k] = lo[stays, k] = 1.0
        return bodies._replace(lo=lo, hi=hi, above=above), (room > 0.0) & np.all(lo <= hi, axis=1)

    def most(self, direction: Floats, bodies: Bodies, limit: float) -> tuple[Floats, Floats]:
        """Least upper bound of direction·z where z costs less than a limit, and the multiplier of the cost it takes."""
        base, gain, charge = self._parts(direction, bodies)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where((gain > 0.0) & (charge > 0.0), gain / charge, 0.0)
        mantissa, exponent = np.frexp(np.where(np.isfinite(ratio), ratio, 0.0))
        short = np.ldexp(np.round(np.ldexp(mantissa, 20)), exponent - 20)
        factor = np.hstack([np.zeros((len(base), 1)), short])
        left = np.maximum(gain[:, None, :] - factor[:, :, None] * charge[:, None, :], 0.0).sum(axis=2)
        spare = self.room(limit) - self.least(bodies).sum(axis=1)
        bounds = base.sum(axis=1)[:, None] + left + factor * spare[:, None]
        best = bounds.argmin(axis=1)
        rows = np.arange(len(best))
        return bounds[rows, best], factor[rows, best]

    def ends(self, directions: Floats, bodies: Bodies, limit: float) -> tuple[Floats, Floats, Floats]:
        """Least and largest values of linear functions, some per body, where rows cost less; and the multipliers."""
        n, n_directions, width = directions.shape
        repeated = bodies.take(np.repeat(np.arange(n), n_directions))
        flat = directions.reshape(-1, width)
        (most, up), (less, down) = self.most(flat, repeated, limit), self.most(-flat, repeated, limit)
        shape = n, n_directions
        return -less.reshape(shape), most.reshape(shape), np.hstack([down.reshape(shape), up.reshape(shape)])

    def _parts(self, direction: Floats, bodies: Bodies) -> tuple[Floats, Floats, Floats]:
        """By column: direction·z where the row is cheapest, how much more there may be, and what that costs."""
        base, gain, charge = (np.zeros((len(bodies.lo), len(self._weight))) for _ in range(3))
        v, lo, hi, x = direction[:, self._k], bodies.lo[:, self._k], bodies.hi[:, self._k], self._x[self._k]
        n = self._numbers
        if self.counts:
            most, stays = np.maximum(v * lo, v * hi), self._may_stay(bodies) & ~bodies.changed[:, n]
            base[:, n] = np.where(stays, v * x, most)
            gain[:, n] = np.where(stays, most - v * x, 0.0)
            charge[:, n] = self._price
        else:
            near, far = np.clip(x, lo, hi), np.where(v > 0.0, hi, lo)
            base[:, n], gain[:, n] = v * near, v * (far - near)
            charge[:, n] = self._price * np.abs(far - near)
        for c in self._categories:
            own, k = self.features[c], self._own[c]
            most = np.where(bodies.hi[:, own] == 1.0, direction[:, own], -np.inf).max(axis=1)
            stays = (bodies.hi[:, k] == 1.0) & ~bodies.changed[:, c]
            base[:, c] = np.where(stays, direction[:, k], most)
            gain[:, c] = most - base[:, c]
            charge[:, c] = self._weight[c]
        return base, gain, charge

    def points(self, direction: Floats, bodies: Bodies, limit: float) -> list[Floats]:
        """Points of one body: the cheapest, and where a linear function is large for what it costs."""
        _, gain, charge = (part[0] for part in self._parts(direction[None, :], bodies))
        lo, hi, v = bodies.lo[0], bodies.hi[0], direction
        near = np.clip(self._x, lo, hi)
        far = np.where(v > 0.0, hi, lo)
        for c in self._categories:
            own, k = self.features[c], self._own[c]
            best = own[np.argmax(np.where(hi[own] == 1.0, v[own], -np.inf))]
            far[own] = own == best
            near[own] = own == (k if hi[k] == 1.0 else best)
        spare = limit * (1.0 - 1e-9) - float(self.least(bodies).sum())
        point = near.copy()
        for c in np.argsort(-gain / np.maximum(charge, 1e-300)).tolist():
            if gain[c] <= 0.0 or (charge[c] > spare and (spare <= 0.0 or self.counts or c in self._categories)):
                continue
            share = 1.0 if charge[c] <= spare else spare / charge[c]
            own = self.features[c]
            point[own] = near[own] + share * (far[own] - near[own])
            spare -= share * charge[c]
        return [near, point]

    def undecided(self, direction: Floats, bodies: Bodies) -> Floats:
        """If columns are counted: how much each that may stay or not, and is not decided, matters."""
        _, gain, _ = self._parts(direction, bodies)
        found: Floats = np.where(bodies.changed, -1.0, gain)
        return found
