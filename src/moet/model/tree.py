"""One decision tree as flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import ModelError

LEAF = -1
"""Marks "no feature" and "no child" in the arrays of a leaf."""


@dataclass(frozen=True, eq=False, repr=False)
class BaseTree:
    """A binary tree of tests, ``x[feature] <= threshold``, whatever its leaves answer with.

    Node 0 is the root and every child comes after its parent, which rules out cycles by construction.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("feature", "left", "right"):
            object.__setattr__(self, name, _frozen_ints(getattr(self, name), name))
        leaf = self.feature == LEAF
        threshold = frozen_floats(self.threshold, "Tree.threshold", 1)
        if threshold.shape == leaf.shape:
            threshold = _read_only(np.where(leaf, 0.0, threshold))
        object.__setattr__(self, "threshold", threshold)
        object.__setattr__(self, "value", frozen_floats(self.value, "Tree.value", 2))
        _check_shapes(self)
        _check_structure(self)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, inner ones and leaves."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.feature == LEAF))

    @cached_property
    def depth(self) -> int:
        """Number of tests on the longest path from the root to a leaf."""
        depth = np.zeros(self.n_nodes, dtype=np.int64)
        for node in np.flatnonzero(self.feature != LEAF):
            depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return int(depth.max())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(np.array_equal(a, b) for a, b in zip(self._parts(), other._parts(), strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        # by construction, so that the arrays of a copy are checked and read-only too
        return type(self), self._parts()

    def __repr__(self) -> str:
        leaves = "1 leaf" if self.n_leaves == 1 else f"{self.n_leaves} leaves"
        return f"{type(self).__name__}({leaves}, depth {self.depth})"

    def _parts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)


@dataclass(frozen=True, eq=False, repr=False)
class Tree(BaseTree):
    """A binary decision tree: go left iff ``x[feature] <= threshold``.

    Node 0 is the root and every child comes after its parent, which rules out cycles by construction.

    Parameters
    ----------
    feature : array of int, shape (n_nodes,)
        Index of the tested feature; ``-1`` at a leaf.
    threshold : array of float, shape (n_nodes,)
        Raw units; ignored (stored as 0) at a leaf.
    left, right : array of int, shape (n_nodes,)
        Children; ``-1`` at a leaf.
    value : array of float, shape (n_nodes, n_classes)
        Class probabilities (the paper's p̂_l) of the training rows that reach the node. Only those of the leaves
        take part in a prediction.

    Examples
    --------
    >>> from moet import Tree
    >>> Tree.leaf([0.25, 0.75])
    Tree(1 leaf, depth 0)
    >>> links = {"left": [1, -1, -1], "right": [2, -1, -1]}
    >>> Tree(feature=[0, -1, -1], threshold=[0.5, 0, 0], value=[[0.5, 0.5], [1, 0], [0, 1]], **links)
    Tree(2 leaves, depth 1)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_probabilities(self.value)

    @classmethod
    def leaf(cls, probabilities: Sequence[float] | NDArray[np.float64]) -> Tree:
        """Build a tree of depth 0 that always answers ``probabilities``."""
        minus_one = np.array([LEAF])
        return cls(minus_one, np.zeros(1), minus_one, minus_one, np.atleast_2d(np.asarray(probabilities, float)))

    @property
    def n_classes(self) -> int:
        """Number of columns of ``value``."""
        return self.value.shape[1]


SomeTree = TypeVar("SomeTree", bound=BaseTree)


def subtree(
    tree: SomeTree, root: int, left: NDArray[np.int32], right: NDArray[np.int32], answer: NDArray[np.integer]
) -> SomeTree:
    """Return the tree of the nodes that ``left`` and ``right`` lead to from ``root`` on, in their order in ``tree``.

    Parameters
    ----------
    tree : Tree or RegressionTree
        Gives features, thresholds and answers.
    root : int
        The node to start at.
    left, right : array of int, shape (n_nodes,)
        Children, not necessarily the direct ones; -1 where a node is to be a leaf.
    answer : array of int, shape (n_nodes,)
        Node whose answer each node gives if it is to be a leaf.
    """
    keep = np.zeros(tree.n_nodes, dtype=bool)
    keep[root] = True
    for node in np.flatnonzero(left != LEAF):
        if keep[node]:
            keep[[left[node], right[node]]] = True
    leaf = left[keep] == LEAF
    index = np.cumsum(keep) - 1
    slope = getattr(tree, "slope", None)
    return replace(
        tree,
        feature=np.where(leaf, LEAF, tree.feature[keep]),
        threshold=tree.threshold[keep],
        left=np.where(leaf, LEAF, index[left[keep]]),
        right=np.where(leaf, LEAF, index[right[keep]]),
        value=tree.value[answer[keep]],
        **({} if slope is None else {"slope": slope[answer[keep]]}),
    )


_ARRAYS = ("feature", "threshold", "left", "right", "value")


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _frozen_ints(values: ArrayLike, name: str) -> NDArray[np.int32]:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ModelError(f"Tree.{name} must be a one-dimensional array of integers: {error}") from None
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ModelError(f"Tree.{name} must be a one-dimensional array of integers, got {_describe(array)}")
    limits = np.iinfo(np.int32)
    if array.size and (array.min() < limits.min or array.max() > limits.max):
        raise ModelError(f"Tree.{name} has entries beyond 32 bits")
    return _read_only(array.astype(np.int32))


def frozen_floats(values: ArrayLike, name: str, ndim: int) -> NDArray[np.float64]:
    """Copy numbers into a read-only array of ``ndim`` dimensions; ``name`` is for the message if they are not such."""
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{name} must be an array of numbers: {error}") from None
    if array.ndim != ndim:
        raise ModelError(f"{name} must have {ndim} dimension(s), got shape {array.shape}")
    return _read_only(array)


def _describe(array: NDArray[Any]) -> str:
    return f"shape {array.shape} of {array.dtype}"


def _check_shapes(tree: BaseTree) -> None:
    n_nodes = len(tree.feature)
    lengths = {name: len(getattr(tree, name)) for name in _ARRAYS}
    if n_nodes == 0 or set(lengths.values()) != {n_nodes}:
        raise ModelError(f"a tree needs at least one node and arrays of equal length, got {lengths}")
    if tree.value.shape[1] == 0:
        raise ModelError("Tree.value needs one column per class or output, got none")


def _check_structure(tree: BaseTree) -> None:
    inner = np.flatnonzero(tree.feature != LEAF)
    leaves = np.flatnonzero(tree.feature == LEAF)
    if np.any(tree.feature[inner] < 0):
        raise ModelError(f"Tree.feature must be >= 0, or -1 at a leaf, got {int(tree.feature.min())}")
    if np.any(tree.left[leaves] != LEAF) or np.any(tree.right[leaves] != LEAF):
        raise ModelError("a leaf (feature = -1) must have left = right = -1")
    if not np.all(np.isfinite(tree.threshold[inner])):
        raise ModelError("Tree.threshold must be finite")
    children = np.concatenate([tree.left[inner], tree.right[inner]])
    if np.any(children <= np.concatenate([inner, inner])):
        raise ModelError("every child must come after its parent in the arrays (no cycles)")
    if not np.array_equal(np.sort(children), np.arange(1, len(tree.feature))):
        raise ModelError("every node but the root must be the child of exactly one node")


def _check_probabilities(value: NDArray[np.float64]) -> None:
    tolerance = 1e-6
    if not np.all((value >= 0) & (value <= 1 + tolerance)):
        raise ModelError("Tree.value must hold probabilities: numbers from 0 to 1")
    sums = value.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1.0)))
    if abs(sums[worst] - 1.0) > tolerance:
        raise ModelError(f"every row of Tree.value must sum to 1, row {worst} sums to {sums[worst]:.9g}")
