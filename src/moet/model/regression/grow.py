"""Weighted regression trees with constant or affine leaves, grown on binned features.

A node's rows are added up per feature and bin as moments (see :mod:`~moet.model.regression.least_squares`). The best
split is the one whose two sides, each with its own best law, explain most; running sums over the bins give the moments
of both. A constant leaf is an affine one whose rows have no number but the constant 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import BORROWING, INTERNAL
from moet.model.bins import Bins
from moet.model.regression.least_squares import FAST, explained, n_moments, write_moments
from moet.model.table import Table
from moet.model.tree import LEAF

TIE = 1e-10
"""A split must beat an earlier one by this share of what is to be explained: rounding must not decide."""

SPLIT_ROWS = 20_000
"""Of a larger node, so many rows (rows are in random order) look for the split."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GrowOptions:
    """When to stop splitting; ``min_leaf`` is a weight, ``ridge`` what a law's prior weighs in rows."""

    max_depth: int
    min_leaf: float
    ridge: float
    max_leaves: int = np.iinfo(np.int32).max


class Tests(NamedTuple):
    """The tests of a grown tree; the right child follows the left one."""

    feature: NDArray[np.int32]
    threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]


class Grower:
    """Grows trees on one table; holds the scratch memory that all of them share."""

    def __init__(self, table: Table, bins: Bins, design: Floats, n_outputs: int) -> None:
        self._table, self._bins, self._design = table, bins, design
        n, width = design.shape
        self._order = np.empty(n, dtype=np.int32)
        self._spare = np.empty(n, dtype=np.int32)
        self._histogram = np.empty((int(bins.offset[-1]), n_moments(width, n_outputs)))
        self._moments = np.empty((4, self._histogram.shape[1]))
        self._weights = np.empty(int(bins.offset[-1]))
        self._factor = np.empty((width, width))
        self._work = np.empty(width)

    def grow(self, weight: Floats, target: Floats, options: GrowOptions) -> Tests:
        """Grow a tree on the rows of positive weight."""
        capacity = 2 * len(self._table) - 1
        if options.max_depth < 31:
            capacity = min(capacity, 2 ** (options.max_depth + 1) - 1)
        if options.max_leaves < len(self._table):
            capacity = min(capacity, 2 * options.max_leaves - 1)
        links, threshold = np.full((3, capacity), LEAF, dtype=np.int32), np.zeros(capacity)
        n_nodes = _grow(
            self._bins.codes, self._bins.offset, self._table.X, self._table.rows, self._design, target, weight,
            options.max_depth, options.max_leaves, options.min_leaf, options.ridge, self._order, self._spare,
            self._histogram, self._weights, self._moments, self._factor, self._work,
            np.empty((capacity, 5), dtype=np.int64), np.empty(capacity), links, threshold,
        )  # fmt: skip
        feature, left, right = links[:, :n_nodes].copy()
        return Tests(feature, threshold[:n_nodes].copy(), left, right)


@njit(**INTERNAL, **FAST)
def _fill(
    codes: Any, offset: Any, design: Any, target: Any, weight: Any, order: Any, start: int, end: int, histogram: Any,
    weights: Any, moments: Any,
) -> float:  # fmt: skip
    """Add up a node's rows per feature and bin; returns the share of them that was looked at, as a factor of weight."""
    n_features = codes.shape[1]
    for b in range(len(weights)):
        weights[b] = 0.0
        for t in range(histogram.shape[1]):
            histogram[b, t] = 0.0
    stride = (end - start + SPLIT_ROWS - 1) // SPLIT_ROWS
    row = moments[0]
    for s in range(start, end, stride):
        i = order[s]
        write_moments(design[i], target[i], weight[i], row)
        for k in range(n_features):
            b = offset[k] + codes[i, k]
            weights[b] += weight[i]
            cell = histogram[b]
            for t in range(len(row)):
                cell[t] += row[t]
    return float(stride)


