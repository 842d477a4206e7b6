"""Exact inequalities of a closed loop, for the checker of proofs about it. Standard library only.

Every decision of a policy is a linear inequality in the first state, as every condition on a state is: see
:mod:`~moet.verify.checker.loops.paths.steps`, which has all that does not depend on the policy. Limits and rounding are
as there. A row is a function that is at most 0 (:mod:`~moet.verify.checker.loops.paths.functions`), in multiples of
1/(scale·denominator), ``denominator`` being that of the gate: so logits are exact sums of states.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import lcm
from operator import add, getitem, mul, sub

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Affine
from moet.verify.checker.documents.model import PlainModel
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.claims import Paths
from moet.verify.checker.loops.geometry import action_number
from moet.verify.checker.loops.paths.functions import Functions
from moet.verify.checker.loops.paths.steps import GRID, LARGEST, Steps, floored, rounded_steps, size
from moet.verify.checker.made import Made
from moet.verify.checker.meter import Meter, cost

MOST_TIMES_BITS = 128
"""Functions are taken fewer times than two to this."""

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
        self.finer = self.denominator.bit_length() - 1
        self.functions = self._functions()
        self.levels = [b * self.scale for b in self.bias]
        self._write_constants()
        self.blur = path.blur_of(self.weights, self.denominator, 0)
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

    def _functions(self) -> Functions:
        """How functions are written, with room for all coefficients, taken so many times."""
        path = self.path
        widest = max(2 * sum(map(abs, row)) for row in self.weights)
        widest += self.denominator * max(2 + sum(map(abs, row)) // path.denominator for row in path.functions)
        return Functions(self.d, (widest * (path.farthest + 1)).bit_length() + MOST_TIMES_BITS)

    def _write_constants(self) -> None:
        """Write all logits, and then all states, side by side: their constants, and how often each has each state.

        The sum of such integers, each taken as often as its state is large, has all of their values side by side.
        """
        most, d = self.path.largest_constant, range(self.d)
        sizes = [sum(map(abs, row)) * most + abs(b) for row, b in zip(self.weights, self.levels, strict=True)]
        self.constants = Functions(self.n_experts + self.d, max(*sizes, self.denominator * most).bit_length())
        self.meter.spend((self.d + 1) * (self.n_experts + self.d) * (1 + (self.constants.above >> 12)))
        self.meter.hold((self.d + 1) * (self.n_experts + self.d), self.constants.width)
        units = [[self.denominator * (i == k) for i in d] for k in d]
        self.columns = [self.constants.of([*(row[k] for row in self.weights), *units[k]]) for k in d]
        self.first = self.constants.of(self.levels)

    def _remember(self) -> None:
        """Everything that is made for a time, a function or a pair is made once; it is forgotten with the loop."""
        self.pushes, self.start = Made(self._make_pushes), Made(self._make_start)
        self.states = Made(self._make_states)
        self.gate = Made(self._make_gate)
        self.rival, self.split = Made(self._make_rival), Made(self._make_split)
        self.missed = Made(self._make_missed)
        self.slack, self.swing = Made(self._make_slack), Made(self._make_swing)
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
        n, words = self.n_experts + self.d, 1 + (self.constants.above >> 6)
        self.meter.spend(t * (1 + (words >> 6)) + n * (1 + (words >> 6)))
        pushes = map(getitem, map(self.pushes.__getitem__, range(t - 1, -1, -1)), actions)
        return [*self.constants.coefficients(sum(pushes, self.start[t])), 0]

    def _make_pushes(self, ahead: int) -> list[int]:
        """What every action adds to all logits and states so many steps after the state to which it leads."""
        gains = [self.path.gain(state, ahead) for state in range(self.d)]
        return [self._side_by_side(moved) for moved in zip(*gains, strict=True)]

    def _make_start(self, t: int) -> int:
        """Constant parts of all logits and states at time t, without what actions add."""
        if self.path.is_centred:
            return self.first
        return self.first + self._side_by_side([self.path.row(t, state)[1] for state in range(self.d)])

    def _side_by_side(self, moved: Sequence[int]) -> int:
        """What it adds to all logits and states, in multiples of 1/(scale·denominator), if states move so far."""
        self.meter.spend(cost((self.n_experts + self.d) * self.d, self.constants.width))
        self.meter.hold(self.n_experts + self.d, self.constants.width)
        return sum(map(mul, self.columns, moved))

    def _make_states(self, t: int) -> list[int]:
        """Linear parts of all states at time t, in multiples of 1/scale."""
        self.meter.hold(self.d * self.d, self.functions.width)
        return [self.functions.of(self.path.row(t, state)[0]) for state in range(self.d)]

    def _make_gate(self, t: int) -> list[int]:
        """Linear parts of all logits at time t."""
        self.meter.spend(cost(self.n_experts * self.d * self.d, self.functions.width))
        self.meter.hold(self.n_experts * self.d, self.functions.width)
        states = self.states[t]
        return [sum(map(mul, weights, states)) for weights in self.weights]

    def _make_rival(self, t: int, e: int, j: int) -> int:
        """What is at most 0 where expert e is chosen at time t, and not j; but for the constant parts."""
        self.meter.hold(self.d + 1, self.functions.width)
        gate, row = self.gate[t], -self.slack[e, j]
        if not self.path.is_calm:
            row -= self.constant(self.swing[e, j][t])
        return row + gate[j] - gate[e]

    def _make_split(self, t: int, state: int, threshold: float, below: bool) -> tuple[int, bool]:
        """What is at most 0 on one side of a split at time t, but for the constant part; whether it must be below."""
        self.meter.hold(self.d + 1, self.functions.width)
        limit, strict = self.edge[state, threshold, below]
        row, limit = self.states[t][state], limit + self.path.swing(state)[t] + self.path.blur
        return (row if below else -row) - (limit << self.functions.above) << self.finer, strict

    def _make_missed(self, t: int, i: int) -> int:
        """What is below 0 where condition i is not met at time t, if actions add all to it that all states allow."""
        self.meter.hold(self.d + 1, self.functions.width)
        row, _ = self.path.condition(t, i)
        return self.functions.of([-a for a in row], size(row)) << self.finer

    def constant(self, value: int) -> int:
        """A constant function, of a value in multiples of 1/scale."""
        return value << self.finer + self.functions.above

    def _make_slack(self, e: int, j: int) -> int:
        """How far the difference of two logits may be off, for roundings and for what is not seen exactly; constant."""
        slack = self.gate_errors[e] + self.gate_errors[j] + self.blur + 1
        if self.path.observation.is_exact:
            return self.constant(slack)
        weights = map(abs, map(sub, self.weights[e], self.weights[j]))
        return self.constant(slack + sum(map(mul, weights, self.unseen)) // self.denominator)

    def _make_swing(self, e: int, j: int) -> list[int]:
        """The most that disturbances before each time add to the difference of two logits."""
        return self.path.swing_of(list(map(sub, self.weights[e], self.weights[j])), self.denominator)

    def alone(self, t: int, k: int, threshold: float) -> tuple[int, int, int]:
        """When row k of a time, of a pair or of a test with this threshold, has nobody in the box.

        That is if, of the constant parts of logits and states and 0, the first is ahead of the second by the third.
        """
        if k < self.n_experts**2:
            e, j = divmod(k, self.n_experts)
            return j, e, 1 - self.functions.least(self.rival[t, e, j])
        state, above = divmod(k - self.n_experts**2, 2)
        first, second = self.n_experts + state, self.n_experts + self.d
        enough = self.edge[state, threshold, not above][0] + self.path.beside(t, state) << self.finer
        return (second, first, enough) if above else (first, second, enough)

    def _make_edge(self, feature: int, threshold: float, left: bool) -> tuple[int, bool]:
        """Limit of a state on one side of a threshold, rounded up, and whether that made it larger."""
        self.meter.hold(1, self.bits)
        if left:
            limit, sign = self.path.observation.largest_below(feature, threshold), -1
        else:
            limit, sign = self.path.observation.least_above(feature, threshold), 1
        whole, rest = divmod(sign * limit.numerator * self.scale, limit.denominator)
        return -whole, rest > 0
