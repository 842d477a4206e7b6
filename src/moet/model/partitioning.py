"""A split carried out: the rows of a node, parted by bins, and by raw values where bins cannot tell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from moet.jit import INTERNAL
from moet.model.growth import Cut, Limits, Rows, Scratch, Space
from moet.model.splits import between, scan_sorted, sort_by_value


@njit(**INTERNAL)
def partition(
    space: Space, rows: Rows, start: int, end: int, split: Cut, total: Any, limits: Limits, tie: float, child: int,
    class_weight: Any,
) -> Any:  # fmt: skip
    """Split a node where a histogram found it best: (threshold, first row that goes right).

    Unless bins are single values, the threshold is moved to the best raw value within the two. The class weights of the
    children (nodes ``child`` and ``child + 1``) are summed anew: those that a histogram gives have the residue of
    subtractions. The threshold is inf if no valid one is found.
    """
    order, spare = space.orders[0], space.orders[1]
    k, low, high = split.feature, split.low, split.high
    codes, exact = rows.codes, rows.exact[k]
    for c in range(class_weight.shape[1]):
        class_weight[child, c] = class_weight[child + 1, c] = 0.0
    # Rows that go left stay in ``order``, those that go right begin ``spare``, and those that bins cannot tell end it.
    # No branch: it would be mispredicted half the time.
    doubtful_from = np.uint8(high if exact else low)
    doubtful_to = np.uint8(high - 1 if exact else high)
    middle = np.uint32(start)
    n_right = np.uint32(0)
    doubtful = np.uint32(len(spare) - 1)
    for t in range(start, end):
        i = np.uint32(order[t])
        code = codes[i, k]
        goes_left = np.uint32(code < doubtful_from)
        goes_right = np.uint32(code > doubtful_to)
        order[middle] = i
        spare[doubtful] = i
        spare[n_right] = i
        middle += goes_left
        n_right += goes_right
        doubtful -= np.uint32(1) - goes_left - goes_right
    n_sure = np.int64(middle)
    _add_classes(rows, order, start, n_sure, class_weight[child])
    value = rows.bin_value[rows.offset[k] :]
    cut = between(value[low], value[high])
    if not exact:
        unsure = spare[doubtful + 1 :]
        cut = _refined(space.bin_scratch, rows, unsure, k, class_weight[child], total, limits, tie)
        for i in unsure:
            if rows.X[rows.at[i], k] <= cut:
                order[middle] = i
                middle += np.uint32(1)
            else:
                spare[n_right] = i  # not beyond those still to come: there is room for all of them
                n_right += np.uint32(1)
        _add_classes(rows, order, n_sure, np.int64(middle), class_weight[child])
    for t in range(n_right):
        order[middle + t] = spare[t]
    _add_classes(rows, order, np.int64(middle), end, class_weight[child + 1])
    return cut, np.int64(middle)


@njit(**INTERNAL)
def _add_classes(rows: Rows, order: Any, start: int, end: int, class_weight: Any) -> None:
    """Add the weights of some rows to those of their classes."""
    for t in range(start, end):
        i = np.uint32(order[t])
        class_weight[np.uint32(rows.y[i])] += rows.weight[i]


@njit(**INTERNAL)
def _refined(
    scratch: Scratch, rows: Rows, unsure: Any, k: int, base: Any, total: Any, limits: Limits, tie: float
) -> float:  # fmt: skip
    """Best threshold on feature ``k`` among some rows, above rows of class weights ``base``; inf if there is none."""
    n = len(unsure)
    value, ids, label = scratch.value[0], scratch.ids[0], scratch.row[1]
    for t in range(n):
        i = np.uint32(unsure[t])
        value[t] = rows.X[np.uint64(rows.at[i]), k]
        label[t] = rows.y[i]
        scratch.weight[t] = rows.weight[i]
    sort_by_value(value, n, scratch.row[2], scratch.counts, ids)
    one, zero = np.int64(1), np.int64(0)  # literals would have what is called with them compiled twice
    _, found, at = scan_sorted(scratch, one, zero, n, base, total, tie, limits)
    return between(value[ids[at - 1]], value[ids[at]]) if found >= 0 else np.inf
