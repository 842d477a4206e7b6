"""Exact inequalities of a closed loop, for the checker of proofs about it. Standard library only.

With x' = A x + o(action) + w, w in a box, the state at time t is Aᵗ x_0 + c_t plus what the disturbances did, and c_t
depends on the actions only. So every decision of a policy, and every condition on a state, is a linear inequality in
the first state x_0. Its coefficients do not depend on the actions; here they are made once for each time.

Inequalities are rows of integers. In exact arithmetic they are the rationals times ``scale``, a common denominator of
all of them, which is long; so most proofs are checked with multiples of 2^-ROUNDED_BITS first. Limits then make up for
the rounding (``blur``), as they do for their own, to the side that makes the proof harder. With every row comes its
least value in the box of first states: most claims need no more of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from math import ceil, floor, lcm

from moet.errors import CertificateError
from moet.verify.checker.claims import Paths
from moet.verify.checker.geometry import action_number
from moet.verify.checker.meter import Meter, cost
from moet.verify.checker.observation import Observation
from moet.verify.checker.plain import PlainModel, PlainTree
from moet.verify.checker.plain_system import Affine, HalfSpace, PlainSystem, Vector

UNIT = Fraction(1, 2**53)
"""Largest relative error of one float64 operation."""

FINEST = 2**128
"""Limits are rounded to multiples of one over a multiple of this."""

LARGEST = 2**1020
"""States and logits below this do not overflow, nor does any sum on the way."""

ROUNDED_BITS = 128
"""Binary digits after the point, unless arithmetic is exact."""

Tests = dict[tuple[int, bool], float]
"""Thresholds by state and side: True is x <= threshold, False is x > threshold."""


class ClosedLoop:
    """A model in a system that must stay safe or, if a goal is given, reach it.

    Linear functions of the state are numbered: the logits of the experts, the states, the needs (conditions that must
    always hold), and the conditions of the goal.
    """

    def __init__(self, model: PlainModel, system: PlainSystem, claim: Paths, meter: Meter, exact: bool) -> None:
        self.exact = exact
        self.trees = model.trees
        self.n_experts = len(model.trees)
        self.steps = claim.steps
        self.meter = meter
        self.d = d = len(system.states)
        if not isinstance(system.dynamics, Affine):
            raise CertificateError("this kind of proof is about affine systems")
        self.box = system.initial
        self.matrix = system.dynamics.matrix
        self.radius = [(high - low) / 2 for low, high in system.disturbance]
        middle = [(high + low) / 2 for low, high in system.disturbance]
        self.offsets = [[a + b for a, b in zip(row, middle, strict=True)] for row in system.dynamics.offsets]
        self.observation = Observation(system.noise, system.float32)
        meter.hold(sum(len(tree.label) for tree in model.trees) * 2 * d)
        actions = [action_number(label, system.actions) for label in model.classes]
        self.actions = [_actions(tree, actions) for tree in model.trees]
        self.tests = [_tests(tree) for tree in model.trees]

        self.needs, self.goals = _conditions(system, claim.goal)
        conditions = self.needs + self.goals
        self.bounds = [bound for _, bound in conditions]
        self.first_need = self.n_experts + d
        self.first_goal = self.first_need + len(self.needs)
        states = [[Fraction(int(i == k)) for k in range(d)] for i in range(d)]
        experts = [[Fraction(weight) for weight in row] for row in model.weights]
        self.functions = [*experts, *states, *(row for row, _ in conditions)]
        bias = [Fraction(b) for b in model.bias]
        self.gate_errors = self._gate_errors(bias)
        self._make_integers(bias)

    def _gate_errors(self, bias: Vector) -> Vector:
        """Bound the error of every logit in float64: |error| <= (d + 2)·u·(|bias| + Σ|w||x|) + 2^-300."""
        largest = [Fraction(0)] * self.d
        box = self.box
        for _ in range(max(self.steps, 1)):
            largest = [max(most, abs(low), abs(high)) for most, (low, high) in zip(largest, box, strict=True)]
            if max(largest) >= LARGEST:
                raise CertificateError("states may be beyond the range of float64")
            box = self._next_box(box)
        self.observation_errors = self.observation.errors(largest)
        if self.n_experts == 1:
            return [Fraction(0)]
        seen = [most + error for most, error in zip(largest, self.observation_errors, strict=True)]
        sizes = [
            abs(b) + sum(abs(w) * x for w, x in zip(row, seen, strict=True))
            for row, b in zip(self.functions, bias, strict=False)
        ]
        if max(sizes) >= LARGEST:
            raise CertificateError("the gate's logits may overflow")
        return [(self.d + 2) * UNIT * size + Fraction(1, 2**300) for size in sizes]

    def _next_box(self, box: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
        """States one step after those of a box, as far as they meet the needs."""
        sides = []
        self.meter.spend(cost(self.d**2, 2048))
        for k in range(self.d):
            terms = [sorted((a * low, a * high)) for a, (low, high) in zip(self.matrix[k], box, strict=True)]
            low = sum((least for least, _ in terms), min(row[k] for row in self.offsets) - self.radius[k])
            high = sum((most for _, most in terms), max(row[k] for row in self.offsets) + self.radius[k])
            for row, bound in self.needs:
                if row[k] and not any(row[:k] + row[k + 1 :]):
                    low, high = (low, min(high, bound / row[k])) if row[k] > 0 else (max(low, bound / row[k]), high)
            # fewer digits; if there are no such states, any box will do
            low, high = Fraction(floor(low * 2**64), 2**64), Fraction(ceil(high * 2**64), 2**64)
            sides.append((low, max(low, high)))
        return sides

    def _make_integers(self, bias: Vector) -> None:
        # x_0, over one denominator
        self.x_denominator = self._denominator(side for sides in self.box for side in sides)
        self.low = [int(low * self.x_denominator) for low, _ in self.box]
        self.high = [int(high * self.x_denominator) for _, high in self.box]
        # c_t, over a power of one denominator
        step = self._denominator([*self.radius, *(v for row in (*self.matrix, *self.offsets) for v in row)])
        longest = self.steps * step.bit_length()
        self.meter.spend(cost(self.steps, longest))
        self.meter.hold(self.steps, longest // 2)
        self.powers = [step**t for t in range(self.steps + 1)]
        self.integer_matrix = [[int(v * step) for v in row] for row in self.matrix]
        self.integer_offsets = [[int(v * step) for v in row] for row in self.offsets]
        # functions and limits
        function = self._denominator(v for row in self.functions for v in row)
        self.integer_functions = [[int(v * function) for v in row] for row in self.functions]
        thresholds = [Fraction(threshold) for tree in self.trees for threshold in tree.threshold]
        noise = self.observation.noise
        self.blur = 0
        if self.exact:
            limits = lcm(FINEST, function, self._denominator([*bias, *thresholds, *self.bounds, *noise]))
            self.scale = self.powers[-1] * limits
        else:
            self.scale = 1 << ROUNDED_BITS
            self.blur = self._blur()
            self.rounded_offsets = [[floor(v * self.scale) for v in row] for row in self.offsets]
        self.denominators = [function * power for power in self.powers]
        self.bits = self.scale.bit_length() + self.x_denominator.bit_length() + 128
        self.scaled_bias = [floor(b * self.scale) for b in bias] + [0] * (len(self.functions) - self.n_experts)

    def _blur(self) -> int:
        """Most that rounding changes an inequality by: rows off by less than 1, c_t by what the steps make of that."""
        norm = max(sum(map(abs, row)) for row in self.matrix)
        error = 0
        for _ in range(self.steps):
            error = ceil(norm * error) + 2
            self.meter.spend(cost(1, error.bit_length()))
        first = sum(max(abs(low), abs(high)) for low, high in self.box)
        steepest = max(sum(map(abs, row)) for row in self.functions)
        return 2 * (ceil(first) + ceil(steepest * error)) + 16

    def _denominator(self, values: Iterable[Fraction]) -> int:
        """Common denominator, unless it gets too long."""
        common = 1
        for value in values:
            if common % value.denominator:
                common = lcm(common, value.denominator)
                self.meter.spend(cost(1, common.bit_length()))
        return common

    def successor(self, t: int, c: list[int], action: int) -> list[int]:
        """c_{t+1} after an action, as integers over the next power of the denominator, or rounded."""
        if not self.exact:
            step = self.powers[1]
            return [
                sum([a * b for a, b in zip(row, c, strict=True)]) // step + offset
                for row, offset in zip(self.integer_matrix, self.rounded_offsets[action], strict=True)
            ]
        power = self.powers[t]
        return [
            sum([a * b for a, b in zip(row, c, strict=True)]) + offset * power
            for row, offset in zip(self.integer_matrix, self.integer_offsets[action], strict=True)
        ]

    def constant(self, t: int, c: list[int], i: int) -> int:
        """Constant part of function i at time t."""
        product = sum([a * b for a, b in zip(self.integer_functions[i], c, strict=True)])
        if not self.exact:
            return product // self.denominators[0] + self.scaled_bias[i]
        return product * (self.scale // self.denominators[t]) + self.scaled_bias[i]

    def least(self, row: list[int]) -> int:
        """Least value of a row in the box of first states, times their denominator."""
        return sum([a * (low if a > 0 else high) for a, low, high in zip(row, self.low, self.high, strict=True)])

    @cache  # noqa: B019 (the cache ends with the proof)
    def row(self, t: int, i: int) -> list[int]:
        """Linear part of function i at time t."""
        self.meter.hold(2 * self.d, self.bits)
        return [v * self.scale // self.denominators[t] for v in self._linear(t, i)]

    @cache  # noqa: B019
    def rival(self, t: int, e: int, j: int) -> tuple[list[int], int, int]:
        """Row of (logit j − logit e), its least value, and its limit when expert e is chosen at time t.

        The limit is less the constant parts.
        """
        self.meter.hold(self.d, self.bits)
        row = [b - a for a, b in zip(self.row(t, e), self.row(t, j), strict=True)]
        slack = self._slack(min(e, j), max(e, j)) + ceil(self._disturbance(t, e, j) * self.scale)
        return row, self.least(row), slack + self.blur

    @cache  # noqa: B019
    def _slack(self, e: int, j: int) -> int:
        """How far the difference of two logits may be off, because of rounding and of what is not seen exactly."""
        parts = zip(self.functions[e], self.functions[j], self.observation_errors, strict=True)
        slack = sum((abs(a - b) * error for a, b, error in parts), self.gate_errors[e] + self.gate_errors[j])
        return ceil(slack * self.scale)

    @cache  # noqa: B019
    def split(self, t: int, feature: int, threshold: float, left: bool) -> tuple[list[int], int, int, bool]:
        """Row of one side of a split at time t, and its least value; its limit; whether it must be below that.

        The limit is less the constant part.
        """
        self.meter.hold(self.d, self.bits)
        i = self.n_experts + feature
        if left:
            sign, limit = 1, self.observation.largest_below(feature, threshold)
        else:
            sign, limit = -1, -self.observation.least_above(feature, threshold)
        most = (limit + self._disturbance(t, i)) * self.scale + self.blur
        row = [sign * v for v in self.row(t, i)]
        return row, self.least(row), ceil(most), most < ceil(most)

    @cache  # noqa: B019
    def condition(self, t: int, i: int) -> tuple[list[int], int, int]:
        """Row of a need or a condition of the goal at time t, the least value of its opposite, and its limit.

        Below the limit no disturbance can break it.
        """
        limit = self.bounds[i - self.first_need] - self._disturbance(t, i)
        row = self.row(t, i)
        return row, self.least([-a for a in row]), floor(limit * self.scale) - self.blur

    @cache  # noqa: B019
    def _linear(self, t: int, i: int) -> list[int]:
        """Coefficients of function i of the state at time t, times the denominators of functions and of t steps."""
        if t == 0:
            return self.integer_functions[i]
        before = self._linear(t - 1, i)
        self.meter.spend(cost(self.d**2, self.bits))
        return [sum([a * row[k] for a, row in zip(before, self.integer_matrix, strict=True)]) for k in range(self.d)]

    def _disturbance(self, t: int, i: int, j: int | None = None) -> Fraction:
        """Most that disturbances before time t add to function i, or to its difference from function j."""
        total = Fraction(0)
        if not any(self.radius):
            return total
        self.meter.spend(cost(2 * t * self.d, self.bits))
        for s in range(t):
            rival = self._linear(s, j) if j is not None else [0] * self.d
            parts = zip(self._linear(s, i), rival, self.radius, strict=True)
            total += sum(abs(a - b) * r for a, b, r in parts) / self.denominators[s]
        return total


def _conditions(system: PlainSystem, goal: list[HalfSpace] | None) -> tuple[list[HalfSpace], list[HalfSpace]]:
    """What must always hold, and what a run must reach."""
    domain: list[HalfSpace] = []
    for k, sides in enumerate(system.domain):
        if sides is not None:
            for sign, bound in ((1, sides[1]), (-1, -sides[0])):
                domain.append(HalfSpace([Fraction(sign * (i == k)) for i in range(len(system.states))], bound))
    return ([*system.safe, *domain], []) if goal is None else (domain, goal)


def _tests(tree: PlainTree) -> list[Tests]:
    """For every node, the tests that lead to it; of those on one side of one state, the tightest."""
    tests: list[Tests] = [{} for _ in tree.label]
    for node, label in enumerate(tree.label):  # children come after their parents
        if label < 0:
            feature, threshold = tree.feature[node], tree.threshold[node]
            below, above = (tests[node].get((feature, left), threshold) for left in (True, False))
            tests[tree.left[node]] = tests[node] | {(feature, True): min(below, threshold)}
            tests[tree.right[node]] = tests[node] | {(feature, False): max(above, threshold)}
    return tests


def _actions(tree: PlainTree, actions: list[int]) -> list[int | None]:
    """For every node, the one action of all leaves below it, or None."""
    found: list[int | None] = [actions[label] if label >= 0 else None for label in tree.label]
    for node in reversed(range(len(found))):
        if tree.label[node] < 0 and found[tree.left[node]] == found[tree.right[node]]:
            found[node] = found[tree.left[node]]
    return found
