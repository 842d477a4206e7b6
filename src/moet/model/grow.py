"""Weighted decision trees, grown on binned features.

A node's class weights per bin (its histogram) are filled from its rows, or, for the larger of two siblings, obtained
by subtracting the smaller sibling's from the parent's. A split chosen between two quantile bins is moved to the best
raw threshold within them. What is below a node of few rows is grown on sorted rows instead. Where every distinct value
has a bin, the result is the exact greedy tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import BORROWING, INLINED
from moet.model.bins import Bins
from moet.model.growth import TIE, Cut, Limits, Nodes, Rows, Scratch, Space
from moet.model.partitioning import partition
from moet.model.splits import fill_histogram, purity, scan_histogram, term
from moet.model.subtree import grow_subtree
from moet.model.table import Table
from moet.model.tree import LEAF

Criterion = Literal["gini", "entropy"]

EMPTY = 1e-13
"""A bin below this share of the root's weight is empty: what subtracting histograms leaves over is not a row. Rows
below twice this share are skipped, so that a bin with a row is never taken for an empty one."""


WALK_BLOCK = 64
"""Rows that look for their leaves side by side."""

SORTED_ROWS = 1024
"""Nodes of at most so many rows are sorted: their histograms would be mostly empty."""


@dataclass(frozen=True)
class GrowOptions:
    """When to stop splitting; ``min_samples_leaf`` is a weight, the others are as scikit-learn defines them."""

    max_depth: int
    criterion: Criterion = "gini"
    min_samples_leaf: float = 1.0
    min_impurity_decrease: float = 0.0


class GrownTree(NamedTuple):
    """A tree as grown: class *weights* per node instead of probabilities."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    class_weight: NDArray[np.float64]

    @property
    def value(self) -> NDArray[np.float64]:
        """Weighted share of each class in each node, the paper's p̂_l."""
        return self.class_weight / self.class_weight.sum(axis=1, keepdims=True)


