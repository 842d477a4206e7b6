"""How far a set of states is from meeting a requirement, in float64."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.verify.loops.flowpipe.integrate import Points, Slopes
from moet.verify.loops.flowpipe.turning import Beginning
from moet.verify.spec import Condition, Requirement
from moet.verify.systems.discrete import AffineSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_DIRECTIONS = 64
_WEIGHTS = ((1, 1), (1, 2), (2, 1), (1, 4), (4, 1))
_MARGIN = 1e-10
"""Relative to the numbers that are compared: the checker rounds, and this search does not."""


class Excess(NamedTuple):
    """By how much a requirement is missed (at most 0: it is met), and the row of states or of all that misses it."""

    value: float
    row: Floats


class Where:
    """Where states are over some time: on chords between two sets, give or take a box."""

    def __init__(
        self, ends: list[Points], bend: Floats, slopes: Slopes | None = None, beginning: Beginning | None = None
    ) -> None:
        self.ends, self.bend, self.slopes, self.beginning = ends, bend, slopes, beginning

    def fall(self, rows: Floats, conditions: Sequence[Condition]) -> NDArray[np.bool_]:
        """Whether rows·x, those of conditions, surely do not rise all the time."""
        if self.slopes is None:
            return np.zeros(len(rows), np.bool_)
        spread = np.abs(rows @ self.slopes.rows) @ self.slopes.radii + np.abs(rows) @ self.slopes.rests
        falls = np.asarray(rows @ self.slopes.values + spread <= -1e-12)
        if self.beginning is not None:
            begins = (self.beginning.falls(condition.coefficients) for condition in conditions)
            falls = np.array([a or b for a, b in zip(falls, begins, strict=True)])
        return falls

    def largest(self, rows: Floats) -> Floats:
        """Bounds of rows·x."""
        d = rows.shape[1]
        values = [
            rows @ points.middle[:d] + np.abs(rows @ points.columns[:d]).sum(axis=1) + np.abs(rows) @ points.box
            for points in self.ends
        ]
        return np.asarray(np.maximum.reduce(values) + np.abs(rows) @ self.bend)


class Checked:
    """A requirement as arrays.

    ``shown`` says, for every condition of one that holds, up to which step it holds of all that follows on the first
    states whatever the policy does; the checker sees that in fractions.
    """

    def __init__(self, requirement: Requirement, system: System) -> None:
        self.requirement = requirement
        self.shown = np.array([steps_shown(condition, system) for condition in requirement.conditions])
        self.kind = requirement.kind
        self.start = requirement.start
        self.end = requirement.end
        self._rows = np.array([condition.coefficients for condition in requirement.conditions], np.float64)
        self._bounds = np.array([condition.bound for condition in requirement.conditions], np.float64)
        self._has_norms = any(condition.norms for condition in requirement.conditions)
        self.is_linear = not self._has_norms
        if self.kind == "avoid":
            self._rows, self._bounds = _with_sums(self._rows, self._bounds)

    def excess(self, where: Where, known: bool = False, step: int | None = None) -> Excess:
        """By how much the requirement is missed.

        If its linear conditions are ``known`` to hold at first, they do as long as they do not get worse. So many
        ``steps`` after the first states, some are shown already.
        """
        if self.kind == "avoid":
            inside = where.largest(-self._rows) + self._bounds + self._margin()
            best = int(np.argmin(inside / np.abs(self._rows).sum(axis=1)))
            return Excess(float(inside[best]), -self._rows[best])
        rows, bounds = (self._rows, self._bounds) if not self._has_norms else self._with_norms(where)
        missed = where.largest(rows) - bounds + _MARGIN * (1 + np.abs(bounds))
        if known and not self._has_norms and np.any(missed > 0):
            missed = np.where(where.fall(rows, self.requirement.conditions), -1.0, missed)
        if step is not None and not self._has_norms:
            missed = np.where(self.shown >= step, -1.0, missed)
        worst = int(np.argmax(missed))
        if known and missed[worst] > 0 and where.beginning is not None and not self._has_norms:
            bend = where.beginning.missing(self.requirement.conditions[worst].coefficients)
            if bend is not None:  # it is not a matter of the time, as what is passed is
                return Excess(max(bend.center + bend.spread, float(missed[worst])), bend.slopes)
        return Excess(float(missed[worst]), rows[worst])

    def beyond(self, points: Points) -> tuple[Floats, Floats]:
        """How far a set is beyond each condition: as rows of its columns, and in its middle."""
        d = self._rows.shape[1]
        return self._rows @ points.columns[:d], self._rows @ points.middle[:d] - self._bounds

    def _margin(self) -> Floats:
        return np.asarray(_MARGIN * (1 + np.abs(self._bounds)))

    def _with_norms(self, where: Where) -> tuple[Floats, Floats]:
        """Linear conditions that make conditions with norms true."""
        rows, bounds = [], []
        for condition in self.requirement.conditions:
            made = _linear(condition, where.ends[0].middle)
            rows.append(made)
            bounds += [float(condition.bound)] * len(made)
        return np.concatenate(rows), np.array(bounds)


def steps_shown(condition: Condition, system: System) -> int:
    """Number of steps up to which a condition holds whatever the policy does, in exact numbers.

    It is -1 if that is not seen here even of the first states, and 0 at most if the system is not affine.
    """
    row, bound = list(condition.coefficients), condition.bound
    if condition.norms or system.first.most(row) > bound:
        return -1
    if not isinstance(system, AffineSystem) or system.schedule:
        return 0
    for step in range(len(row)):
        if any(_dot(row, gains) for gains in zip(*system.input_matrix, strict=True)):
            return step
        bound -= _dot(row, system.offset) + _most(row, system.disturbance)
        row = [_dot(row, column) for column in zip(*system.matrix, strict=True)]
        if system.first.most(row) > bound:
            return step
    return len(row)


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _most(row: Sequence[Fraction], sides: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    return sum((max(a * low, a * high) for a, (low, high) in zip(row, sides, strict=True)), Fraction(0))


def _with_sums(rows: Floats, bounds: Floats) -> tuple[Floats, Floats]:
    """Conditions of a set, and sums of two of them."""
    all_rows, all_bounds = list(rows), list(bounds)
    for i, j in combinations(range(len(bounds)), 2):
        for p, q in _WEIGHTS:
            row = p * rows[i] + q * rows[j]
            if np.any(row):
                all_rows.append(row)
                all_bounds.append(p * bounds[i] + q * bounds[j])
    return np.array(all_rows), np.array(all_bounds)


def _linear(condition: Condition, middle: Floats) -> Floats:
    """Rows that are at least as large as a condition with norms: tangents, and the sides of a polygon."""
    row = np.array(condition.coefficients, np.float64)
    polygon = np.zeros((1, len(row)))
    for norm in condition.norms:
        lines, factor = np.array(norm.rows, np.float64), float(norm.factor)
        if factor < 0:
            vector = lines @ middle[: len(row)]
            length = float(np.hypot(*vector))
            row = row + (factor * (1 - 1e-7) / length * (vector @ lines) if length else 0.0)
        else:
            angles = np.arange(_DIRECTIONS) * (2 * np.pi / _DIRECTIONS)
            directions = np.stack([np.cos(angles), np.sin(angles)], axis=1) / np.cos(np.pi / _DIRECTIONS)
            polygon = factor * (directions @ lines)
    return np.asarray(row + polygon)
