"""The rounds of training: shares of rows → trees and laws → gate, soft and hard."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.bins import Bins
from moet.model.em import harden
from moet.model.regression.grow import Grower, GrowOptions, Tests
from moet.model.regression.joint import improve
from moet.model.regression.leaves import fit_laws
from moet.model.regression.state import Rows, State
from moet.model.solve import Singles
from moet.model.tree import LEAF

Floats = NDArray[np.float64]

GATE_L2 = 1e-4
"""Ridge of the gate while shares are soft."""

GATE_STEPS = 10
"""L-BFGS steps of the gate per round."""

LEAST_VARIANCE = 1e-6
"""Of an expert's errors, in standard units: one that is right to the last digit would leave nothing to the others."""

STUB = Tests(np.array([LEAF], np.int32), np.zeros(1), np.array([LEAF], np.int32), np.array([LEAF], np.int32))
"""The tests of a tree that has none."""


class Round(NamedTuple):
    """The state after a round, which law each expert has for each row, and who is responsible for it."""

    state: State
    leaf: NDArray[np.int32]
    share: Singles


class TrainingRows:
    """Rows, the prior of all laws, and what growing trees on them needs."""

    def __init__(self, rows: Rows, bins: Bins, prior: Floats) -> None:
        self.rows, self.prior = rows, prior
        self._rest = rows.targets - rows.design @ prior.T  # what the prior leaves to explain
        self._grower = Grower(rows.table, bins, rows.design, rows.targets.shape[1])

    def experts(self, share: Singles, options: GrowOptions) -> tuple[list[Tests], Floats, NDArray[np.int32]]:
        """One tree per expert on rows weighted by ``share``, its laws, and who has which law for which row."""
        weights = [self.rows.weight * own for own in share]
        tests = [self._tests(weight, options) for weight in weights]
        leaf = self.rows.leaves(tests)
        laws, first = [], 0
        for weight, tree, own in zip(weights, tests, leaf, strict=True):
            n_leaves = int(np.count_nonzero(tree.feature == LEAF))
            laws.append(self.laws(weight, own - first, options.ridge, n_leaves))
            first += n_leaves
        return tests, np.concatenate(laws), leaf

    def laws(self, weight: Floats, leaf: NDArray[np.int32], ridge: float, n_leaves: int) -> Floats:
        """Fit the laws of one tree's leaves."""
        used = np.flatnonzero(weight > 0)
        rows, bounds = self.rows, self.rows.units.bounds
        if len(used) < len(weight):
            return fit_laws(
                rows.design[used], rows.targets[used], weight[used], leaf[used], self.prior, ridge, bounds, n_leaves
            )
        return fit_laws(rows.design, rows.targets, weight, leaf, self.prior, ridge, bounds, n_leaves)

    def _tests(self, weight: Floats, options: GrowOptions) -> Tests:
        if options.max_depth == 0:
            return STUB
        return self._grower.grow(weight, self._rest, options)


def likelihoods(state: State, rows: Rows, leaf: NDArray[np.int32], share: Singles) -> Singles:
    """How probable every row's target is under every expert, relative to the one that fits best.

    Errors are normal, with one variance per output, the same for all experts.
    """
    squares = (state.expert_outputs(rows, leaf) - rows.targets) ** 2
    weight = share * rows.weight
    variance = np.einsum("jn,jno->o", weight, squares) / weight.sum()
    unlikely = -0.5 * (squares / np.maximum(variance, LEAST_VARIANCE)).sum(axis=2)
    return np.exp(unlikely - unlikely.max(axis=0)).astype(np.float32)


def soft_round(training: TrainingRows, theta: Floats, share: Singles, options: GrowOptions) -> Round:
    """One round of EM."""
    tests, laws, leaf = training.experts(share, options)
    state = State(theta, tests, laws)
    likelihood = likelihoods(state, training.rows, leaf, share)
    gate = training.rows.gate_rows
    theta = gate.maximize_likelihood(theta, likelihood, GATE_L2, GATE_STEPS)
    share, _ = gate.responsibilities(theta, likelihood)
    return Round(State(theta, tests, laws), leaf, share)


def hard_round(training: TrainingRows, theta: Floats, options: GrowOptions, soft: bool) -> Round:
    """Give rows to the expert that the gate chooses, fit anew, and move the gate to where errors are least."""
    share = training.rows.gate_rows.probabilities(theta)
    harden(share)
    tests, laws, leaf = training.experts(share, options)
    state = State(theta, tests, laws)
    state = improve(state, training.rows, leaf, training.prior, options.ridge, soft, 2 * GATE_STEPS, gate_only=True)
    return Round(state, leaf, share)
