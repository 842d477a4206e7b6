"""A few steps of L-BFGS on the likelihood of the mixture, compiled together with it.

By default the gate climbs some fifty times per fit, on few parameters and often on few rows: an optimiser called from
Python would cost several times as much as the objective itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from moet.jit import OPTIONS
from moet.model.gate import mixture_objective

MEMORY = 10
"""Pairs of steps and changes of gradient that L-BFGS remembers."""

FLAT = 1e-7
"""Climbing ends where the gradient is shorter than this."""


@njit(**OPTIONS)
def _penalised(total: float, slopes: Any, theta: Any, scale: float, l2: float) -> Any:
    """Mean log-likelihood less the ridge penalty, and its gradient, from the sum over rows and its gradient."""
    value = total / scale
    gradient = np.empty(theta.shape)
    for j in range(theta.shape[0]):
        for k in range(theta.shape[1]):
            value -= 0.5 * l2 * theta[j, k] * theta[j, k]
            gradient[j, k] = slopes[j, k] / scale - l2 * theta[j, k]
    return value, gradient


@njit(**OPTIONS)
def _same_singles(a: Any, b: Any) -> bool:
    """Whether two sets of parameters are the same in float32, in which the objective takes them."""
    for j in range(a.shape[0]):
        for k in range(a.shape[1]):
            if np.float32(a[j, k]) != np.float32(b[j, k]):
                return False
    return True


@njit(**OPTIONS)
def _dot(a: Any, b: Any) -> float:
    total = 0.0
    for j in range(a.shape[0]):
        for k in range(a.shape[1]):
            total += a[j, k] * b[j, k]
    return total


@njit(**OPTIONS)
def _set(out: Any, a: Any, factor: float, b: Any) -> None:
    """Write ``a + factor · b`` into ``out``."""
    for j in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[j, k] = a[j, k] + factor * b[j, k]


@njit(**OPTIONS)
def _direct(direction: Any, moves: Any, bends: Any, inverse: Any, n_known: int) -> None:
    """Turn a gradient into the direction that the last moves, and the changes of gradient along them, suggest."""
    share = np.empty(MEMORY)
    n_kept = min(n_known, MEMORY)
    for back in range(n_kept):
        m = (n_known - 1 - back) % MEMORY
        share[m] = inverse[m] * _dot(moves[m], direction)
        _set(direction, direction, -share[m], bends[m])
    if n_known > 0:
        m = (n_known - 1) % MEMORY
        length = 1.0 / (inverse[m] * _dot(bends[m], bends[m]))
    else:
        length = 1.0 / max(1.0, np.sqrt(_dot(direction, direction)))
    _set(direction, direction, length - 1.0, direction)
    for back in range(n_kept - 1, -1, -1):
        m = (n_known - 1 - back) % MEMORY
        _set(direction, direction, share[m] - inverse[m] * _dot(bends[m], direction), moves[m])


@njit(**OPTIONS)
def climb(blocks: Any, weight: Any, theta: Any, likelihood: Any, scale: float, l2: float, steps: int) -> Any:
    """Take up to ``steps`` steps of L-BFGS from ``theta`` on Σ w log Σ_j g_j P_j.

    The sum is divided by ``scale`` and penalised by ``l2/2 · |theta|²``. A step is halved until it gains at least a
    thousandth of what its slope promises; the walk ends where that fails or the gradient vanishes.
    """
    n_experts, width = theta.shape
    moves = np.empty((MEMORY, n_experts, width))
    bends = np.empty((MEMORY, n_experts, width))
    inverse = np.empty(MEMORY)
    direction = np.zeros((n_experts, width))
    point = np.empty((n_experts, width))
    following = np.empty((n_experts, width))
    _set(point, theta, 0.0, theta)
    n_known = 0
    total, slopes = mixture_objective(blocks, weight, point, likelihood)
    value, gradient = _penalised(total, slopes, point, scale, l2)
    for _ in range(steps):
        if _dot(gradient, gradient) < FLAT * FLAT:
            break
        _set(direction, gradient, 0.0, gradient)
        _direct(direction, moves, bends, inverse, n_known)
        slope = _dot(gradient, direction)
        length = 2.0
        climbed = False
        halvings = 0
        while slope > 0.0 and not climbed and halvings < 12:
            length /= 2.0
            halvings += 1
            _set(following, point, length, direction)
            new_total, new_slopes = total, slopes
            if not _same_singles(following, point):
                new_total, new_slopes = mixture_objective(blocks, weight, following, likelihood)
            new_value, new_gradient = _penalised(new_total, new_slopes, following, scale, l2)
            climbed = new_value >= value + 1e-3 * length * slope
        if not climbed:
            break
        m = n_known % MEMORY
        _set(moves[m], following, -1.0, point)
        _set(bends[m], gradient, -1.0, new_gradient)
        _set(point, following, 0.0, following)
        curvature = _dot(moves[m], bends[m])
        if curvature > 1e-10 * _dot(bends[m], bends[m]):
            inverse[m] = 1.0 / curvature
            n_known += 1
        total, slopes = new_total, new_slopes
        value, gradient = new_value, new_gradient
    return point
