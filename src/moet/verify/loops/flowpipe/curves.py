"""Functions of time and of a box as linear forms whose numbers are polynomials in time, in float64.

A curve stands for every function f with |f(s, δ) - Σ s^k·(terms[k, 0] + terms[k, 1:]·δ)| <= radius, for s from 0 to 1
and δ in a box around 0. As in ``forms``, nothing is rounded outward here: the checker does it all again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import comb, factorial

import numpy as np
from numpy.typing import NDArray

from moet.verify.loops.flowpipe.forms import UNDEFINED, Unbounded, wave_range

Floats = NDArray[np.float64]


class Curve:
    """A linear form with a remainder, its center and slopes polynomials in time."""

    __slots__ = ("radii", "radius", "terms")

    def __init__(self, terms: Floats, radius: float, radii: Floats) -> None:
        self.terms, self.radius, self.radii = terms, radius, radii

    @property
    def spread(self) -> float:
        """How far the function may be from its center, which moves."""
        return float(np.abs(self.terms[:, 1:]).sum(axis=0) @ self.radii) + self.radius

    def __neg__(self) -> Curve:
        return Curve(-self.terms, self.radius, self.radii)

    def __add__(self, other: Curve) -> Curve:
        return Curve(self.terms + other.terms, self.radius + other.radius, self.radii)

    def __sub__(self, other: Curve) -> Curve:
        return self + -other

    def __mul__(self, other: Curve) -> Curve:
        degree = len(self.terms) - 1
        a, b = self.terms[:, 1:], other.terms[:, 1:]
        product = _shifted(self.terms[:, 0]) @ other.terms
        product[:, 1:] += _shifted(other.terms[:, 0]) @ a
        kept, beyond = product[: degree + 1], np.abs(product[degree + 1 :]).sum(axis=0)
        shift, radius = _quadratic(a * self.radii, b * self.radii)
        kept[0, 0] += shift
        radius += float(beyond[0] + beyond[1:] @ self.radii)
        radius += self.radius * (np.abs(other.terms[:, 0]).sum() + other.spread)
        radius += other.radius * (np.abs(self.terms[:, 0]).sum() + self.spread - self.radius)
        return Curve(kept, float(radius), self.radii)

    def __truediv__(self, other: Curve) -> Curve:
        return self * _reciprocal(other)

    def __pow__(self, exponent: int) -> Curve:
        if exponent == 1:
            return self
        half = self ** (exponent // 2)
        return half * half * self if exponent % 2 else half * half


def constant(value: float, radius: float, degree: int, radii: Floats) -> Curve:
    """The same number all the time."""
    terms = np.zeros((degree + 1, 1 + len(radii)))
    terms[0, 0] = value
    return Curve(terms, radius, radii)


@lru_cache(maxsize=64)
def _places(degree: int) -> NDArray[np.intp]:
    k = np.subtract.outer(np.arange(2 * degree + 1), np.arange(degree + 1))
    return np.where((k >= 0) & (k <= degree), k, degree + 1)


def _shifted(polynomial: Floats) -> Floats:
    """The matrix that multiplies polynomials with this one."""
    return np.asarray(np.append(polynomial, 0.0)[_places(len(polynomial) - 1)])


def _quadratic(a: Floats, b: Floats) -> tuple[float, float]:
    """Middle and radius of (Σ s^k·a_k·t)(Σ s^k·b_k·t) for t in a box of size 1; squares at first are at least 0."""
    wide_a, wide_b = np.abs(a).sum(), np.abs(b).sum()
    if not wide_a or not wide_b:
        return 0.0, 0.0
    first, last = a[0], b[0]
    near_a, near_b = np.abs(first).sum(), np.abs(last).sum()
    squares = first * last
    cross = np.abs(np.outer(first, last) + np.outer(last, first)).sum() / 2 - np.abs(squares).sum()
    later = wide_a * wide_b - near_a * near_b
    return float(squares.sum() / 2), float(np.abs(squares).sum() / 2 + cross + later)


def ends(x: Curve) -> tuple[float, float]:
    """Least and largest value."""
    center, later, spread = x.terms[0, 0], x.terms[1:, 0], x.spread
    if not np.isfinite(center) or not spread + np.abs(later).sum() < 1e60:
        raise Unbounded("sets grow beyond all bounds")
    return float(center + np.minimum(later, 0).sum() - spread), float(center + np.maximum(later, 0).sum() + spread)


def _along(x: Curve, coefficients: Floats, last: float) -> Curve:
    """A function of the center of a curve by its Taylor series; ``last`` bounds the first coefficient left out."""
    away = Curve(np.where([[True] + [False] * len(x.radii)], x.terms, 0.0), 0.0, x.radii)
    away.terms[0, 0] = 0.0
    degree = len(x.terms) - 1
    total = constant(coefficients[-1], 0.0, degree, x.radii)
    for coefficient in coefficients[-2::-1]:
        total = total * away
        total.terms[0, 0] += coefficient
    total.radius += last * float(np.abs(away.terms).sum()) ** len(coefficients)
    return total


def _composed(x: Curve, value: Curve, slope: Curve, bend: tuple[float, float]) -> Curve:
    """A function near its value along the center: by its slope there, and its second derivative on all values."""
    linear = Curve(x.terms.copy(), x.radius, x.radii)
    linear.terms[:, 0] = 0.0
    q = x.spread
    below, above = max(-bend[0], 0.0) * q**2, max(bend[1], 0.0) * q**2
    found = value + slope * linear
    found.terms[0, 0] += (above - below) / 4
    found.radius += (above + below) / 4
    return found


def _waves(x: Curve) -> tuple[Curve, Curve]:
    degree = len(x.terms) - 1
    at = x.terms[0, 0]
    k = np.arange(degree + 1)
    scale = np.array([1 / factorial(i) for i in k])
    last = 1 / factorial(degree + 1)
    return _along(x, np.sin(at + k * np.pi / 2) * scale, last), _along(x, np.cos(at + k * np.pi / 2) * scale, last)


def _sine(x: Curve) -> Curve:
    low, high = ends(x)
    sine, cosine = _waves(x)
    a, b = wave_range(low, high, 0.0)
    return _composed(x, sine, cosine, (-b, -a))


def _cosine(x: Curve) -> Curve:
    low, high = ends(x)
    sine, cosine = _waves(x)
    a, b = wave_range(low, high, np.pi / 2)
    return _composed(x, cosine, -sine, (-b, -a))


def _exponential(x: Curve) -> Curve:
    low, high = ends(x)
    if high > 300:
        raise Unbounded("sets grow beyond all bounds")
    degree = len(x.terms) - 1
    scale = np.array([1 / factorial(k) for k in range(degree + 1)])
    value = _along(x, np.exp(x.terms[0, 0]) * scale, float(np.exp(high)) / factorial(degree + 1))
    return _composed(x, value, value, (float(np.exp(low)), float(np.exp(high))))


def _reciprocal(x: Curve) -> Curve:
    low, high = ends(x)
    if low <= 0 <= high:
        raise Unbounded(UNDEFINED)
    least, at, degree = min(abs(low), abs(high)), x.terms[0, 0], len(x.terms) - 1
    k = np.arange(degree + 1)
    value = _along(x, (-1.0) ** k / at ** (k + 1), 1 / least ** (degree + 2))
    bends = sorted((2 / low**3, 2 / high**3))
    return _composed(x, value, -(value * value), (bends[0], bends[1]))


def _root(x: Curve) -> Curve:
    low, _ = ends(x)
    if low <= 0:
        raise Unbounded(UNDEFINED)
    at, degree = x.terms[0, 0], len(x.terms) - 1
    parts = np.array([_binomial(k) * at ** (0.5 - k) for k in range(degree + 1)])
    value = _along(x, parts, abs(_binomial(degree + 1)) * low ** (-0.5 - degree))
    half = constant(0.5, 0.0, degree, x.radii)
    high = ends(x)[1]
    return _composed(x, value, half / value, (-0.25 / low**1.5, -0.25 / high**1.5))


def _binomial(k: int) -> float:
    """That of 1/2 over k."""
    return float(comb(2 * k, k) * (-1) ** (k + 1) / (4**k * (2 * k - 1)))


def _magnitude(x: Curve) -> Curve:
    low, high = ends(x)
    if low >= 0:
        return x
    if high <= 0:
        return -x
    slope = (high + low) / (high - low)
    most = max(high * (1 - slope), -low * (1 + slope))
    found = Curve(slope * x.terms, abs(slope) * x.radius + most / 2, x.radii)
    found.terms[0, 0] += most / 2
    return found


def _least(x: Curve, y: Curve) -> Curve:
    low, high = ends(x - y)
    if high <= 0:
        return x
    if low >= 0:
        return y
    both = x + y - _magnitude(x - y)
    return Curve(both.terms / 2, both.radius / 2, x.radii)


FUNCTIONS: dict[str, Callable[..., Curve]] = {
    "sin": _sine,
    "cos": _cosine,
    "tan": lambda x: _sine(x) / _cosine(x),
    "exp": _exponential,
    "sqrt": _root,
    "abs": _magnitude,
    "min": _least,
    "max": lambda x, y: -_least(-x, -y),
}
