"""A second opinion that shares nothing with the library: models as lists, in Python's own numbers.

A model is used twice: as deployed (float64, each product rounded, added from left to right) and as it is meant (exact
fractions). Python's floats are float64 and never fused, so the first is what a machine does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np


class WrongVerdictError(AssertionError):
    """An answer, or an accepted proof, that somebody else can refute."""


class RejectedProofError(AssertionError):
    """A proof that the search found and the checker does not accept: no wrong verdict, and a proof that is lost."""


class EscapeError(AssertionError):
    """An exception that is neither a verdict nor an error meant for the user, or work without end."""


class PlainTree(NamedTuple):
    """A tree: go left iff x[feature] <= threshold; feature is -1 at a leaf, whose class index is ``label``."""

    feature: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]
    label: list[int]


class Plain(NamedTuple):
    """A hard mixture in lists."""

    weights: list[list[float]]
    bias: list[float]
    trees: list[PlainTree]
    classes: list[Any]

    @classmethod
    def of(cls, mixture: Any) -> Plain:
        """Read the arrays of a mixture."""
        trees = [
            PlainTree(
                tree.feature.tolist(),
                tree.threshold.tolist(),
                tree.left.tolist(),
                tree.right.tolist(),
                [row.index(max(row)) for row in tree.value.tolist()],
            )
            for tree in mixture.trees
        ]
        return cls(mixture.gate_weights.tolist(), mixture.gate_bias.tolist(), trees, mixture.classes.tolist())

    def logits(self, x: Sequence[float]) -> list[float]:
        """Logits of the gate in float64."""
        found = []
        for row, total in zip(self.weights, self.bias, strict=True):
            for w, value in zip(row, x, strict=True):
                total = total + w * value
            found.append(total)
        return found

    def overflows(self, x: Sequence[float]) -> bool:
        """Whether a logit that is compared with others is beyond float64."""
        return len(self.bias) > 1 and not all(map(math.isfinite, self.logits(x)))

    def deployed(self, x: Sequence[float]) -> Any:
        """The answer of the deployed predictor."""
        return self._answer(_first_largest(self.logits(x)), x)

    def exact(self, x: Sequence[Fraction]) -> Any:
        """The answer when nothing is rounded."""
        logits = [
            Fraction(b) + sum((Fraction(w) * v for w, v in zip(row, x, strict=True)), Fraction(0))
            for row, b in zip(self.weights, self.bias, strict=True)
        ]
        return self._answer(_first_largest(logits), x)

    def action(self, answer: Any, actions: Sequence[str]) -> int:
        """Number of the action that an answer names: its number, or its place among the names."""
        return actions.index(answer) if isinstance(answer, str) else int(answer)

    def _answer(self, expert: int, x: Sequence[Any]) -> Any:
        tree, node = self.trees[expert], 0
        while tree.feature[node] >= 0:
            below = x[tree.feature[node]] <= tree.threshold[node]
            node = tree.left[node] if below else tree.right[node]
        return self.classes[tree.label[node]]


def accepted(verdict: Any) -> Any:
    """Return a verdict, unless it is Unknown because the checker rejected what the search took for a proof."""
    if "does not accept" in (getattr(verdict, "reason", None) or ""):
        raise RejectedProofError(verdict.reason)
    return verdict


def _first_largest(logits: Sequence[Any]) -> int:
    best = 0
    for j, logit in enumerate(logits):
        if logit > logits[best]:
            best = j
    return best


def neighbours(value: float) -> list[float]:
    """A number and the float64 numbers beside it."""
    return [math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf)]


def nasty_points(
    models: Sequence[Plain], lo: Sequence[float], hi: Sequence[float], rng: np.random.Generator, n: int
) -> list[list[float]]:
    """Inputs of a box where proofs may be wrong: on and beside thresholds and sides, far out, and where experts tie."""
    special = [_special(models, k, low, high) for k, (low, high) in enumerate(zip(lo, hi, strict=True))]
    points = [[float(rng.choice(values)) for values in special] for _ in range(n)]
    for point in points[: n // 2]:
        _move_to_tie(models[int(rng.integers(len(models)))], point, rng)
    return [[min(max(v, a), b) for v, a, b in zip(point, lo, hi, strict=True)] for point in points]


def _special(models: Sequence[Plain], k: int, low: float, high: float) -> list[float]:
    thresholds = {
        t
        for model in models
        for tree in model.trees
        for f, t in zip(tree.feature, tree.threshold, strict=True)
        if f == k
    }
    far = [] if math.isfinite(low) and math.isfinite(high) else [1e3, -1e3, 1e18, -1e18, 1e150, -1e150, 1e308, -1e308]
    ends = [end for end in (low, high) if math.isfinite(end)]
    middle = [sum(ends) / 2] if len(ends) == 2 and math.isfinite(sum(ends)) else []
    numbers = [*thresholds, *ends, *middle, *far, 0.0, 1.0, -1.0, 5e-324]
    return (
        [v for number in numbers for v in neighbours(number) if low <= v <= high and math.isfinite(v)] or ends or [0.0]
    )


def _move_to_tie(model: Plain, point: list[float], rng: np.random.Generator) -> None:
    """Change one number such that two experts have about the same logit, give or take some units in the last place."""
    if len(model.bias) < 2:
        return
    i, j = rng.choice(len(model.bias), 2, replace=False).tolist()
    k = int(rng.integers(len(point)))
    slope = Fraction(model.weights[i][k]) - Fraction(model.weights[j][k])
    if not slope:
        return
    gap = Fraction(model.bias[i]) - Fraction(model.bias[j])
    for f, value in enumerate(point):
        if f != k:
            gap += (Fraction(model.weights[i][f]) - Fraction(model.weights[j][f])) * Fraction(value)
    place = -gap / slope
    if abs(place) < Fraction(2) ** 1000:
        point[k] = float(place)
        for _ in range(int(rng.integers(4))):
            point[k] = math.nextafter(point[k], math.inf * float(rng.choice([-1, 1])))
