"""The rounds of training: responsibilities → weighted trees → gate, and the hard variant of the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.bins import Bins
from moet.model.gate import NEGLIGIBLE, Scaler
from moet.model.grow import Grower, GrownTree, GrowOptions
from moet.model.solve import GateRows, GateStep, Singles, maximise
from moet.model.table import Table

Floats = NDArray[np.float64]

HARD_SHARE = 0.95
"""In the hard phase the winner of the gate gets this share of a row; the rest follows the softmax."""

RIGHT, WRONG = 0.9, 0.1
"""Likelihood of a right and of a wrong expert when the gate learns who is right."""


class Experts(NamedTuple):
    """Grown trees and, for every training row, the leaf it falls into: shape (n_experts, n)."""

    trees: list[GrownTree]
    leaf: NDArray[np.int32]

    def label_likelihood(self, table: Table, smoothing: float) -> Singles:
        """P(y_i|x_i, θ_j): share of the row's class in its leaf, shrunk to the class shares of the whole table.

        ``smoothing`` is the weight of that prior; with 0 this is the paper's p̂_l and may be 0.
        """
        prior = smoothing * class_shares(table)
        out = np.empty(self.leaf.shape, dtype=np.float32)
        for j, tree in enumerate(self.trees):
            total = tree.class_weight.sum(axis=1, keepdims=True) + smoothing
            out[j] = ((tree.class_weight + prior) / total)[self.leaf[j], table.y]
        return out

    def rightness(self, table: Table) -> NDArray[np.bool_]:
        """Whether each expert's answer is the row's label."""
        answers = [tree.class_weight.argmax(axis=1)[leaf] for tree, leaf in zip(self.trees, self.leaf, strict=True)]
        return np.array(answers) == table.y


class Round(NamedTuple):
    """The state after one round: gate parameters, experts, and who is responsible for which row."""

    theta: Floats
    experts: Experts
    share: Singles
    log_likelihood: float


@dataclass(frozen=True)
class Bench:
    """A table with everything that training on it reuses."""

    table: Table
    rows: GateRows
    grower: Grower
    smoothing: float

    @classmethod
    def of(cls, table: Table, bins: Bins, scaler: Scaler, max_depth: int, smoothing: float) -> Bench:
        """Prepare a table for trees of up to ``max_depth``."""
        return cls(table, GateRows(table, scaler), Grower(table, bins, max_depth), smoothing)

    def grow_experts(self, share: Singles, options: GrowOptions) -> Experts:
        """Grow one tree per expert on rows weighted by ``share``; an expert without rows learns from all of them."""
        leaf = np.empty(share.shape, dtype=np.int32)
        trees = []
        for j in range(len(share)):
            weight = share[j] * self.table.weight
            if not weight.any():
                weight = self.table.weight
            trees.append(self.grower.grow(weight, options, leaf[j]))
        return Experts(trees, leaf)


def class_shares(table: Table) -> Floats:
    """Weighted share of every class in the table."""
    shares = np.bincount(table.y, weights=table.weight, minlength=table.n_classes)
    return shares / shares.sum()


def em_round(bench: Bench, theta: Floats, share: Singles, options: GrowOptions, gate: GateStep, steps: int) -> Round:
    """One epoch of the paper's Algorithm 1: trees on rows weighted by h_ij, then the gate, then the new h_ij."""
    experts = bench.grow_experts(share, options)
    likelihood = experts.label_likelihood(bench.table, bench.smoothing)
    theta = gate(bench.rows, theta, likelihood, steps)
    share, log_likelihood = bench.rows.responsibilities(theta, likelihood)
    return Round(theta, experts, share, log_likelihood)


def hard_share(bench: Bench, theta: Floats) -> Singles:
    """Rows given (almost) wholly to the expert the gate would choose."""
    share = bench.rows.probabilities(theta)
    winner = share.argmax(axis=0)
    share *= 1.0 - HARD_SHARE
    share[share < NEGLIGIBLE] = 0.0
    share[winner, np.arange(share.shape[1])] += HARD_SHARE
    return share


def refit_gate_on_rightness(bench: Bench, theta: Floats, experts: Experts, l2: float, steps: int) -> Floats:
    """Move the gate's boundaries so that rows go to experts that answer them rightly.

    Rows on which all experts are right, or none, say nothing about the gate and are left out.
    """
    right = experts.rightness(bench.table)
    n_right = right.sum(axis=0)
    telling = (n_right > 0) & (n_right < len(right))
    if not telling.any():
        return theta
    rows = bench.rows.take(np.flatnonzero(telling))
    likelihood = np.where(np.compress(telling, right, axis=1), np.float32(RIGHT), np.float32(WRONG))
    scale = float(bench.table.weight.sum())
    return maximise(lambda t: rows.mixture(t, likelihood), theta, scale, l2, steps)
