"""Kernels that find the best split of a node.

A large node is scanned bin by bin (its histogram of class weights), a small one row by row in sorted order. A split is
scored by the sum over both sides of Σ_c a_c²/a (Gini) or Σ_c a_c log₂(a_c/a) (entropy): larger is purer. Scans keep
Σ_c term(a_c) up to date. ``entropy`` is True or None: a None has a type of its own, so each criterion is compiled
without the other, when it is first used. Indices are unsigned where it matters: a signed one might be negative, and is
asked whether it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from moet.jit import INLINED, INTERNAL
from moet.model.growth import Limits, Scratch
from moet.model.tree import LEAF


@njit(**INLINED)
def term(a: float, entropy: bool | None) -> float:
    """What a class of weight ``a`` adds to the sum of its side."""
    if entropy is None:
        return a * a
    return a * np.log2(a) if a > 0.0 else 0.0


@njit(**INLINED)
def increase(a: float, moved: float, entropy: bool | None) -> float:
    """By how much the term of a class grows when its weight does from ``a`` to ``a + moved``."""
    if entropy is None:
        return moved * (a + a + moved)
    return term(a + moved, entropy) - term(a, entropy)


@njit(**INLINED)
def purity(sum_of_terms: float, total: float, entropy: bool | None) -> float:
    """Score of one side of a split from the sum of its terms and its weight."""
    if entropy is None:
        return sum_of_terms / total
    return sum_of_terms - term(total, entropy)


@njit(**INLINED)
def promising(
    terms_below: float, below: float, terms_above: float, above: float, bar: float, entropy: bool | None
) -> bool:  # fmt: skip
    """Whether a split may score more than ``bar``, said without dividing."""
    if entropy is None:
        return terms_below * above + terms_above * below > bar * (below * above)
    return True


@njit(**INLINED)
def between(low: float, high: float) -> float:
    """A threshold that sends ``low`` left and ``high`` right."""
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


@njit(**INTERNAL)
def fill_histogram(
    histogram: Any, codes: Any, y: Any, weight: Any, order: Any, start: int, end: int, offset: Any, span: Any, C: int
) -> None:
    """Sum the weights of a node's rows per feature, bin (within ``span``) and class."""
    n_features = codes.shape[1]
    for k in range(n_features):
        for b in range((offset[k] + span[0, k]) * C, (offset[k] + span[1, k] + 1) * C):
            histogram[b] = 0.0
    n_classes = np.uint64(C)
    for t in range(start, end):
        i = np.uint32(order[t])
        w = weight[i]
        label = np.uint64(y[i])
        for k in range(n_features):
            histogram[(np.uint64(offset[k]) + np.uint64(codes[i, k])) * n_classes + label] += w


@njit(**INTERNAL)
def scan_histogram(
    histogram: Any, offset: Any, span: Any, total: Any, sides: Any, min_leaf: float, tie: float, empty: float,
    entropy: bool | None,
) -> Any:  # fmt: skip
    """Best split of a node: (purity, feature, bin below, bin above).

    Shrinks ``span`` to the bins that hold rows. ``sides`` is scratch space, two rows like ``total``.
    """
    C = len(total)
    lower = sides[0]
    upper = sides[1]
    node_weight = 0.0
    node_terms = 0.0
    for c in range(C):
        node_weight += total[c]
        node_terms += term(total[c], entropy)
    best = -np.inf
    bar = -np.inf
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
            elif (
                below >= min_leaf
                and above >= min_leaf
                and promising(terms_below, below, terms_above, above, bar, entropy)
            ):
                score = purity(terms_below, below, entropy) + purity(terms_above, above, entropy)
                if score > bar:
                    best = score
                    bar = score + tie
                    best_feature = k
                    best_low = previous
                    best_high = b
            for c in range(C):
                moved = histogram[at + c]
                terms_below += increase(lower[c], moved, entropy)
                terms_above -= increase(upper[c] - moved, moved, entropy)
                lower[c] += moved
                upper[c] -= moved
            below += mass
            previous = b
        if first >= 0:
            span[0, k] = first
            span[1, k] = previous
    return best, best_feature, best_low, best_high


