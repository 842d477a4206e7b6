"""Exact inequalities of a closed loop, for the checker of proofs about it. Standard library only.

Every decision of a policy is a linear inequality in the first state, as every condition on a state is: see
:mod:`~moet.verify.checker.loops.paths.steps`, which has all that does not depend on the policy. Rows, limits and
rounding are as there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import lcm
from operator import add, mul, sub

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Affine
from moet.verify.checker.documents.model import PlainModel
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.claims import Paths
from moet.verify.checker.loops.geometry import action_number
from moet.verify.checker.loops.paths.steps import (
    GRID,
    LARGEST,
    Steps,
    floored,
    rounded_steps,
    size,
)
from moet.verify.checker.made import Made
from moet.verify.checker.meter import Meter, cost

UNIT_BITS = 53
"""The largest relative error of one float64 operation is one over two to this."""

class ClosedLoop:
    """A model in a system that must stay safe or, if a goal is given, reach it.

    Linear functions of the state are numbered: the logits of the experts, the states, the needs (conditions that must
    always hold), and the conditions of the goal.
    """

    def __init__(self, model: PlainModel, system: PlainSystem, claim: Paths, meter: Meter, exact: bool) -> None:
        if not isinstance(system.dynamics, Affine):
            raise CertificateError("this kind of proof is about affine systems")
        self.exact = exact
        self.meter = meter
        self.trees = model.trees
        self.n_experts = len(model.trees)
        self.steps, self.d = claim.steps, len(system.states)
        meter.hold(sum(len(tree.label) for tree in model.trees) * 2 * self.d)
        self.action_of = [action_number(label, system.actions) for label in model.classes]
        self._read_gate(model)
        self.path = path = self._path(system, claim)
        self.scale, self.bits = path.scale, path.bits
        self.levels = [top * self.scale // self.denominator for top in self.bias]
        self.shift = path.finer + self.denominator.bit_length() - 1
        self.blur = path.blur_of(self.weights, self.denominator)
        self._remember()
        self.unseen = [-(-e.numerator * self.scale // e.denominator) for e in path.observation_errors]
        self.gate_errors = self._gate_errors()

    def _read_gate(self, model: PlainModel) -> None:
        """Weights and biases as integers over one denominator, a power of two."""
        rows = [
            [value.as_integer_ratio() for value in (*row, b)] for row, b in zip(model.weights, model.bias, strict=True)
        ]
        self.denominator = most = max(bottom for row in rows for _, bottom in row)
        integers = [[top * (most // bottom) for top, bottom in row] for row in rows]
        self.weights, self.bias = [row[:-1] for row in integers], [row[-1] for row in integers]

    def _path(self, system: PlainSystem, claim: Paths) -> Steps:
        if not self.exact:
            return rounded_steps(system, claim.steps, claim.goal, self.meter)
        finest = [threshold.as_integer_ratio()[1] for tree in self.trees for threshold in tree.threshold]
        return Steps(system, claim.steps, claim.goal, self.meter, lcm(self.denominator, max(finest)))

    def _remember(self) -> None:
        """Everything that is made for a time, a function or a pair is made once; it is forgotten with the loop."""
        self.gate = Made(self._make_gate)
        self.rival = Made(self._make_rival)
        self.slack = Made(self._make_slack)
        self.edge = Made(self._make_edge)

    def _gate_errors(self) -> list[int]:
        """Bound the error of every logit in float64: |error| <= (d + 2)·u·(|bias| + Σ|w||x|) + 2^-300.

        In multiples of 1/scale, as all limits; sizes of states are in multiples of 1/GRID. If states are seen as they
        are but for rounding, that of what is seen is part of it.
        """
        if self.n_experts == 1:
            return [0]
        path = self.path
        seen = [most - floored(-error) for most, error in zip(path.largest, path.observation_errors, strict=True)]
        sizes = [
            2 + (abs(b) * GRID + sum(map(mul, map(abs, row), seen))) // self.denominator
            for row, b in zip(self.weights, self.bias, strict=True)
        ]
        if max(sizes) >= LARGEST * GRID:
            raise CertificateError("the gate's logits may overflow")
        errors = [((self.d + 2) * size * self.scale >> UNIT_BITS) // GRID + (self.scale >> 300) + 2 for size in sizes]
        if not path.observation.is_exact:  # which matters to differences of logits
            return errors
        unseen = [sum(map(mul, map(abs, row), self.unseen)) // self.denominator + 1 for row in self.weights]
        return list(map(add, errors, unseen))

    @cached_property
    def possible(self) -> set[int]:
        """All actions of the model."""
        return {self.action_of[label] for tree in self.trees for label in tree.label if label >= 0}

    def known(self, t: int, actions: Sequence[int]) -> list[int]:
        """Constant parts of all logits and states at time t after these actions, and 0."""
        self.meter.spend(self.d * (t + 1) + cost(self.n_experts * self.d, self.bits))
        states = self.path.constant(t, actions)
        logits = [
            level + (sum(map(mul, weights, states)) >> self.shift)
            for level, weights in zip(self.levels, self.weights, strict=True)
        ]
        return [*logits, *(value >> self.path.finer for value in states), 0]

    def _make_gate(self, t: int) -> list[list[int]]:
        """Linear parts of all logits at time t."""
        self.meter.spend(cost(self.n_experts * self.d * self.d, self.bits))
        self.meter.hold(self.n_experts * self.d, self.bits)
        if self.exact:
            return [self.path.row_of(t, weights, self.denominator)[0] for weights in self.weights]
        columns, shift = self.path.box_after(t)[0][: self.d], self.shift
        return [[sum(map(mul, weights, column)) >> shift for column in columns] for weights in self.weights]

    def _make_rival(self, t: int, e: int, j: int) -> tuple[list[int], int]:
        """Row of (logit j − logit e), and its limit when expert e is chosen at time t, less the constant parts."""
        self.meter.hold(self.d, self.bits)
        gate = self.gate[t]
        return list(map(sub, gate[j], gate[e])), self.slack[e, j][t]

    def _make_slack(self, e: int, j: int) -> list[int]:
        """How far the difference of two logits may be off at every time.

        For roundings, for what is not seen exactly, and for what disturbances did before.
        """
        slack = self.gate_errors[e] + self.gate_errors[j] + self.blur + 1
        if not self.path.observation.is_exact:
            weights = map(abs, map(sub, self.weights[e], self.weights[j]))
            slack += sum(map(mul, weights, self.unseen)) // self.denominator
        self.meter.hold(self.steps + 1)
        if self.path.is_calm:
            return [slack] * (self.steps + 1)
        difference = list(map(sub, self.weights[e], self.weights[j]))
        return [slack + swing for swing in self.path.swing_of(difference, self.denominator)]

    def split(self, t: int, state: int, threshold: float, below: bool) -> tuple[list[int], int, bool]:
        """Row of one side of a split at time t; its limit, less the constant part; whether it must be below that."""
        limit, strict = self.edge[state, threshold, below]
        return self.path.side(t, state, below), limit + self.path.swing(state)[t] + self.path.blur, strict

    def alone(self, t: int, k: int, threshold: float) -> tuple[int, int, int]:
        """When row k of a time, of a pair or of a test with this threshold, has nobody in the box.

        That is if, of the constant parts of logits and states and 0, the first is ahead of the second by the third.
        """
        self.meter.hold(4, self.bits)
        if k < self.n_experts**2:
            e, j = divmod(k, self.n_experts)
            row, limit = self.rival[t, e, j]
            return j, e, limit + size(row) + 1
        state, above = divmod(k - self.n_experts**2, 2)
        first, second = self.n_experts + state, self.n_experts + self.d
        enough = self.edge[state, threshold, not above][0] + self.path.beside(t, state)
        return (second, first, enough) if above else (first, second, enough)

    def _make_edge(self, feature: int, threshold: float, left: bool) -> tuple[int, bool]:
        """Limit of a state on one side of a threshold, rounded up, and whether that made it larger."""
        self.meter.hold(1, self.bits)
        if left:
            limit = self.path.observation.largest_below(feature, threshold)
        else:
            limit = -self.path.observation.least_above(feature, threshold)
        whole, rest = divmod(-limit.numerator * self.scale, limit.denominator)
        return -whole, rest > 0
