"""Kernels that find the best split of a node.

A large node is scanned bin by bin (its histogram of class weights), a small one row by row after sorting. A split is
scored by the sum over both sides of Σ_c a_c²/a (Gini) or Σ_c a_c log₂(a_c/a) (entropy): larger is purer. Scans keep
Σ_c term(a_c) up to date; what is inlined into them takes scalars only, for arrays would cost reference counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from moet.jit import OPTIONS
from moet.model.tree import LEAF

RAW_ROWS = 24
"""Nodes of at most so many rows are split by sorting their raw values."""

CODE_ROWS = 512
"""Larger nodes of at most so many rows are split by sorting their bins: histograms would be mostly empty."""


@njit(inline="always", **OPTIONS)
def term(a: float, entropy: bool) -> float:
    """What a class of weight ``a`` adds to the sum of its side."""
    if not entropy:
        return a * a
    return a * np.log2(a) if a > 0.0 else 0.0


@njit(inline="always", **OPTIONS)
def purity(sum_of_terms: float, total: float, entropy: bool) -> float:
    """Score of one side of a split from the sum of its terms and its weight."""
    return sum_of_terms - term(total, True) if entropy else sum_of_terms / total


@njit(**OPTIONS)
def fill_histogram(
    histogram: Any, codes: Any, y: Any, weight: Any, order: Any, start: int, end: int, offset: Any, span: Any, C: int
) -> None:
    """Sum the weights of a node's rows per feature, bin (within ``span``) and class."""
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
def scan_histogram(
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
        node_terms += term(total[c], entropy)
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
                score = purity(terms_below, below, entropy) + purity(terms_above, above, entropy)
                if score > best + tie:
                    best = score
                    best_feature = k
                    best_low = previous
                    best_high = b
                    for c in range(C):
                        best_lower[c] = lower[c]
            for c in range(C):
                moved = histogram[at + c]
                terms_below += term(lower[c] + moved, entropy) - term(lower[c], entropy)
                terms_above += term(upper[c] - moved, entropy) - term(upper[c], entropy)
                lower[c] += moved
                upper[c] -= moved
            below += mass
            previous = b
        if first >= 0:
            span[0, k] = first
            span[1, k] = previous
    return best, best_feature, best_low, best_high


@njit(inline="always", **OPTIONS)
def between(low: float, high: float) -> float:
    """A threshold that sends ``low`` left and ``high`` right."""
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


@njit(**OPTIONS)
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
        terms_below += term(lower[c], entropy)
        terms_above += term(upper[c], entropy)
    last_below = -1
    for t in range(n - 1):
        label = y[owners[t]]
        moved = weight[owners[t]]
        terms_below += term(lower[label] + moved, entropy) - term(lower[label], entropy)
        terms_above += term(upper[label] - moved, entropy) - term(upper[label], entropy)
        lower[label] += moved
        upper[label] -= moved
        below += moved
        above -= moved
        if values[t] < values[t + 1] and below >= min_leaf and above >= min_leaf:
            score = purity(terms_below, below, entropy) + purity(terms_above, above, entropy)
            if score > best + tie:
                best = score
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
def split_by_sorting(
    codes: Any, X: Any, rows: Any, y: Any, weight: Any, order: Any, start: int, end: int, span: Any, exact: Any,
    total: Any, min_leaf: float, tie: float, entropy: bool, best_lower: Any,
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
        if span[0, k] == span[1, k] and (exact[k] or n > RAW_ROWS):
            continue
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
def refine_threshold(
    codes: Any, X: Any, rows: Any, y: Any, weight: Any, order: Any, start: int, end: int, k: int, low: int, high: int,
    lower: Any, total: Any, min_leaf: float, tie: float, entropy: bool, found: Any,
) -> float:  # fmt: skip
    """Best raw threshold on feature ``k`` among the rows of bins ``low`` and ``high``.

    ``lower`` holds the class weights up to bin ``low`` and is used up; ``found`` is scratch space.
    """
    n = np.int64(0)  # a literal 0 would have what is called with n compiled twice
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
    return between(values[last], values[last + 1]) if last >= 0 else np.nan
