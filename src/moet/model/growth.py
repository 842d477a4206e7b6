"""What the kernels that grow a tree hand to one another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
