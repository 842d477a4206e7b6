"""Features as small integers, computed once and shared by all experts and epochs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import OPTIONS
from moet.model.table import Table

MAX_BINS = 255
"""Fewer (63) lose accuracy, more do not fit a byte."""


@dataclass(frozen=True)
class Bins:
    """The binned form of a table.

    Attributes
    ----------
    codes : array of uint8, shape (n, n_features)
        Bin of every value; bins are ordered as the values are.
    offset : array of int, shape (n_features + 1,)
        Where each feature's bins start in an array of all bins.
    value : array of float, shape (n_bins_of_all_features,)
        The value of each bin that holds a single distinct value.
    exact : array of bool, shape (n_features,)
        Whether all bins of the feature hold a single distinct value.
    """

    codes: NDArray[np.uint8]
    offset: NDArray[np.int32]
    value: NDArray[np.float64]
    exact: NDArray[np.bool_]

    def take(self, index: NDArray[np.intp]) -> Bins:
        """Return the bins of some of the rows."""
        return Bins(self.codes[index], self.offset, self.value, self.exact)


def bin_table(table: Table, max_bins: int = MAX_BINS) -> Bins:
    """Give every distinct value its own bin, or, where there are too many, cut at weighted quantiles."""
    n_features = table.X.shape[1]
    codes = np.empty((len(table), n_features), dtype=np.uint8)
    values = []
    exact = np.empty(n_features, dtype=bool)
    for k in range(n_features):
        column = table.X[table.rows, k]
        distinct, last = _last_value_of_bins(column, table.weight, max_bins)
        exact[k] = len(distinct) == len(last)
        values.append(last)
        _write_codes(column, last, codes, k)
    offset = np.cumsum([0] + [len(last) for last in values]).astype(np.int32)
    return Bins(codes, offset, np.concatenate(values), exact)


def _last_value_of_bins(
    column: NDArray[np.float64], weight: NDArray[np.float64], max_bins: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distinct values, and the largest value of each bin."""
    order = np.argsort(column)
    ordered = column[order]
    ends = np.append(np.flatnonzero(ordered[1:] > ordered[:-1]), len(ordered) - 1)
    distinct = ordered[ends]
    if len(distinct) <= max_bins:
        return distinct, distinct
    mass = np.cumsum(weight[order])[ends]
    targets = mass[-1] * np.arange(1, max_bins) / max_bins
    cuts = np.unique(np.searchsorted(mass, targets))
    return distinct, distinct[np.append(cuts[cuts < len(distinct) - 1], len(distinct) - 1)]


@njit(**OPTIONS)
def _write_codes(column: Any, last: Any, codes: Any, k: int) -> None:
    """Write column ``k`` of ``codes``: the first bin whose largest value is not below the row's value."""
    for i in range(len(column)):
        low = 0
        high = len(last) - 1
        while low < high:
            middle = (low + high) // 2
            if column[i] <= last[middle]:
                high = middle
            else:
                low = middle + 1
        codes[i, k] = low
