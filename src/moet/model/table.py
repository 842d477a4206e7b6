"""Training rows in a canonical form that makes "weight" and "repetition" the same thing.

Equal (x, y) rows become one row whose weight is the sum of theirs, and rows are ordered by a hash of their content.
Training therefore sees exactly the same arrays whether a row is repeated or weighted and whatever the order of the
table, and a split of the *distinct* rows can never put a copy of a training row into validation. Where rows come in
groups (episodes, patients), groups are what is held out, and a row that was met in several of them counts in each: the
next group will meet it as often. ``X`` itself is never copied: rows are indices into it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Groups(NamedTuple):
    """Which groups (an episode, a patient) rows were met in: an entry for every row and every group that it was met in.

    Attributes
    ----------
    row : array of int
        Place of the row in its table.
    name : array of int
        Number of the group.
    share : array of float
        What part of the row's weight was met there.
    """

    row: NDArray[np.intp]
    name: NDArray[np.intp]
    share: Floats

    def take(self, index: NDArray[np.intp], n_rows: int) -> Groups:
        """Return the entries of some of the rows."""
        place = np.full(n_rows, -1, dtype=np.intp)
        place[index] = np.arange(len(index))
        kept = place[self.row] >= 0
        return Groups(place[self.row[kept]], self.name[kept], self.share[kept])


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
    groups : Groups or None
        Which rows belong together and must not be split between training and validation.
    n_classes : int
    """

    X: NDArray[np.float64]
    rows: NDArray[np.int32]
    y: NDArray[np.int32]
    weight: NDArray[np.float64]
    groups: Groups | None
    n_classes: int

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def class_shares(self) -> NDArray[np.float64]:
        """Weighted share of every class."""
        shares = np.bincount(self.y, weights=self.weight, minlength=self.n_classes)
        return shares / shares.sum()

    def take(self, index: NDArray[np.intp], weight: Floats | None = None) -> Table:
        """Return the table of some of the rows; ``weight`` are other weights of all rows."""
        weight = self.weight if weight is None else weight
        groups = None if self.groups is None else self.groups.take(index, len(self))
        return Table(self.X, self.rows[index], self.y[index], weight[index], groups, self.n_classes)

    @property
    def group_of_entry(self) -> NDArray[np.intp]:
        """What is held out together or not at all: the group of every entry, or every row for itself."""
        return np.arange(len(self)) if self.groups is None else self.groups.name

    def parted(self, entries: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Weights that rows have without some entries, and in these."""
        if self.groups is None:
            return np.where(entries, 0.0, self.weight), np.where(entries, self.weight, 0.0)
        row, _, share = self.groups
        without, within = (np.bincount(row[part], share[part], len(self)) for part in (~entries, entries))
        return self.weight * without, self.weight * within


def canonical_table(
    X: NDArray[np.float64],
    y: NDArray[np.int32],
    weight: NDArray[np.float64],
    n_classes: int,
    group: NDArray[np.intp] | None = None,
) -> Table:
    """Merge equal rows of positive weight and put them in an order that depends on their content alone.

    ``group`` is the number of the group of every row of ``X``.
    """
    X = X.view()
    X.flags.writeable = False
    rows = np.flatnonzero(weight > 0).astype(np.int32)
    hashes = _row_hashes(X, y, rows)
    rows = rows[_stable_order(hashes)]
    starts = _starts_of_runs(X, y, rows)
    first = rows[starts]
    weights = np.add.reduceat(weight[rows], starts)
    groups = None if group is None else _groups(group[rows], weight[rows], starts)
    return Table(X, first, y[first], weights, groups, n_classes)


def _groups(group: NDArray[np.intp], weight: Floats, starts: NDArray[np.intp]) -> Groups:
    """Groups of runs of equal rows, of which each has a group and a weight."""
    run = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(group)))
    entry, member = np.unique(run * (group.max() + 1) + group, return_inverse=True)
    row, name = np.divmod(entry, group.max() + 1)
    met = np.bincount(member, weight)
    return Groups(row, name, met / np.bincount(row, met)[row])


def split(table: Table, fraction: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Weights of rows in training and in validation, which gets about ``fraction`` of every class, or whole groups."""
    if table.groups is not None:
        names = table.groups.name
        return table.parted(np.isin(names, _small_groups(names, fraction * len(names), rng)))
    chosen = np.zeros(len(table), dtype=bool)
    for label in range(table.n_classes):
        rows = np.flatnonzero(table.y == label)
        chosen[rng.permutation(rows)[: int(fraction * len(rows))]] = True
    return table.parted(chosen)


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
