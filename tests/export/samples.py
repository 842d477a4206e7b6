"""Mixtures and inputs at which a wrong translation would show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from moet import Mixture, Tree, export
from tests.model.strategies import hard_points

HOSTILE = [
    "*/ int",
    "/* a",
    'quo"te',
    "back\\slash\\",
    "new\nline",
    "??/ ??=",
    "%s%n",
    "θ̇ naïve",
    "\0\x7f\u202e",
    "//",
    "",
]


def chain(depth: int) -> Mixture:
    """One tree as deep as it has tests."""
    nodes = np.arange(2 * depth + 1)
    inner = (nodes % 2 == 0) & (nodes < 2 * depth)
    left, right = (np.where(inner, nodes + step, -1) for step in (1, 2))
    value = np.eye(2)[nodes // 2 % 2]
    return Mixture([[1.0]], [0], [Tree(np.where(inner, 0, -1), nodes, left, right, value)], ["even", "odd"])


def published_policy() -> Mixture:
    """The paper's CartPole policy: one inequality."""
    weights = [np.zeros(4), [2.185, 7.225, 20.65, 25.34]]
    names = ["cart_position", "cart_velocity", "pole_angle", "pole_velocity"]
    return Mixture(weights, [0, 1], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["left", "right"], names)


def inputs(mixture: Mixture, n: int) -> NDArray[np.float64]:
    """Rows on thresholds, one step beside them and on gate boundaries; rows of quarters; huge and tiny ones."""
    rng = np.random.default_rng(0)
    shape = (n // 3, mixture.n_features)
    quarters = rng.integers(-12, 13, size=shape) / 4
    extreme = rng.choice([-1, 1], size=shape) * 10.0 ** rng.uniform(-320, 308, size=shape)
    return np.vstack([hard_points(mixture, 0, n - 2 * len(quarters)), quarters, extreme])


def float32_inputs(mixture: Mixture, n: int) -> NDArray[np.float32]:
    """Those inputs in float32, a third of the numbers one step up, a third one step down."""
    with np.errstate(over="ignore"):
        X = inputs(mixture, n).astype(np.float32)
        steps = np.stack([X, np.nextafter(X, np.float32(np.inf)), np.nextafter(X, np.float32(-np.inf))])
    X = np.take_along_axis(steps, np.random.default_rng(1).integers(3, size=(1, *X.shape)), axis=0)[0]
    return X[np.isfinite(X).all(axis=1)]


def as_soft(mixture: Mixture) -> Mixture:
    """The same parts, whose experts vote."""
    parts = (mixture.gate_weights, mixture.gate_bias, mixture.trees, mixture.classes, mixture.feature_names)
    return Mixture(*parts, prediction="soft")


def run_onnx(model: object, X: NDArray[np.float64], names: list[str]) -> list[Any]:
    """Outputs of a model as onnxruntime computes them."""
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(export.onnx(model).SerializeToString(), options)
    return session.run(names, {"x": X})
