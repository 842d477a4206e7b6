"""One tree whose leaves answer with numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import ModelError
from moet.model.tree import LEAF, BaseTree, frozen_floats


@dataclass(frozen=True, eq=False, repr=False)
class RegressionTree(BaseTree):
    """A binary tree, go left iff ``x[feature] <= threshold``, whose leaves are constant or affine laws.

    Parameters
    ----------
    feature : array of int, shape (n_nodes,)
        Index of the tested feature; ``-1`` at a leaf.
    threshold : array of float, shape (n_nodes,)
        Raw units; ignored (stored as 0) at a leaf.
    left, right : array of int, shape (n_nodes,)
        Children; ``-1`` at a leaf.
    value : array of float, shape (n_nodes, n_outputs)
        What a leaf answers, or where its sum begins if there is a slope. Only the leaves take part in a prediction.
    slope : array of float, shape (n_nodes, n_outputs, n_features), or None
        ``slope[l, o, k]`` is what output o of leaf l gains per unit of feature k. None: all leaves are constant.

    Examples
    --------
    >>> RegressionTree.leaf([0.5], slope=[[2.0, -1.0]])
    RegressionTree(1 leaf, depth 0)
    """

    slope: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.all(np.isfinite(self.value)):
            raise ModelError("RegressionTree.value must be finite")
        if self.slope is not None:
            object.__setattr__(self, "slope", _frozen_slope(self.slope, self.value.shape))

    @classmethod
    def leaf(cls, value: ArrayLike, slope: ArrayLike | None = None) -> RegressionTree:
        """Build a tree of depth 0: one constant, or one affine law, for the whole space."""
        minus_one = np.array([LEAF])
        slopes = None if slope is None else frozen_floats(slope, "RegressionTree.slope", 2)[None]
        return cls(
            minus_one, np.zeros(1), minus_one, minus_one, frozen_floats(value, "RegressionTree.value", 1)[None], slopes
        )

    @property
    def n_outputs(self) -> int:
        """Number of columns of ``value``."""
        return self.value.shape[1]

    @property
    def laws(self) -> NDArray[np.float64]:
        """All numbers of the laws of its leaves."""
        is_leaf = self.feature == LEAF
        slopes = () if self.slope is None else self.slope[is_leaf].ravel()
        return np.concatenate([self.value[is_leaf].ravel(), slopes])

    @property
    def n_numbers(self) -> int:
        """How many numbers say what the tree does: two per test, and those of the laws of its leaves."""
        return 2 * (self.n_nodes - self.n_leaves) + len(self.laws)


def _frozen_slope(slope: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    numbers = frozen_floats(slope, "RegressionTree.slope", 3)
    if numbers.shape[:2] != shape:
        raise ModelError(f"RegressionTree.slope has shape {numbers.shape}, RegressionTree.value {shape}")
    if not np.all(np.isfinite(numbers)):
        raise ModelError("RegressionTree.slope must be finite")
    return numbers
