"""The paper's Table 1: how large a tree and a mixture must be to be right in every cell of a grid."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.distill import distill
from moet.envs.task import Floats
from moet.errors import FarBelowWarning, InputError
from moet.model.classifier import MoETClassifier
from moet.model.digits import EXACT
from moet.model.mixture import Mixture
from moet.model.tree import LEAF, Tree
from moet.progress import progress_bar
from moet.study.tables import Column, Table
from moet.teachers import load

PUBLISHED = {5: (3, 9), 6: (4, 11), 7: (4, 13), 8: (4, 15), 9: (4, 17), 10: (5, 21)}
"""Depth and nodes of VIPER's tree in the paper; its mixture has depth 1 and 3 nodes on every grid."""

EFFORT: dict[str, Any] = {"iterations": 20, "rollouts_per_iteration": 20, "selection_episodes": 200}
"""Of each distillation: enough to meet every cell of the largest grid, in training and in selection."""


class SmallestTree:
    """A student that is the smallest tree there is for what it has seen: fewest leaves, then least depth.

    Greedy trees are larger than they need be, which would flatter a mixture. All ways to split are tried here, so it is
    for a few distinct inputs only. Every input counts once, whatever its weight: the tree is right on all of them.
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: object = None) -> SmallestTree:
        """Find the tree; rows with the same input must have the same label."""
        labels = np.asarray(y)
        rows = np.asarray(X, dtype=np.float64)
        inputs, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        if np.any(labels[first][which.ravel()] != labels):
            raise InputError("the same input has two labels, so no tree is right on all rows")
        classes, codes = np.unique(labels[first], return_inverse=True)
        tree = _smallest(inputs, codes, len(classes))
        self.mixture_ = Mixture(np.zeros((1, inputs.shape[1])), np.zeros(1), [tree], classes)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class of each row."""
        return self.mixture_.predict(X)


def _smallest(inputs: Floats, codes: NDArray[np.int64], n_classes: int) -> Tree:
    """Dynamic programming over the sets of rows that boxes can hold; a set is the bits of an integer."""
    everything = (1 << len(codes)) - 1
    of_class = [_bits(codes == c) for c in range(n_classes)]
    splits = [
        (k, float(low + high) / 2, _bits(inputs[:, k] <= low))
        for k in range(inputs.shape[1])
        for values in [np.unique(inputs[:, k])]
        for low, high in pairwise(values)
    ]

    @cache
    def best(rows: int) -> tuple[int, int, int]:
        """Leaves, depth, and the split to begin with."""
        if any(rows & ~members == 0 for members in of_class):
            return 1, 0, LEAF
        found = []
        for k, (_, _, below) in enumerate(splits):
            left, right = rows & below, rows & ~below
            if left and right:
                (a, deep, _), (b, deeper, _) = best(left), best(right)
                found.append((a + b, 1 + max(deep, deeper), k))
        return min(found)

    nodes: list[tuple[int, float, int, int, NDArray[np.float64]]] = []

    def build(rows: int) -> int:
        number, split = len(nodes), best(rows)[2]
        share = np.array([(rows & members).bit_count() for members in of_class]) / rows.bit_count()
        nodes.append((LEAF, 0.0, LEAF, LEAF, share))
        if split != LEAF:
            feature, threshold, below = splits[split]
            nodes[number] = (feature, threshold, build(rows & below), build(rows & ~below), share)
        return number

    build(everything)
    feature, threshold, left, right, value = map(np.array, zip(*nodes, strict=True))
    return Tree(feature, threshold, left, right, value)


def _bits(chosen: NDArray[np.bool_]) -> int:
    return sum(1 << int(k) for k in np.flatnonzero(chosen))


@dataclass(frozen=True)
class Solution:
    """A policy distilled on a grid.

    Attributes
    ----------
    right : bool
        Whether it acts as the optimal rule in every cell.
    depth, nodes : int
        Its size; the gate of a mixture counts as one more node above its experts, as in the paper.
    """

    right: bool
    depth: int
    nodes: int


def solve(size: int, student: Any, seed: int) -> Solution:
    """Distil the optimal rule of a grid into ``student``."""
    task = f"gridworld-{size}"
    teacher = load(task)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FarBelowWarning)  # the smallest that is right is looked for from below
        run = distill(
            teacher,
            task,
            student,
            importance="uniform",
            selection="fidelity_then_size",
            digits=EXACT,
            seed=seed,
            **EFFORT,
        )
    cells = np.indices((size, size)).reshape(2, -1).T.astype(np.float64)
    cells = cells[cells.sum(axis=1) != size - 1]  # nobody stands on the wall
    shape = run.policy.mixture.size
    gate = int(shape.experts > 1)
    return Solution(bool((run.policy.act(cells) == teacher.act(cells)).all()), shape.depth + gate, shape.nodes + gate)


def gridworld_table(sizes: Sequence[int] = tuple(PUBLISHED), seeds: int = 3, *, verbose: int = 0) -> Table:
    """Sizes of the smallest right policies over some seeds, beside the published ones.

    Parameters
    ----------
    sizes : sequence of int
        Rows and columns of the grids.
    seeds : int
        Distillations of each student on each grid.
    verbose : int
        1 shows a progress bar on stderr.

    Returns
    -------
    Table
        Per grid and student: how many runs are right in every cell, and of those depth and nodes of the smallest.
        Students are the mixture of two leaves, the smallest tree there is, and a greedy tree.
    """
    from sklearn.tree import DecisionTreeClassifier

    if seeds < 1:
        raise InputError(f"the table needs at least one seed, got {seeds}")
    students = {
        "MoËT:": partial(MoETClassifier, 2, 0, prediction="hard"),
        "VIPER, smallest tree:": SmallestTree,
        "VIPER, greedy tree:": DecisionTreeClassifier,
    }
    columns = [Column("N")]
    for name in students:
        columns += [Column(f"{name} right"), Column(f"{name} depth"), Column(f"{name} nodes")]
    columns += [Column("VIPER, published: depth"), Column("VIPER, published: nodes")]
    rows = []
    with progress_bar("gridworld", len(sizes) * len(students) * seeds, shown=verbose > 0) as advance:
        for size in sizes:
            row: list[str | int | None] = [size]
            for name, make in students.items():
                right = []
                for seed in range(seeds):
                    solution = solve(size, make(), seed)
                    right += [solution] if solution.right else []
                    advance(f"N = {size}, {name}")
                best = min(right, key=lambda s: (s.nodes, s.depth), default=None)
                row += [f"{len(right)} of {seeds}", *((best.depth, best.nodes) if best else (None, None))]
            rows.append([*row, *PUBLISHED.get(size, (None, None))])
    caption = f"Gridworld: smallest policies that are right in every cell, {seeds} seed{'s' if seeds > 1 else ''}"
    return Table("gridworld", caption, columns, rows)
