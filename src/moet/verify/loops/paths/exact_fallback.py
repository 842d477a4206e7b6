"""What the compiled search is unsure about, decided again: by HiGHS, then with fractions.

The search asks about a piece when one of its conditions is violated, nearly violated, or when its simplex gave up. Here
every condition of that piece is decided on its own.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from moet.verify.checker.certificate import Certificate
from moet.verify.loops.paths.state import BOUND, DEAD, EXPERT, N_ROWS, START, TAKEN, TIME, VOID, Search
from moet.verify.loops.paths.tables import Floats, Ints, Policy, Tables
from moet.verify.rational import Row, Side, decide
from moet.verify.simplex import proven_bound
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.discrete import AffineSystem
from moet.verify.systems.observation import seen_edges

Vector = Sequence[Fraction]

_PARTS = 2
"""A multiplier is written as the sum of so many floats, so that it may have some hundred binary digits."""

_LARGEST_WHOLE = 2**100
"""Multipliers that contradict are whole numbers up to this."""

_LARGEST_FLOAT = 2**53
"""Those that bound a condition are up to this, and so is how often it is taken."""

_ITSELF = -1
"""What the condition itself is called among the rows that bound it."""

_MOST_MULTIPLIERS = 31
"""As many as a record can have."""


class ExactRow(NamedTuple):
    """coefficients·x_0 <= limit, or < if strict."""

    coefficients: Vector
    limit: Fraction
    strict: bool


class Proofs(NamedTuple):
    """Records that settle a piece: kind, and (name, number) of every multiplier."""

    records: list[tuple[int, list[tuple[int, float]]]]

    def write(self, certificate: Certificate) -> None:
        """Append them to a certificate."""
        codes = bytes(kind + 8 * len(multipliers) for kind, multipliers in self.records)
        pairs = [pair for _, multipliers in self.records for pair in multipliers]
        certificate.add(codes, array("i", [name for name, _ in pairs]), array("d", [number for _, number in pairs]))


class Violation(NamedTuple):
    """A first state that leads to a violated condition, as far as the rows of the search tell."""

    start: list[Fraction]


class Doubt:
    """Decides pieces that the search asked about.

    Parameters
    ----------
    system, policy, tables
        The closed loop.
    needs, goals : sequences of HalfSpace
        Conditions, in the order of the tables.
    gate_errors : array of float, shape (n_experts,)
        As in the tables.
    magnitude : array of float, shape (n_states,)
        Bounds of the absolute value of what the policy sees.
    """

    def __init__(
        self,
        system: AffineSystem,
        policy: Policy,
        tables: Tables,
        needs: Sequence[HalfSpace],
        goals: Sequence[HalfSpace],
        gate_errors: Floats,
        magnitude: Floats,
    ) -> None:
        self._system, self._policy, self._tables = system, policy, tables
        self._needs, self._goals = needs, goals
        self._errors = [Fraction(error) for error in gate_errors.tolist()]
        rounding = [Fraction(size) / 2**53 + Fraction(1, 2**1075) for size in magnitude.tolist()]
        self._seen_error = [a + b for a, b in zip(system.observation_error, rounding, strict=True)]
        self._radius = [(high - low) / 2 for low, high in system.disturbance]
        self._middle = [(high + low) / 2 for low, high in system.disturbance]
        self._lower = [Side(low) for low, _ in system.initial]
        self._upper = [Side(high) for _, high in system.initial]

    def settle(self, search: Search, frame: int) -> Proofs | Violation | None:
        """Decide all conditions of a piece; None if it takes more digits than a certificate has.

        At the last step that includes the conditions of the goal.
        """
        time, n_rows = int(search.frames[frame, TIME]), int(search.frames[frame, N_ROWS])
        rows = dict(self._rows(search.frames[: frame + 1], search.tests, set(search.names[:n_rows].tolist())))
        constant = self._constant(search.frames[: frame + 1])
        last = len(self._tables.rows) - 1
        first = len(self._tables.coefficients) - len(self._needs) - len(self._goals)
        missable = self._goals if time == last else []
        records: list[tuple[int, list[tuple[int, float]]]] = []
        for i, condition in enumerate([*self._needs, *missable]):
            is_goal = i >= len(self._needs)
            guard = self._goal_name(time, i - len(self._needs))
            multipliers = self._ask_highs(search, frame, time, first + i)
            if multipliers is None:
                answer = self._decide(rows, condition, time, constant, guard if is_goal else None)
                if isinstance(answer, Violation):
                    return answer
                multipliers, contradicts = answer
                if contradicts and not is_goal:
                    records.append((int(VOID), multipliers))
                    break
                if contradicts:
                    records.append((int(DEAD), multipliers))
                    continue
            if is_goal:
                multipliers = [(guard, 1.0), *multipliers]
            records.append((int(DEAD if is_goal else BOUND), multipliers))
        if any(len(multipliers) > _MOST_MULTIPLIERS for _, multipliers in records):
            return None
        return Proofs(records)

    def _ask_highs(self, search: Search, frame: int, time: int, i: int) -> list[tuple[int, float]] | None:
        """Multipliers that HiGHS finds for function i, if they prove its limit by the usual margin."""
        from scipy.optimize import linprog

        tables = self._tables
        n, d = int(search.frames[frame, N_ROWS]), len(tables.matrix)
        objective = tables.rows[time, i]
        enough = tables.limit[time, i] - tables.margin[i] - tables.coefficients[i] @ search.constants[frame, :d]
        result = linprog(-objective, search.rows[:, :n].T, search.limits[:n], bounds=(-1, 1), method="highs")
        if result.status != 0:
            return None
        dual = np.maximum(0.0, -result.ineqlin.marginals) if n else np.zeros(0)
        used = np.flatnonzero(dual)
        one = np.ones(d)
        if not proven_bound(objective, search.rows, search.limits, -one, one, used, dual[used]) < enough:
            return None
        return list(zip(search.names[used].tolist(), (dual[used] / search.scales[used]).tolist(), strict=True))

    def _decide(
        self, rows: dict[int, ExactRow], condition: HalfSpace, time: int, constant: Vector, guard: int | None
    ) -> Violation | tuple[list[tuple[int, float]], bool]:
        """A violation of a condition; or multipliers that exclude it, and whether they contradict one another.

        They do if the piece is empty, or if the condition, missed, is a row of its own, with the name ``guard``. They
        are whole, for rows that just exclude one another need them exactly; how often the condition is taken is told.
        """
        coefficients = self._linear(condition.coefficients, time)
        limit = (
            condition.bound - _dot(condition.coefficients, constant) - self._disturbance(condition.coefficients, time)
        )
        names = list(rows)
        constraints = [Row([-a for a in row.coefficients], -row.limit, row.strict) for row in rows.values()]
        answer = decide([*constraints, Row(coefficients, limit, strict=True)], self._lower, self._upper)
        if isinstance(answer, list):
            return Violation(answer)
        weight = answer.get(len(names))
        if weight is None or guard is not None:
            common: Fraction | int = math.lcm(*(value.denominator for value in answer.values()))
            if max(answer.values()) * common > _LARGEST_WHOLE:
                common = 1 / (weight or Fraction(1))
            pairs = [([*names, guard][i], value * common) for i, value in answer.items()]
            return [(int(name or 0), part) for name, value in pairs for part in _float_parts(value)], True
        del answer[len(names)]
        common = math.lcm(weight.denominator, *(value.denominator for value in answer.values()))
        if max([weight, *answer.values()]) * common > _LARGEST_FLOAT:
            common = 1 / weight
        multipliers = [(names[i], part) for i, value in answer.items() for part in _float_parts(value * common)]
        return multipliers if weight * common == 1 else [(_ITSELF, float(weight * common)), *multipliers], False

    def _constant(self, frames: Ints) -> Vector:
        """Constant part of the state at the end of a path."""
        constant: Vector = [Fraction(0)] * len(self._radius)
        for frame in frames[1:]:
            if frame[EXPERT] >= START:
                constant = self._step(constant, int(frame[TAKEN]))
        return constant

    def _step(self, constant: Vector, action: int) -> Vector:
        offset = self._system.offsets[action]
        parts = zip(self._system.matrix, offset, self._middle, strict=True)
        return [_dot(row, constant) + o + m for row, o, m in parts]

    def _rows(self, frames: Ints, tests: Floats, wanted: set[int]) -> Iterator[tuple[int, ExactRow]]:
        """Rows a·x_0 <= b of the decisions on a path, by name."""
        n_experts = self._tables.n_experts
        constant: Vector = [Fraction(0)] * len(self._radius)
        for (before, frame), limits in zip(pairwise(frames), tests[1:], strict=False):
            time, expert = int(before[TIME]), int(frame[EXPERT])
            if expert < START:
                i = int(START) - 1 - expert
                coefficients, bound = self._goals[i]
                limit = _dot(coefficients, constant) + self._disturbance(coefficients, time) - bound
                row = [-a for a in self._linear(coefficients, time)]
                yield self._goal_name(time, i), ExactRow(row, limit, True)
                continue
            for j in range(n_experts if expert >= 0 else 0):
                name = self._name(time, n_experts * expert + j)
                if name in wanted:
                    yield name, self._rival(time, expert, j, constant)
            for i, limit in enumerate(limits.ravel().tolist()):
                name = self._name(time, n_experts**2 + i)
                if name in wanted:
                    yield name, self._test(time, i // 2, i % 2 == 0, Fraction(limit), constant)
            constant = self._step(constant, int(frame[TAKEN]))

    def _rival(self, time: int, e: int, j: int, constant: Vector) -> ExactRow:
        weights = self._policy.weights[[j, e]].tolist()
        difference = [Fraction(a) - Fraction(b) for a, b in zip(*weights, strict=True)]
        bias = Fraction(float(self._policy.bias[e])) - Fraction(float(self._policy.bias[j]))
        slack = self._errors[e] + self._errors[j] + self._disturbance(difference, time)
        slack += _dot([abs(a) for a in difference], self._seen_error)
        return ExactRow(self._linear(difference, time), bias + slack - _dot(difference, constant), False)

    def _test(self, time: int, k: int, left: bool, limit: Fraction, constant: Vector) -> ExactRow:
        unit = [Fraction((1 if left else -1) * (i == k)) for i in range(len(self._radius))]
        above, below = seen_edges(float(limit if left else -limit), self._system.float32_observations)
        slack = self._system.noise[k] + self._disturbance(unit, time)
        return ExactRow(
            self._linear(unit, time), (below if left else -above) + slack - _dot(unit, constant), strict=False
        )

    def _linear(self, row: Vector, time: int) -> Vector:
        """Coefficients of row·x_time as a function of x_0."""
        for _ in range(time):
            row = [_dot(row, column) for column in zip(*self._system.matrix, strict=True)]
        return row

    def _disturbance(self, row: Vector, time: int) -> Fraction:
        """Most that disturbances before some time add to row·x."""
        total = Fraction(0)
        for _ in range(time if any(self._radius) else 0):
            total += _dot([abs(a) for a in row], self._radius)
            row = self._linear(row, 1)
        return total

    def _name(self, time: int, which: int) -> int:
        return time * (self._tables.n_experts**2 + 2 * len(self._radius) + len(self._goals)) + which

    def _goal_name(self, time: int, i: int) -> int:
        return self._name(time, self._tables.n_experts**2 + 2 * len(self._radius) + i)


def _dot(a: Vector, b: Vector) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _float_parts(value: Fraction) -> list[float]:
    """Floats, none negative, whose sum is at most ``value`` and very near it."""
    parts = []
    for _ in range(_PARTS):
        part = float(value)
        if Fraction(part) > value:
            part = float(np.nextafter(part, 0.0))
        if part == 0.0:
            break
        parts.append(part)
        value -= Fraction(part)
    return parts
