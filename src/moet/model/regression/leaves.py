"""The laws of the leaves: weighted ridge regression in which a bound that is reached counts as met.

An output is clipped, so beyond a bound a law is free: a row whose target is on a bound pulls a law only while its
prediction is inside. Leaving those rows out of the sums, fitting again and looking again is Newton's method on the sum
of the squared errors that remain, and takes few rounds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import BORROWING, INTERNAL
from moet.model.regression.least_squares import FAST, FREE, factorise, n_moments, solve, write_moments

Floats = NDArray[np.float64]

ROUNDS = 6
"""Most rounds of looking for the rows beyond their bounds."""

NEAR = 0.005
"""A target within this share of an output's range is on the bound: squashed teachers never quite reach it."""


class Bounds(NamedTuple):
    """Bounds of every output, and from where on a target is on them; in the units of the targets."""

    low: Floats
    high: Floats
    near_low: Floats
    near_high: Floats

    @classmethod
    def of(cls, low: Floats, high: Floats) -> Bounds:
        """Measure what is near; nothing is where a bound is infinite."""
        with np.errstate(invalid="ignore", over="ignore"):
            margin = NEAR * (high - low)
        margin = np.where(np.isfinite(margin), margin, 0.0)
        return cls(low, high, low + margin, high - margin)


def fit_laws(
    design: Floats,
    target: Floats,
    weight: Floats,
    leaf: NDArray[np.int32],
    prior: Floats,
    ridge: float,
    bounds: Bounds,
    n_leaves: int,
) -> Floats:
    """Fit the law of every leaf, shape (n_leaves, n_outputs, width); ``leaf`` says where each row belongs.

    Parameters
    ----------
    design : array of float, shape (n, width)
        Rows as a law sees them, the constant 1 last.
    target, weight : array of float, shapes (n, n_outputs) and (n,)
    leaf : array of int, shape (n,)
    prior : array of float, shape (n_outputs, width)
        Law that a leaf without rows has, and that others are drawn to.
    ridge : float
        How many rows the prior weighs.
    bounds : Bounds
    n_leaves : int
    """
    n_outputs, width = target.shape[1], design.shape[1]
    laws = np.tile(prior, (n_leaves, 1, 1))
    order = np.argsort(leaf, kind="stable").astype(np.int32)
    ends = np.searchsorted(leaf[order], np.arange(n_leaves), side="right")
    space = _Space(order, np.empty((2, n_moments(width, n_outputs))), np.empty((width, width)))
    _fit(_Rows(design, target, weight), bounds, np.append(0, ends), prior, ridge, space, laws)
    return laws


class _Rows(NamedTuple):
    design: Floats
    target: Floats
    weight: Floats


class _Space(NamedTuple):
    """Rows in the order of the leaves, the moments of a leaf and of one row, and their factor."""

    order: NDArray[np.int32]
    moments: Floats
    factor: Floats


@njit(**INTERNAL, **FAST)
def law_at(law: Any, z: Any) -> float:
    """Value of one law at one row."""
    value = 0.0
    for a in range(len(z)):
        value += law[a] * z[a]
    return value


@njit(**INTERNAL)
def is_met(u: float, miss: float, o: int, bounds: Bounds) -> bool:
    """Whether target ``u`` is on a bound with the prediction, ``u + miss``, beyond it."""
    return (u >= bounds.near_high[o] and miss > 0.0) or (u <= bounds.near_low[o] and miss < 0.0)


@njit(**INTERNAL, **FAST)
def _set_law(moments: Any, o: int, prior: Any, ridge: float, factor: Any, law: Any) -> None:
    """Solve for one output's law; ``factor`` is that of the same moments."""
    width = len(law)
    begin = width * (width + 1) // 2 + o * width
    for a in range(width):
        law[a] = moments[begin + a] + (ridge if a < width - 1 else FREE * (1.0 + ridge)) * prior[a]
    solve(factor, law)


@njit(**INTERNAL, **FAST)
def _count_met(rows: _Rows, bounds: Bounds, order: Any, start: int, end: int, o: int, law: Any) -> Any:
    met = np.int64(0)
    for s in range(start, end):
        i = order[s]
        met += is_met(rows.target[i, o], law_at(law, rows.design[i]) - rows.target[i, o], o, bounds)
    return met


@njit(**INTERNAL, **FAST)
def _add_up(rows: _Rows, bounds: Bounds, space: _Space, start: int, end: int, o: int, law: Any) -> None:
    """Write the moments of the rows that ``law`` does not meet in output ``o``, of all rows if it is -1."""
    total, row = space.moments[0], space.moments[1]
    for t in range(len(total)):
        total[t] = 0.0
    for s in range(start, end):
        i = space.order[s]
        if o >= 0 and is_met(rows.target[i, o], law_at(law, rows.design[i]) - rows.target[i, o], o, bounds):
            continue
        write_moments(rows.design[i], rows.target[i], rows.weight[i], row)
        for t in range(len(total)):
            total[t] += row[t]


@njit(**BORROWING, **FAST)
def _fit(rows: _Rows, bounds: Bounds, ends: Any, prior: Any, ridge: float, space: _Space, laws: Any) -> None:
    """Write the law of every leaf; its rows stand in ``space.order`` from ``ends[leaf]`` on."""
    everyone = np.int64(-1)
    moments, factor = space.moments[0], space.factor
    for leaf in range(len(laws)):
        start, end, law = ends[leaf], ends[leaf + 1], laws[leaf]
        if start == end:
            continue
        _add_up(rows, bounds, space, start, end, everyone, law[0])
        factorise(moments, ridge, factor)
        for o in range(len(law)):
            _set_law(moments, o, prior[o], ridge, factor, law[o])
        for o in range(len(law)):
            n_met = np.int64(0)
            for _ in range(ROUNDS):
                met = _count_met(rows, bounds, space.order, start, end, o, law[o])
                if met == n_met:
                    break
                n_met = met
                _add_up(rows, bounds, space, start, end, o, law[o])
                factorise(moments, ridge, factor)
                _set_law(moments, o, prior[o], ridge, factor, law[o])
