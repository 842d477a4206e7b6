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
