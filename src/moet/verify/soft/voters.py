"""Experts that vote, over the variables of a question: their logits, and the leaves that possible rows may reach.

One row has one set of leaves per tree; for two rows that the gate cannot tell apart there are pairs of leaves of one
tree that both may reach together, so that what a tree votes for both cancels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.model.tree import LEAF, Tree
from moet.verify.rounding import UNIT, largest_sizes
from moet.verify.rows.space import Ints, Space

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Sides = dict[int, tuple[float, float]]
"""Of some variables: above the first number, and at most the second."""


class Bodies(NamedTuple):
    """Bodies of a space, one per row; ``changed``: columns that are charged for a change."""

    lo: Floats
    hi: Floats
    above: Bools
    changed: Bools
    node: Ints

    def take(self, index: Any) -> Bodies:
        """Some of the bodies."""
        return Bodies(*(part[index] for part in self))

    def join(self, other: Bodies) -> Bodies:
        """These bodies and others."""
        return Bodies(*(np.concatenate(parts) for parts in zip(self, other, strict=True)))


class Reach:
    """Which of some nodes a body may reach.

    Parameters
    ----------
    sides : sequence of dict
        What is known of the variables at each node.
    """

    def __init__(self, sides: Sequence[Sides]) -> None:
        # a side that is always met keeps nodes without any from being left out
        flat = [(k, *ends) for own in sides for k, ends in ((0, (-np.inf, np.inf)), *own.items())]
        self._variable = np.array([k for k, _, _ in flat], dtype=np.int64)
        self._low = np.array([low for _, low, _ in flat])
        self._high = np.array([high for _, _, high in flat])
        self._start = np.cumsum([0, *(1 + len(own) for own in sides)])[:-1]

    def live(self, bodies: Bodies) -> Bools:
        """Whether each body may reach each node."""
        k = self._variable
        lo, hi, above = bodies.lo[:, k], bodies.hi[:, k], bodies.above[:, k]
        meets = (hi > self._low) & ((lo < self._high) | ((lo == self._high) & ~above))
        found: Bools = np.logical_and.reduceat(meets, self._start, axis=1)
        return found


def _doubts(sizes: Floats, n_features: int) -> Floats:
    """What float64 arithmetic may do to the share of every expert, relative to it, if logits are of these sizes."""
    slack = UNIT * ((n_features + 3) * sizes + 2.0 * sizes.max())
    doubts: Floats = 8.0 * (len(sizes) + 16) * 2.0**-50 + 4.0 * (slack + slack.max())
    return doubts


def doubt_of(mixture: Mixture, low: Floats, high: Floats) -> float:
    """How far apart votes must be, in a box, for float64 and exact arithmetic to give the same answer."""
    sizes = largest_sizes(mixture.gate_weights, mixture.gate_bias, low, high)
    return 4.0 * float(_doubts(sizes, mixture.n_features).max())


class Voters:
    """The experts of a mixture as one row of a space asks them, or as two rows do that they cannot tell apart.

    Parameters
    ----------
    mixture : Mixture
    space : Space
    row : int
        Whose logits count.
    rows : sequence of int
        Whose leaves count: one of them, or both.

    Attributes
    ----------
    weights, bias : array
        Of the logits, by variable.
    doubt : array of float
        What float64 arithmetic may do to the share of every expert, relative to it.
    is_pair : bool
        Whether leaves are pairs of leaves.
    """

    def __init__(self, mixture: Mixture, space: Space, row: int, rows: Sequence[int]) -> None:
        self.space, self.bias, self.is_pair = space, mixture.gate_bias, len(rows) == 2
        self.weights = np.zeros((mixture.n_experts, space.n))
        self.weights[:, space.maps[row]] = mixture.gate_weights
        low, high, _ = space.body
        self.sizes = largest_sizes(self.weights, self.bias, low, high)
        self.doubt = (1.0 + self.is_pair) * _doubts(self.sizes, mixture.n_features)
        leaves = [self._leaves(tree, rows) for tree in mixture.trees]
        self.start = np.cumsum([0, *map(len, leaves)])[:-1]
        self.reach = Reach([sides for own in leaves for sides, _ in own])
        self._values = [
            np.array(
                [tree.value[nodes[i]] for tree, own in zip(mixture.trees, leaves, strict=True) for _, nodes in own]
            )
            for i in range(len(rows))
        ]
        tests = [(e, *test) for e, tree in enumerate(mixture.trees) for test in self._tests(tree, rows)]
        self.test_tree = np.array([e for e, *_ in tests], dtype=np.int64)
        self.test_variable = np.array([k for _, _, k, _ in tests], dtype=np.int64)
        self.test_place = np.array([place for *_, place in tests])
        self.tests = Reach([sides for _, sides, _, _ in tests] or [{}])

    def lead(self, answer: int, rival: int) -> Floats:
        """Votes for a class less those for another, of every leaf; of pairs, plus those of the second row, reversed."""
        own = self._values[0][:, answer] - self._values[0][:, rival]
        return own if len(self._values) == 1 else own + self._values[1][:, rival] - self._values[1][:, answer]

    def is_ordered(self, answer: int, rival: int, live: Bools) -> Bools:
        """Whether the second of two rows has no fewer votes of any tree for ``answer``, and no more for ``rival``."""
        first, second = self._values
        ordered = (first[:, answer] <= second[:, answer]) & (first[:, rival] >= second[:, rival])
        return np.all(ordered | ~live, axis=1)

    def _leaves(self, tree: Tree, rows: Sequence[int]) -> list[tuple[Sides, tuple[int, ...]]]:
        found: list[tuple[Sides, tuple[int, ...]]] = [({}, ())]
        for row in rows:
            found = [
                (more, (*nodes, node))
                for sides, nodes in found
                for more, node in self._walk(tree, row, sides)
                if tree.feature[node] == LEAF
            ]
        return [leaf for leaf in found if self._is_possible(leaf[0])]

    def _tests(self, tree: Tree, rows: Sequence[int]) -> Iterator[tuple[Sides, int, float]]:
        for row in rows:
            for sides, node in self._walk(tree, row, {}):
                if tree.feature[node] != LEAF:
                    yield sides, *self._test(tree, node, row)

    def _test(self, tree: Tree, node: int, row: int) -> tuple[int, float]:
        k, place = int(self.space.maps[row][tree.feature[node]]), float(tree.threshold[node])
        return k, float(np.floor(place)) if self.space.whole[k] else place

    def _walk(self, tree: Tree, row: int, start: Sides) -> list[tuple[Sides, int]]:
        """Nodes that a row reaches where it may be at all, from the root on, level by level."""
        waiting: list[tuple[Sides, int]] = [(start, 0)]
        body = self.space.body
        for sides, node in waiting:
            if tree.feature[node] == LEAF:
                continue
            k, place = self._test(tree, node, row)
            low, high = sides.get(k, (-np.inf, np.inf))
            if place >= body.lo[k] and place > low:
                waiting.append(({**sides, k: (low, min(high, place))}, int(tree.left[node])))
            if place < min(high, body.hi[k]):
                waiting.append(({**sides, k: (max(low, place), high)}, int(tree.right[node])))
        return waiting

    def _is_possible(self, sides: Sides) -> bool:
        """Whether no two variables of a group would be 1, nor the first of a pair in order above the second."""
        group_of = self.space.group_of
        chosen = [group_of[k] for k, (low, _) in sides.items() if group_of[k] >= 0 and low >= 0.0]
        is_open = -np.inf, np.inf
        crossed = any(sides.get(i, is_open)[0] >= sides.get(j, is_open)[1] for i, j in self.space.orders)
        return len(set(chosen)) == len(chosen) and not crossed
