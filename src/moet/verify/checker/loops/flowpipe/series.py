"""Solutions of differential equations as polynomials in time, order by order. Standard library only.

Nothing here is exact, and nothing has to be: what these polynomials are off is bounded where they are used. A series
has terms, each a number and its slopes by variable; products of slopes are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

from moet.verify.checker.loops.flowpipe.forms import Form
from moet.verify.checker.loops.flowpipe.program import Program
from moet.verify.checker.loops.intervals import BITS, Undefined, exponential_of, wave_at

Term = list[int]
"""A number, then its slope by each variable."""


class Series:
    """Terms that are made when they are asked for."""

    def __init__(self, term: Callable[[int], Term]) -> None:
        self._term = term
        self._terms: list[Term] = []

    def at(self, k: int) -> Term:
        """The term with time to this power."""
        while len(self._terms) <= k:
            self._terms.append(self._term(len(self._terms)))
        return self._terms[k]


class Expansions:
    """The arithmetic of series with so many variables."""

    def __init__(self, n: int) -> None:
        self._nothing = [0] * (n + 1)

    def constant(self, x: Form) -> Series:
        """A number."""
        return self.begun([x.center, *self._nothing[1:]])

    def begun(self, first: Term) -> Series:
        """A series of one term."""
        return Series(lambda k: self._nothing if k else first)

    def negative(self, x: Series) -> Series:
        """-x."""
        return Series(lambda k: [-a for a in x.at(k)])

    def add(self, x: Series, y: Series) -> Series:
        """X + y."""
        return Series(lambda k: list(map(int.__add__, x.at(k), y.at(k))))

    def subtract(self, x: Series, y: Series) -> Series:
        """X - y."""
        return Series(lambda k: list(map(int.__sub__, x.at(k), y.at(k))))

    def multiply(self, x: Series, y: Series) -> Series:
        """x·y."""
        return Series(lambda k: _shortened(self._mixed(x, y, k, 0, k)))

    def power(self, x: Series, exponent: int) -> Series:
        """X to a whole power."""
        found = x
        for _ in range(exponent - 1):
            found = self.multiply(found, x)
        return found

    def divide(self, x: Series, y: Series) -> Series:
        """X / y = z, from z·y = x."""

        def term(k: int) -> Term:
            known = self._mixed(z, y, k, 0, k - 1)
            return _quotient([(a << BITS) - b for a, b in zip(x.at(k), known, strict=True)], y.at(0))

        z = Series(term)
        return z

    def root(self, x: Series) -> Series:
        """√x = z, from z·z = x."""

        def term(k: int) -> Term:
            if k == 0:
                center, *slopes = x.at(0)
                root = isqrt(max(center, 0) << BITS)
                return [root, *((s << BITS) // (2 * root) if root else 0 for s in slopes)]
            known = self._mixed(z, z, k, 1, k - 1)
            wanted = [(a << BITS) - b for a, b in zip(x.at(k), known, strict=True)]
            return _quotient(wanted, [2 * a for a in z.at(0)])

        z = Series(term)
        return z

    def sine(self, x: Series) -> Series:
        """Sin x."""
        return self._waves(x)[0]

    def cosine(self, x: Series) -> Series:
        """Cos x."""
        return self._waves(x)[1]

    def tangent(self, x: Series) -> Series:
        """Tan x."""
        return self.divide(*self._waves(x))

    def exponential(self, x: Series) -> Series:
        """Exp x = z, from z' = x'·z."""
        z = Series(lambda k: self._grown(x, z, k) if k else _exponential(x.at(0)))
        return z

    def magnitude(self, x: Series) -> Series:
        """|x|, as its sign is at first."""
        return Series(lambda k: x.at(k) if x.at(0)[0] >= 0 else [-a for a in x.at(k)])

    def least(self, x: Series, y: Series) -> Series:
        """min(x, y), as it is at first."""
        return Series(lambda k: x.at(k) if x.at(0)[0] <= y.at(0)[0] else y.at(k))

    def most(self, x: Series, y: Series) -> Series:
        """max(x, y), as it is at first."""
        return Series(lambda k: x.at(k) if x.at(0)[0] >= y.at(0)[0] else y.at(k))

    def _waves(self, x: Series) -> tuple[Series, Series]:
        """Sine and cosine, from s' = x'·c and c' = -x'·s."""
        s = Series(lambda k: self._grown(x, c, k) if k else _wave(x.at(0), 1))
        c = Series(lambda k: [-a for a in self._grown(x, s, k)] if k else _wave(x.at(0), 0))
        return s, c

    def _grown(self, x: Series, y: Series, k: int) -> Term:
        """A term of z where z' = x'·y."""
        total = self._nothing
        for i in range(1, k + 1):
            total = _added(total, [i * a for a in x.at(i)], y.at(k - i))
        return [(a >> BITS) // k for a in total]

    def _mixed(self, x: Series, y: Series, k: int, first: int, last: int) -> Term:
        """Products of terms of x, from a first to a last one, with those of y that make up the power k."""
        total = self._nothing
        for i in range(first, last + 1):
            total = _added(total, x.at(i), y.at(k - i))
        return total


def solution(program: Program, first: list[Term], time: Callable[[int], int], d: int, degree: int) -> list[list[Term]]:
    """Terms of the states that begin with these ones; ``time`` multiplies with the time that passes.

    Only the first d of all variables of the program move.
    """
    arithmetic = Expansions(len(first[0]) - 1)
    rates: list[Series] = []

    def begun(i: int) -> Series:
        if i >= d:
            return arithmetic.begun(first[i])
        return Series(lambda k: [time(a) // k for a in rates[i].at(k - 1)] if k else first[i])

    paths = [begun(i) for i in range(len(first))]
    values = program.computed(arithmetic, paths)
    rates += [values[place] for place in program.wanted]
    for k in range(degree):
        for value in values:  # in the order of the program, so that nothing is asked about that is far
            value.at(k)
    return [[path.at(k) for k in range(degree + 1)] for path in paths[:d]]


def _added(total: Term, a: Term, b: Term) -> Term:
    """Add a product of two terms, over 2^(2·BITS), without that of slopes."""
    p, q = a[0], b[0]
    found = [t + p * y + q * x for t, x, y in zip(total, a, b, strict=True)]
    found[0] -= p * q
    return found


def _shortened(total: Term) -> Term:
    return [a >> BITS for a in total]


def _quotient(wanted: Term, by: Term) -> Term:
    """The term whose product with another one is wanted, which is over 2^(2·BITS)."""
    if not by[0]:
        raise Undefined("the equations may divide by zero")
    center = wanted[0] // by[0]
    return [center, *((w - center * b) // by[0] for w, b in zip(wanted[1:], by[1:], strict=True))]


def _wave(x: Term, first: int) -> Term:
    """Sine or cosine of a first term."""
    value, slope = wave_at(x[0], first)[0], wave_at(x[0], 1 - first)[0] * (1 if first else -1)
    return [value, *(slope * a >> BITS for a in x[1:])]


def _exponential(x: Term) -> Term:
    value = exponential_of((x[0], x[0]))[0]
    return [value, *(value * a >> BITS for a in x[1:])]
