"""A box that is cut by half-spaces, and the largest value of a linear function in it, with a proof."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Multipliers = dict[int, float]

_NEGLIGIBLE = 1e-11
"""Multipliers below this share of the largest are left out."""


class Polytope:
    """All x between ``low`` and ``high`` with rows·x <= limits; rows and limits are exact numbers.

    Parameters
    ----------
    low, high : array of float
    """

    def __init__(self, low: Floats, high: Floats) -> None:
        self.low, self.high = low, high
        self.rows: list[list[Fraction]] = []
        self.limits: list[Fraction] = []
        self._middle, self._half = (low + high) / 2, np.maximum((high - low) / 2, 1e-300)
        self._scaled: list[tuple[Floats, float, float]] = []

    def add(self, row: list[Fraction], limit: Fraction) -> int:
        """Cut it with another half-space; returns its number."""
        self.rows.append(row)
        self.limits.append(limit)
        exact = np.array(row, np.float64)
        units = exact * self._half
        size = float(np.abs(units).sum()) or 1.0
        self._scaled.append((units / size, (float(limit) - float(exact @ self._middle)) / size, size))
        return len(self.rows) - 1

    def size_of(self, row: Floats) -> float:
        """How much row·x may differ from its value in the middle of the box."""
        return float(np.abs(row) @ self._half)

    def most_in_box(self, row: Floats) -> float:
        """Largest value of row·x in the box."""
        return float(row @ self._middle) + self.size_of(row)

    def most(self, row: Floats, without: frozenset[int] = frozenset()) -> tuple[float, Multipliers]:
        """Largest value of row·x, and multipliers of half-spaces that show it; some half-spaces may be left out."""
        from scipy.optimize import linprog

        places = [k for k in range(len(self.rows)) if k not in without]
        size = self.size_of(row)
        if not places or size == 0.0:
            return self.most_in_box(row), {}
        matrix = np.array([self._scaled[k][0] for k in places])
        limits = np.array([self._scaled[k][1] for k in places])
        goal = row * self._half / size
        found = linprog(-goal, A_ub=matrix, b_ub=limits, bounds=(-1.0, 1.0), method="highs")
        if found.status != 0:
            return self.most_in_box(row), {}
        duals = -found.ineqlin.marginals
        kept = np.flatnonzero(duals > _NEGLIGIBLE * max(1.0, float(duals.max(initial=0.0))))
        left = goal - duals[kept] @ matrix[kept]
        value = float(duals[kept] @ limits[kept]) + float(np.abs(left).sum())
        multipliers = {places[k]: float(duals[k]) * size / self._scaled[places[k]][2] for k in kept.tolist()}
        return float(row @ self._middle) + value * size, multipliers
