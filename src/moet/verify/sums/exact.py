"""The answer of a sum of trees in exact arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.model.tree import LEAF


class ExactSum:
    """Votes as the rational numbers that their float64 values are; the first of equal sums wins."""

    UNITS = 1074
    """All float64 numbers are multiples of two to the power of minus this."""

    _SURE = 1e-9
    """Sums of votes, as shares of their number, that differ by more differ in exact arithmetic and as deployed, too."""

    def __init__(self, mixture: Mixture) -> None:
        self._trees = [
            (
                tree.feature.tolist(),
                tree.threshold.tolist(),
                tree.left.tolist(),
                tree.right.tolist(),
                tree.value.tolist(),
            )
            for tree in mixture.trees
        ]
        self._mixture = mixture

    def votes(self, x: Sequence[float | Fraction]) -> list[int]:
        """Sum of the votes for every class, in units of 2^-1074; numbers of ``x`` may be fractions, too."""
        return [sum(map(self._whole, votes)) for votes in zip(*self._leaves(x), strict=True)]

    def _leaves(self, x: Sequence[float | Fraction]) -> list[list[float]]:
        """Votes of the leaf that ``x`` gets to, of every tree."""
        leaves = []
        for feature, threshold, left, right, value in self._trees:
            node = 0
            while (k := feature[node]) != LEAF:
                node = left[node] if x[k] <= threshold[node] else right[node]
            leaves.append(value[node])
        return leaves

    def _whole(self, vote: float) -> int:
        numerator, denominator = vote.as_integer_ratio()
        return (numerator << self.UNITS) // denominator

    def answer(self, x: Sequence[float | Fraction]) -> int:
        """Index of the class that answers ``x``."""
        votes = self.votes(x)
        return votes.index(max(votes))

    def answers(self, x: NDArray[np.float64]) -> tuple[int, int]:
        """Index of the class that answers ``x`` as deployed, and in exact arithmetic."""
        row = x.tolist()
        votes = [sum(own) for own in zip(*self._leaves(row), strict=True)]
        top = max(votes)
        if sum(vote > top - self._SURE * len(self._trees) for vote in votes) == 1:
            return votes.index(top), votes.index(top)
        return int(self._mixture.votes(x[None, :])[0].argmax()), self.answer(row)