class Grower:
    """Grows trees on one table; holds the scratch memory that all of them share."""

    def __init__(self, table: Table, bins: Bins, max_depth: int) -> None:
        n_rows, n_features = bins.codes.shape
        self._table = table
        self._bins = bins
        self._max_depth = max_depth
        stack = 2 * int(np.ceil(np.log2(n_rows + 1))) + 4
        capacity = 2 * n_rows - 1
        if max_depth < 31:
            capacity = min(capacity, 2 ** (max_depth + 1) - 1)
        # histograms of few bins, as of one-hot columns, are cheaper than sorting
        sorted_rows = min(SORTED_ROWS, 4 * int(bins.offset[-1]) // max(n_features, 1), n_rows)
        self._space = Space(
            np.empty((2, n_rows + 1), dtype=np.int32),  # one more: rows are written before they are counted
            np.empty((stack, int(bins.offset[-1]) * table.n_classes)),
            np.empty((stack, 6), dtype=np.int64),
            np.empty((stack, 2, n_features), dtype=np.int32),
            Scratch.of(n_features, table.n_classes, sorted_rows),
            Scratch.of(1, table.n_classes, bins.crowd),
        )
        self._links = np.empty((3, capacity), dtype=np.int32)
        self._threshold = np.empty(capacity)
        self._class_weight = np.empty((capacity, table.n_classes))

    def grow(self, weight: NDArray[np.float64], options: GrowOptions, leaf_of_row: NDArray[np.int32]) -> GrownTree:
        """Grow a tree on the rows of noticeable weight, and write the leaf of *every* row into ``leaf_of_row``."""
        table, bins = self._table, self._bins
        rows = Rows(bins.codes, table.X, table.rows, table.y, weight, bins.offset, bins.value, bins.exact)
        limits = Limits(
            min(options.max_depth, self._max_depth),
            float(options.min_samples_leaf),
            float(options.min_impurity_decrease),  # of all weight; the kernels make it a gain
            True if options.criterion == "entropy" else None,
        )
        nodes = Nodes(self._links, self._threshold, self._class_weight, leaf_of_row)
        kernel = _grow_small if len(table) <= len(self._space.scratch.weight) else _grow
        n_nodes = kernel(rows, limits, self._space, nodes)
        feature, left, right = self._links[:, :n_nodes].copy()
        return GrownTree(feature, self._threshold[:n_nodes].copy(), left, right, self._class_weight[:n_nodes].copy())


def find_leaves(tree: GrownTree, table: Table) -> NDArray[np.int32]:
    """Leaf of every row of any table."""
    leaf = np.empty(len(table), dtype=np.int32)
    links = np.stack([tree.feature, tree.left, tree.right])
    everyone = np.arange(len(table), dtype=np.int32)
    at = np.empty(WALK_BLOCK, dtype=np.int32)
    _walk(table.X, table.rows, everyone, len(table), links, tree.threshold, leaf, at)
    return leaf


@njit(**INLINED)
def _push(stack: Any, at: int, node: int, start: int, end: int, depth: int, slot: int, filled: bool) -> None:
    stack[at, 0] = node
    stack[at, 1] = start
    stack[at, 2] = end
    stack[at, 3] = depth
    stack[at, 4] = slot
    stack[at, 5] = filled


@njit(**BORROWING)
def _walk(X: Any, rows: Any, some: Any, n: int, links: Any, threshold: Any, leaf_of_row: Any, at: Any) -> None:
    """Find the leaves of the first ``n`` rows of ``some``, a block at a time: they hide one another's latency.

    ``at`` is scratch space for a block.
    """
    feature, left = links[0], links[1]
    for start in range(0, n, WALK_BLOCK):
        size = WALK_BLOCK if start + WALK_BLOCK < n else n - start
        for q in range(size):
            at[q] = 0
        walking = True
        while walking:
            walking = False
            for q in range(size):
                node = np.uint32(at[q])
                inner = feature[node] != LEAF
                k = np.uint32(feature[node] if inner else 0)
                x = X[np.uint64(rows[np.uint32(some[start + q])]), k]
                child = left[node] + np.int32(not x <= threshold[node])  # the right child follows the left one
                at[q] = child if inner else at[q]
                walking |= inner
        for q in range(size):
            leaf_of_row[some[start + q]] = at[q]


@njit(**INLINED)
def _begin(rows: Rows, limits: Limits, order: Any, span: Any, class_weight: Any) -> Any:
    """Take the rows of noticeable weight to the root: (how many, what weight is negligible, limits of this tree)."""
    for c in range(class_weight.shape[1]):
        class_weight[0, c] = 0.0
    for k in range(len(rows.offset) - 1):
        span[0, k] = 0
        span[1, k] = rows.offset[k + 1] - rows.offset[k] - 1
    y, weight = rows.y, rows.weight
    root_weight = 0.0
    for i in range(len(y)):
        root_weight += weight[i]
    empty = EMPTY * root_weight
    n_used = np.int64(0)
    for i in range(len(y)):  # without a branch: which rows an expert has is as good as random
        used = weight[i] > 2.0 * empty
        order[n_used] = i
        n_used += used
        class_weight[0, y[i]] += weight[i] if used else 0.0
    # rounding must not make a leaf of exactly the allowed weight too light
    min_leaf = limits.min_leaf * (1.0 - 1e-9)
    least_gain = (limits.least_gain - 1e-12) * root_weight
    return n_used, empty, Limits(limits.max_depth, min_leaf if min_leaf > empty else empty, least_gain, limits.entropy)


@njit(**INLINED)
def _end(rows: Rows, empty: float, n_nodes: int, nodes: Nodes, spare: Any, counts: Any) -> None:
    """Find the leaves of the rows that the tree was not grown on."""
    leaf_of_row, weight = nodes.leaf_of_row, rows.weight
    if n_nodes == 1:
        for i in range(len(leaf_of_row)):
            leaf_of_row[i] = 0
        return
    n_unused = np.int64(0)
    for i in range(len(leaf_of_row)):
        spare[n_unused] = i
        n_unused += not weight[i] > 2.0 * empty
    _walk(rows.X, rows.at, spare, n_unused, nodes.links, nodes.threshold, leaf_of_row, counts)


@njit(**BORROWING)
def _grow_small(rows: Rows, limits: Limits, space: Space, nodes: Nodes) -> int:
    """Grow a tree on so few rows that none of its nodes needs a histogram: a fifth of a fit is then not compiled."""
    order, spare, span = space.orders[0], space.orders[1], space.ranges[0]
    n_used, empty, limits = _begin(rows, limits, order, span, nodes.class_weight)
    zero, one = np.int64(0), np.int64(1)  # literals would have what is called with them compiled twice
    n_nodes = grow_subtree(space, rows, zero, n_used, span, zero, zero, one, limits, nodes)
    _end(rows, empty, n_nodes, nodes, spare, space.scratch.counts)
    return n_nodes


@njit(**BORROWING)
def _grow(rows: Rows, limits: Limits, space: Space, nodes: Nodes) -> Any:
    """Grow a tree, large nodes on histograms."""
    order, spare, ranges = space.orders[0], space.orders[1], space.ranges
    histograms, stack, scratch = space.histograms, space.stack, space.scratch
    feature, left, right = nodes.links[0], nodes.links[1], nodes.links[2]
    codes, y, weight, offset = rows.codes, rows.y, rows.weight, rows.offset
    class_weight, threshold = nodes.class_weight, nodes.threshold
    n_features, C = codes.shape[1], class_weight.shape[1]
    n_used, empty, limits = _begin(rows, limits, order, ranges[0], class_weight)
    max_depth, min_leaf, entropy = limits.max_depth, limits.min_leaf, limits.entropy

    # the smaller child is always taken next, so the stack holds at most log2(n) larger siblings
    for field in range(6):
        stack[0, field] = 0
    stack[0, 2] = n_used
    top = 1
    n_nodes = np.int64(1)  # a literal 1 would have what is called with it compiled twice
    while top > 0:
        top -= 1
        node, start, end = stack[top, 0], stack[top, 1], stack[top, 2]
        depth, slot, filled = stack[top, 3], stack[top, 4], stack[top, 5]
        span = ranges[top]
        if end - start <= len(scratch.weight):
            n_nodes = grow_subtree(space, rows, start, end, span, node, depth, n_nodes, limits, nodes)
            continue
        node_weight = 0.0
        largest = 0.0
        terms = 0.0
        total = class_weight[node]
        for c in range(C):
            node_weight += total[c]
            largest = total[c] if total[c] > largest else largest
            terms += term(total[c], entropy)
        tie = TIE * node_weight

        best = -np.inf
        k = LEAF
        low = 0
        high = 0
        cut = np.inf
        middle = start
        if depth < max_depth and largest < node_weight and node_weight >= 2 * min_leaf:
            if not filled:
                fill_histogram(histograms[slot], codes, y, weight, order, start, end, offset, span, C)
            best, k, low, high = scan_histogram(
                histograms[slot], offset, span, total, scratch.sides, min_leaf, tie, empty, entropy
            )
        if k != LEAF and best - purity(terms, node_weight, entropy) >= limits.least_gain:
            split = Cut(k, low, high)
            cut, middle = partition(space, rows, start, end, split, total, limits, tie, n_nodes, class_weight)
        if cut == np.inf:
            feature[node] = left[node] = right[node] = LEAF
            threshold[node] = 0.0
            for t in range(start, end):
                nodes.leaf_of_row[order[t]] = node
            continue

        feature[node] = k
        threshold[node] = cut
        left[node] = n_nodes
        right[node] = n_nodes + 1
        n_nodes += 2
        left_is_smaller = middle - start <= end - middle
        small_start, small_end, large_start, large_end = start, middle, middle, end
        if not left_is_smaller:
            small_start, small_end, large_start, large_end = middle, end, start, middle
        subtract = depth + 1 < max_depth and large_end - large_start > len(scratch.weight)
        if subtract:
            fill_histogram(histograms[slot + 1], codes, y, weight, order, small_start, small_end, offset, span, C)
            for j in range(n_features):
                for b in range((offset[j] + span[0, j]) * C, (offset[j] + span[1, j] + 1) * C):
                    histograms[slot, b] -= histograms[slot + 1, b]
        # the larger child below, in this node's place and histogram slot; the smaller one on top
        for j in range(n_features):
            ranges[top + 1, 0, j] = ranges[top, 0, j]
            ranges[top + 1, 1, j] = ranges[top, 1, j]
        small, large = (left[node], right[node]) if left_is_smaller else (right[node], left[node])
        _push(stack, top, large, large_start, large_end, depth + 1, slot, subtract)
        _push(stack, top + 1, small, small_start, small_end, depth + 1, slot + 1, subtract)
        # both children may hold rows of the two bins next to the threshold
        ranges[top + 1 if left_is_smaller else top, 1, k] = high
        ranges[top if left_is_smaller else top + 1, 0, k] = low
        top += 2

    _end(rows, empty, n_nodes, nodes, spare, scratch.counts)
    return n_nodes
