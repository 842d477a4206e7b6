"""Small models that answer with numbers, and code that judges claims about them without the library's help."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from moet import RegressionMixture, RegressionTree


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
    names = ["u", "w", "v"][:n_outputs]
    return RegressionMixture(gate[:, 1:], gate[:, 0] / 3, trees, names, low, high, prediction=prediction)


def nudged(mixture: RegressionMixture, by: float = 0.001) -> RegressionMixture:
    """The same gate and tests, laws that begin a little higher."""
    return replace(mixture, trees=tuple(replace(tree, value=tree.value + by) for tree in mixture.trees))


def exact_outputs(mixture: RegressionMixture, x) -> list[Fraction]:
    """Outputs in exact arithmetic, by the six points of the documentation and nothing else."""
    point = [Fraction(float(v)) for v in x]
    logits = [
        Fraction(b) + sum(Fraction(w) * v for w, v in zip(row, point, strict=True))
        for row, b in zip(mixture.gate_weights.tolist(), mixture.gate_bias.tolist(), strict=True)
    ]
    tree, node = mixture.trees[logits.index(max(logits))], 0
    while tree.feature[node] >= 0:
        goes_left = point[tree.feature[node]] <= Fraction(float(tree.threshold[node]))
        node = int(tree.left[node] if goes_left else tree.right[node])
    found = []
    for o in range(mixture.n_outputs):
        u = Fraction(float(tree.value[node, o]))
        if tree.slope is not None:
            u += sum(Fraction(float(s)) * v for s, v in zip(tree.slope[node, o], point, strict=True))
        low, high = float(mixture.low[o]), float(mixture.high[o])
        u = u if np.isinf(low) else max(u, Fraction(low))
        found.append(u if np.isinf(high) else min(u, Fraction(high)))
    return found
