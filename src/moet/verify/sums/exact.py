"""The answer of a sum of trees in exact arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from moet.model.mixture import Mixture
from moet.model.tree import LEAF


class ExactSum:
    """Votes as the rational numbers that their float64 values are; the first of equal sums wins."""

    def __init__(self, mixture: Mixture) -> None:
        self._trees = [
            (tree.feature.tolist(), tree.threshold.tolist(), tree.left.tolist(), tree.right.tolist(), tree.value)
            for tree in mixture.trees
        ]
        self._n_classes = len(mixture.classes)

    def votes(self, x: Sequence[Fraction]) -> list[Fraction]:
        """Sum of the votes for every class."""
        totals = [Fraction(0)] * self._n_classes
        for feature, threshold, left, right, value in self._trees:
            node = 0
            while feature[node] != LEAF:
                node = (left if x[feature[node]] <= threshold[node] else right)[node]
            totals = [total + Fraction(vote) for total, vote in zip(totals, value[node].tolist(), strict=True)]
        return totals

    def answer(self, x: Sequence[Fraction]) -> int:
        """Index of the class that answers ``x``."""
        votes = self.votes(x)
        return votes.index(max(votes))
