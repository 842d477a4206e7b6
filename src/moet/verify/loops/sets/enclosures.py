"""Affine enclosures of one step, for growing boxes of states; each is computed when it is needed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.verify.limits import Deadline, Stopped
from moet.verify.systems.description import float_above
from moet.verify.systems.system import System

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_GROWTH = 1.25
_WORTH_CUTTING = 0.8
"""The box is cut into pieces if halving it makes the residuals smaller by this factor."""


class Enclosure(NamedTuple):
    """An affine over-approximation of one step on a box of states: x' is matrix·x plus something from low to high.

    The box is cut into pieces, the intervals between ``edges`` of one variable; ``low`` and ``high`` have one row per
    piece and action. They cover nonlinearity, rounding and the disturbance.
    """

    bottom: Floats
    top: Floats
    matrix: Floats
    variable: int
    edges: Floats
    low: Floats
    high: Floats


class Enclosures:
    """A refinements of boxes around where runs were seen, each with its enclosure, up to the limits of the system.

    A small box has a tight enclosure, but proofs with it must show that no state leaves the box; so a proof uses the
    smallest box that will do. Every variable has a level of its own: were all of them to grow for the sake of one, that
    one would in turn have to grow for their sake. The boxes are cut into pieces along ``cut_along`` or, by default,
    along the variable for which that is best.
    """

    def __init__(
        self,
        system: System,
        seen_low: Floats,
        seen_high: Floats,
        n_pieces: int,
        within_safe: bool = True,
        cut_along: int | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        self.system = system
        self._deadline = deadline
        self.least, self.most = limits_of(system, within_safe)
        self._n_pieces = n_pieces
        self._middle = (seen_low + seen_high) / 2
        self._half = (seen_high - seen_low) * 0.6 + 1e-6
        self._known: dict[tuple[int, ...], Enclosure] = {}
        self._cut_along = cut_along

    def around(self, low: Floats, high: Floats) -> Enclosure | None:
        """Enclosure on the smallest box of the refinements that holds another one; None if that leaves the limits."""
        if not (np.all(self.least <= low) and np.all(high <= self.most)):
            return None
        levels = tuple(self._level(k, low[k], high[k]) for k in range(len(low)))
        if levels not in self._known:
            self._known[levels] = self._enclosed(*self._box(np.array(levels)))
        return self._known[levels]

    def _level(self, k: int, low: float, high: float) -> int:
        """Smallest level at which variable k has room enough."""
        level = 0
        while True:
            bottom, top = self._box(np.full(len(self._half), level))
            if bottom[k] <= low and high <= top[k]:
                return level
            level += 1

    def _box(self, levels: Ints) -> tuple[Floats, Floats]:
        half = self._half * _GROWTH**levels
        return np.maximum(self._middle - half, self.least), np.minimum(self._middle + half, self.most)

    def _enclosed(self, low: Floats, high: Floats) -> Enclosure:
        matrix = self.system.fitted_matrix(low, high)
        if not self._known and self._n_pieces > 1 and self._cut_along is None:
            self._cut_along = best_variable(self.system, matrix, low, high, self._deadline)
        variable, n_pieces = (0, 1) if self._cut_along is None else (self._cut_along, self._n_pieces)
        edges = np.linspace(low[variable], high[variable], n_pieces + 1)
        residual_low, residual_high = residuals(self.system, matrix, *_cut(low, high, variable, edges), self._deadline)
        return Enclosure(low, high, matrix, variable, edges, residual_low, residual_high)


def residuals(
    system: System, matrix: Floats, lows: Floats, highs: Floats, deadline: Deadline | None = None
) -> tuple[Floats, Floats]:
    """What a step adds to matrix·x on each of several boxes; raises Stopped if that has no bound, or time is up."""
    least, most = system.residuals(matrix, lows, highs, deadline)
    if not (np.all(np.isfinite(least)) and np.all(np.isfinite(most))):
        raise Stopped(
            "the equations have no value that can be bounded on all states that runs may come to: they may divide by "
            "zero, take the root of a negative number, or grow beyond the range of float64"
        )
    return least, most


def linearised(system: System, low: Floats, high: Floats, deadline: Deadline | None = None) -> tuple[Floats, Floats]:
    """Matrix of a step on a box, and what each action adds to it in the middle."""
    matrix = system.fitted_matrix(low, high)
    (least,), (most,) = residuals(system, matrix, low[None], high[None], deadline)
    return matrix, least / 2 + most / 2


def best_variable(
    system: System, matrix: Floats, low: Floats, high: Floats, deadline: Deadline | None = None
) -> int | None:
    """Variable that a box is best cut along; None if that hardly helps."""
    halves = [_cut(low, high, k, np.linspace(low[k], high[k], 3)) for k in range(len(low))]
    lows, highs = (np.concatenate(sides) for sides in zip((low[None], high[None]), *halves, strict=True))
    least, most = residuals(system, matrix, lows, highs, deadline)
    widths = (most - least).sum(axis=(1, 2))
    means = widths[1:].reshape(-1, 2).mean(axis=1)
    best = int(np.argmin(means))
    return best if means[best] < _WORTH_CUTTING * widths[0] else None


def limits_of(system: System, within_safe: bool = True) -> tuple[Floats, Floats]:
    """Box that (safe) states in the domain of a system cannot leave; infinite where there is no limit.

    Bounds are rounded inward, so that a proof with floats is a proof of the exact limits.
    """
    low, high = np.full(system.n_states, -np.inf), np.full(system.n_states, np.inf)
    for k, side in enumerate(system.domain):
        if side is not None:
            low[k], high[k] = float_above(side[0]), -float_above(-side[1])
    for half in system.safe if within_safe else ():
        used = [k for k, coefficient in enumerate(half.coefficients) if coefficient]
        if len(used) == 1:
            k = used[0]
            bound = half.bound / half.coefficients[k]
            if half.coefficients[k] > 0:
                high[k] = min(high[k], -float_above(-bound))
            else:
                low[k] = max(low[k], float_above(bound))
    return low, high


def _cut(low: Floats, high: Floats, variable: int, edges: Floats) -> tuple[Floats, Floats]:
    """The box cut along one variable, as rows."""
    lows, highs = np.tile(low, (len(edges) - 1, 1)), np.tile(high, (len(edges) - 1, 1))
    lows[:, variable], highs[:, variable] = edges[:-1], edges[1:]
    return lows, highs
