"""Hypothesis strategies for trees, mixtures and the points where they are hardest to get right."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from moet import Mixture, RegressionMixture, RegressionTree, Tree

NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 0.1, 3.0, 1e-300, -5e-324, 1e9, -1e9]),
    st.floats(-10, 10, allow_nan=False),
)
"""Few enough values to produce ties and repeated tests; negative zero, tiny and large ones among them."""


def labels(n_classes: int) -> st.SearchStrategy[list[Any]]:
    """Distinct labels of one type: strings, integers, floats or (at most two) booleans."""
    families = [
        st.text(st.characters(codec="utf-8", exclude_characters="\0")),  # numpy drops zeros at the end of a string
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
    ] + [st.booleans()] * (n_classes <= 2)
    return st.one_of(st.lists(family, min_size=n_classes, max_size=n_classes, unique=True) for family in families)


@st.composite
def trees(draw: st.DrawFn, n_features: int, n_classes: int, max_depth: int = 4) -> Tree:
    """Trees of up to ``max_depth`` tests whose every node has its own class probabilities."""
    feature, threshold, left, right = [], [], [], []

    def grow(depth: int) -> int:
        node = len(feature)
        is_leaf = depth == max_depth or draw(st.integers(0, 2)) == 0
        feature.append(-1 if is_leaf else draw(st.integers(0, n_features - 1)))
        threshold.append(0.0 if is_leaf else draw(NUMBERS))
        left.append(-1)
        right.append(-1)
        if not is_leaf:
            left[node] = grow(depth + 1)
            right[node] = grow(depth + 1)
        return node

    grow(0)
    counts = draw(st.lists(st.integers(0, 3), min_size=len(feature) * n_classes, max_size=len(feature) * n_classes))
    value = np.array(counts, dtype=float).reshape(len(feature), n_classes)
    value[value.sum(axis=1) == 0] = 1.0
    return Tree(feature, threshold, left, right, value / value.sum(axis=1, keepdims=True))


@st.composite
def mixtures(draw: st.DrawFn) -> Mixture:
    """Mixtures of 1-5 experts, 1-4 features and 1-4 classes; gate rows may tie."""
    n_experts, n_features, n_classes = (draw(st.integers(1, n)) for n in (5, 4, 4))
    row = st.lists(NUMBERS, min_size=n_features + 1, max_size=n_features + 1)
    gate: list[list[float]] = []
    for _ in range(n_experts):
        gate.append(draw(st.sampled_from(gate)) if gate and draw(st.integers(0, 4)) == 0 else draw(row))
    names = draw(st.none() | st.lists(st.text(), min_size=n_features, max_size=n_features, unique=True))
    return Mixture(
        gate_weights=[weights[1:] for weights in gate],
        gate_bias=[weights[0] for weights in gate],
        trees=[draw(trees(n_features, n_classes)) for _ in range(n_experts)],
        classes=draw(labels(n_classes)),
        feature_names=names,
        prediction=draw(st.sampled_from(["hard", "soft"])),
    )


@st.composite
def regression_mixtures(draw: st.DrawFn) -> RegressionMixture:
    """The gates and tests of :func:`mixtures`, with constant and affine leaves; some outputs have bounds."""
    like = draw(mixtures())
    n_outputs = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def numbers(*shape: int) -> NDArray[np.float64]:
        special = rng.choice([0.0, -0.0, 1.0, -1.0, 0.1, 1e-300, -5e-324, 1e9], size=shape)
        return np.where(rng.random(shape) < 0.3, special, rng.normal(size=shape))

    low, high = np.sort(numbers(2, n_outputs), axis=0)
    return RegressionMixture(
        like.gate_weights,
        like.gate_bias,
        [
            RegressionTree(
                tree.feature, tree.threshold, tree.left, tree.right, numbers(tree.n_nodes, n_outputs),
                slope=numbers(tree.n_nodes, n_outputs, like.n_features) if rng.random() < 0.7 else None,
            )
            for tree in like.trees
        ],
        outputs=[f"force {o}" for o in range(n_outputs)],
        low=np.where(rng.random(n_outputs) < 0.5, low, -np.inf),
        high=np.where(rng.random(n_outputs) < 0.5, high, np.inf),
        feature_names=like.feature_names,
        prediction=like.prediction,
    )  # fmt: skip


def hard_points(mixture: Mixture | RegressionMixture, seed: int, n_points: int = 150) -> NDArray[np.float64]:
    """Random rows, rows that sit on thresholds or one step beside them, and rows where two experts tie (nearly)."""
    rng = np.random.default_rng(seed)
    thresholds = np.concatenate([tree.threshold for tree in mixture.trees])
    special = np.concatenate([thresholds, np.nextafter(thresholds, np.inf), np.nextafter(thresholds, -np.inf), [-0.0]])
    X = rng.normal(scale=5.0, size=(n_points, mixture.n_features))
    on_threshold = rng.random(X.shape) < 0.5
    X[on_threshold] = rng.choice(special, size=np.count_nonzero(on_threshold))
    for j, k in pairwise(range(mixture.n_experts)):
        gap = mixture.gate_weights[j] - mixture.gate_weights[k]
        if (square := gap @ gap) > 1e-100:
            rows = rng.choice(n_points, size=10)
            lead = X[rows] @ gap + mixture.gate_bias[j] - mixture.gate_bias[k]
            X[rows] -= (lead / square)[:, None] * gap
    return X


def bits(mixture: Mixture | RegressionMixture) -> list[Any]:
    """Everything a mixture is, such that equal means equal to the last bit."""
    arrays = [mixture.gate_weights, mixture.gate_bias]
    arrays += [mixture.classes] if isinstance(mixture, Mixture) else [mixture.low, mixture.high]
    for tree in mixture.trees:
        arrays += [getattr(tree, name) for name in tree.__dataclass_fields__ if getattr(tree, name) is not None]
    described = [(array.dtype, array.shape, array.tobytes()) for array in arrays]
    return [*described, getattr(mixture, "outputs", None), mixture.feature_names, mixture.prediction]
