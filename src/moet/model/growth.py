"""What the kernels that grow a tree hand to one another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.bins import MAX_BINS

TIE = 1e-10
"""A split must beat an earlier one by this share of the node's weight: rounding must not decide between equals."""


class Rows(NamedTuple):
    """The rows a tree is grown on, as a :class:`~moet.model.table.Table` and its bins have them.

    Attributes
    ----------
    codes : array of int, shape (n, n_features)
        Bin of every value.
    X : array of float
        The user's table; row ``i`` stands at ``at[i]``.
    at : array of int, shape (n,)
    y : array of int, shape (n,)
        Class indices.
    weight : array of float, shape (n,)
    offset : array of int, shape (n_features + 1,)
        Where the bins of each feature begin in ``bin_value``.
    bin_value : array of float
        A value of each bin.
    exact : array of bool, shape (n_features,)
        Whether every distinct value of a feature has a bin of its own.
    """

    codes: NDArray[np.uint8]
    X: NDArray[np.float64]
    at: NDArray[np.int32]
    y: NDArray[np.int32]
    weight: NDArray[np.float64]
    offset: NDArray[np.int32]
    bin_value: NDArray[np.float64]
    exact: NDArray[np.bool_]


class Limits(NamedTuple):
    """When to stop splitting.

    ``entropy`` is True or None: a None has a type of its own, so each criterion is compiled without the other.
    """

    max_depth: int
    min_leaf: float
    least_gain: float
    entropy: bool | None


class Nodes(NamedTuple):
    """The tree while it grows: room for all of its nodes, and for the leaf of every row.

    ``links`` are feature, left and right child.
    """

    links: NDArray[np.int32]
    threshold: NDArray[np.float64]
    class_weight: NDArray[np.float64]
    leaf_of_row: NDArray[np.int32]


class Cut(NamedTuple):
    """A split that a histogram found: the feature, the last bin that goes left and the first that goes right."""

    feature: int
    low: int
    high: int


class Scratch(NamedTuple):
    """Scratch memory for the rows of one subtree, which are numbered from 0 on.

    Attributes
    ----------
    value : array of float, shape (n_features, capacity)
        Values of the features that differ within the subtree.
    ids : array of int, shape (n_features + 1, capacity)
        For each of them, the rows in its order; then room for those that go right.
    row : array of int, shape (3, capacity)
        Row of the table, class, and whether the row goes left; the last one is also scratch space for sorting.
    weight : array of float, shape (capacity,)
    stack : array of int, shape (capacity + 1, 5)
        Nodes to do: node, first and last row, depth, and a list that has its rows.
    counts : array of int
        Scratch space for sorting.
    feature : array of int, shape (n_features,)
        The features that differ.
    sides : array of float, shape (2, n_classes)
        Class weights on both sides of a split.
    nothing : array of float, shape (n_classes,)
        Zeros.
    """

    value: NDArray[np.float64]
    ids: NDArray[np.int32]
    row: NDArray[np.int32]
    weight: NDArray[np.float64]
    stack: NDArray[np.int32]
    counts: NDArray[np.int32]
    feature: NDArray[np.int32]
    sides: NDArray[np.float64]
    nothing: NDArray[np.float64]

    @classmethod
    def of(cls, n_features: int, n_classes: int, capacity: int) -> Scratch:
        """Make room for subtrees of up to ``capacity`` rows."""
        return cls(
            np.empty((n_features, capacity)),
            np.empty((n_features + 1, capacity), dtype=np.int32),
            np.empty((3, capacity), dtype=np.int32),
            np.empty(capacity),
            np.empty((capacity + 1, 5), dtype=np.int32),
            np.empty(max(2 * capacity, MAX_BINS) + 1, dtype=np.int32),
            np.empty(n_features, dtype=np.int32),
            np.empty((2, n_classes)),
            np.zeros(n_classes),
        )


class Space(NamedTuple):
    """Scratch memory of one :class:`~moet.model.grow.Grower`.

    Attributes
    ----------
    orders : array of int, shape (2, n_rows + 1)
        The rows, those of a node side by side; and room to part them.
    histograms : array of float, shape (depth of the stack, number of bins * n_classes)
    stack : array of int, shape (depth of the stack, 6)
        Nodes to do: node, first and last row, depth, histogram slot, and whether that slot is filled.
    ranges : array of int, shape (depth of the stack, 2, n_features)
        First and last bin of every feature that may hold rows of the node.
    scratch, bin_scratch : Scratch
        For subtrees of few rows, and for the rows of two bins.
    """

    orders: NDArray[np.int32]
    histograms: NDArray[np.float64]
    stack: NDArray[np.int64]
    ranges: NDArray[np.int32]
    scratch: Scratch
    bin_scratch: Scratch
