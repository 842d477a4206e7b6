"""The flow of differential equations over a short time, in float64: what the checker will find, without its rounding.

On a *tube*, a box that no solution leaves, the equations are affine up to a rest. The affine part is solved by the
exponential of a matrix, the rest is bounded through that of its absolute values (conservative linearisation, [1]_).

References
----------
.. [1] M. Althoff, O. Stursberg, M. Buss. Reachability analysis of nonlinear systems with uncertain parameters using
   conservative linearization. CDC 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.verify.loops.flowpipe.forms import Unbounded

Floats = NDArray[np.float64]

_MOST_TUBES = 12
_MOST_TERMS = 60
_LARGEST_NORM = 15.0


class Slopes(NamedTuple):
    """Equations on a box: its middle, slopes, values in the middle, and how far they may be off."""

    middle: Floats
    radii: Floats
    rows: Floats
    values: Floats
    rests: Floats


class Points(NamedTuple):
    """A zonotope, columns being columns, and a box that is added to it."""

    middle: Floats
    columns: Floats
    box: Floats

    @property
    def radii(self) -> Floats:
        """How far every coordinate may be from its middle."""
        radii: Floats = np.abs(self.columns).sum(axis=1)
        radii[: len(self.box)] += self.box
        return radii


Linearise = Callable[[Floats, Floats], Slopes]
"""Slopes on the box between two corners."""


def tube(linearise: Linearise, points: Points, time: float) -> Slopes:
    """Slopes on a box that no solution leaves within a time."""
    low, high = points.middle - points.radii, points.middle + points.radii
    wide_low, wide_high = low, high
    for _ in range(_MOST_TUBES):
        slopes = linearise(wide_low, wide_high)
        d = len(slopes.values)
        radii = (wide_high - wide_low) / 2
        spread = np.abs(slopes.rows) @ radii + slopes.rests
        least = low[:d] + np.minimum(0, time * (slopes.values - spread))
        most = high[:d] + np.maximum(0, time * (slopes.values + spread))
        if np.all(wide_low[:d] <= least) and np.all(most <= wide_high[:d]):
            return slopes
        room = (most - least + high[:d] - low[:d]) / 32 + 1e-20
        wide_low = np.concatenate([least - room, low[d:]])
        wide_high = np.concatenate([most + room, high[d:]])
    raise Unbounded("the flow cannot be bounded between two samples")


def moved(points: Points, slopes: Slopes, time: float) -> tuple[Points, Floats, Floats]:
    """Where points are after a time, how far from the chord they may be on the way, and the matrix that moves them."""
    d, n = slopes.rows.shape
    system, forcing = time * slopes.rows, time * slopes.values
    square = system[:, :d]
    norm = float(np.abs(square).sum(axis=1).max())
    if norm > _LARGEST_NORM:
        raise Unbounded("the flow changes too fast between two samples")
    series = _series(square, np.concatenate([system, forcing[:, None]], axis=1), norm)
    away = points.middle - slopes.middle
    matrix = series[:, :n] + np.eye(d, n)
    rests = _absolute_series(np.abs(square), time * slopes.rests, norm)
    middle = np.concatenate([slopes.middle[:d] + matrix @ away + series[:, n], points.middle[d:]])
    columns = np.concatenate([matrix @ points.columns, points.columns[d:]])
    box = np.abs(matrix[:, :d]) @ points.box + rests

    first = np.abs(system @ away + forcing) + np.abs(system) @ points.radii
    second = np.abs(square) @ first
    grown = second + np.abs(square) @ _absolute_series(np.abs(square), second, norm)
    return Points(middle, columns, box), grown / 8 + rests, matrix


def _series(square: Floats, forcing: Floats, norm: float) -> Floats:
    """Σ square^(k-1)·forcing / k! for k from 1 on."""
    total = term = forcing
    for k in range(2, _MOST_TERMS):
        term = square @ term / k
        total = total + term
        if k >= 2 * norm and np.abs(term).max() <= 1e-22:
            break
    return total


def _absolute_series(absolute: Floats, vector: Floats, norm: float) -> Floats:
    """Σ absolute^k·vector / (k+1)! for k from 0 on."""
    total = term = vector
    for k in range(2, _MOST_TERMS):
        term = absolute @ term / k
        total = total + term
        if k + 1 >= 2 * norm and term.max() <= 1e-6 * vector.max():
            break
    return np.asarray(total + 2 * term.max())
