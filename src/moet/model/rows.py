"""What both estimators make of the arguments of ``fit``, so that weights, groups and seeds mean the same to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, check_random_state, check_X_y, column_or_1d
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from moet.model.dataframes import is_table
from moet.model.schema import Schema
from moet.model.table import Table
from moet.model.whole import refuse_lost_digits
from moet.model.words import features_of_rows

Floats = NDArray[np.float64]


def rows_to_fit(estimator: Any, X: Any, y: Any, **checks: Any) -> tuple[Floats, NDArray[Any], Schema | None]:
    """Features and targets that an estimator is fitted to, checked, and the schema if ``X`` is a DataFrame."""
    if is_table(X) and not all(map(_is_number, X.dtypes)):
        schema = Schema.of(X)
        validate_data(estimator, X, skip_check_array=True)
        return *check_X_y(schema.encode(X), y, dtype=np.float64, order="C", **checks), schema
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iu":
        for k, column in enumerate(X.T):
            refuse_lost_digits(str(k), column)
    features, y = validate_data(estimator, X, y, dtype=np.float64, order="C", **checks)
    return features, y, Schema.of(X) if is_table(X) and hasattr(estimator, "feature_names_in_") else None


def rows_to_answer(estimator: Any, X: Any) -> Floats:
    """Features of rows that a fitted estimator is asked about, checked as scikit-learn wants it."""
    check_is_fitted(estimator)
    schema = estimator.mixture_.schema
    if schema is not None and (rows := features_of_rows(X, schema)) is not None:
        return rows
    if is_table(X) and schema is not None:
        validate_data(estimator, X, skip_check_array=True, reset=False)
        encoded: Floats = schema.encode(X)
        return encoded
    return validate_data(estimator, X, dtype=np.float64, order="C", reset=False)


def _is_number(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "iuf"


def group_numbers(X: ArrayLike, groups: ArrayLike | None) -> NDArray[np.intp] | None:
    """Number of the group of every row of ``X``; None if there are none."""
    if groups is None:
        return None
    check_consistent_length(X, groups)
    return np.unique(column_or_1d(groups), return_inverse=True)[1]


def refuse_numbers(y: NDArray[Any]) -> None:
    """Complain about targets that are numbers with fractions, of which none is a class."""
    if type_of_target(y).startswith("continuous"):
        raise ValueError(
            "Unknown label type: continuous; the targets are numbers, and a MoETClassifier answers with labels: "
            "take a MoETRegressor"
        )


def refuse_labels(y: Any) -> None:
    """Complain about targets that are words, which are no numbers."""
    if y is None or np.asarray(y).dtype.kind not in "USO":
        return
    try:
        np.asarray(y).astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "the targets are labels, a MoETRegressor answers with numbers; take a MoETClassifier"
        ) from None


def refuse_no_weight(weight: NDArray[np.float64]) -> None:
    """Complain if there is no row to learn from."""
    if not weight.any():
        raise ValueError("all sample weights are zero: there is no row to learn from")


def in_units_of_mean_weight(table: Table) -> tuple[Table, float]:
    """The table with a mean weight of 1, and what it was: to multiply all weights changes nothing."""
    unit = float(table.weight.mean())
    return replace(table, weight=table.weight / unit), unit


def generator_of(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """Random numbers that follow from a ``random_state`` of scikit-learn."""
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
