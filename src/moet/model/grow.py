"""Weighted decision trees, grown on binned features.

A node's class weights per bin (its histogram) are filled from its rows, or, for the larger of two siblings, obtained
by subtracting the smaller sibling's from the parent's. Nodes of few rows are sorted instead. A split chosen between
two quantile bins is moved to the best raw threshold within them. Where every distinct value has a bin, the result is
the exact greedy tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import OPTIONS
from moet.model.bins import Bins
from moet.model.splits import (
    CODE_ROWS,
    RAW_ROWS,
    between,
    fill_histogram,
    purity,
    refine_threshold,
    scan_histogram,
    split_by_sorting,
    term,
)
from moet.model.table import Table
from moet.model.tree import LEAF

Criterion = Literal["gini", "entropy"]

TIE = 1e-10
"""A split must beat an earlier one by this share of the node's weight: rounding must not decide between equals."""

EMPTY = 1e-13
"""A bin below this share of the root's weight is empty: what subtracting histograms leaves over is not a row. Rows
below twice this share are skipped, so that a bin with a row is never taken for an empty one."""


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
        self._order = np.empty((2, n_rows), dtype=np.int32)
        self._histograms = np.empty((stack, int(bins.offset[-1]) * table.n_classes))
        self._ranges = np.empty((stack, 2, n_features), dtype=np.int32)
        self._links = np.empty((3, capacity), dtype=np.int32)
        self._threshold = np.empty(capacity)
        self._class_weight = np.empty((capacity, table.n_classes))

    def grow(self, weight: NDArray[np.float64], options: GrowOptions, leaf_of_row: NDArray[np.int32]) -> GrownTree:
        """Grow a tree on the rows of noticeable weight, and write the leaf of *every* row into ``leaf_of_row``."""
        table, bins = self._table, self._bins
        n_nodes = _grow(
            bins.codes,
            table.X,
            table.rows,
            table.y,
            weight,
            bins.offset,
            bins.value,
            bins.exact,
            table.n_classes,
            min(options.max_depth, self._max_depth),
            float(options.min_samples_leaf),
            float(options.min_impurity_decrease),
            options.criterion == "entropy",
            self._order,
            self._histograms,
            self._ranges,
            self._links,
            self._threshold,
            self._class_weight,
            leaf_of_row,
        )
        feature, left, right = self._links[:, :n_nodes].copy()
        return GrownTree(feature, self._threshold[:n_nodes].copy(), left, right, self._class_weight[:n_nodes].copy())


@njit(inline="always", **OPTIONS)
def _push(stack: Any, at: int, node: int, start: int, end: int, depth: int, slot: int, filled: bool) -> None:
    stack[at, 0] = node
    stack[at, 1] = start
    stack[at, 2] = end
    stack[at, 3] = depth
    stack[at, 4] = slot
    stack[at, 5] = filled


@njit(**OPTIONS)
def _partition(
    codes: Any, X: Any, rows: Any, y: Any, weight: Any, order: Any, spare: Any, start: int, end: int, k: int, low: int,
    high: int, cut: float, bin_value: Any, exact: bool, class_weight: Any, child: int,
) -> int:  # fmt: skip
    """Put the rows that go left before the others, keeping their order, and return where the others begin.

    The class weights of the children (nodes ``child`` and ``child + 1``) are summed anew: those that a histogram gives
    have the residue of subtractions. Raw values are only looked at where bins cannot tell: bins ``low`` to ``high``.
    """
    for c in range(class_weight.shape[1]):
        class_weight[child, c] = class_weight[child + 1, c] = 0.0
    middle = start
    n_right = 0
    for t in range(start, end):
        i = order[t]
        if low >= 0 and exact:
            goes_left = bin_value[codes[i, k]] <= cut
        elif low >= 0 and codes[i, k] < low:
            goes_left = True
        elif low >= 0 and codes[i, k] > high:
            goes_left = False
        else:
            goes_left = X[rows[i], k] <= cut
        if goes_left:
            order[middle] = i
            middle += 1
            class_weight[child, y[i]] += weight[i]
        else:
            spare[n_right] = i
            n_right += 1
            class_weight[child + 1, y[i]] += weight[i]
    for t in range(n_right):
        order[middle + t] = spare[t]
    return middle


