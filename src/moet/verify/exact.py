"""The answer of a mixture in exact arithmetic: what its numbers say when nothing is rounded."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from operator import mul

import numpy as np
from numpy.typing import NDArray

from moet.model.base import BaseMixture
from moet.model.tree import LEAF
from moet.verify.rational import Row

_LARGEST = Fraction(sys.float_info.max)


class ExactMixture:
    """A hard mixture whose weights, biases and thresholds are the rational numbers that their float64 values are."""

    def __init__(self, mixture: BaseMixture) -> None:
        self.mixture = mixture
        self.weights = [[Fraction(w) for w in row] for row in mixture.gate_weights.tolist()]
        self.bias = [Fraction(b) for b in mixture.gate_bias.tolist()]
        self._rows: dict[int, list[Row]] = {}

    def logits(self, x: Sequence[Fraction]) -> list[Fraction]:
        """Logit of every expert at ``x``."""
        return [
            b + sum(w * v for w, v in zip(row, x, strict=True)) for row, b in zip(self.weights, self.bias, strict=True)
        ]

    @cached_property
    def _whole(self) -> list[tuple[list[int], int]]:
        """Weights and bias of every expert, times one number that makes them all whole."""
        scale = math.lcm(*(number.denominator for row in (*self.weights, self.bias) for number in row))
        pairs = zip(self.weights, self.bias, strict=True)
        return [([int(w * scale) for w in row], int(b * scale)) for row, b in pairs]

    def expert(self, x: Sequence[Fraction]) -> int:
        """Index of the first expert with the largest logit."""
        scale = math.lcm(*(value.denominator for value in x))
        whole = [value.numerator * (scale // value.denominator) for value in x]
        logits = [b * scale + sum(map(mul, row, whole)) for row, b in self._whole]
        return logits.index(max(logits))

    def leaf(self, x: Sequence[Fraction]) -> tuple[int, int]:
        """Expert that answers ``x``, and the leaf of its tree."""
        expert = self.expert(x)
        tree, node = self.mixture.trees[expert], 0
        while (feature := tree.feature[node]) != LEAF:
            node = int((tree.left if x[feature] <= Fraction(float(tree.threshold[node])) else tree.right)[node])
        return expert, node

    def answer(self, x: Sequence[Fraction]) -> int:
        """Index of the class that answers ``x``."""
        expert, node = self.leaf(x)
        return int(self.mixture.trees[expert].value[node].argmax())

    def rows(self, expert: int) -> list[Row]:
        """Conditions under which ``expert`` answers, one per rival in order: strict where the rival would win a tie."""
        if expert not in self._rows:
            own, bias = self.weights[expert], self.bias[expert]
            self._rows[expert] = [
                Row(
                    [a - b for a, b in zip(own, self.weights[rival], strict=True)],
                    self.bias[rival] - bias,
                    rival < expert,
                )
                for rival in range(len(self.bias))
                if rival != expert
            ]
        return self._rows[expert]


def exactly(x: Sequence[float]) -> list[Fraction]:
    """Numbers as the fractions they are."""
    return [Fraction(float(value)) for value in x]


def rounded(x: Sequence[Fraction]) -> NDArray[np.float64]:
    """Numbers as the nearest float64 ones; the largest finite ones where they are out of range."""
    return np.array([as_float(value) for value in x])


def as_float(value: Fraction) -> float:
    """The nearest float64 number; the largest finite one if it is out of range."""
    return float(min(max(value, -_LARGEST), _LARGEST))
