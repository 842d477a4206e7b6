"""Interval arithmetic on arrays of float64, rounded outward, with derivatives.

Every operation moves its bounds outward by at least one float, so the exact result for all numbers in the operands
lies in the result. Where nothing is known (0·∞, division by an interval that holds 0, the root of a negative number),
the bounds are infinite: a useless answer, never a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.verify.systems.description import float_above

Floats = NDArray[np.float64]

TEST_TOLERANCE = 2.0**-30
"""Where the two sides of a comparison are closer than this, both of its outcomes count as possible."""

ULP_OF_ONE = 2.0**-50
"""Largest error of NumPy's sine and cosine, with a margin: their results are below 1 and off by 4 ulp at most."""


TANGENT_DOUBT = 2.0**-48
"""Bound of the error of NumPy's tangent, relative to its derivative and its argument."""


ULP, SMALLEST = 2.0**-52, 2.0**-1074
"""A number times the first is at least the distance to the next float, unless it is tiny: that of the second."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers between ``low`` and ``high``, elementwise."""

    low: Floats
    high: Floats

    @classmethod
    def exactly(cls, value: Fraction) -> Interval:
        """Smallest interval of floats around one number."""
        return cls(np.array(-float_above(-value)), np.array(float_above(value)))

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __add__(self, other: Interval) -> Interval:
        return _outward(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return _outward(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval) -> Interval:
        p, q, r, s = (a * b for a in (self.low, self.high) for b in (other.low, other.high))
        least, most = np.minimum(np.minimum(p, q), np.minimum(r, s)), np.maximum(np.maximum(p, q), np.maximum(r, s))
        return _outward(least, most)

    def __truediv__(self, other: Interval) -> Interval:
        safe = (other.low > 0) | (other.high < 0)
        low, high = (np.where(safe, 1 / np.where(safe, side, 1), np.nan) for side in (other.high, other.low))
        return self * _outward(low, high)

    def hull(self, other: Interval) -> Interval:
        """Smallest interval that holds both."""
        return Interval(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def meet(self, other: Interval) -> Interval:
        """Numbers in both, of which there must be some."""
        return Interval(np.maximum(self.low, other.low), np.minimum(self.high, other.high))

    def square(self) -> Interval:
        """Squares: unlike ``x * x``, never negative."""
        ends = self.low**2, self.high**2
        low = np.where((self.low <= 0) & (self.high >= 0), 0.0, np.minimum(*ends))
        return _outward(low, np.maximum(*ends)).meet(Interval(np.zeros(()), np.full((), np.inf)))


def _outward(low: Floats, high: Floats) -> Interval:
    """Bounds moved outward by a float or two, which is faster than the very next one; what is no number is infinite."""
    low, high = low - (np.abs(low) * ULP + SMALLEST), high + (np.abs(high) * ULP + SMALLEST)
    return Interval(np.fmax(low, -np.inf), np.fmin(high, np.inf))


_POSITIVE = Interval(np.zeros(()), np.full((), np.inf))


def cosine(x: Interval) -> Interval:
    """Cosines of all numbers in ``x``."""
    ends = np.cos(x.low), np.cos(x.high)
    low, high = np.minimum(*ends) - ULP_OF_ONE, np.maximum(*ends) + ULP_OF_ONE
    return Interval(
        np.where(_may_hold_turn(x, math.pi), -1.0, np.maximum(low, -1.0)),
        np.where(_may_hold_turn(x, 0.0), 1.0, np.minimum(high, 1.0)),
    )


def sine(x: Interval) -> Interval:
    """Sines of all numbers in ``x``."""
    ends = np.sin(x.low), np.sin(x.high)
    low, high = np.minimum(*ends) - ULP_OF_ONE, np.maximum(*ends) + ULP_OF_ONE
    return Interval(
        np.where(_may_hold_turn(x, -math.pi / 2), -1.0, np.maximum(low, -1.0)),
        np.where(_may_hold_turn(x, math.pi / 2), 1.0, np.minimum(high, 1.0)),
    )


def _may_hold_turn(x: Interval, phase: float) -> NDArray[np.bool_]:
    """Whether ``x`` may hold ``phase`` plus a whole number of turns."""
    tolerance = 1e-12 * (1 + np.maximum(np.abs(x.low), np.abs(x.high)))
    first = np.ceil((x.low - tolerance - phase) / math.tau)
    return ~(first * math.tau + phase > x.high + tolerance)


def root(x: Interval) -> Interval:
    """Square roots of all numbers in ``x``."""
    known = x.low >= 0
    low, high = (np.where(known, np.sqrt(np.where(known, side, 0)), np.nan) for side in (x.low, x.high))
    return _outward(low, high)


def tangent(x: Interval) -> Interval:
    """Tangents of all numbers in ``x``; it rises between two poles, so the ends decide where there is none."""
    pole = _may_hold_turn(x, math.pi / 2) | _may_hold_turn(x, -math.pi / 2)
    low, high = (np.where(pole, np.nan, np.tan(side)) for side in (x.low, x.high))
    doubt = [TANGENT_DOUBT * (1 + side**2) * (1 + np.abs(end)) for side, end in ((low, x.low), (high, x.high))]
    return _outward(low - doubt[0], high + doubt[1])


def exponential(x: Interval) -> Interval:
    """Exponentials of all numbers in ``x``."""
    with np.errstate(over="ignore"):
        return _outward(np.exp(x.low) * (1 - ULP_OF_ONE), np.exp(x.high) * (1 + ULP_OF_ONE)).meet(_POSITIVE)


@dataclass(frozen=True, slots=True)
class Slope:
    """A function on a box: the values it takes there, and its partial derivatives (one row per variable)."""

    value: Interval
    gradient: Interval

    @classmethod
    def variables(cls, low: Floats, high: Floats) -> list[Slope]:
        """The variables themselves; ``low`` and ``high`` have one row per variable and one column per box."""
        unit = np.eye(len(low))
        return [cls(Interval(low[k], high[k]), Interval(unit[k][:, None], unit[k][:, None])) for k in range(len(low))]

    @classmethod
    def constant(cls, value: Fraction, n_variables: int) -> Slope:
        """A number."""
        zero = np.zeros((n_variables, 1))
        return cls(Interval.exactly(value), Interval(zero, zero))

    def __neg__(self) -> Slope:
        return Slope(-self.value, -self.gradient)

    def __add__(self, other: Slope) -> Slope:
        return Slope(self.value + other.value, self.gradient + other.gradient)

    def __sub__(self, other: Slope) -> Slope:
        return Slope(self.value - other.value, self.gradient - other.gradient)

    def __mul__(self, other: Slope) -> Slope:
        return Slope(self.value * other.value, self.value * other.gradient + other.value * self.gradient)

    def __truediv__(self, other: Slope) -> Slope:
        quotient = self.value / other.value
        return Slope(quotient, (self.gradient - quotient * other.gradient) / other.value)

    def __pow__(self, exponent: int) -> Slope:
        if exponent == 2:
            twice = self.value + self.value
            return Slope(self.value.square(), twice * self.gradient)
        power = self
        for _ in range(exponent - 1):
            power = power * self
        return power


def _smooth(function: Callable[[Interval], Interval], derivative: Callable[[Interval], Interval]) -> Any:
    return lambda x: Slope(function(x.value), derivative(x.value) * x.gradient)


def _lesser(x: Slope, y: Slope) -> Slope:
    value = Interval(np.minimum(x.value.low, y.value.low), np.minimum(x.value.high, y.value.high))
    return _mix(x, y, x.value.high <= y.value.low, y.value.high <= x.value.low, value, x.gradient.hull(y.gradient))


def _magnitude(x: Slope) -> Slope:
    return -_lesser(x, -x)


def choose(left: Slope, right: Slope, then: Slope, otherwise: Slope) -> Slope:
    """``then`` where left <= right, else ``otherwise``; both, where that cannot be told."""
    difference = left.value - right.value
    anything = Interval(np.full_like(then.gradient.low, -np.inf), np.full_like(then.gradient.low, np.inf))
    yes, no = difference.high < -TEST_TOLERANCE, difference.low > TEST_TOLERANCE
    return _mix(then, otherwise, yes, no, then.value.hull(otherwise.value), anything)


def _mix(
    x: Slope, y: Slope, is_x: NDArray[np.bool_], is_y: NDArray[np.bool_], value: Interval, rise: Interval
) -> Slope:
    """``x`` or ``y`` where it is known which one, elsewhere ``value`` with derivatives in ``rise``."""

    def pick(a: Interval, b: Interval, other: Interval) -> Interval:
        low = np.where(is_x, a.low, np.where(is_y, b.low, other.low))
        return Interval(low, np.where(is_x, a.high, np.where(is_y, b.high, other.high)))

    return Slope(pick(x.value, y.value, value), pick(x.gradient, y.gradient, rise))


FUNCTIONS: dict[str, Callable[..., Slope]] = {
    "sin": _smooth(sine, cosine),
    "cos": _smooth(cosine, lambda x: -sine(x)),
    "tan": _smooth(tangent, lambda x: Interval.exactly(Fraction(1)) + tangent(x).square()),
    "exp": _smooth(exponential, exponential),
    "sqrt": lambda x: Slope(root(x.value), x.gradient / (root(x.value) + root(x.value))),
    "abs": _magnitude,
    "min": _lesser,
    "max": lambda x, y: -_lesser(-x, -y),
    "choose": choose,
}
