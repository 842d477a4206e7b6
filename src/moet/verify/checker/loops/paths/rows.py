"""Exact inequalities of a closed loop, for the checker of proofs about it. Standard library only.

Every decision of a policy is a linear inequality in the first state, as every condition on a state is: see
:mod:`~moet.verify.checker.loops.paths.steps`, which has all that does not depend on the policy. Rows, limits and
rounding are as there.
"""

from __future__ import annotations

from functools import cache
from math import lcm
from operator import mul, sub

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Affine
from moet.verify.checker.documents.model import PlainModel
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.claims import Paths
from moet.verify.checker.loops.geometry import action_number
from moet.verify.checker.loops.paths.steps import GRID, LARGEST, POWER_BITS, ROUNDED_BITS, Steps, floored, rounded_steps
from moet.verify.checker.meter import Meter, cost

UNIT_BITS = 53
"""The largest relative error of one float64 operation is one over two to this."""

Tests = dict[tuple[int, bool], float]
"""Thresholds by state and side: True is x <= threshold, False is x > threshold."""


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
        self.scale, self.bits, self.x_denominator = path.scale, path.bits, path.x_denominator
        self.least = path.least
        self.scaled_bias = [top * self.scale // self.denominator for top in self.bias]
        self.shift = POWER_BITS - ROUNDED_BITS + self.denominator.bit_length() - 1
        self.blur = path.blur_of(self.weights, self.denominator)
        self._remember()
        self.gate_errors = self._gate_errors()
        self.unseen = [-(-e.numerator * self.scale // e.denominator) for e in path.observation_errors]

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
        self.gains = cache(self._make_gains)
        self.pushes = cache(self._make_pushes)
        self.rows = cache(self._make_rows)
        self.rival = cache(self._make_rival)
        self.ahead = cache(self._make_ahead)
        self.beyond = cache(self._make_beyond)
        self.slack = cache(self._make_slack)
        self.split = cache(self._make_split)
        self.edge = cache(self._make_edge)
        self.swing = cache(self._make_swing)

    def _gate_errors(self) -> list[int]:
        """Bound the error of every logit in float64: |error| <= (d + 2)·u·(|bias| + Σ|w||x|) + 2^-300.

        In multiples of 1/scale, as all limits; sizes of states are in multiples of 1/GRID.
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
        return [((self.d + 2) * size * self.scale >> UNIT_BITS) // GRID + (self.scale >> 300) + 2 for size in sizes]

    @property
    def possible(self) -> set[int]:
        """All actions of the model."""
        return {self.action_of[label] for tree in self.trees for label in tree.label if label >= 0}

    def _make_gains(self, i: int, t: int) -> list[tuple[int, ...]]:
        """What every action adds to function i, which is no logit, if it is taken at time 0, 1, and so on before t."""
        return [self.path.gain(i - self.n_experts, ahead) for ahead in reversed(range(t))]

    def _make_pushes(self, ahead: int) -> list[list[int]]:
        """For every action, what it adds to all logits so many steps after the state to which it leads."""
        n_actions = len(self.path.offsets)
        self.meter.spend(cost(self.n_experts * self.d * n_actions, self.bits))
        self.meter.hold(self.n_experts * n_actions, self.bits)
        if self.exact:
            gains = [self.path.gain_of(ahead, weights, self.denominator) for weights in self.weights]
            return [list(column) for column in zip(*gains, strict=True)]
        moved, shift = self.path.pushed(ahead)[0], self.shift
        return [[sum(map(mul, weights, far)) >> shift for weights in self.weights] for far in moved]

    def _make_rows(self, t: int) -> list[list[int]]:
        """Linear parts of all logits at time t."""
        self.meter.spend(cost(self.n_experts * self.d**2, self.bits))
        self.meter.hold(self.n_experts * 2 * self.d, self.bits)
        if self.exact:
            return [self.path.row_of(t, weights, self.denominator) for weights in self.weights]
        columns, shift = self.path.power(t)[0], self.shift
        return [[sum(map(mul, weights, column)) >> shift for column in columns] for weights in self.weights]

    def _make_rival(self, t: int, e: int, j: int) -> tuple[list[int], int, int]:
        """Row of (logit j − logit e), its least value, and its limit when expert e is chosen at time t.

        The limit is less the constant parts.
        """
        self.meter.hold(self.d, self.bits)
        rows = self.rows(t)
        row = list(map(sub, rows[j], rows[e]))
        return row, self.least(row), self.slack(e, j) + self.swing(e, j)[t] + self.blur

    def _make_ahead(self, t: int, e: int, j: int) -> int:
        """Nobody chooses expert e at time t if logit j is ahead of logit e by this, by constant parts alone."""
        rows = self.rows(t)
        least = self.least(list(map(sub, rows[j], rows[e])))
        return self.slack(e, j) + self.swing(e, j)[t] + self.blur - least // self.x_denominator

    def _make_slack(self, e: int, j: int) -> int:
        """How far the difference of two logits may be off, because of rounding and of what is not seen exactly."""
        if j < e:
            return self.slack(j, e)
        weights = map(abs, map(sub, self.weights[e], self.weights[j]))
        unseen = sum(map(mul, weights, self.unseen))
        return self.gate_errors[e] + self.gate_errors[j] + unseen // self.denominator + 1

    def _make_swing(self, e: int, j: int) -> list[int]:
        """Most that disturbances before each time add to the difference of two logits."""
        if j < e:
            return self.swing(j, e)
        return self.path.swing_of(list(map(sub, self.weights[e], self.weights[j])), self.denominator)

    def _make_split(self, t: int, feature: int, threshold: float, left: bool) -> tuple[list[int], int, int, bool]:
        """Row of one side of a split at time t, and its least value; its limit; whether it must be below that.

        The limit is less the constant part.
        """
        row, least = self.path.side(t, feature, left)
        limit, strict = self.edge(feature, threshold, left)
        return row, least, limit + self.path.swing(feature)[t] + self.path.blur, strict

    def _make_beyond(self, t: int, feature: int, threshold: float, left: bool) -> int:
        """Nobody is on this side of a split at time t if the constant part, or its opposite, is at least this."""
        _, least, limit, strict = self.split(t, feature, threshold, left)
        excess = limit * self.x_denominator - least
        return -(-excess // self.x_denominator) if strict else excess // self.x_denominator + 1

    def _make_edge(self, feature: int, threshold: float, left: bool) -> tuple[int, bool]:
        """Limit of a state on one side of a threshold, rounded up, and whether that made it larger."""
        self.meter.hold(1, self.bits)
        if left:
            limit = self.path.observation.largest_below(feature, threshold)
        else:
            limit = -self.path.observation.least_above(feature, threshold)
        whole, rest = divmod(-limit.numerator * self.scale, limit.denominator)
        return -whole, rest > 0
