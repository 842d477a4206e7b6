"""The basis of the simplex: d constraints that meet in a point, its inverse, and the swap of one of them.

A basis has ``i >= 0`` for a row, ``-1 - 2k`` for x_k <= high_k and ``-2 - 2k`` for −x_k <= −low_k. Its inverse stands
in the first rows of ``work``.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from moet.jit import BORROWING, INLINED

LEAST_PIVOT = 1e-9


@njit(**INLINED)
def start_at_corner(objective: Any, low: Any, high: Any, basis: Any, dual: Any, x: Any, work: Any) -> None:
    """Begin at the corner of the box that the objective points to."""
    d = len(objective)
    for k in range(d):
        for i in range(d):
            work[k, i] = 0.0
        up = objective[k] >= 0.0
        basis[k] = -1 - 2 * k if up else -2 - 2 * k
        dual[k] = abs(objective[k])
        work[k, k] = 1.0 if up else -1.0
        x[k] = high[k] if up else low[k]
    basis[d] = -1
    dual[d] = 0.0


@njit(**BORROWING)
def _invert(matrix: Any, inverse: Any) -> bool:
    """Gauss-Jordan with partial pivoting; ``matrix`` is destroyed. False if it is singular."""
    d = len(matrix)
    for i in range(d):
        for k in range(d):
            inverse[i, k] = 1.0 if i == k else 0.0
    for k in range(d):
        best = k
        for i in range(k + 1, d):
            if abs(matrix[i, k]) > abs(matrix[best, k]):
                best = i
        pivot = matrix[best, k]
        if abs(pivot) < LEAST_PIVOT:
            return False
        for j in range(d):  # one after the other: best may be k
            upper, matrix[best, j] = matrix[best, j] / pivot, matrix[k, j]
            matrix[k, j] = upper
            upper, inverse[best, j] = inverse[best, j] / pivot, inverse[k, j]
            inverse[k, j] = upper
        for i in range(d):
            factor = matrix[i, k]
            if i != k and factor != 0.0:
                for j in range(d):
                    matrix[i, j] -= factor * matrix[k, j]
                    inverse[i, j] -= factor * inverse[k, j]
    return True


@njit(**BORROWING)
def _side(code: int) -> Any:
    """Variable and sign of the side of the box that a negative entry of a basis stands for."""
    k = (-1 - code) // 2
    return k, 1.0 if -1 - code == 2 * k else -1.0


@njit(**BORROWING)
def factor(
    objective: Any, rows: Any, limits: Any, low: Any, high: Any, basis: Any, dual: Any, x: Any, work: Any
) -> bool:
    """Compute inverse, point and multipliers of a basis afresh. False if it is singular or its multipliers negative."""
    d = len(objective)
    matrix, inverse = work[d : 2 * d, :d], work[:d, :d]
    for i in range(d):
        for k in range(d):
            matrix[i, k] = 0.0
        if basis[i] >= 0:
            for k in range(d):
                matrix[i, k] = rows[k, basis[i]]
        else:
            k, sign = _side(basis[i])
            matrix[i, k] = sign
    if not _invert(matrix, inverse):
        return False
    for k in range(d):
        x[k] = 0.0
        dual[k] = 0.0
    for i in range(d):
        if basis[i] >= 0:
            limit = limits[basis[i]]
        else:
            k, sign = _side(basis[i])
            limit = high[k] if sign > 0.0 else -low[k]
        for k in range(d):
            x[k] += inverse[k, i] * limit
            dual[i] += objective[k] * inverse[k, i]
        if dual[i] < 0.0:
            if dual[i] < -LEAST_PIVOT:
                return False
            dual[i] = 0.0
    return True


@njit(**INLINED)
def combination(entering: int, rows: Any, work: Any, mu: Any) -> None:
    """Write a constraint as a combination ``mu`` of those in the basis, whose inverse is in ``work``."""
    d = len(rows)
    for i in range(d):
        if entering >= 0:
            total = 0.0
            for k in range(d):
                total += work[k, i] * rows[k, entering]
            mu[i] = total
        else:
            k, sign = _side(entering)
            mu[i] = sign * work[k, i]


@njit(**INLINED)
def step(leaving: int, ratio: float, worst: float, dual: Any, x: Any, mu: Any, work: Any) -> None:
    """Move to the point of the new basis: update multipliers, point and inverse."""
    d = len(x)
    for i in range(d):
        dual[i] = max(0.0, dual[i] - ratio * mu[i])
    dual[leaving] = ratio
    length = worst / mu[leaving]
    for k in range(d):
        x[k] -= length * work[k, leaving]
        share = work[k, leaving] / mu[leaving]
        for i in range(d):
            work[k, i] -= share * mu[i]
        work[k, leaving] = share
