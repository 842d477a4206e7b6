"""A few steps of L-BFGS on the likelihood of the mixture, compiled together with it.

By default the gate climbs some fifty times per fit, on few parameters and often on few rows: an optimiser called from
Python would cost several times as much as the objective itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import BORROWING, INTERNAL
from moet.model.gate import BLOCK, mixture_objective

MEMORY = 10
"""Pairs of steps and changes of gradient that L-BFGS remembers."""

FLAT = 1e-6
"""Climbing ends where the gradient is shorter than this."""

VISIBLE = 1e-12
"""The least promise of gain that is followed: less drowns in rounding, and a walk would go on halving its steps. Not to
be raised: where experts are nearly always right, long walks of tiny gains (1e-10) still move accuracy."""


class Scratch(NamedTuple):
    """Scratch memory of one walk.

    Attributes
    ----------
    known : array of float, shape (2 * MEMORY, n_experts, n_features + 1)
        The last moves, then the bends along them, which are changes of gradient.
    pairs : array of float, shape (2, MEMORY)
        Inverse curvature of each pair, and its share of a direction.
    places : array of float, shape (6, n_experts, n_features + 1)
        Direction, following point, and slopes and gradients at both points.
    work : array of float32, shape (n_experts + 2, BLOCK)
        For the objective.
    """

    known: NDArray[np.float64]
    pairs: NDArray[np.float64]
    places: NDArray[np.float64]
    work: NDArray[np.float32]


def maximize_likelihood(
    blocks: NDArray[np.float32],
    weight: NDArray[np.float64],
    theta: NDArray[np.float64],
    likelihood: NDArray[np.float32],
    scale: float,
    l2: float,
    steps: int,
) -> NDArray[np.float64]:
    """Take up to ``steps`` steps of L-BFGS from ``theta`` on Σ w log Σ_j g_j P_j.

    The sum is divided by ``scale`` and penalised by ``l2/2 · |theta|²``. A step is halved until it gains at least a
    thousandth of what its slope promises; the walk ends where that fails or no step promises a gain that can be seen.
    """
    point = theta.copy()
    scratch = Scratch(
        np.empty((2 * MEMORY, *theta.shape)),
        np.empty((2, MEMORY)),
        np.empty((6, *theta.shape)),
        np.empty((len(theta) + 2, BLOCK), dtype=np.float32),
    )
    _ascend(blocks, weight, point, likelihood, scale, l2, steps, scratch)
    return point


@njit(**INTERNAL)
def _penalise(total: float, slopes: Any, theta: Any, scale: float, l2: float, gradient: Any) -> float:
    """Mean log-likelihood less the ridge penalty, and its gradient, from the sum over rows and its gradient."""
    value = total / scale
    for j in range(theta.shape[0]):
        for k in range(theta.shape[1]):
            value -= 0.5 * l2 * theta[j, k] * theta[j, k]
            gradient[j, k] = slopes[j, k] / scale - l2 * theta[j, k]
    return value


@njit(**INTERNAL)
def _same_singles(a: Any, b: Any) -> bool:
    """Whether two sets of parameters are the same in float32, in which the objective takes them."""
    for j in range(a.shape[0]):
        for k in range(a.shape[1]):
            if np.float32(a[j, k]) != np.float32(b[j, k]):
                return False
    return True


@njit(**INTERNAL)
def _dot(a: Any, b: Any) -> float:
    total = 0.0
    for j in range(a.shape[0]):
        for k in range(a.shape[1]):
            total += a[j, k] * b[j, k]
    return total


@njit(**INTERNAL)
def _set(out: Any, a: Any, factor: float, b: Any) -> None:
    """Write ``a + factor · b`` into ``out``."""
    for j in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[j, k] = a[j, k] + factor * b[j, k]


@njit(**INTERNAL)
def _direct(direction: Any, known: Any, inverse: Any, share: Any, n_known: int) -> None:
    """Turn a gradient into the direction that the last moves, and the changes of gradient along them, suggest."""
    n_kept = n_known if n_known < MEMORY else MEMORY
    for back in range(n_kept):
        m = (n_known - 1 - back) % MEMORY
        share[m] = inverse[m] * _dot(known[m], direction)
        _set(direction, direction, -share[m], known[MEMORY + m])
    if n_known > 0:
        m = (n_known - 1) % MEMORY
        length = 1.0 / (inverse[m] * _dot(known[MEMORY + m], known[MEMORY + m]))
    else:
        norm = np.sqrt(_dot(direction, direction))
        length = 1.0 / norm if norm > 1.0 else 1.0
    _set(direction, direction, length - 1.0, direction)
    for back in range(n_kept - 1, -1, -1):
        m = (n_known - 1 - back) % MEMORY
        _set(direction, direction, share[m] - inverse[m] * _dot(known[MEMORY + m], direction), known[m])


@njit(**BORROWING)
def _ascend(
    blocks: Any, weight: Any, point: Any, likelihood: Any, scale: float, l2: float, steps: int, scratch: Scratch
) -> None:  # fmt: skip
    """Move ``point``."""
    known, places, work = scratch.known, scratch.places, scratch.work
    inverse, share = scratch.pairs[0], scratch.pairs[1]
    direction, following = places[0], places[1]
    slopes, new_slopes, gradient, new_gradient = places[2], places[3], places[4], places[5]
    n_known = np.int64(0)  # a literal 0 would have what is called with it compiled twice
    total = mixture_objective(blocks, weight, point, likelihood, slopes, work)
    value = _penalise(total, slopes, point, scale, l2, gradient)
    for _ in range(steps):
        if _dot(gradient, gradient) < FLAT * FLAT:
            break
        _set(direction, gradient, 0.0, gradient)
        _direct(direction, known, inverse, share, n_known)
        slope = _dot(gradient, direction)
        if n_known > 0 and slope < VISIBLE:  # the first step, whose length is a guess, may promise too little
            break
        length = 2.0
        climbed = False
        halvings = 0
        new_total = new_value = 0.0
        while slope > 0.0 and not climbed and (halvings == 0 or length * slope > VISIBLE) and halvings < 12:
            length /= 2.0
            halvings += 1
            _set(following, point, length, direction)
            if _same_singles(following, point):
                new_total = total
                _set(new_slopes, slopes, 0.0, slopes)
            else:
                new_total = mixture_objective(blocks, weight, following, likelihood, new_slopes, work)
            new_value = _penalise(new_total, new_slopes, following, scale, l2, new_gradient)
            climbed = new_value >= value + 1e-3 * length * slope
        if not climbed:
            break
        move, bend = known[n_known % MEMORY], known[MEMORY + n_known % MEMORY]
        _set(move, following, -1.0, point)
        _set(bend, gradient, -1.0, new_gradient)
        _set(point, following, 0.0, following)
        curvature = _dot(move, bend)
        if curvature > 1e-10 * _dot(bend, bend):
            inverse[n_known % MEMORY] = 1.0 / curvature
            n_known += 1
        total, value = new_total, new_value
        slopes, new_slopes = new_slopes, slopes
        gradient, new_gradient = new_gradient, gradient
