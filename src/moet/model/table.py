"""Training rows in a canonical form that makes "weight" and "repetition" the same thing.

Equal (x, y) rows become one row whose weight is the sum of theirs, and rows are ordered by a hash of their content.
Training therefore sees exactly the same arrays whether a row is repeated or weighted and whatever the order of the
table, and a split of the *distinct* rows can never put a copy of a training row into validation. ``X`` itself is never
copied: rows are indices into it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Table:
    """Distinct labelled rows and their weights.

    Attributes
    ----------
    X : array of float, shape (n_original, n_features)
        The user's table, read-only.
    rows : array of int, shape (n,)
        Where each distinct row stands in ``X``.
    y : array of int, shape (n,)
        Class index of each distinct row.
    weight : array of float, shape (n,)
        Total weight of each distinct row, all positive.
    group : array of int, shape (n,), or None
        Which rows belong together (an episode, a patient) and must not be split between training and validation.
    n_classes : int
    """

    X: NDArray[np.float64]
    rows: NDArray[np.int32]
    y: NDArray[np.int32]
    weight: NDArray[np.float64]
    group: NDArray[np.intp] | None
    n_classes: int

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def class_shares(self) -> NDArray[np.float64]:
        """Weighted share of every class."""
        shares = np.bincount(self.y, weights=self.weight, minlength=self.n_classes)
        return shares / shares.sum()

    def take(self, index: NDArray[np.intp]) -> Table:
        """Return the table of some of the rows."""
        group = None if self.group is None else self.group[index]
        return Table(self.X, self.rows[index], self.y[index], self.weight[index], group, self.n_classes)


def canonical_table(
    X: NDArray[np.float64],
    y: NDArray[np.int32],
    weight: NDArray[np.float64],
    n_classes: int,
    group: NDArray[np.intp] | None = None,
) -> Table:
    """Merge equal rows of positive weight and put them in an order that depends on their content alone.

    A row that occurs in several groups goes to the first of them, whatever the order of the rows.
    """
    X = X.view()
    X.flags.writeable = False
    rows = np.flatnonzero(weight > 0).astype(np.int32)
    hashes = _row_hashes(X, y, rows)
    rows = rows[_stable_order(hashes)]
    starts = _starts_of_runs(X, y, rows)
    first = rows[starts]
    weights = np.add.reduceat(weight[rows], starts)
    groups = None if group is None else np.minimum.reduceat(group[rows], starts)
    return Table(X, first, y[first], weights, groups, n_classes)


def split(table: Table, fraction: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose about ``fraction`` of the distinct rows for validation: of every class, or whole groups."""
    chosen = np.zeros(len(table), dtype=bool)
    if table.group is not None:
        return np.isin(table.group, _small_groups(table.group, fraction * len(table), rng))
    for label in range(table.n_classes):
        rows = np.flatnonzero(table.y == label)
        chosen[rng.permutation(rows)[: int(fraction * len(rows))]] = True
    return chosen


def _small_groups(group: NDArray[np.intp], n_rows: float, rng: np.random.Generator) -> list[int]:
    """Random groups of together at most ``n_rows`` rows, or the smallest one if none is so small; never all of them."""
    names, sizes = np.unique(group, return_counts=True)
    if len(names) == 1 or n_rows < 1:
        return []
    chosen: list[int] = []
    for g in rng.permutation(len(names)):
        if sizes[g] <= n_rows:
            chosen.append(int(names[g]))
            n_rows -= sizes[g]
    return chosen or [int(names[sizes.argmin()])]


def _row_hashes(X: NDArray[np.float64], y: NDArray[np.int32], rows: NDArray[np.int32]) -> NDArray[np.uint64]:
    hashes = _mix(y[rows].astype(np.uint64))
    for k in range(X.shape[1]):
        column = X[rows, k] + 0.0  # turns -0.0 into 0.0, an equal number with other bits
        hashes = _mix(hashes ^ column.view(np.uint64))
    return hashes


def _mix(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64: every bit of the input moves every bit of the output, also of numbers that differ in few bits."""
    h = h + np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def _stable_order(hashes: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Indices that sort the hashes, equal ones in the order of their rows."""
    order = np.argsort(hashes)
    ordered = hashes[order]
    # keeping the order of equals takes several times as long, and tables of measured numbers have none
    return np.argsort(hashes, kind="stable") if (ordered[1:] == ordered[:-1]).any() else order


def _starts_of_runs(X: NDArray[np.float64], y: NDArray[np.int32], rows: NDArray[np.int32]) -> NDArray[np.intp]:
    """Where rows differ from the one before."""
    differs = y[rows[1:]] != y[rows[:-1]]
    for k in range(X.shape[1]):
        column = X[rows, k]
        differs |= column[1:] != column[:-1]
    return np.append(0, np.flatnonzero(differs) + 1)
