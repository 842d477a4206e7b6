"""The rounds of training: responsibilities → weighted trees → gate, and the hard variant of the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.bins import Bins
from moet.model.gate import NEGLIGIBLE, Scaler
from moet.model.grow import Grower, GrownTree, GrowOptions, find_leaves
from moet.model.solve import GateRows, GateStep, Singles
from moet.model.table import Table

Floats = NDArray[np.float64]

GATE_ROWS = 250_000
"""The gate has few parameters: of a larger table it learns from so many rows only, which bounds its memory."""

KEPT_SINGLES = 2**26
"""Numbers of the other rows that are kept as the gate sees them; what is beyond is made when needed."""

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
        prior = smoothing * table.class_shares
        out = np.empty(self.leaf.shape, dtype=np.float32)
        for j, tree in enumerate(self.trees):
            total = tree.class_weight.sum(axis=1, keepdims=True) + smoothing
            shares = ((tree.class_weight + prior) / total).astype(np.float32)
            np.take(shares, self.leaf[j] * table.n_classes + table.y, out=out[j], mode="clip")  # "raise" would copy
        return out

    def rightness(self, table: Table) -> NDArray[np.bool_]:
        """Whether each expert's answer is the label, for the first rows, those of ``table``."""
        leaves = self.leaf[:, : len(table)]
        answers = [tree.class_weight.argmax(axis=1)[leaf] for tree, leaf in zip(self.trees, leaves, strict=True)]
        return np.array(answers) == table.y


class Round(NamedTuple):
    """The state after one round: gate parameters, experts, and who is responsible for which row."""

    theta: Floats
    experts: Experts
    share: Singles
    log_likelihood: float


class TrainingRows:
    """A table with everything that training on it reuses."""

    def __init__(self, table: Table, bins: Bins, scaler: Scaler, max_depth: int, smoothing: float) -> None:
        self.table = table
        self.smoothing = smoothing
        # the order of a canonical table is as good as random, so its first rows are a fair sample
        self.gate_rows = GateRows(table.take(np.arange(min(len(table), GATE_ROWS))), scaler)
        self._later: dict[int, GateRows] = {}
        self._grower = Grower(table, bins, max_depth)

    @property
    def scaler(self) -> Scaler:
        """How features are standardised for the gate."""
        return self.gate_rows.scaler

    def improved_gate(self, gate: GateStep, theta: Floats, likelihood: Singles, steps: int) -> Floats:
        """Let the gate take a step on the rows it learns from."""
        return gate(self.gate_rows, theta, np.ascontiguousarray(likelihood[:, : len(self.gate_rows.table)]), steps)

    def probabilities(self, theta: Floats) -> Singles:
        """g_j(x_i) of all rows, shape (n_experts, n)."""
        out = np.empty((len(theta), len(self.table)), dtype=np.float32)
        for rows, part in self._parts():
            out[:, part] = rows.probabilities(theta)
        return out

    def responsibilities(self, theta: Floats, likelihood: Singles) -> tuple[Singles, float]:
        """h_ij of all rows, and their mean log-likelihood."""
        out = np.empty_like(likelihood)
        total = 0.0
        for rows, part in self._parts():
            out[:, part], mean = rows.responsibilities(theta, np.ascontiguousarray(likelihood[:, part]))
            total += mean * float(rows.table.weight.sum())
        return out, total / float(self.table.weight.sum())

    def _parts(self) -> Iterator[tuple[GateRows, slice]]:
        """Yield all rows as the gate sees them, some at a time: those it learns from, then the others."""
        n_first = len(self.gate_rows.table)
        yield self.gate_rows, slice(0, n_first)
        for start in range(n_first, len(self.table), GATE_ROWS):
            part = slice(start, min(start + GATE_ROWS, len(self.table)))
            rows = self._later.get(start) or GateRows(self.table.take(np.arange(part.start, part.stop)), self.scaler)
            if part.stop * (self.table.X.shape[1] + 1) <= KEPT_SINGLES:
                self._later[start] = rows
            yield rows, part

    def grow_experts(self, share: Singles, options: GrowOptions) -> Experts:
        """Grow one tree per expert on rows weighted by ``share``; an expert without rows learns from all of them."""
        leaf = np.empty(share.shape, dtype=np.int32)
        trees = []
        for j in range(len(share)):
            weight = share[j] * self.table.weight
            if not weight.any():
                weight = self.table.weight
            trees.append(self._grower.grow(weight, options, leaf[j]))
        return Experts(trees, leaf)


def em_round(
    training: TrainingRows, theta: Floats, share: Singles, options: GrowOptions, gate: GateStep, steps: int
) -> Round:
    """One epoch of the paper's Algorithm 1: trees on rows weighted by h_ij, then the gate, then the new h_ij."""
    experts = training.grow_experts(share, options)
    likelihood = experts.label_likelihood(training.table, training.smoothing)
    theta = training.improved_gate(gate, theta, likelihood, steps)
    share, log_likelihood = training.responsibilities(theta, likelihood)
    return Round(theta, experts, share, log_likelihood)


def soft_share(training: TrainingRows, theta: Floats, trees: list[GrownTree]) -> Singles:
    """h_ij of rows that the trees may never have seen."""
    experts = Experts(trees, np.stack([find_leaves(tree, training.table) for tree in trees]))
    return training.responsibilities(theta, experts.label_likelihood(training.table, training.smoothing))[0]


def hard_share(training: TrainingRows, theta: Floats) -> Singles:
    """Rows given (almost) wholly to the expert the gate would choose."""
    share = training.probabilities(theta)
    harden(share)
    return share


def harden(share: Singles) -> None:
    """Turn the gate's probabilities into shares in which the winner gets almost all, in place."""
    largest = share.max(axis=0)
    unclaimed = np.ones(len(largest), dtype=bool)
    for g in share:
        won = unclaimed & (g == largest)  # of equals, the first
        unclaimed &= ~won
        g *= 1.0 - HARD_SHARE
        g *= g >= NEGLIGIBLE
        g += np.float32(HARD_SHARE) * won


def refit_gate_on_rightness(training: TrainingRows, theta: Floats, experts: Experts, l2: float, steps: int) -> Floats:
    """Move the gate's boundaries so that rows go to experts that answer them rightly.

    Rows on which all experts are right, or none, say nothing about the gate and are left out.
    """
    rows = training.gate_rows
    right = experts.rightness(rows.table)
    telling = right.any(axis=0) & ~right.all(axis=0)
    if not telling.any():
        return theta
    likelihood = np.where(np.compress(telling, right, axis=1), np.float32(RIGHT), np.float32(WRONG))
    scale = float(rows.table.weight.sum())
    telling_rows = rows.take(np.flatnonzero(telling))
    return telling_rows.maximize_likelihood(theta, likelihood, l2, steps, scale)
