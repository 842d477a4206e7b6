"""Exact inequalities of a closed loop, for the checker of proofs about it. Standard library only.

With x' = A x + o(action) + w, w in a box, the state at time t is Aᵗ x_0 + c_t plus what the disturbances did, and c_t
is a sum over the actions so far. So every decision of a policy, and every condition on a state, is a linear inequality
in the first state x_0. Its coefficients do not depend on the actions; here they are made once for each time.

Inequalities are rows of integers. In exact arithmetic they are the rationals times ``scale``, a common denominator of
all of them, which is long; so most proofs are checked with multiples of 2^-ROUNDED_BITS first. Limits then make up for
the rounding (``blur``), as they do for their own, to the side that makes the proof harder. With every row comes its
least value in the box of first states: most claims need no more of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import ceil, floor, lcm
from operator import add, mul, neg, sub

from moet.errors import CertificateError
from moet.verify.checker.documents.model import PlainModel, PlainTree
from moet.verify.checker.documents.system import Affine, HalfSpace, PlainSystem, Sides, Vector
from moet.verify.checker.loops.claims import Paths
from moet.verify.checker.loops.geometry import action_number
from moet.verify.checker.loops.observation import Observation
from moet.verify.checker.meter import Meter, cost

UNIT_BITS = 53
"""The largest relative error of one float64 operation is one over two to this."""

FINEST = 2**128
"""Limits are rounded to multiples of one over a multiple of this."""

LARGEST = 2**1020
"""States and logits below this do not overflow, nor does any sum on the way."""

GRID = 2**64
"""Sizes of states are rounded outwards to multiples of one over this."""

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
        self._remember()
        self.trees = model.trees
        self.n_experts = len(model.trees)
        self.steps = claim.steps
        self.meter = meter
        self.d = d = len(system.states)
        if not isinstance(system.dynamics, Affine):
            raise CertificateError("this kind of proof is about affine systems")
        self.box = system.initial
        self.matrix = system.dynamics.matrix
        self.radius, self.offsets = _centred(system.disturbance, system.dynamics.offsets)
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
        self._make_integers(bias)
        largest = self._largest_states()
        self.observation_errors = self.observation.errors([Fraction(most, GRID) for most in largest])
        self.scaled_observation_errors = [
            -(-error.numerator * self.scale // error.denominator) for error in self.observation_errors
        ]
        self.gate_errors = self._gate_errors(bias, largest)
        self._no_swing = [0] * (self.steps + 1)

    def _remember(self) -> None:
        """Everything that is made for a time, a function or a pair is made once; it is forgotten with the loop."""
        self.gain = cache(self._make_gain)
        self.gains = cache(self._make_gains)
        self.pushes = cache(self._make_pushes)
        self.limits_ahead = cache(self._make_limits_ahead)
        self.worst = cache(self._make_worst)
        self.outright = cache(self._make_outright)
        self.row = cache(self._make_row)
        self.rival = cache(self._make_rival)
        self.slack = cache(self._make_slack)
        self.split = cache(self._make_split)
        self.side = cache(self._make_side)
        self.edge = cache(self._make_edge)
        self.condition = cache(self._make_condition)
        self.swing = cache(self._make_swing)

    def _make_integers(self, bias: Vector) -> None:
        # x_0, over one denominator
        self.x_denominator = self._denominator(side for sides in self.box for side in sides)
        self.low = [_over(self.x_denominator, low) for low, _ in self.box]
        self.high = [_over(self.x_denominator, high) for _, high in self.box]
        # steps, over a power of one denominator
        step = self._denominator([*self.radius, *(v for row in (*self.matrix, *self.offsets) for v in row)])
        longest = self.steps * step.bit_length()
        self.meter.spend(cost(self.steps, longest))
        self.meter.hold(self.steps, longest // 2)
        self.powers = [step**t for t in range(self.steps + 1)]
        self.step = step
        self.integer_matrix = [[_over(step, v) for v in row] for row in self.matrix]
        self.columns = list(zip(*self.integer_matrix, strict=True))
        self.integer_radius = [_over(step, v) for v in self.radius]
        self.integer_offsets = [[_over(step, v) for v in row] for row in self.offsets]
        # functions and limits
        function = self._denominator(v for row in self.functions for v in row)
        self.linears = [[[_over(function, v) for v in row]] for row in self.functions]
        self.linear_bits = self._linear_bits()
        self.blur = 0
        if self.exact:
            thresholds = [Fraction(threshold) for tree in self.trees for threshold in tree.threshold]
            limits = [*bias, *thresholds, *self.bounds, *self.observation.noise]
            self.scale = self.powers[-1] * lcm(FINEST, function, self._denominator(limits))
        else:
            self.scale = 1 << ROUNDED_BITS
            self.blur = self._blur()
        self.denominators = [function * power for power in self.powers]
        self.bits = self.scale.bit_length() + self.x_denominator.bit_length() + 128
        self.scaled_bias = [floor(b * self.scale) for b in bias] + [0] * (len(self.functions) - self.n_experts)

    def _linear_bits(self) -> list[int]:
        """How long a function's coefficients may be at every time."""
        bits = max(v.bit_length() for rows in self.linears for v in rows[0])
        growth = self.d.bit_length() + max(v.bit_length() for row in self.integer_matrix for v in row)
        return [bits + t * growth for t in range(self.steps + 1)]

    def _blur(self) -> int:
        """Most that rounding changes an inequality by: a row is off by less than 1, and so is what each step adds."""
        first = sum(max(abs(low), abs(high)) for low, high in self.box)
        return 2 * (ceil(first) + self.steps) + 16

    def _denominator(self, values: Iterable[Fraction]) -> int:
        """Common denominator, unless it gets too long."""
        common = 1
        for denominator in {value.denominator for value in values}:
            if common % denominator:
                common = lcm(common, denominator)
                self.meter.spend(cost(1, common.bit_length()))
        return common

    def _gate_errors(self, bias: Vector, largest: list[int]) -> list[int]:
        """Bound the error of every logit in float64: |error| <= (d + 2)·u·(|bias| + Σ|w||x|) + 2^-300.

        In multiples of 1/scale, as all limits; ``largest`` is in multiples of 1/GRID.
        """
        if self.n_experts == 1:
            return [0]
        seen = [most - _floored(-error) for most, error in zip(largest, self.observation_errors, strict=True)]
        sizes = [
            1 - _floored(-abs(b)) + sum(map(mul, map(abs, rows[0]), seen)) // self.denominators[0]
            for rows, b in zip(self.linears, bias, strict=False)
        ]
        if max(sizes) >= LARGEST * GRID:
            raise CertificateError("the gate's logits may overflow")
        return [((self.d + 2) * size * self.scale >> UNIT_BITS) // GRID + (self.scale >> 300) + 2 for size in sizes]

    def _largest_states(self) -> list[int]:
        """Largest absolute values of the states before every step, as far as they meet the needs, times GRID."""
        rows = [(row, list(map(abs, row))) for row in self.integer_matrix]
        pushes = [
            (_floored(min(column) - most), -_floored(-max(column) - most))
            for column, most in zip(zip(*self.offsets, strict=True), self.radius, strict=True)
        ]
        clips = [self._clip(k) for k in range(self.d)]
        low, high = [_floored(low) for low, _ in self.box], [-_floored(-high) for _, high in self.box]
        largest = [0] * self.d
        self.meter.spend(max(self.steps, 1) * cost(self.d**2, 2048))
        for _ in range(max(self.steps, 1)):
            largest = list(map(max, largest, map(neg, low), high))
            if max(largest) >= LARGEST * GRID:
                raise CertificateError("states may be beyond the range of float64")
            middles, widths = list(map(add, low, high)), list(map(sub, high, low))
            low, high = [], []
            for (row, sizes), push, clip in zip(rows, pushes, clips, strict=True):
                middle, reach = sum(map(mul, row, middles)), sum(map(mul, sizes, widths))
                least = (middle - reach) // (2 * self.step) + push[0]
                most = -((-middle - reach) // (2 * self.step)) + push[1]
                least = least if clip[0] is None else max(least, clip[0])
                most = most if clip[1] is None else min(most, clip[1])
                low.append(least)
                high.append(max(least, most))  # if there is no such state, any side will do
        return largest

    def _clip(self, k: int) -> tuple[int | None, int | None]:
        """The sides between which the needs keep state k, in multiples of 1/GRID; None where there is none."""
        sides: list[list[int]] = [[], []]
        for row, bound in self.needs:
            if row[k] and not any(row[:k] + row[k + 1 :]):
                side = bound / row[k]
                sides[row[k] > 0].append(-_floored(-side) if row[k] > 0 else _floored(side))
        return max(sides[0], default=None), min(sides[1], default=None)

    def _make_gains(self, i: int, t: int) -> list[tuple[int, ...]]:
        """What every action adds to function i at time t if it is taken at time 0, at time 1, and so on before t."""
        return [self.gain(i, ahead) for ahead in reversed(range(t))]

    def _make_gain(self, i: int, ahead: int) -> tuple[int, ...]:
        """What every action adds to function i so many steps after the state to which it leads."""
        self.meter.hold(len(self.offsets), self.bits)
        row, denominator = self._linear(ahead, i), self.denominators[ahead] * self.step
        return tuple([sum(map(mul, row, offset)) * self.scale // denominator for offset in self.integer_offsets])

    def _make_pushes(self, i: int) -> list[tuple[int, ...]]:
        """For every action, what it adds to function i in the state to which it leads, one step later, and so on."""
        self.meter.hold(self.steps * len(self.offsets))
        return list(zip(*(self.gain(i, ahead) for ahead in range(self.steps)), strict=True))

    def _make_worst(self, i: int) -> list[int]:
        """The most that actions of so many steps add to function i."""
        return list(accumulate((max(self.gain(i, ahead)) for ahead in range(self.steps)), initial=0))

    def _make_limits_ahead(self, t: int, i: int) -> list[int]:
        """What actions before t may add to need i at time t, t + 1, and so on: no later one breaks it then."""
        self.meter.hold(self.steps - t + 1, self.bits)
        worst = self.worst(i)
        return [self.outright(then, i) - worst[then - t] for then in range(t, self.steps + 1)]

    def _make_outright(self, t: int, i: int) -> int:
        """Condition i holds at time t of every first state if its constant part is at most this."""
        _, least, limit = self.condition(t, i)
        return limit + least // self.x_denominator

    def least(self, row: list[int]) -> int:
        """Least value of a row in the box of first states, times their denominator."""
        return sum([a * (low if a > 0 else high) for a, low, high in zip(row, self.low, self.high, strict=True)])

    def _make_row(self, t: int, i: int) -> list[int]:
        """Linear part of function i at time t."""
        self.meter.hold(2 * self.d, self.bits)
        return [v * self.scale // self.denominators[t] for v in self._linear(t, i)]

    def _make_rival(self, t: int, e: int, j: int) -> tuple[list[int], int, int]:
        """Row of (logit j − logit e), its least value, and its limit when expert e is chosen at time t.

        The limit is less the constant parts.
        """
        self.meter.hold(self.d, self.bits)
        row = list(map(sub, self.row(t, j), self.row(t, e)))
        pair = min(e, j), max(e, j)
        return row, self.least(row), self.slack(*pair) + self.swing(*pair)[t] + self.blur

    def _make_slack(self, e: int, j: int) -> int:
        """How far the difference of two logits may be off, because of rounding and of what is not seen exactly."""
        weights = map(abs, map(sub, self.linears[e][0], self.linears[j][0]))
        unseen = sum(map(mul, weights, self.scaled_observation_errors))
        return self.gate_errors[e] + self.gate_errors[j] + unseen // self.denominators[0] + 1

    def _make_split(self, t: int, feature: int, threshold: float, left: bool) -> tuple[list[int], int, int, bool]:
        """Row of one side of a split at time t, and its least value; its limit; whether it must be below that.

        The limit is less the constant part.
        """
        row, least = self.side(t, feature, left)
        limit, strict = self.edge(feature, threshold, left)
        return row, least, limit + self.swing(self.n_experts + feature)[t] + self.blur, strict

    def _make_side(self, t: int, feature: int, left: bool) -> tuple[list[int], int]:
        self.meter.hold(self.d, self.bits)
        row = self.row(t, self.n_experts + feature)
        row = row if left else [-v for v in row]
        return row, self.least(row)

    def _make_edge(self, feature: int, threshold: float, left: bool) -> tuple[int, bool]:
        """Limit of a state on one side of a threshold, rounded up, and whether that made it larger."""
        self.meter.hold(1, self.bits)
        if left:
            limit = self.observation.largest_below(feature, threshold)
        else:
            limit = -self.observation.least_above(feature, threshold)
        whole, rest = divmod(-limit.numerator * self.scale, limit.denominator)
        return -whole, rest > 0

    def _make_condition(self, t: int, i: int) -> tuple[list[int], int, int]:
        """Row of a need or a condition of the goal at time t, the least value of its opposite, and its limit.

        Below the limit no disturbance can break it.
        """
        row, bound = self.row(t, i), self.bounds[i - self.first_need]
        limit = bound.numerator * self.scale // bound.denominator
        return row, self.least([-a for a in row]), limit - self.swing(i)[t] - self.blur

    def _linear(self, t: int, i: int) -> list[int]:
        """Coefficients of function i of the state at time t, times the denominators of functions and of t steps."""
        rows = self.linears[i]
        while len(rows) <= t:
            bits, before = self.linear_bits[len(rows)], rows[-1]
            self.meter.spend(cost(self.d * (self.d + len(self.offsets)), bits))  # it will meet all offsets, too
            self.meter.hold(self.d, bits)
            rows.append([sum(map(mul, before, column)) for column in self.columns])
        return rows[t]

    def _make_swing(self, i: int, j: int | None = None) -> list[int]:
        """Most that disturbances before each time add to function i, or to its difference from function j."""
        if not any(self.radius):
            return self._no_swing
        self.meter.spend(cost(2 * self.steps * self.d, self.bits))
        self.meter.hold(self.steps, self.bits)
        total = [0]
        for t in range(self.steps):
            rows = self._linear(t, i), self._linear(t, j) if j is not None else [0] * self.d
            swing = sum(map(mul, map(abs, map(sub, *rows)), self.integer_radius)) * self.scale
            total.append(total[-1] - (-swing // (self.denominators[t] * self.step)))
        return total


def _centred(disturbance: Sides, offsets: list[Vector]) -> tuple[Vector, list[Vector]]:
    """Disturbances as radii, and offsets that their middles were added to."""
    if not any(side for sides in disturbance for side in sides):
        return [Fraction(0)] * len(disturbance), offsets
    middle = [(high + low) / 2 for low, high in disturbance]
    moved = [[a + b for a, b in zip(row, middle, strict=True)] for row in offsets]
    return [(high - low) / 2 for low, high in disturbance], moved


def _floored(value: Fraction) -> int:
    """A number in multiples of 1/GRID, rounded down."""
    return value.numerator * GRID // value.denominator


def _over(denominator: int, value: Fraction) -> int:
    """Numerator of a fraction over another denominator, which must be a multiple of its own."""
    return value.numerator * (denominator // value.denominator)


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
