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
    _fit(
        design, target, weight, order, np.append(0, ends), prior, ridge, *bounds, laws,
        np.empty((2, n_moments(width, n_outputs))), np.empty((width, width)),
    )  # fmt: skip
    return laws


@njit(**INTERNAL, **FAST)
def law_at(law: Any, z: Any) -> float:
    """Value of one law at one row."""
    value = 0.0
    for a in range(len(z)):
        value += law[a] * z[a]
    return value


@njit(**INTERNAL)
def _is_met(u: float, value: float, o: int, near_low: Any, near_high: Any) -> bool:
    """Whether a target is on a bound with the prediction beyond it."""
    return (u >= near_high[o] and value > u) or (u <= near_low[o] and value < u)


@njit(**INTERNAL, **FAST)
def _set_law(moments: Any, o: int, prior: Any, ridge: float, factor: Any, law: Any) -> None:
    """Solve for one output's law; ``factor`` is that of the same moments."""
    width = len(law)
    begin = width * (width + 1) // 2 + o * width
    for a in range(width):
        law[a] = moments[begin + a] + (ridge if a < width - 1 else FREE * (1.0 + ridge)) * prior[a]
    solve(factor, law)


@njit(**INTERNAL, **FAST)
def _count_met(
    design: Any, target: Any, order: Any, start: int, end: int, o: int, law: Any, near_low: Any, near_high: Any
) -> Any:
    met = np.int64(0)
    for s in range(start, end):
        i = order[s]
        met += _is_met(target[i, o], law_at(law, design[i]), o, near_low, near_high)
    return met


@njit(**INTERNAL, **FAST)
def _add_up(
    design: Any, target: Any, weight: Any, order: Any, start: int, end: int, o: int, law: Any, near_low: Any,
    near_high: Any, moments: Any,
) -> None:  # fmt: skip
    """Write the moments of the rows that ``law`` does not meet in output ``o``, of all rows if it is -1."""
    total, row = moments[0], moments[1]
    for t in range(len(total)):
        total[t] = 0.0
    for s in range(start, end):
        i = order[s]
        if o >= 0 and _is_met(target[i, o], law_at(law, design[i]), o, near_low, near_high):
            continue
        write_moments(design[i], target[i], weight[i], row)
        for t in range(len(total)):
            total[t] += row[t]


@njit(**BORROWING, **FAST)
def _fit(
    design: Any, target: Any, weight: Any, order: Any, ends: Any, prior: Any, ridge: float, low: Any, high: Any,
    near_low: Any, near_high: Any, laws: Any, moments: Any, factor: Any,
) -> None:  # fmt: skip
    everyone = np.int64(-1)
    for leaf in range(len(laws)):
        start, end, law = ends[leaf], ends[leaf + 1], laws[leaf]
        if start == end:
            continue
        _add_up(design, target, weight, order, start, end, everyone, law[0], near_low, near_high, moments)
        factorise(moments[0], ridge, factor)
        for o in range(target.shape[1]):
            _set_law(moments[0], o, prior[o], ridge, factor, law[o])
        for o in range(target.shape[1]):
            n_met = np.int64(0)
            for _ in range(ROUNDS):
                met = _count_met(design, target, order, start, end, o, law[o], near_low, near_high)
                if met == n_met:
                    break
                n_met = met
                _add_up(design, target, weight, order, start, end, o, law[o], near_low, near_high, moments)
                factorise(moments[0], ridge, factor)
                _set_law(moments[0], o, prior[o], ridge, factor, law[o])