@njit(**OPTIONS)
def _grow(
    codes: Any, X: Any, rows: Any, y: Any, weight: Any, offset: Any, bin_value: Any, exact: Any, C: int,
    max_depth: int, min_leaf: float, min_decrease: float, entropy: bool, orders: Any, histograms: Any, ranges: Any,
    links: Any, threshold: Any, class_weight: Any, leaf_of_row: Any,
) -> int:  # fmt: skip
    order = orders[0]
    spare = orders[1]
    feature = links[0]
    left = links[1]
    right = links[2]
    n_features = codes.shape[1]
    total = np.zeros(C)
    lower = np.empty(C)
    root_weight = 0.0
    for i in range(len(y)):
        root_weight += weight[i]
    empty = EMPTY * root_weight
    n_used = 0
    for i in range(len(y)):  # without a branch: which rows an expert has is as good as random
        used = weight[i] > 2.0 * empty
        order[n_used] = i
        n_used += used
        total[y[i]] += weight[i] if used else 0.0
    # histograms of few bins, as of one-hot columns, are cheaper than sorting
    sorted_rows = max(RAW_ROWS, min(CODE_ROWS, 3 * offset[n_features] // n_features))
    # rounding must not make a leaf of exactly the allowed weight too light
    min_leaf = max(min_leaf * (1.0 - 1e-9), empty)

    # The smaller child is always taken next, so the stack holds at most log2(n) larger siblings. Each entry: node,
    # first and last row, depth, histogram slot, and whether that slot is filled.
    stack = np.empty((ranges.shape[0], 6), np.int64)
    _push(stack, 0, 0, 0, n_used, 0, 0, False)
    for k in range(n_features):
        ranges[0, 0, k] = 0
        ranges[0, 1, k] = offset[k + 1] - offset[k] - 1
    top = 1
    n_nodes = 1
    for c in range(C):
        class_weight[0, c] = total[c]
    while top > 0:
        top -= 1
        node, start, end = stack[top, 0], stack[top, 1], stack[top, 2]
        depth, slot, filled = stack[top, 3], stack[top, 4], stack[top, 5]
        span = ranges[top]
        node_weight = 0.0
        largest = 0.0
        for c in range(C):
            total[c] = class_weight[node, c]
            node_weight += total[c]
            largest = max(largest, total[c])
        tie = TIE * node_weight

        best = -np.inf
        k = LEAF
        low = -1
        high = -1
        cut = 0.0
        splittable = depth < max_depth and end - start > 1 and largest < node_weight
        if splittable and node_weight >= 2 * min_leaf:
            if end - start <= sorted_rows:
                best, k, below, above = split_by_sorting(
                    codes, X, rows, y, weight, order, start, end, span, exact, total, min_leaf, tie, entropy, lower
                )
                if end - start <= RAW_ROWS:
                    cut = between(below, above)
                else:
                    low, high = int(below), int(above)
            else:
                if not filled:
                    fill_histogram(histograms[slot], codes, y, weight, order, start, end, offset, span, C)
                best, k, low, high = scan_histogram(
                    histograms[slot], offset, span, total, min_leaf, tie, empty, entropy, lower
                )
            if k != LEAF and low >= 0 and exact[k]:
                cut = between(bin_value[offset[k] + low], bin_value[offset[k] + high])
            elif k != LEAF and low >= 0:
                cut = refine_threshold(
                    codes, X, rows, y, weight, order, start, end, k, low, high, lower, total, min_leaf, tie, entropy,
                    spare,
                )  # fmt: skip
                if np.isnan(cut):
                    k = LEAF
            terms = 0.0
            for c in range(C):
                terms += term(total[c], entropy)
            if k != LEAF and best - purity(terms, node_weight, entropy) < (min_decrease - 1e-12) * root_weight:
                k = LEAF

        middle = start
        if k != LEAF:
            middle = _partition(
                codes, X, rows, y, weight, order, spare, start, end, k, low, high, cut, bin_value[offset[k] :],
                exact[k], class_weight, n_nodes,
            )  # fmt: skip
        if middle == start or middle == end:
            feature[node] = left[node] = right[node] = LEAF
            threshold[node] = 0.0
            for t in range(start, end):
                leaf_of_row[order[t]] = node
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
        subtract = depth + 1 < max_depth and large_end - large_start > sorted_rows
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
        if low >= 0:
            # both children may hold rows of the two bins next to the threshold
            ranges[top + int(left_is_smaller), 1, k] = high
            ranges[top + int(not left_is_smaller), 0, k] = low
        top += 2

    if n_nodes == 1:
        for i in range(len(y)):
            leaf_of_row[i] = 0
        return n_nodes
    for i in range(len(y)):
        if not weight[i] > 2.0 * empty:
            node = 0
            while feature[node] != LEAF:
                node = left[node] if X[rows[i], feature[node]] <= threshold[node] else right[node]
            leaf_of_row[i] = node
    return n_nodes
