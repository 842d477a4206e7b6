"""A hard mixture of laws in exact numbers, with or without what float64 arithmetic may make of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError, ModelError
from moet.model.file import as_model
from moet.model.regression.mixture import RegressionMixture
from moet.model.text import how_to_harden
from moet.verify.arguments import used_by_gate
from moet.verify.exact import ExactMixture, exactly
from moet.verify.rational import ZERO, Row

Floats = NDArray[np.float64]

_UNDERFLOW = Fraction(1, 2**300)


def hard_laws(model: Any) -> RegressionMixture:
    """The mixture of laws that ``model`` is or holds; one whose experts are averaged has no laws to ask about."""
    mixture = as_model(model)
    if not isinstance(mixture, RegressionMixture):
        raise ModelError(
            "this model answers with labels, and this question is about numbers; ask which labels it gives with "
            "verify.always (moet verify MODEL --always LABEL)"
        )
    if mixture.prediction == "soft" and mixture.n_experts > 1:
        raise InputError(
            "this model averages its experts, and what is proved about numbers is about the law of one expert; "
            + how_to_harden(mixture)
        )
    return mixture


class Sum(NamedTuple):
    """value + slope·x, and how far float64 arithmetic may be from it: error + error_slope·x."""

    value: Fraction
    slope: list[Fraction]
    error: Fraction
    error_slope: list[Fraction]


class Laws:
    """A mixture of laws over a box.

    Parameters
    ----------
    mixture : RegressionMixture
    lo, hi : array of float
        The box; if ``rounded``, on one side of zero along every feature that is used and has an open side.
    rounded : bool
        Whether experts and laws count that float64 arithmetic may choose or compute, not only those of exact
        arithmetic. What overflows is no answer, and does not count.
    """

    def __init__(self, mixture: RegressionMixture, lo: Floats, hi: Floats, rounded: bool) -> None:
        self.mixture = mixture
        self.exact = ExactMixture(mixture)
        self._rounded = rounded
        self._sides = list(zip(lo.tolist(), hi.tolist(), strict=True))
        self.low, self.high = ([_bound(end) for end in side.tolist()] for side in (mixture.low, mixture.high))
        logits = zip(self.exact.weights, self.exact.bias, strict=True)
        self._logits = [self._sum(b, row) for row, b in logits] if rounded and mixture.n_experts > 1 else []
        self._rows: dict[int, list[Row]] = {}
        self._laws: dict[tuple[int, int], list[Sum]] = {}

    def rows(self, expert: int) -> list[Row]:
        """Conditions under which an expert answers, one per rival in order."""
        if expert not in self._rows:
            rivals = [k for k in range(self.mixture.n_experts) if k != expert]
            rows = self.exact.rows(expert)
            if self._rounded:
                rows = [self._relaxed(row, expert, rival) for row, rival in zip(rows, rivals, strict=True)]
            self._rows[expert] = rows
        return self._rows[expert]

    def laws(self, expert: int, leaf: int) -> list[Sum]:
        """Laws of a leaf, one per output."""
        if (expert, leaf) not in self._laws:
            tree = self.mixture.trees[expert]
            nothing = np.zeros((tree.n_outputs, self.mixture.n_features))
            slopes = nothing if tree.slope is None else tree.slope[leaf]
            pairs = zip(tree.value[leaf].tolist(), slopes.tolist(), strict=True)
            self._laws[expert, leaf] = [self._sum(Fraction(value), exactly(slope)) for value, slope in pairs]
        return self._laws[expert, leaf]

    def answer(self, x: Sequence[Fraction]) -> list[Fraction]:
        """Outputs in exact arithmetic."""
        found = []
        for law, low, high in zip(self.laws(*self.exact.leaf(x)), self.low, self.high, strict=True):
            u = law.value + sum((s * v for s, v in zip(law.slope, x, strict=True)), ZERO)
            u = u if low is None else max(u, low)
            found.append(u if high is None else min(u, high))
        return found

    def _sum(self, value: Fraction, slope: list[Fraction]) -> Sum:
        """The bound of ``verify/rounding.py``; a constant is not rounded at all."""
        nothing = [ZERO] * len(slope)
        if not self._rounded or not any(slope):
            return Sum(value, slope, ZERO, nothing)
        factor = Fraction(len(slope) + 2, 2**53)
        size, error_slope = abs(value), nothing
        for k, (s, (low, high)) in enumerate(zip(slope, self._sides, strict=True)):
            if math.isfinite(low) and math.isfinite(high):
                size += abs(s) * Fraction(max(abs(low), abs(high)))
            else:
                error_slope[k] = factor * abs(s) * (1 if low >= 0 else -1)
        return Sum(value, slope, factor * size + _UNDERFLOW, error_slope)

    def _relaxed(self, row: Row, expert: int, rival: int) -> Row:
        """A row less the errors of both logits; if they have none, the first of equals still answers."""
        own, other = self._logits[expert], self._logits[rival]
        error = own.error + other.error
        errors = zip(row.coefficients, own.error_slope, other.error_slope, strict=True)
        return Row([c + a + b for c, a, b in errors], row.bound - error, row.strict and not error)


def _bound(end: float) -> Fraction | None:
    return Fraction(end) if math.isfinite(end) else None


def used_features(mixture: RegressionMixture) -> NDArray[np.bool_]:
    """Features that rounding depends on: those of the gate, and of the laws of leaves."""
    used = used_by_gate(mixture)
    for tree in mixture.trees:
        if tree.slope is not None:
            used = used | np.any(tree.slope[tree.feature < 0], axis=(0, 1))
    return used
