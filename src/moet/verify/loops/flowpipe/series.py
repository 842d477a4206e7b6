"""Solutions of differential equations as polynomials in time, order by order, in float64.

A series has terms, each an array of a number and its slopes by variable; products of slopes are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.verify.loops.flowpipe.forms import UNDEFINED, Unbounded
from moet.verify.systems.equations import Algebra

Floats = NDArray[np.float64]

Rates = Callable[[list[Any], Algebra], list[Any]]
"""Derivatives of the states, from all variables in some arithmetic, which has numbers that are ``between`` two."""


class Series:
    """Terms that are made when they are asked for."""

    __slots__ = ("_term", "_terms", "n_known")

    def __init__(self, degree: int, n: int, term: Callable[[int], Floats]) -> None:
        self._term = term
        self._terms = np.zeros((degree + 1, n + 1))
        self.n_known = 0

    def upto(self, k: int) -> Floats:
        """All terms up to a power of time."""
        while self.n_known <= k:
            self._terms[self.n_known] = self._term(self.n_known)
            self.n_known += 1
        return self._terms[: k + 1]

    def _like(self, term: Callable[[int], Floats]) -> Series:
        return Series(len(self._terms) - 1, self._terms.shape[1] - 1, term)

    def __neg__(self) -> Series:
        return self._like(lambda k: -self.upto(k)[k])

    def __add__(self, other: Series) -> Series:
        return self._like(lambda k: self.upto(k)[k] + other.upto(k)[k])

    def __sub__(self, other: Series) -> Series:
        return self._like(lambda k: self.upto(k)[k] - other.upto(k)[k])

    def __mul__(self, other: Series) -> Series:
        return self._like(lambda k: _mixed(self.upto(k), other.upto(k)))

    def __pow__(self, exponent: int) -> Series:
        found = self
        for _ in range(exponent - 1):
            found = found * self
        return found

    def __truediv__(self, other: Series) -> Series:
        def term(k: int) -> Floats:
            by = other.upto(k)
            known = _mixed(found.upto(k - 1), by[1:]) if k else 0.0
            return _quotient(self.upto(k)[k] - known, by[0])

        found = self._like(term)
        return found


def solution(rates: Rates, middle: Floats, slopes: Floats, d: int, time: float, degree: int) -> Floats:
    """Terms of the first d quantities, which move, from everywhere in a set; by quantity, power of time and slope.

    A quantity begins in its middle, with these slopes by variable.
    """
    n, first = slopes.shape[1], np.column_stack([middle, slopes])
    moving: list[Series] = []

    def begun(i: int) -> Series:
        if i >= d:
            return Series(degree, n, lambda k: first[i] if not k else 0.0 * first[i])
        return Series(degree, n, lambda k: time / k * moving[i].upto(k - 1)[k - 1] if k else first[i])

    def constant(value: Fraction | float) -> Series:
        number = np.append(float(value), np.zeros(n))
        return Series(degree, n, lambda k: number if not k else 0.0 * number)

    paths = [begun(i) for i in range(len(middle))]
    moving += rates(paths, Algebra(constant, FUNCTIONS | {"between": lambda center, radius: constant(center)}))
    try:
        return np.array([path.upto(k) for k in range(degree + 1) for path in paths[:d]][-d:])
    except RecursionError:
        raise Unbounded("the equations are too deep for polynomials in time") from None


def _mixed(x: Floats, y: Floats) -> Floats:
    """Sum of products of terms of x with those of y, in reverse."""
    y = y[::-1]
    total: Floats = x[:, 0] @ y
    total[1:] += y[:, 0] @ x[:, 1:]
    return total


def _quotient(wanted: Floats, by: Floats) -> Floats:
    if not by[0]:
        raise Unbounded(UNDEFINED)
    found = wanted / by[0]
    found[1:] -= found[0] * by[1:] / by[0]
    return found


def _first(value: float, slope: float, x: Floats) -> Floats:
    found = slope * x
    found[0] = value
    return found


def _grown(x: Series, y: Series, k: int) -> Floats:
    """A term of z where z' = x'·y."""
    return _mixed(x.upto(k)[1:] * np.arange(1, k + 1)[:, None], y.upto(k - 1)) / k


def _waves(x: Series) -> tuple[Series, Series]:
    def term(k: int) -> Floats:
        at = x.upto(0)[0]
        return _grown(x, cosine, k) if k else _first(np.sin(at[0]), np.cos(at[0]), at)

    def other(k: int) -> Floats:
        at = x.upto(0)[0]
        return -_grown(x, sine, k) if k else _first(np.cos(at[0]), -np.sin(at[0]), at)

    sine, cosine = x._like(term), x._like(other)
    return sine, cosine


def _exponential(x: Series) -> Series:
    def term(k: int) -> Floats:
        at = x.upto(0)[0]
        return _grown(x, found, k) if k else _first(np.exp(at[0]), np.exp(at[0]), at)

    found = x._like(term)
    return found


def _root(x: Series) -> Series:
    def term(k: int) -> Floats:
        at = x.upto(k)[k]
        if k == 0:
            if at[0] <= 0:
                raise Unbounded(UNDEFINED)
            return _first(np.sqrt(at[0]), 0.5 / np.sqrt(at[0]), at)
        known = found.upto(k - 1)
        return _quotient(at - (_mixed(known[1:], known[1:]) if k > 1 else 0.0), 2 * known[0])

    found = x._like(term)
    return found


def _least(x: Series, y: Series) -> Series:
    return x._like(lambda k: min((x, y), key=lambda z: float(z.upto(0)[0, 0])).upto(k)[k])


FUNCTIONS: dict[str, Callable[..., Series]] = {
    "sin": lambda x: _waves(x)[0],
    "cos": lambda x: _waves(x)[1],
    "tan": lambda x: _waves(x)[0] / _waves(x)[1],
    "exp": _exponential,
    "sqrt": _root,
    "abs": lambda x: -_least(x, -x),
    "min": _least,
    "max": lambda x, y: -_least(-x, -y),
}
