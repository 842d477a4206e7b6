"""What both estimators make of the arguments of ``fit``, so that weights, groups and seeds mean the same to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d

from moet.model.table import Table


def group_numbers(X: ArrayLike, groups: ArrayLike | None) -> NDArray[np.intp] | None:
    """Number of the group of every row of ``X``; None if there are none."""
    if groups is None:
        return None
    check_consistent_length(X, groups)
    return np.unique(column_or_1d(groups), return_inverse=True)[1]


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