@njit(**INTERNAL, **FAST)
def _scan(
    offset: Any, histogram: Any, weights: Any, moments: Any, n_outputs: int, min_leaf: float, ridge: float, factor: Any,
    work: Any,
) -> Any:  # fmt: skip
    """Return the best split: (what it explains more than no split, feature, last bin of its left side)."""
    total, left, right = moments[1], moments[2], moments[3]
    total_weight = 0.0
    for t in range(len(total)):
        total[t] = 0.0
    for b in range(offset[0], offset[1]):
        total_weight += weights[b]
        for t in range(len(total)):
            total[t] += histogram[b, t]
    before = explained(total, ridge, n_outputs, factor, work)
    best, best_feature, best_bin = 0.0, np.int64(LEAF), np.int64(0)
    for k in range(len(offset) - 1):
        left_weight = 0.0
        for t in range(len(total)):
            left[t] = 0.0
        for b in range(offset[k], offset[k + 1] - 1):
            left_weight += weights[b]
            for t in range(len(total)):
                left[t] += histogram[b, t]
            if weights[b] <= 0.0 or left_weight < min_leaf:
                continue
            if total_weight - left_weight < min_leaf:
                break
            for t in range(len(total)):
                right[t] = total[t] - left[t]
            gain = explained(left, ridge, n_outputs, factor, work)
            gain += explained(right, ridge, n_outputs, factor, work) - before
            if gain > best + TIE * total_weight:
                best, best_feature, best_bin = gain, np.int64(k), np.int64(b - offset[k])
    return best, best_feature, best_bin


@njit(**INTERNAL)
def _part(codes: Any, X: Any, rows: Any, order: Any, spare: Any, start: int, end: int, k: int, last: int) -> Any:
    """Put the rows of the left side first; returns where the right side begins, and the threshold between them."""
    at, n_spare = start, 0
    below, above = -np.inf, np.inf
    for s in range(start, end):
        i = order[s]
        x = X[rows[i], k]
        if codes[i, k] <= last:
            order[at] = i
            at += 1
            below = x if x > below else below
        else:
            spare[n_spare] = i
            n_spare += 1
            above = x if x < above else above
    for s in range(n_spare):
        order[at + s] = spare[s]
    middle = below / 2 + above / 2
    return at, middle if below <= middle < above else below


@njit(**BORROWING)
def _grow(
    codes: Any, offset: Any, X: Any, rows: Any, design: Any, target: Any, weight: Any, max_depth: int, max_leaves: int,
    min_leaf: float, ridge: float, order: Any, spare: Any, histogram: Any, weights: Any, moments: Any, factor: Any,
    work: Any, nodes: Any, gains: Any, links: Any, threshold: Any,
) -> Any:  # fmt: skip
    """Split the leaf that gains most, again and again; ``nodes`` holds (start, end, depth, feature, bin) of each."""
    n_used = np.int64(0)
    for i in range(len(weight)):
        if weight[i] > 0.0:
            order[n_used] = i
            n_used += 1
    nodes[0, 0], nodes[0, 1], nodes[0, 2] = 0, n_used, 0
    n_nodes, n_leaves, new = np.int64(1), np.int64(1), np.int64(0)
    while True:
        for fresh in range(new, n_nodes):
            start, end = nodes[fresh, 0], nodes[fresh, 1]
            gains[fresh] = 0.0
            if nodes[fresh, 2] < max_depth and n_leaves < max_leaves and end - start >= 2:
                share = _fill(codes, offset, design, target, weight, order, start, end, histogram, weights, moments)
                gain, k, last = _scan(
                    offset, histogram, weights, moments, target.shape[1], min_leaf / share, ridge / share, factor, work
                )
                gains[fresh], nodes[fresh, 3], nodes[fresh, 4] = gain * share, k, last
        new = n_nodes
        node = np.int64(0)
        if max_leaves < len(weight):
            for other in range(n_nodes):
                node = np.int64(other) if gains[other] > gains[node] else node
        else:  # all gains will be taken: no need to look for the largest
            node = n_nodes - 1
            while node > 0 and not gains[node] > 0.0:
                node -= 1
        if n_leaves >= max_leaves or not gains[node] > 0.0:
            return n_nodes
        start, end, depth, k = nodes[node, 0], nodes[node, 1], nodes[node, 2], nodes[node, 3]
        middle, cut = _part(codes, X, rows, order, spare, start, end, k, nodes[node, 4])
        gains[node] = 0.0
        links[0, node], threshold[node] = k, cut
        links[1, node], links[2, node] = n_nodes, n_nodes + 1
        nodes[n_nodes, 0], nodes[n_nodes, 1], nodes[n_nodes, 2] = start, middle, depth + 1
        nodes[n_nodes + 1, 0], nodes[n_nodes + 1, 1], nodes[n_nodes + 1, 2] = middle, end, depth + 1
        n_nodes += 2
        n_leaves += 1
