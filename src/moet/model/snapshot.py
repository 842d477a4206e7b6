"""States of training, and the judge that compares them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.ccp import cost_complexity_prune
from moet.model.constraints import monotone_value
from moet.model.flat import FlatMixture
from moet.model.gate import Scaler
from moet.model.grow import GrownTree, GrowOptions
from moet.model.mixture import Mixture
from moet.model.settings import Settings
from moet.model.table import Table
from moet.model.tree import Tree


class Snapshot(NamedTuple):
    """Gate parameters and trees as they were after some step; how the trees were grown, and in which phase.

    ``leaf_cost`` is the weight of the rows that a leaf must answer better than the one it was split from, or go.
    """

    theta: NDArray[np.float64]
    trees: list[GrownTree]
    options: GrowOptions
    hard: bool = False
    leaf_cost: float = 0.0

    def flatten(self, scaler: Scaler, settings: Settings) -> FlatMixture:
        """Return the form that predicts."""
        return FlatMixture.of(*scaler.fold(self.theta), self._final_trees(settings))

    def freeze(self, scaler: Scaler, settings: Settings) -> Mixture:
        """Return the public form, in raw units; its classes are class indices."""
        trees = [Tree(t.feature, t.threshold, t.left, t.right, t.value) for t in self._final_trees(settings)]
        classes = np.arange(trees[0].n_classes)
        return Mixture(*scaler.fold(self.theta), trees, classes, prediction=settings.prediction)

    def _final_trees(self, settings: Settings) -> list[GrownTree] | list[Tree]:
        """Return the trees after cost-complexity pruning, monotone if they must be."""
        trees = self._pruned_trees(settings)
        if not any(settings.signs):
            return trees
        signs = np.array(settings.signs, dtype=np.int8)
        whole = [Tree(t.feature, t.threshold, t.left, t.right, t.value) for t in trees]
        return [Tree(t.feature, t.threshold, t.left, t.right, monotone_value(t, signs)) for t in whole]

    def _pruned_trees(self, settings: Settings) -> list[GrownTree] | list[Tree]:
        if settings.ccp_alpha == self.leaf_cost == 0:
            return self.trees
        trees = [Tree(t.feature, t.threshold, t.left, t.right, t.value) for t in self.trees]
        weights = [t.class_weight.sum(axis=1) for t in self.trees]
        return [
            cost_complexity_prune(tree, weight, self.leaf_cost / weight[0], "error")
            if self.leaf_cost > 0
            else cost_complexity_prune(tree, weight, settings.ccp_alpha, settings.criterion)
            for tree, weight in zip(trees, weights, strict=True)
        ]


class Judge:
    """Scores snapshots on the rows of a table, in the prediction mode that will be used."""

    def __init__(self, table: Table, scaler: Scaler, settings: Settings) -> None:
        self.table = table
        self._X = table.X[table.rows]
        self._y = table.y
        self._share = table.weight / table.weight.sum()
        self._scaler = scaler
        self._settings = settings

    def score(self, snapshot: Snapshot) -> float:
        """Weighted accuracy."""
        flat = snapshot.flatten(self._scaler, self._settings)
        if self._settings.prediction == "hard":
            answer = flat.leaf_class[flat.leaves(self._X)[1]]
        else:
            answer = flat.soft_votes(self._X).argmax(axis=1)
        wrong = self._share @ (answer != self._y)  # not the share of right ones, which may round to less than 1
        return 1.0 - float(wrong)
