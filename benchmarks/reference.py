"""The same algorithm written plainly with NumPy, SciPy and scikit-learn's trees: what the benchmarks compare with.

Arrays that hold one number per expert and row have shape (n_experts, n_rows). Everything is float64, except the copy
of the inputs that scikit-learn's trees want as float32 and that is made once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.tree import DecisionTreeClassifier

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEGLIGIBLE = 1e-4
"""Responsibility below which a row may be left out of a tree."""


@dataclass(frozen=True)
class Rows:
    """Standardised inputs in the two layouts that the gate and the trees need, and labels 0 … n_classes - 1."""

    inputs: Floats
    """With a last column of ones."""
    y: Ints
    n_classes: int

    @classmethod
    def standardised(cls, X: Floats, y: Ints, like: Floats | None = None) -> Rows:
        """Standardise ``X`` by the mean and the deviation of ``like`` (itself by default)."""
        like = X if like is None else like
        scale = like.std(axis=0)
        inputs = np.ones((len(X), X.shape[1] + 1))
        inputs[:, :-1] = (X - like.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
        return cls(inputs, y, int(y.max()) + 1)

    @cached_property
    def tree_inputs(self) -> NDArray[np.float32]:
        """What scikit-learn's trees work on."""
        return np.ascontiguousarray(self.inputs[:, :-1], dtype=np.float32)


class Expert(NamedTuple):
    """A tree (``None``: a single leaf) and the class probabilities of its nodes."""

    tree: Any
    value: Floats

    def leaf(self, X: NDArray[np.float32]) -> Ints:
        """Leaf of every row."""
        return np.zeros(len(X), dtype=np.int64) if self.tree is None else self.tree.apply(X)


class Model(NamedTuple):
    """A gate on standardised inputs and its experts."""

    gate: Floats
    experts: list[Expert]

    def predict_hard(self, rows: Rows) -> Ints:
        """Class given by the most probable expert."""
        chosen = (self.gate @ rows.inputs.T).argmax(axis=0)
        answers = np.stack([expert.value.argmax(axis=1)[expert.leaf(rows.tree_inputs)] for expert in self.experts])
        return np.take_along_axis(answers, chosen[None], axis=0)[0]

    def predict_soft(self, rows: Rows) -> Ints:
        """Class of largest gate-weighted probability."""
        g = gate_probabilities(self.gate, rows)
        proba = sum(g_j[:, None] * e.value[e.leaf(rows.tree_inputs)] for g_j, e in zip(g, self.experts, strict=True))
        return np.asarray(proba).argmax(axis=1)


def gate_probabilities(gate: Floats, rows: Rows) -> Floats:
    """g_j(x_i): softmax of the gate's logits."""
    g = gate @ rows.inputs.T
    g -= g.max(axis=0)
    np.exp(g, out=g)
    g /= g.sum(axis=0)
    return g


def responsibilities(g: Floats, likelihood: Floats) -> Floats:
    """h_ij: posterior of the experts; the gate's own opinion where no expert gives the label any mass."""
    h = g * likelihood
    total = h.sum(axis=0)
    return np.where(total > 0, h / np.where(total > 0, total, 1.0), g)


def fit_expert(rows: Rows, weight: Floats, max_depth: int, seed: int, skip: bool) -> Expert:
    """Grow one tree on the rows weighted by ``weight``; an expert without weight answers the classes' frequencies."""
    total = weight.sum()
    if max_depth == 0 or total < 1e-8:
        counts = np.bincount(rows.y, weight if total >= 1e-8 else None, rows.n_classes)
        return Expert(None, counts[None] / counts.sum())
    X, y = rows.tree_inputs, rows.y
    if skip:
        kept = np.flatnonzero(weight > NEGLIGIBLE)
        X, y, weight = X[kept], y[kept], weight[kept]
    fitted = DecisionTreeClassifier(max_depth=max_depth, random_state=seed)
    fitted.fit(X, y, sample_weight=weight, check_input=False)
    value = np.zeros((fitted.tree_.node_count, rows.n_classes))
    value[:, fitted.classes_] = fitted.tree_.value[:, 0]
    return Expert(fitted.tree_, value)


