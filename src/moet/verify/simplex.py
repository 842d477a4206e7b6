"""A small dual simplex for linear programs with few variables and up to some hundred rows.

It solves max c·x over {A x <= b, low <= x <= high}. The box makes the start trivial (the corner that c points to), and
the bound only ever falls, so a question "can c·x exceed t here?" is answered as soon as the bound is below t. A basis
is d constraints that meet in a point; one step swaps one of them for the most violated constraint.

Whatever is claimed is first confirmed with the original numbers: multipliers y >= 0 of the rows give

    c·x <= y·b + max {(c − yA)·z : z in the box}    for every x in the polytope,

whatever y is, so errors of the floating-point basis weaken a claim but cannot make it wrong (beyond the rounding of
this one formula, some 1e-15 of its terms: callers leave a margin). An iteration limit is never a claim.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from moet.jit import BORROWING, INLINED
from moet.verify.simplex_basis import LEAST_PIVOT, combination, factor, start_at_corner, step

OPTIMAL = 0
"""The bound is attained at the returned point."""
BELOW = 1
"""The bound is below what was asked for; the search for the optimum ended early."""
EMPTY = 2
"""The polytope has no point: the multipliers combine its constraints to 0 <= (a negative number)."""
UNSURE = 3
"""Nothing is claimed: iteration limit or lost precision."""

TOLERANCE = 1e-11
"""A constraint counts as satisfied up to this. Rows should be scaled so that a·x ranges over about 1 in the box."""

_REFACTOR = 24
_STALL = 30
_ITERATIONS = 400
_CONTRADICTION = -1e-12


@njit(**BORROWING)
def proven_bound(objective: Any, rows: Any, limits: Any, low: Any, high: Any, basis: Any, dual: Any) -> float:
    """Upper bound of objective·x that the multipliers ``dual`` of the constraints ``basis`` prove.

    Sides of the box (negative entries of ``basis``) are not looked at: whatever the rows leave over is bounded by the
    box anyway.
    """
    bound = 0.0
    for i in range(len(basis)):
        if basis[i] >= 0:
            bound += dual[i] * limits[basis[i]]
    for k in range(len(objective)):
        rest = objective[k]
        for i in range(len(basis)):
            if basis[i] >= 0:
                rest -= dual[i] * rows[k, basis[i]]
        bound += rest * high[k] if rest > 0.0 else rest * low[k]
    return bound


@njit(**INLINED)
def _rank(code: int, n_rows: int) -> int:
    return code if code >= 0 else n_rows - code


@njit(**INLINED)
def _entering(rows: Any, limits: Any, n_rows: int, low: Any, high: Any, x: Any, excess: Any, careful: bool) -> Any:
    """Most violated constraint (if careful, the first one), and by how much; by ``TOLERANCE`` if there is none."""
    d = len(x)
    for i in range(n_rows):
        excess[i] = -limits[i]
    for k in range(d):
        xk = x[k]
        for i in range(n_rows):
            excess[i] += rows[k, i] * xk
    entering = 0
    worst = TOLERANCE
    for i in range(n_rows):
        if excess[i] > worst:
            worst = excess[i]
            entering = i
            if careful:
                break
    if worst == TOLERANCE or not careful:
        for k in range(d):
            if x[k] - high[k] > worst:
                worst = x[k] - high[k]
                entering = -1 - 2 * k
            if low[k] - x[k] > worst:
                worst = low[k] - x[k]
                entering = -2 - 2 * k
    return entering, worst


@njit(**INLINED)
def _leaving(n_rows: int, basis: Any, dual: Any, mu: Any, careful: bool) -> Any:
    """Place in the basis that keeps all multipliers from becoming negative, or -1; and the multiplier that comes in."""
    leaving = -1
    ratio = np.inf
    for i in range(len(basis) - 1):
        if mu[i] > LEAST_PIVOT:
            candidate = dual[i] / mu[i]
            tie = leaving >= 0 and abs(candidate - ratio) <= 1e-12 * ratio
            if tie:
                better = _rank(basis[i], n_rows) < _rank(basis[leaving], n_rows) if careful else mu[i] > mu[leaving]
            else:
                better = candidate < ratio
            if better:
                ratio = candidate
                leaving = i
    return leaving, ratio


@njit(**INLINED)
def _contradiction(entering: int, rows: Any, limits: Any, low: Any, high: Any, basis: Any, dual: Any, mu: Any) -> float:
    """Combine a constraint that nothing can make way for with those that stand in its way to 0 <= bound."""
    d = len(low)
    basis[d] = entering
    dual[d] = 1.0
    for i in range(d):
        dual[i] = max(0.0, -mu[i])
        mu[i] = 0.0
    return proven_bound(mu[:d], rows, limits, low, high, basis, dual)


class Room(NamedTuple):
    """Where :func:`maximise` writes what it finds, and scratch space.

    Attributes
    ----------
    basis : array of int, shape (d + 1,)
        Constraints: ``i >= 0`` is a row, ``-1 - 2k`` is x_k <= high_k and ``-2 - 2k`` is −x_k <= −low_k.
    dual : array of float, shape (d + 1,)
        Their multipliers (>= 0). They combine the constraints to objective·x <= bound (OPTIMAL, BELOW), or to
        0 <= bound < 0 (EMPTY).
    x : array of float, shape (d,)
        The point.
    work : array of float, shape (2 d + 2, max(d, capacity))
        Scratch space.
    """

    basis: NDArray[np.int64]
    dual: NDArray[np.float64]
    x: NDArray[np.float64]
    work: NDArray[np.float64]


@njit(**BORROWING)
def maximise(
    objective: Any, rows: Any, limits: Any, n_rows: int, low: Any, high: Any, enough: float, room: Room
) -> Any:  # fmt: skip
    """Maximise objective·x over the first ``n_rows`` rows and the box, or until the bound is below ``enough``.

    Parameters
    ----------
    objective, low, high : float64 (d,)
        The box must be finite.
    rows : float64 (d, capacity)
        One constraint per **column**, so that the compiler vectorises across constraints.
    limits : float64 (capacity,)
    enough : float
        ``-inf`` to solve to the end.
    room : Room
        Results and scratch space.

    Returns
    -------
    status : int
        OPTIMAL, BELOW, EMPTY or UNSURE.
    bound : float
        Upper bound of the objective proven by ``basis`` and ``dual``; +inf if UNSURE.
    """
    d = len(objective)
    basis, dual, x, work = room
    mu, excess = work[2 * d], work[2 * d + 1]
    start_at_corner(objective, low, high, basis, dual, x, work)
    age = 0  # steps since the inverse was computed afresh
    stalled = 0
    last = np.inf
    for _ in range(_ITERATIONS):
        if age >= _REFACTOR:
            if not factor(objective, rows, limits, low, high, basis, dual, x, work):
                return UNSURE, np.inf
            age = 0
        value = 0.0
        for k in range(d):
            value += objective[k] * x[k]
        if value < enough:
            bound = proven_bound(objective, rows, limits, low, high, basis, dual)
            if bound < enough:
                return BELOW, bound
        stalled = 0 if value < last - 1e-13 else stalled + 1
        last = min(last, value)
        careful = stalled > _STALL  # Bland's rule: no cycles, but slow
        entering, worst = _entering(rows, limits, n_rows, low, high, x, excess, careful)
        if worst == TOLERANCE:
            bound = proven_bound(objective, rows, limits, low, high, basis, dual)
            if age == 0 or bound <= value + 1e-10 * (1.0 + abs(value)):
                return OPTIMAL, bound
            age = _REFACTOR
            continue
        combination(entering, rows, work, mu)
        leaving, ratio = _leaving(n_rows, basis, dual, mu, careful)
        if leaving < 0:
            bound = _contradiction(entering, rows, limits, low, high, basis, dual, mu)
            if bound < _CONTRADICTION:
                return EMPTY, bound
            if age == 0:
                return UNSURE, np.inf
            basis[d] = -1
            dual[d] = 0.0
            age = _REFACTOR
            continue
        basis[leaving] = entering
        step(leaving, ratio, worst, dual, x, mu, work)
        age += 1
    return UNSURE, np.inf


class Solution(NamedTuple):
    """What :func:`solve` found.

    Attributes
    ----------
    status : int
        OPTIMAL, BELOW, EMPTY or UNSURE.
    bound : float
        Proven upper bound of the objective; a negative number if EMPTY, +inf if UNSURE.
    x : array of float
        Where the bound is attained (OPTIMAL only).
    rows, multipliers : array
        Rows with a positive multiplier; together with the box they prove the bound.
    """

    status: int
    bound: float
    x: NDArray[np.float64]
    rows: NDArray[np.int64]
    multipliers: NDArray[np.float64]


def solve(
    objective: ArrayLike, A: ArrayLike, b: ArrayLike, low: ArrayLike, high: ArrayLike, enough: float = -np.inf
) -> Solution:
    """Maximise objective·x over {A x <= b, low <= x <= high}; scales the problem and calls :func:`maximise`.

    Numbers so large or so small that scaling them overflows make it UNSURE.

    Parameters
    ----------
    objective, low, high : array of float, shape (d,)
        The box must be finite.
    A : array of float, shape (n_rows, d)
    b : array of float, shape (n_rows,)
    enough : float
        Stop as soon as the maximum is proven to be below this.
    """
    low, high = np.asarray(low, float), np.asarray(high, float)
    c, A, b = np.asarray(objective, float), np.asarray(A, float).reshape(-1, len(low)), np.asarray(b, float)
    d, m = len(low), len(b)
    with np.errstate(over="ignore", invalid="ignore"):
        middle, radius = (low + high) / 2, (high - low) / 2
        scale = np.abs(A) @ radius
        scale[scale == 0.0] = 1.0
        weight = float(np.abs(c) @ radius) or 1.0
        rows = np.zeros((d, max(m, 1)))
        rows[:, :m] = (A * radius / scale[:, None]).T
        limits = np.zeros(max(m, 1))
        limits[:m] = (b - A @ middle) / scale
        offset = float(c @ middle)
    if not (np.all(np.isfinite(rows)) and np.all(np.isfinite(limits)) and math.isfinite(weight + offset)):
        return Solution(UNSURE, np.inf, middle, np.empty(0, np.int64), np.empty(0))
    basis, dual, y = np.empty(d + 1, np.int64), np.empty(d + 1), np.empty(d)
    room = Room(basis, dual, y, np.empty((2 * d + 2, max(m, d))))
    one = np.ones(d)
    status, bound = maximise(c * radius / weight, rows, limits, m, -one, one, (enough - offset) / weight, room)
    used = (basis >= 0) & (dual > 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        multipliers = dual[used] / scale[basis[used]] * (1.0 if status == EMPTY else weight)
        x, bound = middle + radius * y, bound if status == EMPTY else bound * weight + offset
    if not (np.all(np.isfinite(multipliers)) and np.all(np.isfinite(x))):
        return Solution(UNSURE, np.inf, middle, np.empty(0, np.int64), np.empty(0))
    return Solution(status, bound, x, basis[used], multipliers)