@njit(**INTERNAL)
def distribute(bucket: Any, n: int, n_buckets: int, counts: Any, ids: Any) -> int:
    """Write 0 to ``n - 1`` into ``ids`` in the order of their buckets; return the size of the largest."""
    for b in range(n_buckets + 1):
        counts[b] = 0
    for t in range(n):
        counts[np.uint32(bucket[t]) + np.uint32(1)] += 1
    largest = 0
    for b in range(n_buckets):
        largest = counts[b + 1] if counts[b + 1] > largest else largest
        counts[b + 1] += counts[b]
    for t in range(n):
        own = np.uint32(bucket[t])
        ids[np.uint32(counts[own])] = t
        counts[own] += 1
    return largest


@njit(**INTERNAL)
def sort_by_value(value: Any, n: int, bucket: Any, counts: Any, ids: Any) -> None:
    """Write 0 to ``n - 1`` into ``ids`` in the order of their values; ``counts`` has room for ``2 n + 1``.

    Values are thrown into twice as many buckets as there are, which leaves little to do for an insertion sort, whose
    comparisons the processor mispredicts. Crowded buckets are sorted by Shell's method first.
    """
    low = value[0]
    high = value[0]
    for t in range(1, n):
        low = value[t] if value[t] < low else low
        high = value[t] if value[t] > high else high
    # halves, for the difference of two large numbers is infinite
    scale = (2 * n - 1) / (high / 2 - low / 2)
    if not scale < np.inf:
        scale = 0.0
    for t in range(n):
        bucket[t] = np.int32((value[t] / 2 - low / 2) * scale)
    largest = distribute(bucket, n, 2 * n, counts, ids)
    gap = 1
    while gap < largest // 3:
        gap = 3 * gap + 1
    while gap > 1:
        for t in range(gap, n):
            moved = ids[t]
            place = t
            while place >= gap and value[ids[place - gap]] > value[moved]:
                ids[place] = ids[place - gap]
                place -= gap
            ids[place] = moved
        gap //= 3
    top = value[np.uint32(ids[0])]
    for t in range(1, n):
        moved = ids[t]
        x = value[np.uint32(moved)]
        if x >= top:
            top = x
            continue
        place = t
        while place > 0 and value[np.uint32(ids[place - 1])] > x:
            ids[place] = ids[place - 1]
            place -= 1
        ids[place] = moved


@njit(**INTERNAL)
def scan_sorted(
    scratch: Scratch, n_lists: int, start: int, end: int, base: Any, total: Any, tie: float, limits: Limits
) -> Any:  # fmt: skip
    """Best split between two of the rows ``start`` to ``end`` of some sorted lists: (purity, list, first row above).

    ``scratch`` has the rows, ``base`` is the class weights below all of them, and ``total`` those of the node.
    """
    value, ids, label, weight = scratch.value, scratch.ids, scratch.row[1], scratch.weight
    min_leaf, entropy = limits.min_leaf, limits.entropy
    lower = scratch.sides[0]
    upper = scratch.sides[1]
    best = -np.inf
    bar = -np.inf
    best_list = -1
    best_at = 0
    for f in range(n_lists):
        rows = ids[f]
        values = value[f]
        here = values[np.uint32(rows[start])]
        if here == values[np.uint32(rows[end - 1])]:
            continue
        below = 0.0
        above = 0.0
        terms_below = 0.0
        terms_above = 0.0
        for c in range(len(total)):
            lower[c] = base[c]
            upper[c] = total[c] - base[c]
            below += lower[c]
            above += upper[c]
            terms_below += term(lower[c], entropy)
            terms_above += term(upper[c], entropy)
        row = np.uint32(rows[start])
        for t in range(start + 1, end):
            own = np.uint32(label[row])
            moved = weight[row]
            terms_below += increase(lower[own], moved, entropy)
            terms_above -= increase(upper[own] - moved, moved, entropy)
            lower[own] += moved
            upper[own] -= moved
            below += moved
            above -= moved
            row = np.uint32(rows[t])
            before = here
            here = values[row]
            if (
                before < here
                and below >= min_leaf
                and above >= min_leaf
                and promising(terms_below, below, terms_above, above, bar, entropy)
            ):
                score = purity(terms_below, below, entropy) + purity(terms_above, above, entropy)
                if score > bar:
                    best = score
                    bar = score + tie
                    best_list = f
                    best_at = t
    return best, best_list, best_at
