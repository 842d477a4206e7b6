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


class _Rows(NamedTuple):
    """The rows a tree is grown on: bins and values of the features, and what the laws of its leaves are made of."""

    codes: NDArray[np.uint8]
    offset: NDArray[np.int32]
    X: Floats
    at: NDArray[np.int32]
    design: Floats
    target: Floats
    weight: Floats


class _Limits(NamedTuple):
    """When to stop splitting, as :class:`GrowOptions`."""

    max_depth: int
    max_leaves: int
    min_leaf: float
    ridge: float


class _Space(NamedTuple):
    """Scratch memory: rows in the order of the nodes, sums per bin, moments of a row and of three sides, a factor."""

    order: NDArray[np.int32]
    spare: NDArray[np.int32]
    histogram: Floats
    weights: Floats
    moments: Floats
    factor: Floats
    work: Floats


class _Nodes(NamedTuple):
    """The tree while it grows: (start, end, depth, feature, last bin) of each node, what its best split gains, tests.

    ``links`` are feature, left and right child.
    """

    places: NDArray[np.int64]
    gains: Floats
    links: NDArray[np.int32]
    threshold: Floats


class Grower:
    """Grows trees on one table; holds the scratch memory that all of them share."""

    def __init__(self, table: Table, bins: Bins, design: Floats, n_outputs: int) -> None:
        self._table, self._bins, self._design = table, bins, design
        n, width = design.shape
        n_bins, n_sums = int(bins.offset[-1]), n_moments(width, n_outputs)
        self._space = _Space(
            np.empty(n, dtype=np.int32),
            np.empty(n, dtype=np.int32),
            np.empty((n_bins, n_sums)),
            np.empty(n_bins),
            np.empty((4, n_sums)),
            np.empty((width, width)),
            np.empty(width),
        )

    def grow(self, weight: Floats, target: Floats, options: GrowOptions) -> Tests:
        """Grow a tree on the rows of positive weight."""
        table, bins = self._table, self._bins
        capacity = 2 * len(table) - 1
        if options.max_depth < 31:
            capacity = min(capacity, 2 ** (options.max_depth + 1) - 1)
        if options.max_leaves < len(table):
            capacity = min(capacity, 2 * options.max_leaves - 1)
        links, threshold = np.full((3, capacity), LEAF, dtype=np.int32), np.zeros(capacity)
        n_nodes = _grow(
            _Rows(bins.codes, bins.offset, table.X, table.rows, self._design, target, weight),
            _Limits(options.max_depth, options.max_leaves, options.min_leaf, options.ridge),
            self._space,
            _Nodes(np.empty((capacity, 5), dtype=np.int64), np.empty(capacity), links, threshold),
        )
        feature, left, right = links[:, :n_nodes].copy()
        return Tests(feature, threshold[:n_nodes].copy(), left, right)


@njit(**INTERNAL, **FAST)
def _fill(rows: _Rows, space: _Space, start: int, end: int) -> float:
    """Add up a node's rows per feature and bin; returns the share of them that was looked at, as a factor of weight."""
    codes, offset, design, target, weight = rows.codes, rows.offset, rows.design, rows.target, rows.weight
    order, histogram, weights = space.order, space.histogram, space.weights
    n_features = codes.shape[1]
    for b in range(len(weights)):
        weights[b] = 0.0
        for t in range(histogram.shape[1]):
            histogram[b, t] = 0.0
    stride = (end - start + SPLIT_ROWS - 1) // SPLIT_ROWS
    row = space.moments[0]
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
def _scan(offset: Any, space: _Space, n_outputs: int, min_leaf: float, ridge: float) -> Any:
    """Return the best split: (what it explains more than no split, feature, last bin of its left side)."""
    histogram, weights, factor, work = space.histogram, space.weights, space.factor, space.work
    total, left, right = space.moments[1], space.moments[2], space.moments[3]
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
def _part(rows: _Rows, space: _Space, start: int, end: int, k: int, last: int) -> Any:
    """Put the rows of the left side first; returns where the right side begins, and the threshold between them."""
    order, spare = space.order, space.spare
    at, n_spare = start, 0
    below, above = -np.inf, np.inf
    for s in range(start, end):
        i = order[s]
        x = rows.X[rows.at[i], k]
        if rows.codes[i, k] <= last:
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


@njit(**INTERNAL)
def _take_rows(weight: Any, order: Any) -> Any:
    """Put the rows of positive weight in order; returns how many there are."""
    n_used = np.int64(0)
    for i in range(len(weight)):
        if weight[i] > 0.0:
            order[n_used] = i
            n_used += 1
    return n_used


@njit(**INTERNAL)
def _look(rows: _Rows, limits: _Limits, space: _Space, nodes: _Nodes, node: int, n_leaves: int) -> None:
    """Find the best split of a node."""
    place = nodes.places[node]
    start, end = place[0], place[1]
    nodes.gains[node] = 0.0
    if place[2] < limits.max_depth and n_leaves < limits.max_leaves and end - start >= 2:
        share = _fill(rows, space, start, end)
        n_outputs = rows.target.shape[1]
        gain, k, last = _scan(rows.offset, space, n_outputs, limits.min_leaf / share, limits.ridge / share)
        nodes.gains[node], place[3], place[4] = gain * share, k, last


@njit(**INTERNAL)
def _next(gains: Any, n_nodes: int, all_are_taken: bool) -> Any:
    """The node to split: the one that gains most or, where all gains will be taken, the last that gains."""
    node = np.int64(0)
    if all_are_taken:
        node = np.int64(n_nodes - 1)
        while node > 0 and not gains[node] > 0.0:
            node -= 1
    else:
        for other in range(n_nodes):
            node = np.int64(other) if gains[other] > gains[node] else node
    return node


@njit(**INTERNAL)
def _split(rows: _Rows, space: _Space, nodes: _Nodes, node: int, n_nodes: int) -> None:
    """Give a node its test and two children."""
    place = nodes.places[node]
    start, end, depth, k = place[0], place[1], place[2], place[3]
    middle, cut = _part(rows, space, start, end, k, place[4])
    nodes.gains[node] = 0.0
    nodes.links[0, node], nodes.threshold[node] = k, cut
    nodes.links[1, node], nodes.links[2, node] = n_nodes, n_nodes + 1
    left, right = nodes.places[n_nodes], nodes.places[n_nodes + 1]
    left[0], left[1], left[2] = start, middle, depth + 1
    right[0], right[1], right[2] = middle, end, depth + 1


@njit(**BORROWING)
def _grow(rows: _Rows, limits: _Limits, space: _Space, nodes: _Nodes) -> Any:
    """Split the leaf that gains most, again and again; returns the number of nodes."""
    root = nodes.places[0]
    root[0], root[1], root[2] = 0, _take_rows(rows.weight, space.order), 0
    n_nodes, n_leaves, new = np.int64(1), np.int64(1), np.int64(0)
    while True:
        for fresh in range(new, n_nodes):
            _look(rows, limits, space, nodes, fresh, n_leaves)
        new = n_nodes
        node = _next(nodes.gains, n_nodes, limits.max_leaves >= len(rows.weight))
        if n_leaves >= limits.max_leaves or not nodes.gains[node] > 0.0:
            return n_nodes
        _split(rows, space, nodes, node, n_nodes)
        n_nodes += 2
        n_leaves += 1
