"""Features as small integers, computed once and shared by all experts and epochs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    crowd : int
        The most rows in any two bins of a feature that is not exact, or more.
    """

    codes: NDArray[np.uint8]
    offset: NDArray[np.int32]
    value: NDArray[np.float64]
    exact: NDArray[np.bool_]
    crowd: int

    def take(self, index: NDArray[np.intp]) -> Bins:
        """Return the bins of some of the rows, none of them twice."""
        return Bins(self.codes[index], self.offset, self.value, self.exact, min(self.crowd, len(index)))

    def columns(self, features: NDArray[np.intp]) -> Bins:
        """Return the bins of some of the features."""
        values = np.split(self.value, self.offset[1:-1])
        offset = np.cumsum([0] + [len(values[k]) for k in features]).astype(np.int32)
        value = np.concatenate([values[k] for k in features])
        return Bins(self.codes.take(features, axis=1), offset, value, self.exact[features], self.crowd)


def bin_table(table: Table, max_bins: int = MAX_BINS) -> Bins:
    """Give every distinct value its own bin, or, where there are too many, cut at weighted quantiles."""
    n_features = table.X.shape[1]
    codes = np.empty((len(table), n_features), dtype=np.uint8)
    values = []
    exact = np.empty(n_features, dtype=bool)
    crowd = 0
    for k in range(n_features):
        column = table.X[table.rows, k]
        order = np.argsort(column)
        ordered = column[order]
        ends = np.append(np.flatnonzero(ordered[1:] > ordered[:-1]) + 1, len(ordered))  # of equal values
        exact[k] = len(ends) <= max_bins
        if not exact[k]:
            ends = ends[_quantiles(np.cumsum(table.weight[order])[ends - 1], max_bins)]
        sizes = np.diff(ends, prepend=0)
        if not exact[k]:
            crowd = max(crowd, int(np.sort(sizes)[-2:].sum()))
        codes[order, k] = np.repeat(np.arange(len(ends), dtype=np.uint8), sizes)
        values.append(ordered[ends - 1])
    offset = np.cumsum([0] + [len(last) for last in values]).astype(np.int32)
    return Bins(codes, offset, np.concatenate(values), exact, crowd)


def no_bins(table: Table) -> Bins:
    """Bins of no feature, for trees that are leaves."""
    nothing = np.empty(0)
    return Bins(
        np.empty((len(table), 0), dtype=np.uint8), np.zeros(1, dtype=np.int32), nothing, nothing.astype(bool), 0
    )


def _quantiles(mass: NDArray[np.float64], n_bins: int) -> NDArray[np.intp]:
    """Where to cut a cumulated mass into up to ``n_bins`` parts of about the same size; the last cut is its end."""
    targets = mass[-1] * np.arange(1, n_bins) / n_bins
    cuts = np.unique(np.searchsorted(mass, targets))
    return np.append(cuts[cuts < len(mass) - 1], len(mass) - 1)
