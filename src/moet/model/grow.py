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
from moet.model.table import Table
from moet.model.tree import LEAF

Criterion = Literal["gini", "entropy"]

RAW_ROWS = 24
"""Nodes of at most so many rows are split by sorting their raw values."""

CODE_ROWS = 512
"""Larger nodes of at most so many rows are split by sorting their bins: histograms would be mostly empty."""

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


# A split is scored by the sum over both sides of Σ_c a_c²/a (Gini) or Σ_c a_c log₂(a_c/a) (entropy): larger is purer.
# Scans keep Σ_c term(a_c) up to date. The helpers take scalars only: arrays would cost reference counts in inner loops.


@njit(inline="always", **OPTIONS)
def _term(a: float, entropy: bool) -> float:
    if not entropy:
        return a * a
    return a * np.log2(a) if a > 0.0 else 0.0


@njit(inline="always", **OPTIONS)
def _purity(sum_of_terms: float, total: float, entropy: bool) -> float:
    return sum_of_terms - _term(total, True) if entropy else sum_of_terms / total


@njit(**OPTIONS)
def _fill_histogram(
    histogram: Any, codes: Any, y: Any, weight: Any, order: Any, start: int, end: int, offset: Any, span: Any, C: int
) -> None:
    n_features = codes.shape[1]
    for k in range(n_features):
        for b in range((offset[k] + span[0, k]) * C, (offset[k] + span[1, k] + 1) * C):
            histogram[b] = 0.0
    for t in range(start, end):
        i = order[t]
        w = weight[i]
        label = y[i]
        for k in range(n_features):
            histogram[(offset[k] + codes[i, k]) * C + label] += w


@njit(**OPTIONS)
def _scan_histogram(
    histogram: Any, offset: Any, span: Any, total: Any, min_leaf: float, tie: float, empty: float, entropy: bool,
    best_lower: Any,
) -> Any:  # fmt: skip
    """Best split of a node: (purity, feature, bin below, bin above).

    Shrinks ``span`` to the bins that hold rows; writes the class weights below the split into ``best_lower``.
    """
    C = len(total)
    lower = np.empty(C)
    upper = np.empty(C)
    node_weight = 0.0
    node_terms = 0.0
    for c in range(C):
        node_weight += total[c]
        node_terms += _term(total[c], entropy)
    best = -np.inf
    best_feature = LEAF
    best_low = 0
    best_high = 0
    for k in range(span.shape[1]):
        first = -1
        previous = -1
        below = 0.0
        terms_below = 0.0
        terms_above = node_terms
        for c in range(C):
            lower[c] = 0.0
            upper[c] = total[c]
        for b in range(span[0, k], span[1, k] + 1):
            at = (offset[k] + b) * C
            mass = 0.0
            for c in range(C):
                mass += histogram[at + c]
            if mass <= empty:
                continue
            above = node_weight - below
            if previous < 0:
                first = b
            elif below >= min_leaf and above >= min_leaf:
                purity = _purity(terms_below, below, entropy) + _purity(terms_above, above, entropy)
                if purity > best + tie:
                    best = purity
                    best_feature = k
                    best_low = previous
                    best_high = b
                    for c in range(C):
                        best_lower[c] = lower[c]
            for c in range(C):
                moved = histogram[at + c]
                terms_below += _term(lower[c] + moved, entropy) - _term(lower[c], entropy)
                terms_above += _term(upper[c] - moved, entropy) - _term(upper[c], entropy)
                lower[c] += moved
                upper[c] -= moved
            below += mass
            previous = b
        if first >= 0:
            span[0, k] = first
            span[1, k] = previous
    return best, best_feature, best_low, best_high


@njit(inline="always", **OPTIONS)
def _between(low: float, high: float) -> float:
    """A threshold that sends ``low`` left and ``high`` right."""
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


