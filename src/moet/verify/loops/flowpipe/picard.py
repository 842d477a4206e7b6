"""The flow of differential equations over a short time, as polynomials in time, in float64.

By Picard: where a polynomial give or take a remainder, integrated, is the same give or take no more than that, there
solutions are (Taylor models, linear in the first states, [1]_).

References
----------
.. [1] K. Makino, M. Berz. Suppression of the wrapping effect by Taylor model-based verified integrators. 2004.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from moet.verify.loops.flowpipe.curves import FUNCTIONS, Curve, constant
from moet.verify.loops.flowpipe.forms import Unbounded
from moet.verify.loops.flowpipe.integrate import Points
from moet.verify.loops.flowpipe.series import Rates, solution
from moet.verify.systems.equations import Algebra

Floats = NDArray[np.float64]

DEGREE = 8
"""Powers of time up to this one."""

_MOST_TRIES = 12


def curved(rates: Rates, points: Points, time: float) -> tuple[Points, Floats, Floats]:
    """Where points are after a time, how far from the chord they may be on the way, and the matrix that moves them."""
    d, radii = len(points.box), points.radii
    paths = solution(rates, points.middle, np.eye(len(radii)), d, time, DEGREE)
    rests = _remainders(rates, points.middle, paths, radii, time)
    matrix = paths[:, :, 1:].sum(axis=1)
    middle = np.concatenate([paths[:, :, 0].sum(axis=1), points.middle[d:]])
    columns = np.concatenate([matrix @ points.columns, points.columns[d:]])
    sizes = np.abs(paths[:, :, 0]) + np.abs(paths[:, :, 1:]) @ radii
    bend = sizes[:, 2] / 4 + sizes[:, 3:].sum(axis=1) + rests
    return Points(middle, columns, np.abs(matrix[:, :d]) @ points.box + rests), bend, matrix


def last_powers(rates: Rates, points: Points, time: float) -> Floats:
    """The highest power of time on the way from the middle of a set, for each state."""
    paths = solution(rates, points.middle, np.zeros((len(points.middle), 0)), len(points.box), time, DEGREE)
    return np.asarray(np.abs(paths[:, -2:, 0]).max(axis=1))


def _remainders(rates: Rates, middle: Floats, paths: Floats, radii: Floats, time: float) -> Floats:
    """How far solutions may be from the paths."""
    d = len(paths)

    def between(center: Fraction | float, radius: float = 0.0) -> Curve:
        return constant(float(center), radius, DEGREE, radii)

    held = [between(value) for value in middle[d:]]
    for k, curve in enumerate(held, start=d):
        curve.terms[0, 1 + k] = 1.0
    algebra = Algebra(between, FUNCTIONS | {"between": between})
    rests, powers = np.zeros(d), np.arange(1, DEGREE + 2)[:, None]
    for _ in range(_MOST_TRIES):
        moving = [Curve(path, float(rest), radii) for path, rest in zip(paths, rests, strict=True)]
        found = rates([*moving, *held], algebra)
        off = time * np.array([rate.terms for rate in found]) / powers
        off[:, :-1] -= paths[:, 1:]
        off = np.abs(off).sum(axis=1)
        needed = off[:, 0] + off[:, 1:] @ radii + time * np.array([rate.radius for rate in found])
        if np.all(needed <= rests):
            return np.asarray(needed)
        rests = 1.125 * needed + 1e-22
    raise Unbounded("the flow cannot be bounded between two samples")
