"""The laws of all leaves in one set of arrays, and compiled kernels of their one meaning.

An output is its leaf's value, plus slope times feature, from left to right in float64 without fused multiply-add, then
clipped. A sum that overflows ends as an infinity or as no number at all, whatever is added to it: the kernels look at
the sum before they clip it, and say which row it was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import BORROWING, INLINED
from moet.model.flat import Routing, read_only_view
from moet.model.prediction_kernels import leaf_of_state
from moet.model.regression.tree import RegressionTree

NONE = -1
"""Returned by the kernels where no row overflows."""


class Laws(NamedTuple):
    """What every node answers: value, slope, how many slopes count (none in a tree of constants), and the bounds."""

    value: NDArray[np.float64]
    slope: NDArray[np.float64]
    terms: NDArray[np.int32]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(
        cls, trees: Sequence[RegressionTree], n_features: int, low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> Laws:
        """Join the laws of the trees."""
        width = n_features if any(tree.slope is not None for tree in trees) else 0
        slopes = [np.zeros((*t.value.shape, width)) if t.slope is None else t.slope for t in trees]
        terms = np.repeat([0 if t.slope is None else width for t in trees], [t.n_nodes for t in trees])
        value = np.concatenate([tree.value for tree in trees])
        return cls(value, np.concatenate(slopes), terms.astype(np.int32), low, high)

    def at(self, X: NDArray[np.float64], leaf: NDArray[np.int32]) -> tuple[NDArray[np.float64], int]:
        """Outputs of rows whose leaves are known, and the first row that overflows."""
        out = np.empty((len(X), self.value.shape[1]))
        return out, int(outputs_of_leaves(read_only_view(X), leaf, *self, out))

    def mean(self, X: NDArray[np.float64], routing: Routing) -> tuple[NDArray[np.float64], int]:
        """Gate-weighted mean of the experts' outputs, and the first row that overflows."""
        out = np.empty((len(X), self.value.shape[1]))
        experts = np.empty((len(routing.roots), self.value.shape[1]))
        return out, int(mean_outputs(read_only_view(X), *routing, self, out, experts, np.empty(len(experts))))


@njit(**INLINED)
def _outputs_of_leaf(x: Any, leaf: int, value: Any, slope: Any, terms: Any, low: Any, high: Any, out: Any) -> bool:
    """Write the outputs of one leaf; False if a sum overflows."""
    finite = True
    for o in range(value.shape[1]):
        u = value[leaf, o]
        for k in range(terms[leaf]):
            u += slope[leaf, o, k] * x[k]
        finite &= math.isfinite(u)
        u = low[o] if u < low[o] else u
        out[o] = high[o] if u > high[o] else u
    return finite


@njit(**BORROWING)
def outputs_of_leaves(X: Any, leaf: Any, value: Any, slope: Any, terms: Any, low: Any, high: Any, out: Any) -> int:
    """Write the outputs of rows whose leaves are known; returns the first row that overflows."""
    for i in range(len(X)):
        if not _outputs_of_leaf(X[i], leaf[i], value, slope, terms, low, high, out[i]):
            return i
    return NONE


@njit(**BORROWING)
def mean_outputs(
    X: Any, gate: Any, roots: Any, nodes: Any, threshold: Any, laws: Laws, out: Any, experts: Any, logits: Any
) -> int:  # fmt: skip
    """Write the gate-weighted means; returns the first row that overflows. The last two are scratch space."""
    value, slope, terms, low, high = laws
    for i in range(len(X)):
        x, finite = X[i], True
        top = -np.inf
        for j in range(len(gate)):
            logits[j] = gate[j, 0]
            for k in range(gate.shape[1] - 1):
                logits[j] += gate[j, k + 1] * x[k]
            finite &= math.isfinite(logits[j])
            top = logits[j] if logits[j] > top else top
            leaf = leaf_of_state(x, gate[j : j + 1], roots[j : j + 1], nodes, threshold)
            finite &= _outputs_of_leaf(x, leaf, value, slope, terms, low, high, experts[j])
        if not finite:
            return i
        total = 0.0
        for j in range(len(gate)):
            logits[j] = math.exp(logits[j] - top)
            total += logits[j]
        for o in range(out.shape[1]):
            out[i, o] = 0.0
            for j in range(len(gate)):
                out[i, o] += logits[j] / total * experts[j, o]
    return NONE