@njit(inline="always", **OPTIONS)
def _scan_sorted(
    values: Any, owners: Any, n: int, y: Any, weight: Any, lower: Any, upper: Any, min_leaf: float, best: float,
    tie: float, entropy: bool, best_lower: Any,
) -> Any:  # fmt: skip
    """Best split of ``n`` rows in order of ``values`` that beats ``best``: (purity, last row below or -1).

    ``lower`` and ``upper`` are the class weights on either side at the start, and are used up.
    """
    below = 0.0
    above = 0.0
    terms_below = 0.0
    terms_above = 0.0
    for c in range(len(lower)):
        below += lower[c]
        above += upper[c]
        terms_below += _term(lower[c], entropy)
        terms_above += _term(upper[c], entropy)
    last_below = -1
    for t in range(n - 1):
        label = y[owners[t]]
        moved = weight[owners[t]]
        terms_below += _term(lower[label] + moved, entropy) - _term(lower[label], entropy)
        terms_above += _term(upper[label] - moved, entropy) - _term(upper[label], entropy)
        lower[label] += moved
        upper[label] -= moved
        below += moved
        above -= moved
        if values[t] < values[t + 1] and below >= min_leaf and above >= min_leaf:
            purity = _purity(terms_below, below, entropy) + _purity(terms_above, above, entropy)
            if purity > best + tie:
                best = purity
                last_below = t
                for c in range(len(lower)):
                    best_lower[c] = lower[c]
    return best, last_below


