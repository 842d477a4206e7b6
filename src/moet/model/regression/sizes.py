"""The size of a mixture of laws, found for a table: the smallest that does about as well as the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from moet.model.base import Prediction
from moet.model.regression.regressor import MoETRegressor
from moet.model.sizes import POINTS, Chosen, Contest, Tried

LAWS = ((1, 0), (2, 0), (4, 0), (4, 1), (8, 1), (8, 2), (8, 3))
"""Experts and depth: one affine law first, which is often enough."""

Floats = NDArray[np.float64]


def choose_laws(
    X: Any,
    y: Floats,
    *,
    prediction: Prediction = "hard",
    budget: float | None = None,
    seed: int = 0,
    verbose: int = 0,
) -> Chosen[MoETRegressor]:
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
    rows = X.to_numpy(dtype=np.float64) if hasattr(X, "to_numpy") else np.asarray(X, dtype=np.float64)
    contest = Contest[MoETRegressor](
        judge=lambda student, parts: _tried(student, rows, y, parts),
        what="R²",
        enough=1 - POINTS,
        tolerance=lambda best: max(POINTS, best.error),
    )
    students = [MoETRegressor(*size, prediction=prediction, random_state=seed) for size in LAWS]
    return contest.run(students, X, y, budget=budget, seed=seed, verbose=verbose)


def _tried(student: MoETRegressor, X: Floats, y: Floats, parts: Sequence[NDArray[np.int64]]) -> Tried:
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
