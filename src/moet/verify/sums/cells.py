"""Possible rows as boxes of cells: between two neighbouring thresholds of a feature no tree tells numbers apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moet.verify.rows.space import Space

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Box = NDArray[np.int32]


class Cells:
    """The variables of a space that some tree tests, each cut into cells by the thresholds within its sides.

    Cell 0 of a variable is ``z <= cuts[0]``, cell j is ``cuts[j-1] < z <= cuts[j]``, the last one is beyond all cuts.
    Thresholds of whole numbers are rounded down.

    Parameters
    ----------
    cuts : sequence of array of float
        Thresholds of every feature, in order.
    space : Space
        Of one row, or of two.

    Attributes
    ----------
    variables : array of int
        Those that are tested, as the space numbers them.
    cuts : list of array of float
        Thresholds of each of them.
    variable_of : list of array of int
        For every row, which of these a feature is; -1 if its value decides no test.
    """

    def __init__(self, cuts: Sequence[Floats], space: Space) -> None:
        self.space = space
        self._placed: tuple[Floats, Ints] | None = None
        low, high = space.body.lo, space.body.hi
        inside = []
        features = np.empty(space.n, dtype=np.int64)
        for own in reversed(space.maps):
            features[own] = np.arange(len(own))
        for k in range(space.n):
            own = cuts[features[k]]
            own = np.unique(np.floor(own)) if space.whole[k] else own
            inside.append(own[np.searchsorted(own, low[k]) : np.searchsorted(own, high[k])])
        self.variables = np.array([k for k in range(space.n) if len(inside[k])], dtype=np.int64)
        self.cuts = [inside[k] for k in self.variables]
        number = np.full(space.n, -1, dtype=np.int64)
        number[self.variables] = np.arange(len(self.variables))
        self.variable_of = [number[own] for own in space.maps]
        self.low, self.high, self.whole = low, high, space.whole

    @property
    def n(self) -> int:
        """Number of variables that are tested."""
        return len(self.variables)

    @cached_property
    def last(self) -> NDArray[np.int32]:
        """Last cell of every variable."""
        return np.array([len(own) for own in self.cuts], dtype=np.int32)

    def groups(self) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """Tested members of every group (starts and members), and whether a category without a test is possible."""
        tested = set(self.variables.tolist())
        number = {int(k): i for i, k in enumerate(self.variables)}
        starts, members, spare = [0], [], []
        for group in self.space.groups:
            own = [number[int(k)] for k in group if int(k) in tested]
            if not own:
                continue
            members += own
            starts.append(len(members))
            spare.append(any(int(k) not in tested and self.high[k] == 1.0 for k in group))
        return np.array(starts), np.array(members, dtype=np.int64), np.array(spare, dtype=bool)

    def group_of(self) -> Ints:
        """Group of every variable, -1 for none."""
        starts, members, _ = self.groups()
        found = np.full(self.n, -1, dtype=np.int64)
        found[members] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return found

    def orders(self) -> Ints:
        """For every variable, one that is not above it and one that is not below it, or -1."""
        number = {int(k): i for i, k in enumerate(self.variables)}
        order = np.full((self.n, 2), -1, dtype=np.int64)
        for i, j in self.space.orders:
            if i in number:
                order[number[j], 0] = number[i]
                order[number[i], 1] = number[j]
        return order

    @cached_property
    def start(self) -> Ints:
        """Where the cells of every variable begin, if all stand one after another; and where the last ones end."""
        return np.cumsum([0, *(self.last.astype(np.int64) + 1)])

    @cached_property
    def owner(self) -> Ints:
        """Which feature of the space each cell is of, all cells one after another."""
        return np.repeat(self.variables, self.last + 1)

    @cached_property
    def bottom(self) -> Floats:
        """Where every cell begins: a cut, which is not in it, or the least whole number of it."""
        pairs = zip(self.cuts, self.variables, strict=True)
        parts = [np.concatenate([[self.low[k]], own + 1.0 if self.whole[k] else own]) for own, k in pairs]
        return np.concatenate([*parts, np.empty(0)])

    @cached_property
    def least(self) -> Floats:
        """Least float64 number of every cell."""
        is_open = ~self.whole[self.owner]
        is_open[self.start[:-1]] = False
        return np.where(is_open, np.nextafter(self.bottom, np.inf), self.bottom)

    @cached_property
    def top(self) -> Floats:
        """Largest number of every cell."""
        pairs = zip(self.cuts, self.variables, strict=True)
        return np.concatenate([*(np.append(own, self.high[k]) for own, k in pairs), np.empty(0)])

    def places(self, z: Floats) -> Box:
        """The cell of every variable at a point."""
        is_above = z[self.owner] > self.top
        is_above[self.start[1:] - 1] = False  # the last cell has no cut above it
        counts = np.concatenate([[0], np.cumsum(is_above)])[self.start]
        return np.diff(counts).astype(np.int32)

    def all_places(self, Z: Floats) -> Ints:
        """The cell of every variable (rows) at many points (columns); those of the last points are kept."""
        if self._placed is None or self._placed[0] is not Z:
            pairs = zip(self.cuts, self.variables, strict=True)
            self._placed = Z, np.array([np.searchsorted(own, Z[:, k]) for own, k in pairs])
        return self._placed[1]

    def point(self, lo: Box, hi: Box, near: Floats) -> Floats:
        """A possible point of a box of cells: near another one, where there is a choice."""
        z = np.clip(near, self.low, self.high)
        first = self.start[:-1]
        z[self.variables] = np.minimum(np.maximum(near[self.variables], self.least[first + lo]), self.top[first + hi])
        for group in self.space.groups:
            z[group] = self._category(group, lo, hi, near)
        for i, j in self.space.orders:
            if z[i] > z[j]:  # both may be what the greater of their least values is
                z[i] = z[j] = max(self._least(i, lo), self._least(j, lo))
        return z

    def _least(self, variable: int, lo: Box) -> float:
        places = np.flatnonzero(self.variables == variable)
        if not len(places):
            return float(self.low[variable])
        return float(self.least[self.start[places[0]] + lo[places[0]]])

    def _category(self, group: Ints, lo: Box, hi: Box, near: Floats) -> Floats:
        """The category that is near, if it is possible, or the first one that is."""
        number = {int(k): i for i, k in enumerate(self.variables)}
        forced = [k for k in group if int(k) in number and lo[number[int(k)]] == 1]
        possible = [k for k in group if (hi[number[int(k)]] == 1 if int(k) in number else self.high[k] == 1.0)]
        own = [k for k in possible if near[k] == 1.0]
        chosen = (forced or own or possible)[0]
        return (group == chosen).astype(np.float64)