def fit_experts(rows: Rows, h: Floats, max_depth: int, seed: int = 0, skip: bool = False) -> list[Expert]:
    """Grow one tree per row of ``h``."""
    return [fit_expert(rows, weight, max_depth, seed, skip) for weight in h]


def label_likelihood(experts: list[Expert], rows: Rows) -> Floats:
    """P(y_i | x_i, θ_j)."""
    return np.stack([expert.value[expert.leaf(rows.tree_inputs), rows.y] for expert in experts])


def mixture_objective(gate: Floats, rows: Rows, likelihood: Floats, l2: float) -> tuple[float, Floats]:
    """Penalised mean of -log Σ_j g_j P_j and its gradient in the gate."""
    g = gate_probabilities(gate, rows)
    h = responsibilities(g, likelihood)
    total = np.einsum("ij,ij->j", g, likelihood)
    loss = -np.log(np.maximum(total, 1e-300)).mean() + 0.5 * l2 * (gate**2).sum()
    return float(loss), -(h - g) @ rows.inputs / len(rows.y) + l2 * gate


def climb_likelihood(gate: Floats, rows: Rows, likelihood: Floats, steps: int = 5, l2: float = 1e-4) -> Floats:
    """Take some L-BFGS steps on the mixture's log-likelihood, trees fixed."""

    def objective(flat: Floats) -> tuple[float, Floats]:
        loss, gradient = mixture_objective(flat.reshape(gate.shape), rows, likelihood, l2)
        return loss, gradient.ravel()

    return minimize(objective, gate.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps}).x.reshape(
        gate.shape
    )


def em_epoch(rows: Rows, gate: Floats, likelihood: Floats, max_depth: int, skip: bool = False) -> tuple[Model, Floats]:
    """One EM epoch: responsibilities, weighted trees, L-BFGS steps of the gate.

    Returns
    -------
    model : Model
    likelihood : array of float, shape (n_experts, n_rows)
        P(y_i | x_i, θ_j) of the new trees, for the next epoch.
    """
    experts = fit_experts(rows, responsibilities(gate_probabilities(gate, rows), likelihood), max_depth, skip=skip)
    likelihood = label_likelihood(experts, rows)
    return Model(climb_likelihood(gate, rows, likelihood), experts), likelihood


def adam(learning_rate: float, decay: float) -> Callable[[Floats, Floats], Floats]:
    """Make a function ``step(parameters, gradient)`` that ascends with Adam; the rate decays after every step."""
    mean = second = 0.0
    t = 0

    def step(parameters: Floats, gradient: Floats) -> Floats:
        nonlocal mean, second, t
        mean = 0.9 * mean + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        t += 1
        direction = (mean / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        return parameters + learning_rate * decay ** (t - 1) * direction

    return step


def published(
    X: Floats,
    y: Ints,
    Xval: Floats,
    yval: Ints,
    n_experts: int,
    max_depth: int,
    seed: int = 0,
    epochs: int = 50,
    learning_rate: float = 0.3,
    decay: float = 0.97,
    skip: bool = False,
) -> dict[str, Model]:
    """Train as the paper does: one Adam step on Σ h log g per epoch, after a first epoch of depth 0.

    Returns
    -------
    dict
        The models of the epochs that were best on the validation rows, for ``"soft"`` and for ``"hard"`` prediction.
    """
    rows, validation = Rows.standardised(X, y), Rows.standardised(Xval, yval, like=X)
    gate = np.random.default_rng(seed).normal(size=(n_experts, rows.inputs.shape[1]))
    step = adam(learning_rate, decay)
    g = gate_probabilities(gate, rows)
    h = g
    best: dict[str, Model] = {}
    score = {"soft": -1.0, "hard": -1.0}
    for depth in [0] + [max_depth] * epochs:
        experts = fit_experts(rows, h, depth, seed, skip)
        likelihood = label_likelihood(experts, rows)
        gate = step(gate, (responsibilities(g, likelihood) - g) @ rows.inputs / len(y))
        g = gate_probabilities(gate, rows)
        h = responsibilities(g, likelihood)
        model = Model(gate, experts)
        for mode, predict in (("soft", model.predict_soft), ("hard", model.predict_hard)):
            accuracy = float((predict(validation) == yval).mean())
            if accuracy > score[mode]:
                score[mode], best[mode] = accuracy, model
    return best
