"""Rows as training sees them, and states of training on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.base import Prediction
from moet.model.gate import Scaler
from moet.model.grow import GrownTree, find_leaves
from moet.model.regression.grow import Tests
from moet.model.regression.leaves import Bounds
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.tree import RegressionTree
from moet.model.solve import GateRows
from moet.model.table import Table
from moet.model.tree import LEAF

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """How features and targets are standardised, and the bounds in standard units."""

    features: Scaler
    targets: Scaler
    low: Floats
    high: Floats

    @cached_property
    def spread(self) -> Floats:
        """What one standard unit of every target is; 0 of one that never changes."""
        inverse = self.targets.inverse_scale
        return np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)

    @cached_property
    def bounds(self) -> Bounds:
        """Bounds in standard units."""
        inverse, mean = self.targets.inverse_scale, self.targets.mean
        with np.errstate(over="ignore", invalid="ignore"):
            low = np.where(inverse > 0, (self.low - mean) * inverse, -np.inf)
            high = np.where(inverse > 0, (self.high - mean) * inverse, np.inf)
        return Bounds.of(low, high)

    def raw_laws(self, laws: Floats) -> tuple[Floats, Floats | None]:
        """Value and slope of laws in raw units; no slope of laws that are constants."""
        value = self.targets.mean + laws[:, :, -1] * self.spread
        if laws.shape[2] == 1:
            return value, None
        with np.errstate(over="ignore", invalid="ignore"):
            slope = laws[:, :, :-1] * self.spread[:, None] * self.features.inverse_scale
            value = value - slope @ self.features.mean
        if not (np.all(np.isfinite(slope)) and np.all(np.isfinite(value))):
            raise InputError("a law's slope exceeds the range of float64: express features and targets in other units")
        return value, slope


class Rows:
    """A table with standardised targets, and everything that training on it reuses."""

    def __init__(self, table: Table, targets: Floats, units: Units, affine: bool) -> None:
        self.table, self.targets, self.units, self.affine = table, targets, units, affine
        self.standard = np.ones((len(table), table.X.shape[1] + 1))
        scaler = units.features
        self.standard[:, :-1] = (table.X[table.rows] - scaler.mean) * scaler.inverse_scale
        self.design = self.standard if affine else np.ones((len(table), 1))

    @property
    def weight(self) -> Floats:
        """Weight of every row."""
        return self.table.weight

    @cached_property
    def gate_rows(self) -> GateRows:
        """The rows as the gate's solvers want them."""
        return GateRows(self.table, self.units.features)

    def take(self, index: NDArray[np.intp], weight: Floats | None = None) -> Rows:
        """Return some of the rows; ``weight`` are other weights of all rows."""
        return Rows(self.table.take(index, weight), self.targets[index], self.units, self.affine)

    def leaves(self, tests: list[Tests]) -> NDArray[np.int32]:
        """Law that every expert has for every row, shape (n_experts, n): the laws of all leaves in one count."""
        out = np.empty((len(tests), len(self.table)), dtype=np.int32)
        first = 0
        for j, tree in enumerate(tests):
            number = np.cumsum(tree.feature == LEAF) - 1 + first
            shape = GrownTree(tree.feature, tree.threshold, tree.left, tree.right, np.empty((0, 0)))
            out[j] = number[find_leaves(shape, self.table)]
            first += int(np.count_nonzero(tree.feature == LEAF))
        return out


class State(NamedTuple):
    """Gate parameters, the experts' tests, and the laws of all leaves, in standard units."""

    theta: Floats
    tests: list[Tests]
    laws: Floats

    def expert_outputs(self, rows: Rows, leaf: NDArray[np.int32]) -> Floats:
        """Clipped outputs of every expert, shape (n_experts, n, n_outputs)."""
        outputs = np.stack([np.einsum("nop,np->no", self.laws[own], rows.design) for own in leaf])
        bounds = rows.units.bounds
        return np.clip(outputs, bounds.low, bounds.high)

    def outputs(self, rows: Rows, leaf: NDArray[np.int32], soft: bool) -> Floats:
        """What the mixture answers, shape (n, n_outputs)."""
        experts = self.expert_outputs(rows, leaf)
        logits = rows.standard @ self.theta.T
        if not soft:
            return experts[logits.argmax(axis=1), np.arange(len(logits))]
        share = np.exp(logits - logits.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        return np.einsum("nj,jno->no", share, experts)

    def squares(self, rows: Rows, leaf: NDArray[np.int32], soft: bool) -> Floats:
        """Squared error of every row in standard units, the mean of all outputs."""
        return ((self.outputs(rows, leaf, soft) - rows.targets) ** 2).mean(axis=1)

    def freeze(self, units: Units, soft: bool) -> RegressionMixture:
        """Return the public form, in raw units."""
        value, slope = units.raw_laws(self.laws)
        trees, first = [], 0
        for tests in self.tests:
            leaf = tests.feature == LEAF
            own = slice(first, first + int(leaf.sum()))
            first = own.stop
            trees.append(
                RegressionTree(
                    *tests,
                    value=_at_leaves(value[own], leaf),
                    slope=None if slope is None else _at_leaves(slope[own], leaf),
                )
            )
        names = [f"u{o}" for o in range(value.shape[1])]
        mode: Prediction = "soft" if soft else "hard"
        return RegressionMixture(*units.features.fold(self.theta), trees, names, units.low, units.high, prediction=mode)


def _at_leaves(laws: Floats, leaf: NDArray[np.bool_]) -> Floats:
    """One entry per node: those of the leaves, and zeros."""
    out = np.zeros((len(leaf), *laws.shape[1:]))
    out[leaf] = laws
    return out
