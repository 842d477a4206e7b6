"""Functions on a box as linear forms with a remainder, in float64.

A form stands for every function f with |f - center - slopes·δ| <= radius, where δ is relative to the middle of a box
with given radii. The search only proposes, so nothing is rounded outward here: the checker does it all again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.verify.systems.equations import Algebra

Floats = NDArray[np.float64]

UNDEFINED = "the equations may have no value on all states that runs may come to: a division by zero, a root or a pole"


OVERFLOWS = (FloatingPointError, OverflowError, np.linalg.LinAlgError)
"""What float64 raises in a search where numbers grow beyond it: one attempt has failed, not the question."""


class Unbounded(Exception):
    """Equations have no bound on a set: it is too wide, or the time too long."""


class Form:
    """A linear form with a remainder."""

    __slots__ = ("center", "radii", "radius", "slopes")

    def __init__(self, center: float, slopes: Floats, radius: float, radii: Floats) -> None:
        self.center, self.slopes, self.radius, self.radii = center, slopes, radius, radii

    @property
    def spread(self) -> float:
        """How far the function may be from its center."""
        return float(np.abs(self.slopes) @ self.radii) + self.radius

    def __neg__(self) -> Form:
        return Form(-self.center, -self.slopes, self.radius, self.radii)

    def __add__(self, other: Form) -> Form:
        total = self.center + other.center
        return Form(total, self.slopes + other.slopes, self.radius + other.radius, self.radii)

    def __sub__(self, other: Form) -> Form:
        return self + -other

    def __mul__(self, other: Form) -> Form:
        a, b = self.slopes * self.radii, other.slopes * self.radii
        squares = a * b
        cross = np.abs(np.outer(a, b) + np.outer(b, a)).sum() / 2 - np.abs(squares).sum()
        radius = np.abs(squares).sum() / 2 + cross
        radius += self.radius * (abs(other.center) + np.abs(b).sum() + other.radius)
        radius += other.radius * (abs(self.center) + np.abs(a).sum())
        center = self.center * other.center + squares.sum() / 2
        return Form(center, self.slopes * other.center + other.slopes * self.center, float(radius), self.radii)

    def __truediv__(self, other: Form) -> Form:
        low, high = ends(other)
        if low <= 0 <= high:
            raise Unbounded(UNDEFINED)
        c = other.center
        second, third = sorted((2 / low**3, 2 / high**3)), sorted((-6 / low**4, -6 / high**4))
        return self * _smooth(other, (1 / c, -1 / c**2, 2 / c**3), second, third)

    def __pow__(self, exponent: int) -> Form:
        if exponent == 1:
            return self
        half = self ** (exponent // 2)
        return half * half * self if exponent % 2 else half * half


def ends(x: Form) -> tuple[float, float]:
    """Least and largest value."""
    spread = x.spread
    if not np.isfinite(x.center) or not spread < 1e60:
        raise Unbounded("sets grow beyond all bounds")
    return x.center - spread, x.center + spread


def _smooth(x: Form, derivatives: tuple[float, float, float], second: Sequence[float], third: Sequence[float]) -> Form:
    """A function by Taylor: its value and two derivatives at the center; the second and third on all values of x.

    What is left is bounded by the second derivative, or by the third, where t³ is taken to be 3/4·q²·t give or take
    q³/4 for t from -q to q.
    """
    q = x.spread
    value, slope, bend = derivatives
    below, above = max(-second[0], 0.0) * q**2, max(second[1], 0.0) * q**2
    shift, radius = (above - below) / 4, (above + below) / 4
    middle, dev = (third[0] + third[1]) / 2, third[1] - third[0]
    finer = abs(bend) * q**2 / 4 + abs(middle) * q**3 / 24 + dev * q**3 / 6
    if finer < radius:
        shift, radius, slope = bend * q**2 / 4, finer, slope + middle * q**2 / 8
    return Form(value + shift, slope * x.slopes, radius + abs(slope) * x.radius, x.radii)


def wave_range(low: float, high: float, shift: float) -> tuple[float, float]:
    """Range of sin(x + shift), as the checker bounds it: by the tangent in the middle."""
    middle, reach = (low + high) / 2 + shift, (high - low) / 2
    change = abs(np.cos(middle)) * reach + reach**2 / 2
    return max(np.sin(middle) - change, -1.0), min(np.sin(middle) + change, 1.0)


def _sine(x: Form) -> Form:
    low, high = ends(x)
    (a, b), (p, q) = wave_range(low, high, 0.0), wave_range(low, high, np.pi / 2)
    sine, cosine = float(np.sin(x.center)), float(np.cos(x.center))
    return _smooth(x, (sine, cosine, -sine), (-b, -a), (-q, -p))


def _cosine(x: Form) -> Form:
    low, high = ends(x)
    (a, b), (p, q) = wave_range(low, high, 0.0), wave_range(low, high, np.pi / 2)
    sine, cosine = float(np.sin(x.center)), float(np.cos(x.center))
    return _smooth(x, (cosine, -sine, -cosine), (-q, -p), (a, b))


def _tangent(x: Form) -> Form:
    low, high = ends(x)
    cosines = wave_range(low, high, np.pi / 2)
    if cosines[0] <= 0 <= cosines[1]:
        raise Unbounded(UNDEFINED)
    t, a, b = np.tan([x.center, low, high]).tolist()
    square = (0.0 if a <= 0 <= b else min(a**2, b**2)), max(a**2, b**2)
    third = [2 * (1 + s) * (1 + 3 * s) for s in square]
    return _smooth(x, (t, 1 + t**2, 2 * t * (1 + t**2)), (2 * a * (1 + a**2), 2 * b * (1 + b**2)), third)


def _exponential(x: Form) -> Form:
    low, high = ends(x)
    if high > 300:
        raise Unbounded("sets grow beyond all bounds")
    value, least, most = np.exp([x.center, low, high]).tolist()
    return _smooth(x, (value, value, value), (least, most), (least, most))


def _root(x: Form) -> Form:
    low, high = ends(x)
    if low <= 0:
        raise Unbounded(UNDEFINED)
    root = float(np.sqrt(x.center))
    second, third = (-0.25 / low**1.5, -0.25 / high**1.5), (0.375 / high**2.5, 0.375 / low**2.5)
    return _smooth(x, (root, 0.5 / root, -0.25 / root**3), second, third)


def _magnitude(x: Form) -> Form:
    low, high = ends(x)
    if low >= 0:
        return x
    if high <= 0:
        return -x
    slope = (high + low) / (high - low)
    most = max(high * (1 - slope), -low * (1 + slope))
    return Form(slope * x.center + most / 2, slope * x.slopes, abs(slope) * x.radius + most / 2, x.radii)


def _least(x: Form, y: Form) -> Form:
    low, high = ends(difference := x - y)
    if high <= 0:
        return x
    if low >= 0:
        return y
    both = x + y - _magnitude(difference)
    return Form(both.center / 2, both.slopes / 2, both.radius / 2, both.radii)


FUNCTIONS: dict[str, Callable[..., Form]] = {
    "sin": _sine,
    "cos": _cosine,
    "tan": _tangent,
    "exp": _exponential,
    "sqrt": _root,
    "abs": _magnitude,
    "min": _least,
    "max": lambda x, y: -_least(-x, -y),
}


def on_box(
    equations: Callable[..., list[Any]],
    names: list[str],
    middle: Floats,
    radii: Floats,
    signals: dict[str, tuple[float, float]],
) -> list[Form]:
    """Equations on a box of the variables with these names; signals have a middle and a radius."""
    n = len(names)
    unit, zero = np.eye(n), np.zeros(n)
    known = {name: Form(float(middle[k]), unit[k], 0.0, radii) for k, name in enumerate(names)}
    known |= {name: Form(center, zero, radius, radii) for name, (center, radius) in signals.items()}

    def constant(value: Fraction) -> Form:
        return Form(float(value), zero, 0.0, radii)

    return equations(known, Algebra(constant, FUNCTIONS))
