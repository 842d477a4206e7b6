"""Small models whose answers a person can work out."""

from __future__ import annotations

import numpy as np

from moet import Mixture, Tree

NAMES = ["theta", "theta_dot"]


def stump(feature: int, threshold: float, below: int, above: int, n_classes: int = 2) -> Tree:
    """Tree with one test: class ``below`` if x[feature] <= threshold, else ``above``."""
    value = np.eye(n_classes)[[below, below, above]]
    return Tree([feature, -1, -1], [threshold, 0.0, 0.0], [1, -1, -1], [2, -1, -1], value)


def single(tree: Tree, n_features: int = 2, classes: list | None = None) -> Mixture:
    """Mixture of one tree."""
    labels = ["left", "right"] if classes is None else classes
    return Mixture(np.zeros((1, n_features)), [0.0], [tree], labels, NAMES if n_features == 2 else None)


def half_planes(weights=(1.0, 1.0), bias: float = 0.0, prediction="hard") -> Mixture:
    """Answers "right" where weights·x + bias > 0 and "left" elsewhere (on the line too, its expert being the first)."""
    gate = np.array([np.zeros(len(weights)), weights])
    trees = [Tree.leaf([1.0, 0.0]), Tree.leaf([0.0, 1.0])]
    return Mixture(gate, [0.0, bias], trees, ["left", "right"], NAMES if len(weights) == 2 else None, prediction)


def random_tree(rng: np.random.Generator, n_features: int, depth: int, n_classes: int) -> Tree:
    """Complete tree with random tests."""
    feature, threshold, left, right, value = [], [], [], [], []

    def grow(levels: int) -> int:
        node = len(feature)
        feature.append(int(rng.integers(n_features)) if levels else -1)
        threshold.append(float(rng.uniform(-1, 1)))
        value.append(rng.dirichlet(np.ones(n_classes)))
        left.append(-1)
        right.append(-1)
        if levels:
            left[node] = grow(levels - 1)
            right[node] = grow(levels - 1)
        return node

    grow(depth)
    return Tree(feature, threshold, left, right, np.array(value))


def random_mixture(seed: int, n_experts=3, n_features=3, depth=2, n_classes=3, prediction="hard") -> Mixture:
    """Mixture of random trees behind a random gate; its answers vary over [-1, 1]^n."""
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, n_features, depth, n_classes) for _ in range(n_experts)]
    gate = rng.normal(size=(n_experts, n_features + 1))
    return Mixture(gate[:, 1:], gate[:, 0] / 3, trees, list(range(n_classes)), prediction=prediction)


def scaled(mixture: Mixture, factor: float = 2.0) -> Mixture:
    """Same hard answers in exact arithmetic; same bits too if the factor is a power of two."""
    return Mixture(
        factor * mixture.gate_weights,
        factor * mixture.gate_bias,
        mixture.trees,
        mixture.classes,
        mixture.feature_names,
        mixture.prediction,
    )


def rounding_victim() -> Mixture:
    """Expert 0 is best at (1, 1, 1) in exact arithmetic (logit 1 against 0.5), but float64 makes its logit 0."""
    gate = [[1e16, 1.0, -1e16], [0.0, 0.0, 0.0]]
    return Mixture(gate, [0.0, 0.5], [Tree.leaf([1.0, 0.0]), Tree.leaf([0.0, 1.0])], ["exact", "deployed"])
