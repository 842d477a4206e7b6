"""A mixture's trees joined into one set of arrays, as the compiled kernels want them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from moet.model.prediction_kernels import BLOCK, leaf_of_state, leaves_of_rows, soft_probabilities
from moet.model.tree import LEAF


class TreeArrays(Protocol):
    """Anything with the arrays of a :class:`moet.Tree`."""

    @property
    def feature(self) -> NDArray[np.int32]:
        """Tested feature."""

    @property
    def threshold(self) -> NDArray[np.float64]:
        """Tested value."""

    @property
    def left(self) -> NDArray[np.int32]:
        """Left child."""

    @property
    def right(self) -> NDArray[np.int32]:
        """Right child."""

    @property
    def value(self) -> NDArray[np.float64]:
        """What the leaves answer."""


_NODE = ("feature", "left", "right")


class Routing(NamedTuple):
    """What finds the leaf of a state, in the layout that :mod:`moet.model.prediction_kernels` describes."""

    gate: NDArray[np.float64]
    roots: NDArray[np.int32]
    nodes: NDArray[np.int32]
    threshold: NDArray[np.float64]

    @classmethod
    def of(
        cls, gate_weights: NDArray[np.float64], gate_bias: NDArray[np.float64], trees: Sequence[TreeArrays]
    ) -> Routing:
        """Join the gate's numbers, and the trees' tests."""
        sizes = [len(tree.feature) for tree in trees]
        roots = np.array([0, *accumulate(sizes[:-1])], dtype=np.int32)
        root = np.repeat(roots, sizes)  # of the tree that a node belongs to
        nodes = np.stack([np.concatenate([getattr(t, name) for t in trees]) for name in _NODE], axis=1)
        leaf = nodes[:, 0] == LEAF
        nodes[:, 1:] += root[:, None]
        nodes[leaf, 0] = 0
        nodes[leaf, 1:] = np.flatnonzero(leaf)[:, None]
        return cls(
            gate=np.hstack([gate_bias[:, None], gate_weights]),
            roots=roots,
            nodes=nodes,
            threshold=np.where(leaf, np.inf, np.concatenate([tree.threshold for tree in trees])),
        )

    def leaves(self, X: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Most probable expert and answering leaf of every row."""
        expert, leaf = np.empty((2, len(X)), dtype=np.int32)
        leaves_of_rows(read_only_view(X), *self, expert, leaf, *self.scratch())
        return expert, leaf

    def leaf(self, state: NDArray[np.float64]) -> int:
        """Leaf that answers one state; negative if the state is not finite."""
        return int(leaf_of_state(state, *self))

    def scratch(self) -> tuple[NDArray[Any], ...]:
        """Room for a block of rows."""
        n_experts, width = self.gate.shape
        return np.zeros((width + 1, BLOCK)), np.empty((n_experts, BLOCK)), np.empty((2, BLOCK), dtype=np.int32)


class FlatMixture(NamedTuple):
    """All trees of a mixture in one set of arrays, for the compiled kernels."""

    routing: Routing
    value: NDArray[np.float64]
    leaf_class: NDArray[np.int64]

    @classmethod
    def of(
        cls, gate_weights: NDArray[np.float64], gate_bias: NDArray[np.float64], trees: Sequence[TreeArrays]
    ) -> FlatMixture:
        """Join the arrays of the trees."""
        value = np.concatenate([tree.value for tree in trees])
        return cls(Routing.of(gate_weights, gate_bias, trees), value, value.argmax(axis=1))

    def leaves(self, X: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Most probable expert and answering leaf of every row."""
        return self.routing.leaves(X)

    def soft_votes(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gate-weighted votes of every row."""
        out = np.zeros((len(X), self.value.shape[1]))
        soft_probabilities(read_only_view(X), *self.routing, self.value, out, *self.routing.scratch())
        return out


def read_only_view(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """View that cannot be written to: kernels would be compiled twice, for writable arrays and for others."""
    view = array.view()
    view.flags.writeable = False
    return view
