"""Which classes may a mixture answer with somewhere in a box? Compiled, for many boxes at once.

A soft mixture answers with the class c of largest F_c(x) = Σ_e exp(logit_e(x))·p_e(c|x). Class c beats c' where

    Σ_e δ_e(x)·exp(logit_e(x) − logit_r(x)) > 0,    δ_e = p_e(c) − p_e(c'),

whatever the reference expert r is. Over a box the differences of logits are intervals, δ_e is one of the differences at
the leaves that the box reaches, and an upper bound of the sum follows. It is raised by more than all rounding errors:
those of this computation and those of the deployed predictor, which are relative to Σ_e (p_e(c) + p_e(c'))·exp(…).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import OPTIONS
from moet.model.flat import Routing

_ROUNDING = 1e-12
"""Relative error of the sums, products and exponentials here and in the predictor; generous for up to 1,000 experts."""
_NEGLIGIBLE = 1e-280
"""Terms below this may underflow."""


class Voters(NamedTuple):
    """A mixture as the search sees it.

    Attributes
    ----------
    routing : Routing
    errors : array of float, shape (n_experts,)
        Bounds of the errors of the logits.
    value : array of float, shape (n_nodes, n_classes)
    soft : bool
        Whether the experts vote.
    """

    routing: Routing
    errors: NDArray[np.float64]
    value: NDArray[np.float64]
    soft: bool


class Found(NamedTuple):
    """Room for what is found of every box: the classes that may be an answer in it, and where to cut it in two."""

    possible: NDArray[np.bool_]
    feature: NDArray[np.int64]
    place: NDArray[np.float64]

    @classmethod
    def room(cls, n_boxes: int, n_classes: int) -> Found:
        """Make room."""
        possible = np.empty((n_boxes, n_classes), dtype=bool)
        return cls(possible, np.empty(n_boxes, dtype=np.int64), np.empty(n_boxes))


@njit(**OPTIONS)
def possible_classes(lo: Any, hi: Any, above: Any, voters: Voters, found: Found) -> None:
    """Write down what is found of every box from ``lo`` to ``hi``; x > lo where ``above``."""
    gate, roots, nodes, threshold = voters.routing
    errors, value = voters.errors, voters.value
    n_boxes, n_experts = len(lo), len(gate)
    low = np.empty((n_experts, n_experts))
    high = np.empty((n_experts, n_experts))
    leaves = np.empty(len(nodes), np.int64)
    first = np.empty(n_experts + 1, np.int64)
    stack = np.empty(len(nodes), np.int64)
    crossing = np.empty(n_experts, np.int64)
    for i in range(n_boxes):
        best = _compare_logits(lo[i], hi[i], gate, errors, low, high)
        n_leaves = 0
        for e in range(n_experts):
            first[e] = n_leaves
            n_leaves, crossing[e] = _reachable(
                lo[i], hi[i], above[i], roots[e], nodes, threshold, stack, leaves, n_leaves
            )
        first[n_experts] = n_leaves
        if voters.soft:
            _soft_winners(low[:, best], high[:, best], first, leaves, value, found.possible[i])
        else:
            _hard_winners(high, first, leaves, value, found.possible[i])
        cut = _cut(lo[i], hi[i], gate, best, high[:, best], crossing, nodes, threshold)
        found.feature[i], found.place[i] = cut


@njit(**OPTIONS)
def _compare_logits(lo: Any, hi: Any, gate: Any, errors: Any, low: Any, high: Any) -> int:
    """Fill the bounds of logit_e − logit_r; return the expert with the largest logit in the middle of the box."""
    n_experts, width = gate.shape
    best = 0
    top = -np.inf
    for e in range(n_experts):
        middle = gate[e, 0]
        for k in range(width - 1):
            middle += gate[e, k + 1] * (lo[k] + (hi[k] - lo[k]) / 2.0)
        if middle > top:
            top = middle
            best = e
        for r in range(n_experts):
            difference = gate[e, 0] - gate[r, 0]
            most = difference
            least = difference
            for k in range(width - 1):
                w = gate[e, k + 1] - gate[r, k + 1]
                most += w * hi[k] if w > 0.0 else w * lo[k]
                least += w * lo[k] if w > 0.0 else w * hi[k]
            error = 4.0 * (errors[e] + errors[r])
            low[e, r] = least - error
            high[e, r] = most + error
    return best


@njit(**OPTIONS)
def _reachable(
    lo: Any, hi: Any, above: Any, root: int, nodes: Any, threshold: Any, stack: Any, leaves: Any, n_leaves: int
) -> Any:
    """Append the leaves that the box reaches; return their number and the first test it is on both sides of, or -1."""
    crossing = -1
    stack[0] = root
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if nodes[node, 1] == node:
            leaves[n_leaves] = node
            n_leaves += 1
            continue
        k, limit = nodes[node, 0], threshold[node]
        goes_left = lo[k] < limit or (lo[k] == limit and not above[k])
        goes_right = hi[k] > limit
        if goes_left and goes_right and crossing < 0:
            crossing = node
        if goes_right:
            stack[depth] = nodes[node, 2]
            depth += 1
        if goes_left:
            stack[depth] = nodes[node, 1]
            depth += 1
    return n_leaves, crossing


@njit(**OPTIONS)
def _soft_winners(low: Any, high: Any, first: Any, leaves: Any, value: Any, possible: Any) -> None:
    n_experts, n_classes = len(low), len(possible)
    for c in range(n_classes):
        possible[c] = True
        for rival in range(n_classes):
            if rival == c:
                continue
            total = 0.0
            size = _NEGLIGIBLE
            for e in range(n_experts):
                lead = -1.0
                mass = 0.0
                for m in range(first[e], first[e + 1]):
                    leaf = leaves[m]
                    lead = max(lead, value[leaf, c] - value[leaf, rival])
                    mass = max(mass, value[leaf, c] + value[leaf, rival])
                weight = math.exp(high[e] if lead > 0.0 else low[e])
                if mass > 0.0:
                    total += lead * weight
                    size += mass * math.exp(high[e])
            if total < -_ROUNDING * size:
                possible[c] = False
                break


@njit(**OPTIONS)
def _hard_winners(high: Any, first: Any, leaves: Any, value: Any, possible: Any) -> None:
    n_experts, n_classes = len(high), len(possible)
    for c in range(n_classes):
        possible[c] = False
    for e in range(n_experts):
        chosen = True
        for r in range(n_experts):
            chosen = chosen and not high[e, r] < 0.0
        if chosen:
            for m in range(first[e], first[e + 1]):
                winner = 0
                for c in range(1, n_classes):
                    if value[leaves[m], c] > value[leaves[m], winner]:
                        winner = c
                possible[winner] = True


@njit(**OPTIONS)
def _cut(lo: Any, hi: Any, gate: Any, best: int, high: Any, crossing: Any, nodes: Any, threshold: Any) -> Any:
    """Feature and place: the first test of the weightiest expert, else the middle of what moves the logits most."""
    chosen = -1
    for e in range(len(high)):
        # an expert of no weight to speak of is not worth a cut
        if crossing[e] >= 0 and high[e] > -36.0 and (chosen < 0 or high[e] > high[chosen]):
            chosen = e
    if chosen >= 0:
        return nodes[crossing[chosen], 0], threshold[crossing[chosen]]
    feature = 0
    most = -1.0
    for k in range(len(lo)):
        move = 0.0
        for e in range(len(high)):
            if high[e] > -36.0:
                move = max(move, abs(gate[e, k + 1] - gate[best, k + 1]) * (hi[k] - lo[k]))
        if move > most:
            most = move
            feature = k
    return feature, lo[feature] + (hi[feature] - lo[feature]) / 2.0
