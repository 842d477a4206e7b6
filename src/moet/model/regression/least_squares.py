"""Compiled linear algebra of affine laws: moments of rows, and ridge regression from them.

The moments of some rows are packed in one vector: the lower triangle of Σ w z zᵀ, then Σ w u_o z for each output. With
them a law costs one Cholesky factorisation, however many rows there are; moments of two sets of rows are added.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from moet.jit import INTERNAL

FREE = 1e-9
"""Ridge of the intercept, relative to that of the slopes: it is free, but never divides zero by zero."""

# training agrees with itself only, so the compiler may fuse and reorder
FAST: dict[str, Any] = {"fastmath": {"contract", "reassoc"}}


def n_moments(width: int, n_outputs: int) -> int:
    """Length of a vector of moments of rows with ``width`` numbers, the constant 1 (last) among them."""
    return width * (width + 1) // 2 + width * n_outputs


@njit(**INTERNAL, **FAST)
def write_moments(z: Any, u: Any, weight: float, out: Any) -> None:
    """Write the moments of one row."""
    t = 0
    for a in range(len(z)):
        scaled = weight * z[a]
        for b in range(a + 1):
            out[t] = scaled * z[b]
            t += 1
    for o in range(len(u)):
        scaled = weight * u[o]
        for a in range(len(z)):
            out[t] = scaled * z[a]
            t += 1


@njit(**INTERNAL, **FAST)
def factorise(moments: Any, ridge: float, factor: Any) -> None:
    """Write the Cholesky factor of the Gram matrix plus ridge; a direction without rows keeps a law's prior."""
    width = len(factor)
    t = 0
    for a in range(width):
        for b in range(a + 1):
            entry = moments[t]
            if a == b:
                entry += ridge if a < width - 1 else FREE * (1.0 + ridge)
                least = 1e-12 * moments[t] + 1e-300
            for c in range(b):
                entry -= factor[a, c] * factor[b, c]
            if a == b:
                factor[a, a] = np.sqrt(entry if entry > least else least)
            else:
                factor[a, b] = entry / factor[b, b]
            t += 1


@njit(**INTERNAL, **FAST)
def explained(moments: Any, ridge: float, n_outputs: int, factor: Any, work: Any) -> float:
    """How much of Σ w u² the best laws explain, less their ridge; ``factor`` and ``work`` are scratch space."""
    factorise(moments, ridge, factor)
    width = len(factor)
    t = width * (width + 1) // 2
    total = 0.0
    for _ in range(n_outputs):
        for a in range(width):
            entry = moments[t]
            for c in range(a):
                entry -= factor[a, c] * work[c]
            work[a] = entry / factor[a, a]
            total += work[a] * work[a]
            t += 1
    return total


@njit(**INTERNAL, **FAST)
def solve(factor: Any, law: Any) -> None:
    """Replace the right-hand side in ``law`` by the solution."""
    width = len(factor)
    for a in range(width):
        for c in range(a):
            law[a] -= factor[a, c] * law[c]
        law[a] /= factor[a, a]
    for a in range(width - 1, -1, -1):
        for c in range(a + 1, width):
            law[a] -= factor[c, a] * law[c]
        law[a] /= factor[a, a]
