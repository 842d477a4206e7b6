"""Small labelled tables for the tests of the training core."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.model.table import Table, canonical_table


def make_table(
    X: ArrayLike,
    y: ArrayLike,
    weight: ArrayLike | None = None,
    n_classes: int | None = None,
    group: ArrayLike | None = None,
) -> Table:
    """Canonical table of rows whose labels are class indices."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    y = np.asarray(y, dtype=np.int32)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    group = None if group is None else np.asarray(group, dtype=np.intp)
    return canonical_table(X, y, weight, int(y.max()) + 1 if n_classes is None else n_classes, group)


def raw_table(X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Table:
    """Table of rows as they are: neither merged nor ordered."""
    y = np.asarray(y, dtype=np.int32)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    return replace(make_table(X, y), rows=np.arange(len(y), dtype=np.int32), y=y, weight=weight)


def table_bits(table: Table) -> tuple[bytes, ...]:
    """Everything that training sees of a table, such that equal means equal to the last bit (0.0 being -0.0)."""
    groups = () if table.groups is None else tuple(entries.tobytes() for entries in table.groups)
    return (table.X[table.rows] + 0.0).tobytes(), table.y.tobytes(), table.weight.tobytes(), *groups


def random_problem(
    seed: int, n: int, d: int = 3, n_classes: int = 3, n_values: int | None = None, noise: float = 0.1
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Features (whole numbers below ``n_values`` if given) and labels that depend on them, partly at random."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) if n_values is None else rng.integers(0, n_values, (n, d)).astype(float)
    score = (X - X.mean(axis=0)) @ rng.normal(size=(d, n_classes)) / (X.std() + 1e-9)
    score += np.sin(3 * score[:, ::-1])
    y = np.where(rng.random(n) < noise, rng.integers(0, n_classes, n), score.argmax(axis=1))
    return X, y.astype(np.int32)


def leaves_by_walking(tree: Any, X: NDArray[np.float64]) -> NDArray[np.intp]:
    """Leaf of every row, in plain NumPy."""
    node = np.zeros(len(X), dtype=np.intp)
    while (inner := tree.feature[node] != -1).any():
        at, rows = node[inner], np.flatnonzero(inner)
        goes_left = X[rows, tree.feature[at]] <= tree.threshold[at]
        node[rows] = np.where(goes_left, tree.left[at], tree.right[at])
    return node
