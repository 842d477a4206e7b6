"""Subtrees of few rows, grown exactly: every feature is sorted once, and its order handed down to the children."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from moet.jit import INTERNAL
from moet.model.growth import TIE, Limits, Nodes, Rows, Scratch, Space
from moet.model.splits import between, distribute, purity, scan_sorted, sort_by_value, term
from moet.model.tree import LEAF


@njit(**INTERNAL)
def _sort_features(scratch: Scratch, n: int, rows: Rows, span: Any) -> int:
    """Fill values and orders of the scratch space, and return how many features differ."""
    codes, exact = rows.codes, rows.exact
    counts = scratch.counts
    row = scratch.row[0]
    bucket = scratch.row[2]
    n_lists = 0
    for k in range(codes.shape[1]):
        lowest = span[0, k]
        if exact[k] and lowest == span[1, k]:
            continue
        value = scratch.value[n_lists]
        ids = scratch.ids[n_lists]
        if exact[k]:
            for t in range(n):
                code = codes[np.uint32(row[t]), k]
                bucket[t] = code - lowest
                value[t] = rows.bin_value[rows.offset[k] + code]
            distribute(bucket, n, span[1, k] - lowest + 1, counts, ids)
        else:
            for t in range(n):
                value[t] = rows.X[np.uint64(rows.at[np.uint32(row[t])]), k]
            sort_by_value(value, n, bucket, counts, ids)
        if value[ids[0]] < value[ids[n - 1]]:
            scratch.feature[n_lists] = k
            n_lists += 1
    return n_lists


@njit(**INTERNAL)
def _hand_down(scratch: Scratch, n_lists: int, start: int, end: int) -> None:
    """Put the rows that go left first in every list, keeping their order."""
    goes_left = scratch.row[2]
    spare = scratch.ids[scratch.ids.shape[0] - 1]
    for f in range(n_lists):
        ids = scratch.ids[f]
        middle = np.uint32(start)
        n_right = np.uint32(0)
        for t in range(start, end):  # without a branch: it would be mispredicted half the time
            i = ids[t]
            left = np.uint32(goes_left[i])
            ids[middle] = i
            spare[n_right] = i
            middle += left
            n_right += np.uint32(1) - left
        for t in range(n_right):
            ids[middle + t] = spare[t]


@njit(**INTERNAL)
def grow_subtree(
    space: Space, rows: Rows, start: int, end: int, span: Any, root: int, root_depth: int, n_nodes: int,
    limits: Limits, nodes: Nodes,
) -> int:  # fmt: skip
    """Grow all below node ``root``, whose rows are ``orders[0, start:end]``, and return the number of nodes."""
    scratch, order = space.scratch, space.orders[0]
    n = end - start
    feature, left, right = nodes.links[0], nodes.links[1], nodes.links[2]
    threshold, class_weight = nodes.threshold, nodes.class_weight
    max_depth, min_leaf, entropy = limits.max_depth, limits.min_leaf, limits.entropy
    row, label, goes_left = scratch.row[0], scratch.row[1], scratch.row[2]
    stack = scratch.stack
    for t in range(n):
        i = order[start + t]
        row[t] = i
        label[t] = rows.y[i]
        scratch.weight[t] = rows.weight[i]
        scratch.ids[0, t] = t
    C = class_weight.shape[1]
    n_lists = np.int64(-1)  # not sorted yet
    top = 1
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4] = root, 0, n, root_depth, 0
    while top > 0:
        top -= 1
        node, first, last = np.int64(stack[top, 0]), np.int64(stack[top, 1]), np.int64(stack[top, 2])
        depth, own = stack[top, 3], stack[top, 4]
        total = class_weight[node]
        node_weight = 0.0
        largest = 0.0
        terms = 0.0
        for c in range(C):
            node_weight += total[c]
            largest = total[c] if total[c] > largest else largest
            terms += term(total[c], entropy)
        found = -1
        middle = first
        if depth < max_depth and largest < node_weight and node_weight >= 2 * min_leaf:
            if n_lists < 0:
                n_lists = _sort_features(scratch, n, rows, span)
            tie = TIE * node_weight
            best, found, middle = scan_sorted(scratch, n_lists, first, last, scratch.nothing, total, tie, limits)
            if best - purity(terms, node_weight, entropy) < limits.least_gain:
                found = -1
        if found < 0:
            feature[node] = left[node] = right[node] = LEAF
            threshold[node] = 0.0
            ids = scratch.ids[own]
            for t in range(first, last):
                nodes.leaf_of_row[row[ids[t]]] = node
            continue

        ids, value = scratch.ids[found], scratch.value[found]
        feature[node] = scratch.feature[found]
        threshold[node] = between(value[ids[middle - 1]], value[ids[middle]])
        left[node] = n_nodes
        right[node] = n_nodes + 1
        for c in range(C):
            class_weight[n_nodes, c] = class_weight[n_nodes + 1, c] = 0.0
        for t in range(first, last):
            i = ids[t]
            goes_left[i] = t < middle
            class_weight[n_nodes if t < middle else n_nodes + 1, label[i]] += scratch.weight[i]
        if depth + 1 < max_depth:
            _hand_down(scratch, n_lists, first, last)
        for child in range(2):
            stack[top, 0], stack[top, 3], stack[top, 4] = n_nodes + child, depth + 1, found
            stack[top, 1], stack[top, 2] = (middle, last) if child else (first, middle)
            top += 1
        n_nodes += 2
    return n_nodes
