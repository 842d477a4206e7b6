"""When an expert answers a row: linear conditions on the variables of a question, exact and as floats."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.verify.rational import Row
from moet.verify.rows.space import Ints, Space

Floats = NDArray[np.float64]

_EXACT = 2**53
"""Whole multiples of a unit up to this are float64 numbers, and so are their sums."""


class Conditions(NamedTuple):
    """Conditions rows·z >= bounds under which one expert answers, divided by their ``sizes``; and the same, exact.

    ``names`` are those under which the checker knows them.
    """

    rows: Floats
    bounds: Floats
    sizes: Floats
    exact: list[Row]
    names: list[int]


class Gate:
    """The gate of a mixture over the variables of a question.

    Parameters
    ----------
    mixture : Mixture
    space : Space
    features : array of int
        Variable of every feature.
    deployed : bool
        Whether every expert counts that may answer in float64 arithmetic; otherwise the first of the largest logits,
        in exact arithmetic.
    """

    def __init__(self, mixture: Mixture, space: Space, features: Ints, deployed: bool) -> None:
        self._weights = [[Fraction(w) for w in row] for row in mixture.gate_weights.tolist()]
        self._bias = [Fraction(b) for b in mixture.gate_bias.tolist()]
        self._features = features.tolist()
        self._space = space
        reach = np.maximum(np.abs(space.body.lo), np.abs(space.body.hi))[features]
        self._sizes = [
            abs(b) + sum((abs(w) * Fraction(r) for w, r in zip(row, reach.tolist(), strict=True) if w), Fraction(0))
            for row, b in zip(self._weights, self._bias, strict=True)
        ]
        whole = space.whole[features]
        self.is_exact = all(
            _sums_are_exact(row, b, size, whole)
            for row, b, size in zip(self._weights, self._bias, self._sizes, strict=True)
        )
        self._rounds = deployed and not self.is_exact
        self._known: dict[int, Conditions] = {}

    def conditions(self, expert: int) -> Conditions:
        """Conditions under which an expert answers, one per rival in order."""
        if expert not in self._known:
            rivals = [k for k in range(len(self._bias)) if k != expert]
            exact = [self._row(expert, rival) for rival in rivals]
            body = self._space.body
            reach = np.maximum(np.abs(body.lo), np.abs(body.hi))
            rows = np.array([[float(c) for c in row.coefficients] for row in exact]).reshape(-1, self._space.n)
            bounds = np.array([float(row.bound) for row in exact])
            sizes = np.abs(rows) @ reach + np.abs(bounds)
            # weights of features that hardly vary stay in the range of float64
            sizes = np.maximum(sizes, 2.0**-900 * np.abs(rows).max(axis=1, initial=0.0))
            # powers of two, so that multipliers stay short
            sizes = np.exp2(np.ceil(np.log2(np.where(sizes > 0.0, sizes, 1.0))))
            self._known[expert] = Conditions(rows / sizes[:, None], bounds / sizes, sizes, exact, rivals)
        return self._known[expert]

    def _row(self, expert: int, rival: int) -> Row:
        coefficients = [Fraction(0)] * self._space.n
        for k, own, other in zip(self._features, self._weights[expert], self._weights[rival], strict=True):
            coefficients[k] += own - other
        bound, strict = self._bias[rival] - self._bias[expert], rival < expert
        if self._rounds:
            bound, strict = bound - self._error(expert) - self._error(rival), False
        return tightened(coefficients, bound, strict, self._space.whole)

    def _error(self, expert: int) -> Fraction:
        return Fraction(len(self._features) + 2, 2**53) * self._sizes[expert] + Fraction(1, 2**300)


def tightened(coefficients: list[Fraction], bound: Fraction, strict: bool, whole: NDArray[np.bool_]) -> Row:
    """Round up the bound of a condition on whole numbers alone: what it bounds is a multiple of a common divisor."""
    used = [c for k, c in enumerate(coefficients) if c and whole[k]]
    if not used or any(c and not whole[k] for k, c in enumerate(coefficients)):
        return Row(coefficients, bound, strict)
    scale = math.lcm(*(c.denominator for c in used))
    unit = Fraction(math.gcd(*(int(c * scale) for c in used)), scale)
    steps = math.floor(bound / unit) + 1 if strict else math.ceil(bound / unit)
    return Row(coefficients, steps * unit, False)


def _sums_are_exact(weights: list[Fraction], bias: Fraction, size: Fraction, whole: NDArray[np.bool_]) -> bool:
    """Whether float64 arithmetic computes a logit without rounding, whatever the possible row."""
    if any(w and not whole[k] for k, w in enumerate(weights)):
        return False
    unit = math.lcm(bias.denominator, *(w.denominator for w in weights))
    return unit <= 2**1000 and size * unit <= _EXACT
