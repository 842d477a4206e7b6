"""The size of a mixture of laws, found for a table: the smallest that does about as well as the best."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.model.base import Prediction
from moet.model.regression.regressor import MoETRegressor
from moet.model.sizes import POINTS, Tried, held_out_parts, smallest_within, stalled
from moet.progress import progress_bar

LAWS = ((1, 0), (2, 0), (4, 0), (4, 1), (8, 1), (8, 2), (8, 3))
"""Experts and depth: one affine law first, which is often enough."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ChosenLaws:
    """The outcome of :func:`choose_laws`: a fitted regressor, what was tried, which was taken, and the tolerance."""

    regressor: MoETRegressor
    front: tuple[Tried, ...]
    taken: int
    tolerance: float


def choose_laws(
    X: Any,
    y: Floats,
    *,
    prediction: Prediction = "hard",
    budget: float | None = None,
    seed: int = 0,
    verbose: int = 0,
) -> ChosenLaws:
    """Fit the smallest mixture of laws whose R² on held-out rows is within a tolerance of the best.

    The tolerance is half a point, or one standard error of the best if that is more.

    Parameters
    ----------
    X : DataFrame or array of shape (n_rows, n_features)
    y : array of shape (n_rows,)
    prediction : {"hard", "soft"}
    budget : float, optional
        Minutes after which no other size is tried. What comes out then depends on how fast the machine is.
    seed : int
        Seed of everything random.
    verbose : int
        1 shows a progress bar on stderr.

    Examples
    --------
    >>> import numpy as np
    >>> from moet.model.regression.sizes import choose_laws
    >>> x = np.linspace(-1, 1, 300)[:, None]
    >>> found = choose_laws(x, np.abs(x[:, 0]))
    >>> found.front[found.taken].name
    'E2-D0'
    """
    deadline = float("inf") if budget is None else time.monotonic() + 60 * budget
    rows = X.to_numpy(dtype=np.float64) if hasattr(X, "to_numpy") else np.asarray(X, dtype=np.float64)
    parts = list(held_out_parts(len(y), np.random.default_rng(seed)))
    tried: list[Tried] = []
    tolerance = 0.0
    with progress_bar("trying sizes", len(LAWS), shown=verbose > 0) as advance:
        for experts, depth in LAWS:
            tried.append(_tried(_student(experts, depth, prediction, seed), rows, y, parts))
            advance(f"{tried[-1].name}: R² {tried[-1].score:.4f}")
            tolerance = max(POINTS, max(tried, key=lambda one: one.score).error)
            if tried[-1].score > 1 - POINTS or stalled(tried, tolerance) or time.monotonic() > deadline:
                break
    taken = smallest_within(tried, tolerance)
    student = _student(tried[taken].experts, tried[taken].depth, prediction, seed)
    return ChosenLaws(student.fit(X, y), tuple(tried), taken, tolerance)


def _student(experts: int, depth: int, prediction: Prediction, seed: int) -> MoETRegressor:
    return MoETRegressor(experts, depth, prediction=prediction, random_state=seed)


def _tried(student: MoETRegressor, X: Floats, y: Floats, parts: list[NDArray[np.int64]]) -> Tried:
    from sklearn.base import clone

    missed, leaves = [], []
    for held_out in parts:
        kept = np.ones(len(y), dtype=bool)
        kept[held_out] = len(held_out) == len(y)
        fitted = clone(student).fit(X[kept], y[kept])
        missed.append((fitted.predict(X[held_out]) - y[held_out]) ** 2)
        leaves.append(fitted.mixture_.size.leaves)
    errors = np.concatenate(missed) / (float(np.var(y)) or 1.0)
    error = float(errors.std() / np.sqrt(len(errors)))
    return Tried(student.n_experts, student.max_depth or 0, int(np.ceil(np.mean(leaves))), 1 - errors.mean(), error)
