"""Everything a model decides by as one row of numbers in standard units, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from moet.envs.box import ActionBox
from moet.envs.task import Floats
from moet.model.file import Model
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.tree import RegressionTree
from moet.model.tree import LEAF, Tree

_LEAST_VOTE = 1e-6
"""Of a class in a leaf, before votes are made to add up to 1."""


class Numbers:
    """The numbers of a model: gate, thresholds, and laws or votes.

    A unit means about the same everywhere: features are standardised by states, outputs by the range of their action,
    and the gate, of which expert 0 is the zero, by the spread of its logits (a soft gate's own unit is kept).

    Parameters
    ----------
    model : Mixture or RegressionMixture
        Whose numbers they are. Its structure stays.
    states : array of float, shape (n_states, n_features)
        Such as it meets.
    box : ActionBox or None
        Bounds of its outputs, if it answers with numbers.
    """

    def __init__(self, model: Model, states: Floats, box: ActionBox | None) -> None:
        self._model = model
        self._mean = states.mean(axis=0)
        spread = states.std(axis=0)
        self._spread = np.where(spread > 0, spread, 1.0)
        self._range = np.ones(1) if box is None else (np.array(box.high) - np.array(box.low)) / 2
        self._gate_scale = 1.0
        if model.prediction == "hard" and model.n_experts > 1:
            leads = states @ (model.gate_weights[1:] - model.gate_weights[0]).T
            self._gate_scale = float((leads + (model.gate_bias[1:] - model.gate_bias[0])).std()) or 1.0

    @property
    def start(self) -> Floats:
        """Those of the model itself."""
        model = self._model
        weights, bias = model.gate_weights[1:] - model.gate_weights[0], model.gate_bias[1:] - model.gate_bias[0]
        gate = [weights * self._spread, bias + weights @ self._mean]
        parts = [np.concatenate([part.ravel() for part in gate]) / self._gate_scale]
        return np.concatenate([*parts, *(part for tree in model.trees for part in self._of_tree(tree))])

    def model(self, point: Floats) -> Model:
        """The model that has these numbers."""
        rest = _Cut(point)
        n_free, n_features = self._model.n_experts - 1, self._model.n_features
        weights = rest.take(n_free, n_features) / self._spread * self._gate_scale
        bias = rest.take(n_free) * self._gate_scale - weights @ self._mean
        trees = [self._tree(tree, rest) for tree in self._model.trees]
        return self._model.rebuilt(np.vstack([np.zeros(n_features), weights]), np.append(0.0, bias), trees)

    def _of_tree(self, tree: Tree | RegressionTree) -> list[Floats]:
        inner, leaf = tree.feature != LEAF, tree.feature == LEAF
        feature = tree.feature[inner]
        tests = (tree.threshold[inner] - self._mean[feature]) / self._spread[feature]
        slope = getattr(tree, "slope", None)
        if slope is None:
            return [tests, (tree.value[leaf] / self._range).ravel()]
        middle = (tree.value[leaf] + slope[leaf] @ self._mean) / self._range
        return [tests, middle.ravel(), (slope[leaf] * self._spread / self._range[:, None]).ravel()]

    def _tree(self, tree: Tree | RegressionTree, rest: _Cut) -> Tree | RegressionTree:
        inner, leaf = np.flatnonzero(tree.feature != LEAF), np.flatnonzero(tree.feature == LEAF)
        feature = tree.feature[inner]
        threshold, value = tree.threshold.copy(), tree.value.copy()
        threshold[inner] = rest.take(len(inner)) * self._spread[feature] + self._mean[feature]
        value[leaf] = rest.take(len(leaf), value.shape[1]) * self._range
        changed: dict[str, Any] = {"threshold": threshold, "value": value}
        if not isinstance(self._model, RegressionMixture):
            value[leaf] = np.maximum(value[leaf], _LEAST_VOTE)
            value[leaf] /= value[leaf].sum(axis=1, keepdims=True)
        elif isinstance(tree, RegressionTree) and tree.slope is not None:
            slope = tree.slope.copy()
            slope[leaf] = rest.take(len(leaf), *slope.shape[1:]) * self._range[:, None] / self._spread
            value[leaf] -= slope[leaf] @ self._mean
            changed["slope"] = slope
        return replace(tree, **changed)


class _Cut:
    """A row of numbers that is taken apart from the front."""

    def __init__(self, numbers: Floats) -> None:
        self._numbers = numbers

    def take(self, *shape: int) -> Floats:
        count = int(np.prod(shape))
        taken, self._numbers = self._numbers[:count], self._numbers[count:]
        return taken.reshape(shape)