@njit(**OPTIONS)
def _sort_by_value(values: Any, owners: Any, n: int) -> None:
    """Sort pairs (value, owner) in place by Shell's method: short to compile, fast for the few rows of two bins."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for t in range(gap, n):
            value = values[t]
            owner = owners[t]
            place = t
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                owners[place] = owners[place - gap]
                place -= gap
            values[place] = value
            owners[place] = owner
        gap //= 3


@njit(inline="always", **OPTIONS)
def _sort_codes(
    codes: Any, k: int, order: Any, start: int, n: int, span: Any, counts: Any, values: Any, owners: Any
) -> None:
    """Sort the rows of a small node by the bin of feature ``k``."""
    for b in range(span[0, k], span[1, k] + 2):
        counts[b] = 0
    for t in range(n):
        counts[codes[order[start + t], k] + 1] += 1
    for b in range(span[0, k], span[1, k] + 1):
        counts[b + 1] += counts[b]
    for t in range(n):
        i = order[start + t]
        code = codes[i, k]
        values[counts[code]] = code
        owners[counts[code]] = i
        counts[code] += 1


@njit(**OPTIONS)
def _split_by_sorting(
    codes: Any, X: Any, rows: Any, y: Any, weight: Any, order: Any, start: int, end: int, span: Any, total: Any,
    min_leaf: float, tie: float, entropy: bool, best_lower: Any,
) -> Any:  # fmt: skip
    """Best split of a small node: (purity, feature, value below, value above).

    Values are raw numbers in a tiny node (up to RAW_ROWS), else bins; ``span`` then shrinks to those that hold rows.
    """
    n = end - start
    values = np.empty(n)
    owners = np.empty(n, np.int32)
    counts = np.zeros(258, np.int32)
    lower = np.empty(len(total))
    upper = np.empty(len(total))
    best = -np.inf
    best_feature = LEAF
    best_low = 0.0
    best_high = 0.0
    for k in range(codes.shape[1]):
        if n <= RAW_ROWS:
            for t in range(n):
                owners[t] = order[start + t]
                values[t] = X[rows[owners[t]], k]
            _sort_by_value(values, owners, n)
        else:
            _sort_codes(codes, k, order, start, n, span, counts, values, owners)
            span[0, k] = int(values[0])
            span[1, k] = int(values[n - 1])
        if values[0] == values[n - 1]:
            continue
        for c in range(len(total)):
            lower[c] = 0.0
            upper[c] = total[c]
        best, last = _scan_sorted(values, owners, n, y, weight, lower, upper, min_leaf, best, tie, entropy, best_lower)
        if last >= 0:
            best_feature = k
            best_low = values[last]
            best_high = values[last + 1]
    return best, best_feature, best_low, best_high


@njit(**OPTIONS)
def _refine_threshold(
    codes: Any, X: Any, rows: Any, y: Any, weight: Any, order: Any, start: int, end: int, k: int, low: int, high: int,
    lower: Any, total: Any, min_leaf: float, tie: float, entropy: bool, found: Any,
) -> float:  # fmt: skip
    """Best raw threshold on feature ``k`` among the rows of bins ``low`` and ``high``.

    ``lower`` holds the class weights up to bin ``low`` and is used up; ``found`` is scratch space.
    """
    n = 0
    for t in range(start, end):
        code = codes[order[t], k]
        if code == low or code == high:
            found[n] = order[t]
            n += 1
            if code == low:
                lower[y[order[t]]] -= weight[order[t]]
    values = np.empty(n)
    for t in range(n):
        values[t] = X[rows[found[t]], k]
    _sort_by_value(values, found, n)
    upper = np.empty(len(total))
    unused = np.empty(len(total))
    for c in range(len(total)):
        upper[c] = total[c] - lower[c]
    _, last = _scan_sorted(values, found, n, y, weight, lower, upper, min_leaf, -np.inf, tie, entropy, unused)
    return _between(values[last], values[last + 1]) if last >= 0 else np.nan


@njit(inline="always", **OPTIONS)
def _push(stack: Any, at: int, node: int, start: int, end: int, depth: int, slot: int, filled: bool) -> None:
    stack[at, 0] = node
    stack[at, 1] = start
    stack[at, 2] = end
    stack[at, 3] = depth
    stack[at, 4] = slot
    stack[at, 5] = filled


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
    for i in range(len(y)):
        if weight[i] > 2.0 * empty:
            order[n_used] = i
            n_used += 1
            total[y[i]] += weight[i]
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
            if end - start <= CODE_ROWS:
                best, k, below, above = _split_by_sorting(
                    codes, X, rows, y, weight, order, start, end, span, total, min_leaf, tie, entropy, lower
                )
                if end - start <= RAW_ROWS:
                    cut = _between(below, above)
                else:
                    low, high = int(below), int(above)
            else:
                if not filled:
                    _fill_histogram(histograms[slot], codes, y, weight, order, start, end, offset, span, C)
                best, k, low, high = _scan_histogram(
                    histograms[slot], offset, span, total, min_leaf, tie, empty, entropy, lower
                )
            if k != LEAF and low >= 0 and exact[k]:
                cut = _between(bin_value[offset[k] + low], bin_value[offset[k] + high])
            elif k != LEAF and low >= 0:
                cut = _refine_threshold(
                    codes, X, rows, y, weight, order, start, end, k, low, high, lower, total, min_leaf, tie, entropy,
                    spare,
                )  # fmt: skip
                if np.isnan(cut):
                    k = LEAF
            terms = 0.0
            for c in range(C):
                terms += _term(total[c], entropy)
            if k != LEAF and best - _purity(terms, node_weight, entropy) < (min_decrease - 1e-12) * root_weight:
                k = LEAF

        # stable partition; the children's class weights are summed anew, free of the residue of subtractions
        middle = start
        n_right = 0
        if k != LEAF:
            left_weight = class_weight[n_nodes]
            right_weight = class_weight[n_nodes + 1]
            for c in range(C):
                left_weight[c] = right_weight[c] = 0.0
            for t in range(start, end):
                i = order[t]
                if low >= 0 and exact[k]:
                    goes_left = bin_value[offset[k] + codes[i, k]] <= cut
                elif low >= 0 and codes[i, k] < low:
                    goes_left = True
                elif low >= 0 and codes[i, k] > high:
                    goes_left = False
                else:
                    goes_left = X[rows[i], k] <= cut
                if goes_left:
                    order[middle] = i
                    middle += 1
                    left_weight[y[i]] += weight[i]
                else:
                    spare[n_right] = i
                    n_right += 1
                    right_weight[y[i]] += weight[i]
            for t in range(n_right):
                order[middle + t] = spare[t]
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
        subtract = depth + 1 < max_depth and large_end - large_start > CODE_ROWS
        if subtract:
            _fill_histogram(histograms[slot + 1], codes, y, weight, order, small_start, small_end, offset, span, C)
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

    for i in range(len(y)):
        if not weight[i] > 2.0 * empty:
            node = 0
            while feature[node] != LEAF:
                node = left[node] if X[rows[i], feature[node]] <= threshold[node] else right[node]
            leaf_of_row[i] = node
    return n_nodes
