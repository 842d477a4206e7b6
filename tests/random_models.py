"""Random models, of labels and of numbers: ordinary ones, and ones whose tests inputs meet and whose experts tie."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from moet import Mixture, RegressionMixture, RegressionTree, Tree

Number = Callable[[np.random.Generator], float]
"""How a threshold is drawn."""


def inside(rng: np.random.Generator) -> float:
    """A threshold within [-1, 1]."""
    return float(rng.uniform(-1, 1))


def met(rng: np.random.Generator) -> float:
    """A quarter, which many inputs meet, half the time; else any number."""
    return float(rng.integers(-12, 13)) / 4 if rng.random() < 0.5 else float(rng.normal())


def whole(rng: np.random.Generator) -> float:
    """A small whole number."""
    return float(rng.integers(-3, 4))


def random_tree(
    rng: np.random.Generator,
    depth: int,
    n_features: int,
    n_classes: int,
    number: Number = inside,
    split: float = 1.0,
    concentration: float = 1.0,
) -> Tree:
    """Tree complete down to half its depth, below that split with a probability; its votes are Dirichlet draws."""
    feature, threshold, left, right, value = [], [], [], [], []

    def grow(levels: int) -> int:
        node = len(feature)
        inner = levels > 0 and (split == 1 or levels > depth // 2 or rng.random() < split)
        feature.append(int(rng.integers(n_features)) if inner else -1)
        threshold.append(number(rng))
        value.append(rng.dirichlet(np.full(n_classes, concentration)))
        left.append(-1)
        right.append(-1)
        if inner:
            left[node] = grow(levels - 1)
            right[node] = grow(levels - 1)
        return node

    grow(depth)
    return Tree(feature, threshold, left, right, np.array(value))


def random_mixture(
    seed: int, n_experts=3, depth=2, n_features=3, n_classes=3, prediction="hard", **how: object
) -> Mixture:
    """Mixture of random trees behind a random gate; its answers vary over [-1, 1]^n."""
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, depth, n_features, n_classes, **how) for _ in range(n_experts)]
    gate = rng.normal(size=(n_experts, n_features + 1))
    return Mixture(gate[:, 1:], gate[:, 0] / 3, trees, list(range(n_classes)), prediction=prediction)


def tying_mixture(seed: int, n_experts=3, depth=2, n_features=4, n_classes=3) -> Mixture:
    """Mixture whose tests inputs meet and whose last two experts tie; with an odd seed all tie on many inputs."""
    made = random_mixture(seed, n_experts, depth, n_features, n_classes, number=met, split=0.7, concentration=0.3)
    weights, bias = made.gate_weights.copy(), made.gate_bias.copy()
    if seed % 2:
        weights, bias = np.round(4 * weights) / 4, np.round(4 * bias) / 4
    if n_experts > 2:
        weights[-1], bias[-1] = weights[-2], bias[-2]
    return Mixture(weights, bias, made.trees, [f"class {c}" for c in range(n_classes)])


def random_law_tree(rng, n_features=3, n_outputs=2, depth=2, affine=True, scale=1.0) -> RegressionTree:
    """Complete tree with random tests and laws."""
    n_inner = 2**depth - 1
    n_nodes = 2 * n_inner + 1
    minus = np.full(n_nodes, -1)
    feature, left, right = minus.copy(), minus.copy(), minus.copy()
    feature[:n_inner] = rng.integers(n_features, size=n_inner)
    left[:n_inner], right[:n_inner] = 2 * np.arange(n_inner) + 1, 2 * np.arange(n_inner) + 2
    threshold = np.where(feature < 0, 0.0, rng.uniform(-1, 1, n_nodes))
    slope = scale * rng.normal(size=(n_nodes, n_outputs, n_features)) if affine else None
    return RegressionTree(feature, threshold, left, right, scale * rng.normal(size=(n_nodes, n_outputs)), slope)


def random_laws(seed: int, n_experts=3, n_features=3, n_outputs=2, depth=1, **how) -> RegressionMixture:
    """Mixture of random laws behind a random gate; every other one is clipped on some sides."""
    rng = np.random.default_rng(seed)
    prediction = how.pop("prediction", "hard")
    trees = [random_law_tree(rng, n_features, n_outputs, depth, **how) for _ in range(n_experts)]
    gate = rng.normal(size=(n_experts, n_features + 1))
    low, high = np.full(n_outputs, -np.inf), np.full(n_outputs, np.inf)
    if seed % 2:
        low[0], high[-1] = -1.0, 1.5
    names = [*"uwv", *(f"u{o}" for o in range(3, n_outputs))][:n_outputs]
    return RegressionMixture(gate[:, 1:], gate[:, 0] / 3, trees, names, low, high, prediction=prediction)
