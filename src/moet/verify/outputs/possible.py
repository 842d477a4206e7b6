"""The possible rows of a model of numbers whose table has whole numbers and categories: rows of a program, and pieces.

A linear program knows that the features of a column of categories add up to one, but not that they are whole. Where
what it finds is no possible row, the box is divided at a feature that is whole in all of them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.regression.mixture import RegressionMixture
from moet.verify.box import Bounds, Box
from moet.verify.checker.certificate import Certificate
from moet.verify.rational import Row
from moet.verify.rows.domain import Domain, rows_of

Floats = NDArray[np.float64]

PIECE, DIVIDE = 3, 4
"""Codes of records: the proof for this piece follows; or: it is divided (a reference to a feature, and a number)."""

MOST_PIECES = 2_000


class Division(NamedTuple):
    """``feature <= last`` in one part and ``feature >= last + 1`` in the other."""

    feature: int
    last: float

    def parts(self, lo: Floats, hi: Floats) -> tuple[Bounds, Bounds]:
        """Both parts of a box, the lower one first."""
        below, above = hi.copy(), lo.copy()
        below[self.feature], above[self.feature] = self.last, self.last + 1
        return (lo, below), (above, hi)

    def write(self, certificate: Certificate) -> None:
        """Record that a piece is divided."""
        certificate.add(bytes([DIVIDE]), np.array([self.feature], np.int32), np.array([self.last]))


class Possible:
    """Which inputs of a box are rows of the user's table; without whole numbers and categories, all of them.

    Attributes
    ----------
    rows : tuple of Row
        What the features of categories add up to: at least one and at most one, column by column.
    """

    def __init__(self, mixture: RegressionMixture, domain: Box | None) -> None:
        self._domain: Domain | None = None
        self._whole: list[int] = []
        self.rows: tuple[Row, ...] = ()
        if mixture.schema is None or all(column.kind == "number" for column in mixture.schema.columns):
            return
        self._domain = rows_of(domain, mixture)
        for part in self._domain.values:
            if part.column.kind == "category":
                ones = [Fraction(k in part.features) for k in range(mixture.n_features)]
                self.rows += (Row(ones, Fraction(1)), Row([-one for one in ones], Fraction(-1)))
            if part.column.kind != "number":
                self._whole += part.features

    @property
    def are_all(self) -> bool:
        """Whether every input of the box is one."""
        return self._domain is None

    def __contains__(self, x: Floats) -> bool:
        return self._domain is None or x in self._domain

    def nearest(self, x: Floats) -> Floats:
        """A possible row near an input: the largest category, and the nearest whole numbers."""
        return x if self._domain is None else self._domain.nearest(x)

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Random possible rows; only if they are not all inputs."""
        assert self._domain is not None
        return self._domain.sample(n, rng)

    def division(self, x: Floats, lo: Floats, hi: Floats) -> Division | None:
        """Where to divide a box in which an input was found that is no possible row; None if all is whole in it."""
        best, place = 0.0, None
        for k in self._whole:
            part = x[k] - np.floor(x[k])
            if lo[k] < hi[k] and min(part, 1 - part) > best:
                best, place = min(part, 1 - part), k
        return None if place is None else Division(place, float(np.floor(x[place])))

    def around(self, x: Floats, lo: Floats, hi: Floats) -> Division | None:
        """Where to divide a box at an input whose whole features are whole; None if they have no other value in it."""
        place = next((k for k in self._whole if lo[k] < hi[k]), None)
        if place is None:
            return None
        at = float(np.round(x[place]))
        return Division(place, at if at < hi[place] else at - 1)

    def as_in(self, x: Floats, lo: Floats, hi: Floats) -> Bounds:
        """The part of a box in which whole features are as in an input."""
        low, high = lo.copy(), hi.copy()
        low[self._whole] = high[self._whole] = np.round(x[self._whole])
        return low, high

    def is_row(self, x: Floats) -> bool:
        """Whether an input is a row of the table, inside the domain or not: one category each, and whole numbers."""
        return self._domain is None or x in self._domain.with_row(x)
