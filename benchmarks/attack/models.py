"""Nasty models and boxes: denormal, huge, tied, duplicate and cancelling numbers, thresholds on sides, minus zero."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from moet import Box, Mixture, Tree

Number = Callable[[], float]

EXTREME = [0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e-300, 1e-20, 1e-8, 1.0, 1 / 3, 0.1, 1e8, 1e17, 1e17 + 16, 1e150, 1e300]
ROUND = [0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 0.25, 3.0]


def number_source(rng: np.random.Generator) -> Number:
    """A way to make numbers: extreme ones, round ones (ties are common), ordinary ones, or a mix of all."""
    style = rng.choice(["extreme", "round", "ordinary", "mixed", "tight"])

    def number() -> float:
        chosen = rng.choice(["extreme", "round", "ordinary"]) if style == "mixed" else style
        if chosen == "extreme":
            return float(rng.choice(EXTREME)) * float(rng.choice([-1.0, 1.0]))
        if chosen == "round":
            return float(rng.choice(ROUND))
        if chosen == "tight":  # numbers that differ in their last bits only
            return 1.0 + float(rng.integers(-4, 5)) * 2.0**-52
        return float(rng.normal())

    return number


def nasty_tree(rng: np.random.Generator, n_features: int, n_classes: int, depth: int, number: Number) -> Tree:
    """A tree that may test the same feature at the same number again and again."""
    rows: list[list[float]] = []

    def grow(levels: int) -> int:
        node = len(rows)
        rows.append([-1, 0.0, -1, -1])
        if levels > 0 and rng.random() < 0.8:
            feature, threshold = int(rng.integers(n_features)), number()
            left = grow(levels - 1)
            rows[node] = [feature, threshold, left, grow(levels - 1)]
        return node

    grow(depth)
    feature, threshold, left, right = zip(*rows, strict=True)
    return Tree(feature, threshold, left, right, np.eye(n_classes)[rng.integers(n_classes, size=len(rows))])


def nasty_mixture(rng: np.random.Generator, n_features: int, n_classes: int, number: Number) -> Mixture:
    """Up to four experts; some gates have equal rows, rows that cancel, or rows a last bit apart."""
    n_experts = int(rng.integers(1, 5))
    gate = np.array([[number() for _ in range(n_features + 1)] for _ in range(n_experts)])
    if n_experts > 1:
        match rng.integers(4):
            case 0:
                gate[-1] = gate[0]
            case 1:
                gate[-1] = -gate[0]
            case 2:
                gate[-1] = np.nextafter(gate[0], np.inf)
    trees = [nasty_tree(rng, n_features, n_classes, int(rng.integers(0, 4)), number) for _ in range(n_experts)]
    return Mixture(gate[:, 1:], gate[:, 0], trees, list(range(n_classes)))


def nasty_box(rng: np.random.Generator, mixture: Mixture, number: Number) -> Box:
    """Sides on thresholds or beside them, flat, huge or open."""
    thresholds = [t for tree in mixture.trees for t in tree.threshold.tolist()]
    sides = []
    for _ in range(mixture.n_features):
        ends = sorted(float(rng.choice(thresholds)) if rng.random() < 0.5 else number() for _ in range(2))
        if rng.random() < 0.2:
            ends[1] = ends[0]
        ends = [min(max(end, -1e150), 1e150) for end in ends]
        sides.append([math.nextafter(end, end + 1) if rng.random() < 0.2 else end for end in ends])
    lo, hi = np.array(sides).T
    is_open = rng.random((2, mixture.n_features)) < 0.25
    lo, hi = np.minimum(lo, hi), np.maximum(lo, hi)
    return Box.from_bounds(np.where(is_open[0], -np.inf, lo), np.where(is_open[1], np.inf, hi))


def disguised(rng: np.random.Generator, mixture: Mixture, number: Number) -> Mixture:
    """Same answers in another guise, or almost: scaled, permuted, shifted, pruned, or one bit changed."""
    weights, bias, trees = mixture.gate_weights.copy(), mixture.gate_bias.copy(), list(mixture.trees)
    match rng.integers(5):
        case 0 if np.abs(weights).max() < 1e300 and np.abs(bias).max() < 1e300:
            weights, bias = 2 * weights, 2 * bias
        case 1:
            order = rng.permutation(len(trees))
            weights, bias, trees = weights[order], bias[order], [trees[j] for j in order]
        case 2 if np.abs(weights).max() < 1e300 and np.abs(bias).max() < 1e300:
            weights, bias = weights + number() / 2, bias + number() / 2
        case 3:
            return mixture.prune()
        case _:
            bias[0] = np.nextafter(bias[0], np.inf)
    return Mixture(weights, bias, trees, mixture.classes, prediction=mixture.prediction)
