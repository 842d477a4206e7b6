"""``moet fit`` of a column of numbers: laws instead of labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from moet.cli.fitted import Fitted, Rows, Wanted
from moet.model.digits import EXACT, rounded
from moet.model.regression.digits import short_laws
from moet.model.regression.regressor import MoETRegressor
from moet.model.regression.sizes import choose_laws

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from moet.model.regression.mixture import RegressionMixture

FEW_EACH, MANY = 20, 30
"""Whole numbers are taken for numbers, not labels, if they are many and each of them stands in few rows."""


def holds_numbers(column: pd.Series) -> bool:
    """Whether a column to learn is one of numbers: it has fractions, or many different values."""
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return False
    values = column.dropna().to_numpy(dtype=np.float64)
    distinct = len(np.unique(values))
    return bool(np.any(values != np.round(values))) or (distinct > MANY and len(values) < FEW_EACH * distinct)


def fitted_to_numbers(rows: Rows, target: str, wanted: Wanted) -> Fitted:
    """Fit laws to a column of numbers."""
    X, y = rows.to_fit
    chosen = None
    if wanted.finds_size:
        chosen = choose_laws(X, y, prediction=wanted.prediction, budget=wanted.budget, seed=wanted.seed, verbose=1)
        regressor = chosen.estimator
    else:
        size = wanted.size_or(2, 1)
        regressor = MoETRegressor(*size, prediction=wanted.prediction, random_state=wanted.seed).fit(X, y)
    mixture = _finished(regressor.mixture_, target, X.to_numpy(), wanted.digits)
    mixture = replace(mixture, schema=rows.schema)
    answers = mixture.predict(rows.X.to_numpy())[:, 0]
    return Fitted(
        mixture,
        "R²",
        "r2",
        lambda some: r_squared(rows.y[some], answers[some]),
        chosen,
        {"outputs": list(mixture.outputs), "numbers": mixture.n_numbers},
        {"numbers": f"{mixture.n_numbers} in its laws, tests and gate"},
    )


def r_squared(y: NDArray[Any], answers: NDArray[Any]) -> float:
    """Share of the variance that answers explain; 0 of targets that never change."""
    spread = float(np.sum((y - y.mean()) ** 2))
    return 1 - float(np.sum((y - answers) ** 2)) / spread if spread else 0.0


def _finished(mixture: RegressionMixture, target: str, X: NDArray[Any], digits: int | None) -> RegressionMixture:
    """The model that is saved: its output named, pruned, and if it is hard, with short numbers where that is free."""
    if digits is not None and digits < EXACT:
        short = rounded(mixture, digits)
    elif digits is None and mixture.prediction == "hard":
        short = short_laws(mixture, X, 0.0)
    else:
        short = mixture.prune()
    return replace(short, outputs=(target,), provenance={"made_by": "moet fit"})
