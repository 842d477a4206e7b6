"""Distances from a point to a box, and to the part of a box that satisfies linear conditions; in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moet.verify.polytopes import Polytope
from moet.verify.rational import ZERO, Row, Side, decide

Floats = NDArray[np.float64]
Norm = Literal["linf", "l1"]

_LITTLE = Fraction(1, 10**9)
"""Share of the largest coefficient below which one may be an error of floating-point multipliers."""


def distances(x: Floats, y: Floats, norm: Norm) -> Floats:
    """Distances of points (last axis) from one another."""
    gaps = np.abs(y - x)
    return gaps.max(axis=-1) if norm == "linf" else gaps.sum(axis=-1)


def distance_of(x: Sequence[Fraction], y: Sequence[Fraction], norm: Norm) -> Fraction:
    """Distance of two points."""
    gaps = [abs(a - b) for a, b in zip(x, y, strict=True)]
    return max(gaps) if norm == "linf" else sum(gaps, ZERO)


@dataclass(frozen=True)
class Ray:
    """A point to measure from, and a region to measure to.

    The distance of the closed region is found by raising a lower bound: at a radius where ball and region have nothing
    in common, multipliers of the rows say why, and the same multipliers rule out all radii up to a larger one.
    """

    x: list[Fraction]
    polytope: Polytope
    norm: Norm

    @cached_property
    def lower(self) -> list[Fraction | None]:
        """Lower sides of the box, None where open."""
        return _sides(self.polytope.lo)

    @cached_property
    def upper(self) -> list[Fraction | None]:
        """Upper sides of the box, None where open."""
        return _sides(self.polytope.hi)

    @cached_property
    def nearest_in_box(self) -> list[Fraction]:
        """Point of the closed box that is nearest."""
        return [_clamp(v, low, high) for v, low, high in zip(self.x, self.lower, self.upper, strict=True)]

    @cached_property
    def box_distance(self) -> Fraction:
        """Distance of the closed box."""
        return distance_of(self.x, self.nearest_in_box, self.norm)

    def is_empty(self) -> dict[int, Fraction] | None:
        """Multipliers that prove that the region has no point, or None."""
        verdict = self.polytope.decide(self.nearest_in_box)
        return verdict if isinstance(verdict, dict) else None

    def radius_ruled_out(self, multipliers: Mapping[int, Fraction]) -> Fraction | None:
        """Radius up to which no open ball meets the region, by these multipliers of the rows; None if none does at all.

        The largest value of direction·y over the box and a ball is a concave function of the radius. Its slopes are
        known, so the radius where it reaches the bound of the combined rows is too.
        """
        direction, bound = self._combined(multipliers)
        start, radius = self.nearest_in_box, self.box_distance
        if self.norm == "linf":  # at no further cost, every coordinate may go as far as the worst one had to
            start = [
                _clamp(v + (radius if w > 0 else -radius), low, high) if w else s
                for v, w, s, low, high in zip(self.x, direction, start, self.lower, self.upper, strict=True)
            ]
        missing = bound - sum((v * s for v, s in zip(direction, start, strict=True)), ZERO)
        if missing <= 0:
            return radius
        moves = sorted(
            (
                (abs(v), None if (end := high if v > 0 else low) is None else abs(end - s))
                for v, s, low, high in zip(direction, start, self.lower, self.upper, strict=True)
                if v
            ),
            key=lambda move: -move[0] if self.norm == "l1" else math.inf if move[1] is None else move[1],
        )
        return _together(moves, missing, radius) if self.norm == "linf" else _one_by_one(moves, missing, radius)

    def touching(self, multipliers: Mapping[int, Fraction], radius: Fraction, near: list[Fraction]) -> list[Fraction]:
        """Guess the point in which ball and region touch: that of the ball furthest along the combined rows.

        Along coordinates that hardly matter, and for the 1-norm, the guess is ``near``.
        """
        direction, _ = self._combined(multipliers)
        little = max(map(abs, direction)) * _LITTLE
        if self.norm == "l1" or not little:
            return near
        return [
            s if abs(w) <= little else _clamp(v + (radius if w > 0 else -radius), low, high)
            for v, w, s, low, high in zip(self.x, direction, near, self.lower, self.upper, strict=True)
        ]

    def _combined(self, multipliers: Mapping[int, Fraction]) -> tuple[list[Fraction], Fraction]:
        """Coefficients and bound of the rows times their multipliers."""
        rows = self.polytope.rows
        direction, bound = [ZERO] * len(self.x), ZERO
        for i, factor in multipliers.items():
            direction = [v + factor * c for v, c in zip(direction, rows[i].coefficients, strict=True)]
            bound += factor * rows[i].bound
        return direction, bound

    def closed_point(self, radius: Fraction, start: Sequence[Fraction]) -> list[Fraction] | dict[int, Fraction]:
        """Point of the closed region and the closed ball, or multipliers of the rows that prove that there is none."""
        rows = [Row(row.coefficients, row.bound) for row in self.polytope.rows]
        if self.norm == "linf":
            lower = [Side(max(v - radius, low) if low is not None else v - radius) for v, low in self._with(self.lower)]
            upper = [Side(min(v + radius, hi) if hi is not None else v + radius) for v, hi in self._with(self.upper)]
            return decide(rows, lower, upper, start)
        # y = s + p − q with p, q >= 0, where s is the point of the box that is nearest
        nearest, zero = self.nearest_in_box, Side(ZERO)
        up = [None if high is None else Side(high - s) for s, high in zip(nearest, self.upper, strict=True)]
        down = [None if low is None else Side(s - low) for s, low in zip(nearest, self.lower, strict=True)]
        split = [
            Row(
                [*row.coefficients, *(-c for c in row.coefficients)],
                row.bound - sum((c * s for c, s in zip(row.coefficients, nearest, strict=True)), ZERO),
            )
            for row in rows
        ]
        ball = Row([Fraction(-1)] * (2 * len(nearest)), self.box_distance - radius)
        moves = [y - s for y, s in zip(start, nearest, strict=True)]
        guess = [max(m, ZERO) for m in moves] + [max(-m, ZERO) for m in moves]
        verdict = decide([*split, ball], [zero] * (2 * len(nearest)), up + down, guess)
        if isinstance(verdict, dict):
            return {i: factor for i, factor in verdict.items() if i < len(rows)}
        return [s + p - q for s, p, q in zip(nearest, verdict, verdict[len(nearest) :], strict=False)]

    def _with(self, sides: list[Fraction | None]) -> zip[tuple[Fraction, Fraction | None]]:
        return zip(self.x, sides, strict=True)


Move = tuple[Fraction, Fraction | None]
"""Gain per unit of length, and length (None: unlimited)."""


def _together(moves: list[Move], missing: Fraction, radius: Fraction) -> Fraction | None:
    """Radius at which all moves at once, the shortest first to end, have gained what was missing."""
    slope = sum((gain for gain, _ in moves), ZERO)
    done = ZERO
    for gain, length in moves:
        if length is None or slope * (length - done) >= missing:
            return radius + done + missing / slope
        missing -= slope * (length - done)
        done, slope = length, slope - gain
    return None


def _one_by_one(moves: list[Move], missing: Fraction, radius: Fraction) -> Fraction | None:
    """Radius at which the moves one after the other, the best first, have gained what was missing."""
    for gain, length in moves:
        if length is None or gain * length >= missing:
            return radius + missing / gain
        missing -= gain * length
        radius += length
    return None


def _sides(values: Floats) -> list[Fraction | None]:
    return [None if math.isinf(value) else Fraction(value) for value in values.tolist()]


def _clamp(value: Fraction, low: Fraction | None, high: Fraction | None) -> Fraction:
    if low is not None and value < low:
        return low
    return high if high is not None and value > high else value
