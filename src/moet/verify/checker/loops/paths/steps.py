"""What an affine system does in some steps, whatever the policy is: exact inequalities. Standard library only.

With x' = A x + o(action) + w, w in a box, the state at time t is Aᵗ x_0 + c_t plus what the disturbances did, and c_t
is a sum over the actions so far. So every condition on a state is a linear inequality in the first state x_0. Its
coefficients do not depend on the actions; here they are made once for each time. The box of first states is a middle
and a *reach*, x_0 = middle + reach·z with z between -1 and 1: a row has the coefficients of z, what the middle adds is
part of the constants, and the least value of a row is minus the sum of its sizes.

Inequalities are rows of integers. In exact arithmetic they are the rationals times ``scale``, a common denominator of
all of them, which is long; so most proofs are checked with multiples of 2^-ROUNDED_BITS first, and powers of A with
POWER_BITS. Limits then make up for the rounding (``blur``), as they do for their own, to the side that makes the proof
harder.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate
from math import ceil, lcm
from operator import add, mul, neg, sub

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Affine, Sides, Vector
from moet.verify.checker.documents.system import HalfSpace, PlainSystem
from moet.verify.checker.loops.observation import Observation
from moet.verify.checker.loops.paths.lanes import Lanes
from moet.verify.checker.meter import MOST_BITS, Meter, cost

FINEST = 2**128
"""Limits are rounded to multiples of one over a multiple of this."""

LARGEST = 2**1020
"""States and logits below this do not overflow, nor does any sum on the way."""

GRID = 2**64
"""Sizes of states are rounded outwards to multiples of one over this."""

ROUNDED_BITS, POWER_BITS = 128, 192
"""Binary digits after the point of rows, and of powers of the matrix, unless arithmetic is exact."""

MOST_REMEMBERED = 10**7
"""Units of work, and words, of steps that are remembered; longer ones are made for each proof anew."""

_REMEMBERED: dict[tuple[str, int, str], tuple[int, int, Steps | None]] = {}
_PLACES = 8


class Steps:
    """Some steps of a system, and what must hold in them: needs always, conditions of a goal once.

    Linear functions of the state are numbered: the states, the needs, and the conditions of the goal.

    Parameters
    ----------
    system : PlainSystem
        An affine one.
    steps : int
    goal : list of HalfSpace, or None
    meter : Meter
    finest : int or None
        Common denominator of what else is to be exact; None if rows are rounded.
    """

    def __init__(
        self, system: PlainSystem, steps: int, goal: list[HalfSpace] | None, meter: Meter, finest: int | None
    ) -> None:
        assert isinstance(system.dynamics, Affine)
        self.steps, self.meter, self.d = steps, meter, len(system.states)
        self.is_exact = finest is not None
        self._remember()
        self.needs, self.goals = _conditions(system, goal)
        self.bounds = [bound for _, bound in (*self.needs, *self.goals)]
        self.box, matrix = system.initial, system.dynamics.matrix
        self.radius, offsets = _centred(system.disturbance, system.dynamics.offsets)
        self.is_calm = not any(self.radius)
        self._make_integers(matrix, offsets)
        states = [[Fraction(int(i == k)) for k in range(self.d)] for i in range(self.d)]
        functions = [*states, *(row for row, _ in (*self.needs, *self.goals))]
        self.denominator = self._denominator(v for row in functions for v in row)
        self.functions = [[over(self.denominator, v) for v in row] for row in functions]
        self.scale = self._scale(finest, system.noise)
        self.bits = self.scale.bit_length() + 128
        self.blur = self.blur_of(self.functions, self.denominator, POWER_BITS - ROUNDED_BITS)
        self.observation = Observation(system.noise, system.float32)
        self.largest = self._largest_states(offsets)
        self.observation_errors = self.observation.errors([Fraction(most, GRID) for most in self.largest])
        self.unmet = self._unmet()

    def _remember(self) -> None:
        """Everything that is made for a time or a function is made once; it is forgotten with these steps."""
        self.gain = cache(self._make_gain)
        self.worst = cache(self._make_worst)
        self.outright = cache(self._make_outright)
        self.row = cache(self._make_row)
        self.beside = cache(self._make_beside)
        self.condition = cache(self._make_condition)
        self.swing = cache(self._make_swing)

    @cached_property
    def farthest(self) -> int:
        """Largest coefficient of a state, at any time."""
        times, states = range(self.steps + 1), range(self.d)
        return max(max(map(abs, self.row(t, state)[0])) for t in times for state in states)

    @cached_property
    def largest_constant(self) -> int:
        """Most that the middle of the box and all actions add to a state, at any time."""
        states, times = range(self.d), range(self.steps + 1)
        middle = max(abs(self.row(t, state)[1]) for t in times for state in states)
        return middle + max(sum(max(map(abs, self.gain(k, ahead))) for ahead in range(self.steps)) for k in states)

    @cached_property
    def lanes(self) -> Lanes:
        """All needs at once."""
        return Lanes(self)

    def _unmet(self) -> int | None:
        """Number of the first need that does not hold of every first state."""
        for i, (row, bound) in enumerate(self.needs):
            if sum(a * (high if a > 0 else low) for a, (low, high) in zip(row, self.box, strict=True)) > bound:
                return i
        return None

    def _make_integers(self, matrix: list[Vector], offsets: list[Vector]) -> None:
        # x_0, over one denominator
        x_denominator = self._denominator(side for sides in self.box for side in sides)
        low, high = ([over(x_denominator, sides[k]) for sides in self.box] for k in range(2))
        self._middle, self._reach, self._start = list(map(add, low, high)), list(map(sub, high, low)), 2 * x_denominator
        self._start_bits = max(v.bit_length() for v in (*self._middle, *self._reach, self._start))
        self.is_centred = not any(self._middle)
        # steps, over a power of one denominator
        step = self.step = self._denominator([*self.radius, *(v for row in (*matrix, *offsets) for v in row)])
        longest = self.steps * step.bit_length()
        self.meter.spend(cost(self.steps, longest))
        self.meter.hold(self.steps, longest // 2)
        self.matrix = [[over(step, v) for v in row] for row in matrix]
        self.integer_radius = [over(step, v) for v in self.radius]
        self.offsets = [[over(step, v) for v in row] for row in offsets]
        growth = self.d.bit_length() + max(v.bit_length() for row in self.matrix for v in row)
        self._power_bits = [1 + t * growth for t in range(self.steps + 1)]
        identity = [[int(i == k) for k in range(self.d)] for i in range(self.d)]
        self._exact_powers = [(identity, 1)]
        self._powers: list[tuple[list[list[int]], int]] = []
        self._boxes: list[tuple[list[list[int]], int]] = []
        self._pushed: list[tuple[list[list[int]], int]] = []

    def _scale(self, finest: int | None, noise: Vector) -> int:
        if finest is None:
            return 1 << ROUNDED_BITS
        limits = self._denominator([*self.bounds, *noise])
        return int(self.step**self.steps) * self._start * lcm(FINEST, finest, self.denominator, limits)

    def blur_of(self, functions: list[list[int]], denominator: int, digits: int) -> int:
        """Most that rounding changes an inequality between two such functions by, in multiples of 1/scale.

        A coefficient of a row is off by less than ``rough``: by less than 1, and by what the states are off times the
        function, which they are by less than 2 of units that have so many more binary digits. So is what the middle of
        the box adds, what an action does, and what a disturbance does.
        """
        if self.is_exact:
            return 0
        widest = max(sum(map(abs, row)) for row in functions) * max(1, ceil(sum(self.radius)))
        rough = 2 + 2 * widest // (denominator << digits)
        return 2 * rough * (self.d + 1 + 2 * self.steps) + 16

    def _denominator(self, values: Iterable[Fraction]) -> int:
        """Common denominator, unless it gets too long."""
        common = 1
        for denominator in {value.denominator for value in values}:
            if common % denominator:
                common = lcm(common, denominator)
                self.meter.spend(cost(1, common.bit_length()))
        return common

    def power(self, t: int) -> tuple[list[list[int]], int]:
        """The columns of Aᵗ as integers, and their denominator."""
        while len(self._powers) <= t:
            columns, denominator = self._exact_power(len(self._powers))
            self._powers.append((columns, denominator) if self.is_exact else _rounded(columns, denominator))
        return self._powers[t]

    def box_after(self, t: int) -> tuple[list[list[int]], int]:
        """Columns of Aᵗ times the reach of the box, then Aᵗ times its middle unless it is 0, and their denominator."""
        while len(self._boxes) <= t:
            columns, denominator = self._exact_power(len(self._boxes))
            bits = self._power_bits[len(self._boxes)] + self._start_bits
            self.meter.spend(cost(2 * self.d**2, bits))
            self.meter.hold(self.d * (self.d + 1), bits)
            moved = [[v * reach for v in column] for column, reach in zip(columns, self._reach, strict=True)]
            if not self.is_centred:
                moved.append([sum(map(mul, row, self._middle)) for row in zip(*columns, strict=True)])
            denominator *= self._start
            self._boxes.append((moved, denominator) if self.is_exact else _rounded(moved, denominator))
        return self._boxes[t]

    def pushed(self, t: int) -> tuple[list[list[int]], int]:
        """For every action, Aᵗ times its offset, as integers, and their denominator."""
        while len(self._pushed) <= t:
            columns, denominator = self._exact_power(len(self._pushed))
            rows = list(zip(*columns, strict=True))
            moved = [[sum(map(mul, row, offset)) for row in rows] for offset in self.offsets]
            denominator *= self.step
            self._pushed.append((moved, denominator) if self.is_exact else _rounded(moved, denominator))
        return self._pushed[t]

    def _exact_power(self, t: int) -> tuple[list[list[int]], int]:
        while len(self._exact_powers) <= t:
            bits = self._power_bits[len(self._exact_powers)]
            self.meter.spend(cost(self.d**2 * (self.d + len(self.offsets)), bits))  # it will meet all offsets, too
            self.meter.hold(self.d * (self.d + len(self.offsets)), bits)
            columns, denominator = self._exact_powers[-1]
            following = [[sum(map(mul, row, column)) for row in self.matrix] for column in columns]
            self._exact_powers.append((following, denominator * self.step))
        return self._exact_powers[t]

    def _largest_states(self, offsets: list[Vector]) -> list[int]:
        """Largest absolute values of the states before every step, as far as they meet the needs, times GRID."""
        rows = [(row, list(map(abs, row))) for row in self.matrix]
        pushes = [
            (floored(min(column) - most), -floored(-max(column) - most))
            for column, most in zip(zip(*offsets, strict=True), self.radius, strict=True)
        ]
        clips = [self._clip(k) for k in range(self.d)]
        low, high = [floored(low) for low, _ in self.box], [-floored(-high) for _, high in self.box]
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
                sides[row[k] > 0].append(-floored(-side) if row[k] > 0 else floored(side))
        return max(sides[0], default=None), min(sides[1], default=None)

    def row_of(self, t: int, function: list[int], denominator: int) -> tuple[list[int], int]:
        """Linear part of a function at time t, and what the middle of the box adds."""
        self.meter.hold(2 * self.d, self.bits)
        columns, over_all = self.box_after(t)
        over_all *= denominator
        row = [sum(map(mul, function, column)) * self.scale // over_all for column in columns]
        return row, 0 if self.is_centred else row.pop()

    def gain_of(self, ahead: int, function: list[int], denominator: int) -> tuple[int, ...]:
        """What every action adds to a function so many steps after the state to which it leads."""
        self.meter.hold(len(self.offsets), self.bits)
        pushed, over_all = self.pushed(ahead)
        over_all *= denominator
        return tuple([sum(map(mul, function, moved)) * self.scale // over_all for moved in pushed])

    def swing_of(self, function: list[int], denominator: int) -> list[int]:
        """Most that disturbances before each time add to a function."""
        if self.is_calm:
            return [0] * (self.steps + 1)
        self.meter.spend(cost(2 * self.steps * self.d, self.bits))
        self.meter.hold(self.steps, self.bits)
        total = [0]
        for t in range(self.steps):
            columns, over_all = self.power(t)
            row = [abs(sum(map(mul, function, column))) for column in columns]
            swing = sum(map(mul, row, self.integer_radius)) * self.scale
            total.append(total[-1] - (-swing // (over_all * denominator * self.step)))
        return total

    def _make_row(self, t: int, i: int) -> tuple[list[int], int]:
        return self.row_of(t, self.functions[i], self.denominator)

    def _make_gain(self, i: int, ahead: int) -> tuple[int, ...]:
        return self.gain_of(ahead, self.functions[i], self.denominator)

    def _make_swing(self, i: int) -> list[int]:
        return self.swing_of(self.functions[i], self.denominator)

    def _make_worst(self, i: int) -> list[int]:
        """The most that actions of so many steps add to function i."""
        return list(accumulate((max(self.gain(i, ahead)) for ahead in range(self.steps)), initial=0))

    def _make_outright(self, t: int, i: int) -> int:
        """Condition i holds at time t of every first state if what actions add to it is at most this."""
        row, limit = self.condition(t, i)
        return limit - size(row)

    def _make_beside(self, t: int, state: int) -> int:
        """By how much the constant part of a state at time t may be beyond an edge, with somebody on this side."""
        return self.swing(state)[t] + self.blur + size(self.row(t, state)[0]) + 1

    def _make_condition(self, t: int, i: int) -> tuple[list[int], int]:
        """Row of a condition at time t, and what actions may add to it: below that no disturbance can break it."""
        (row, middle), bound = self.row(t, i), self.bounds[i - self.d]
        limit = bound.numerator * self.scale // bound.denominator
        return row, limit - middle - self.swing(i)[t] - self.blur


def rounded_steps(system: PlainSystem, steps: int, goal: list[HalfSpace] | None, meter: Meter) -> Steps:
    """Steps in rounded arithmetic; the last short ones are remembered: one system is asked about many policies.

    All that may be made of them is charged in advance, so that the count does not depend on what was asked before.
    """
    key = system.digest, steps, repr(goal)
    if key not in _REMEMBERED:
        while len(_REMEMBERED) >= _PLACES:
            del _REMEMBERED[next(iter(_REMEMBERED))]
        charges = _most(system, steps, goal)
        few = max(charges) <= MOST_REMEMBERED
        _REMEMBERED[key] = *charges, Steps(system, steps, goal, Meter(), None) if few else None
    units, words, remembered = _REMEMBERED[key]
    if remembered is None:
        return Steps(system, steps, goal, meter, None)
    meter.spend(units)
    meter.hold(words)
    return remembered


def _most(system: PlainSystem, steps: int, goal: list[HalfSpace] | None) -> tuple[int, int]:
    """Work and words that all rows of these steps take at most."""
    assert isinstance(system.dynamics, Affine)
    d, size = len(system.states), len(system.states) + len(system.dynamics.offsets)
    parts = [*system.dynamics.matrix, *system.dynamics.offsets, *system.disturbance, *system.initial]
    conditions = [*system.safe, *(goal or [])]
    parts += [[*row, bound] for row, bound in conditions]
    bits = sum(denominator.bit_length() for denominator in {v.denominator for part in parts for v in part})
    bits += max(abs(v.numerator).bit_length() for part in parts for v in part)
    functions = 3 * d + len(conditions)
    longest = (steps + 2) * (bits + 8) + 4 * POWER_BITS
    if longest > MOST_BITS:
        return MOST_REMEMBERED + 1, 0
    rows = 2 * d * size + functions * (4 * size + steps)
    return (steps + 1) * cost(size * d * (d + functions), longest), (steps + 1) * rows * (1 + (longest >> 6))


def size(row: Iterable[int]) -> int:
    """Largest value of a row in the box of first states; the least one is as far below 0."""
    return sum(map(abs, row))


def floored(value: Fraction) -> int:
    """A number in multiples of 1/GRID, rounded down."""
    return value.numerator * GRID // value.denominator


def over(denominator: int, value: Fraction) -> int:
    """Numerator of a fraction over another denominator, which must be a multiple of its own."""
    return value.numerator * (denominator // value.denominator)


def _rounded(rows: list[list[int]], denominator: int) -> tuple[list[list[int]], int]:
    """The same numbers over a short denominator, rounded down."""
    return [[(v << POWER_BITS) // denominator for v in row] for row in rows], 1 << POWER_BITS


def _centred(disturbance: Sides, offsets: list[Vector]) -> tuple[Vector, list[Vector]]:
    """Disturbances as radii, and offsets that their middles were added to."""
    if not any(side for sides in disturbance for side in sides):
        return [Fraction(0)] * len(disturbance), offsets
    middle = [(high + low) / 2 for low, high in disturbance]
    moved = [[a + b for a, b in zip(row, middle, strict=True)] for row in offsets]
    return [(high - low) / 2 for low, high in disturbance], moved


def _conditions(system: PlainSystem, goal: list[HalfSpace] | None) -> tuple[list[HalfSpace], list[HalfSpace]]:
    """What must always hold, and what a run must reach."""
    domain: list[HalfSpace] = []
    for k, sides in enumerate(system.domain):
        if sides is not None:
            for sign, bound in ((1, sides[1]), (-1, -sides[0])):
                domain.append(HalfSpace([Fraction(sign * (i == k)) for i in range(len(system.states))], bound))
    return ([*system.safe, *domain], []) if goal is None else (domain, goal)
