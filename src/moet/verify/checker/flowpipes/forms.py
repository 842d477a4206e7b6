"""Functions on a box as linear forms with a remainder, in integers only. Standard library only.

The box has a middle and radii; δ is where a point is relative to the middle. A form (c, s, r) stands for every function
with |f - c - Σ s_k·δ_k| <= r on the box. Numbers are integers over 2^BITS; what rounding loses goes into r.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import NamedTuple

from moet.verify.checker.equations import (
    BITS,
    ONE,
    Interval,
    Undefined,
    exponential_of,
    negative,
    over,
    tangent_of,
    times,
    wave,
    wave_at,
)

LARGEST = ONE << 200
"""Beyond this nothing is said of a function."""


class Form(NamedTuple):
    """A linear form with a remainder: center, slopes by variable, radius."""

    center: int
    slopes: dict[int, int]
    radius: int


def up(value: int) -> int:
    """A product of two numbers, rounded up."""
    return -(-value >> BITS)


class Forms:
    """The arithmetic of forms on a box with these radii."""

    def __init__(self, radii: list[int]) -> None:
        self.radii = radii
        self._loss = sum(radii) // ONE + len(radii) + 2  # if every slope is off by one

    def variable(self, k: int, middle: int) -> Form:
        """Variable number k."""
        return Form(middle, {k: ONE}, 0)

    def spread(self, x: Form) -> int:
        """How far the function may be from its center."""
        return x.radius + sum(up(abs(s) * self.radii[k]) for k, s in x.slopes.items())

    def ends(self, x: Form) -> Interval:
        """Least and largest value."""
        spread = self.spread(x)
        if abs(x.center) + spread > LARGEST:
            raise Undefined("the equations may grow beyond all bounds")
        return x.center - spread, x.center + spread

    def negative(self, x: Form) -> Form:
        """-x."""
        return Form(-x.center, {k: -s for k, s in x.slopes.items()}, x.radius)

    def add(self, x: Form, y: Form) -> Form:
        """X + y."""
        slopes = dict(x.slopes)
        for k, s in y.slopes.items():
            slopes[k] = slopes.get(k, 0) + s
        return Form(x.center + y.center, slopes, x.radius + y.radius)

    def subtract(self, x: Form, y: Form) -> Form:
        """X - y."""
        return self.add(x, self.negative(y))

    def multiply(self, x: Form, y: Form) -> Form:
        """x·y: products of two slopes are bounded variable by variable, squares being at least 0."""
        a = {k: s * self.radii[k] >> BITS for k, s in x.slopes.items()}
        b = {k: s * self.radii[k] >> BITS for k, s in y.slopes.items()}
        shift, radius = _quadratic(a, b)
        sum_a, sum_b = sum(map(abs, a.values())) + len(a), sum(map(abs, b.values())) + len(b)
        radius += x.radius * (abs(y.center) + sum_b + y.radius) + y.radius * (abs(x.center) + sum_a)
        # a and b are rounded: each of their products is off by less than |a| + |b| + 1
        radius += len(b) * (sum_a + len(a)) + len(a) * (sum_b + len(b))
        slopes = {k: s * y.center for k, s in x.slopes.items()}
        for k, s in y.slopes.items():
            slopes[k] = slopes.get(k, 0) + s * x.center
        center = x.center * y.center + shift
        exact_up_to = {k: s >> BITS for k, s in slopes.items()}
        return Form(center >> BITS, exact_up_to, up(radius) + self._loss)

    def divide(self, x: Form, y: Form) -> Form:
        """X / y."""
        if not y.slopes and not y.radius:
            inverse = over((ONE, ONE), (y.center, y.center))
            middle = (inverse[0] + inverse[1]) >> 1
            return self.multiply(x, Form(middle, {}, inverse[1] - inverse[0] + 1))
        return self.multiply(x, self._reciprocal(y))

    def power(self, x: Form, exponent: int) -> Form:
        """X to a whole power."""
        if exponent == 1:
            return x
        half = self.power(x, exponent // 2)
        square = self.multiply(half, half)
        return self.multiply(square, x) if exponent % 2 else square

    def sine(self, x: Form) -> Form:
        """Sin x; its second derivative is -sin."""
        ends = self.ends(x)
        return self._smooth(x, wave_at(x.center, 1), wave_at(x.center, 0), negative(wave(ends, 1)))

    def cosine(self, x: Form) -> Form:
        """Cos x; its second derivative is -cos."""
        ends = self.ends(x)
        return self._smooth(x, wave_at(x.center, 0), negative(wave_at(x.center, 1)), negative(wave(ends, 0)))

    def tangent(self, x: Form) -> Form:
        """Tan x = t; its derivatives are 1 + t² and 2·t·(1 + t²), which rise with t."""
        low, high = tangent_of(self.ends(x))
        at = tangent_of((x.center, x.center))
        first = times(at, at)[0] + ONE, max(times(at, at)[1], 0) + ONE
        bends = [
            times((2 * t, 2 * t), (times((t, t), (t, t))[0] + ONE, times((t, t), (t, t))[1] + ONE)) for t in (low, high)
        ]
        return self._smooth(x, at, first, (bends[0][0], bends[1][1]))

    def exponential(self, x: Form) -> Form:
        """Exp x is its own derivative."""
        at = exponential_of((x.center, x.center))
        return self._smooth(x, at, at, exponential_of(self.ends(x)))

    def root(self, x: Form) -> Form:
        """√x; its derivatives are 1/(2√x) and -1/(4x√x)."""
        low, high = self.ends(x)
        if low <= 0:
            raise Undefined("the equations may take the root of a number that is not positive")
        at, least, most = (_root(v) for v in (x.center, low, high))
        first = over((ONE, ONE), (2 * at[0], 2 * at[1]))
        steep = over((-ONE, -ONE), times((4 * low, 4 * low), least))[0]
        flat = over((-ONE, -ONE), times((4 * high, 4 * high), most))[1]
        return self._smooth(x, at, first, (steep, flat))

    def magnitude(self, x: Form) -> Form:
        """|x|; where the sign is not sure, the chord between the ends and what is below it."""
        low, high = self.ends(x)
        if low >= 0:
            return x
        if high <= 0:
            return self.negative(x)
        slope = ((high + low) << BITS) // (high - low)
        most = max(up(high * (ONE - slope)), up(-low * (ONE + slope)))
        chord = self.multiply(x, Form(slope, {}, 0))
        return Form(chord.center + (most >> 1), chord.slopes, chord.radius + (most >> 1) + 1)

    def least(self, x: Form, y: Form) -> Form:
        """min(x, y) = (x + y - |x - y|) / 2."""
        low, high = self.ends(difference := self.subtract(x, y))
        if high <= 0:
            return x
        if low >= 0:
            return y
        return self._half(self.subtract(self.add(x, y), self.magnitude(difference)))

    def most(self, x: Form, y: Form) -> Form:
        """max(x, y)."""
        return self.negative(self.least(self.negative(x), self.negative(y)))

    def _half(self, x: Form) -> Form:
        return Form(x.center >> 1, {k: s >> 1 for k, s in x.slopes.items()}, (x.radius >> 1) + self._loss)

    def _reciprocal(self, x: Form) -> Form:
        """1/x; its derivatives are -1/x² and 2/x³."""
        low, high = self.ends(x)
        if low <= 0 <= high:
            raise Undefined("the equations may divide by zero")
        at = over((ONE, ONE), (x.center, x.center))
        bends = []
        for end in (low, high):
            inverse = over((ONE, ONE), (end, end))
            cube = times(inverse, times(inverse, inverse))
            bends += [2 * cube[0], 2 * cube[1]]
        return self._smooth(x, at, negative(times(at, at)), (min(bends), max(bends)))

    def _smooth(self, x: Form, value: Interval, slope: Interval, bend: Interval) -> Form:
        """A function by Taylor: value and slope at the center, and the second derivative on all values of x."""
        spread = self.spread(x)
        square = up(spread * spread)
        below, above = up(min(bend[0], 0) * -square), up(max(bend[1], 0) * square)  # twice as far as it goes
        middle = (slope[0] + slope[1]) >> 1
        doubt = slope[1] - slope[0] + 1
        radius = (value[1] - value[0]) + 1 + ((below + above) >> 2) + 1
        radius += up(abs(middle) * x.radius) + up(doubt * spread) + self._loss
        center = ((value[0] + value[1]) >> 1) + ((above - below) >> 2)
        return Form(center, {k: s * middle >> BITS for k, s in x.slopes.items()}, radius)


def _root(value: int) -> Interval:
    return isqrt(value << BITS), isqrt(value << BITS) + 1


def _quadratic(a: dict[int, int], b: dict[int, int]) -> tuple[int, int]:
    """Middle and radius of (Σ a_k t_k)(Σ b_k t_k) for t in [-1, 1], over 2^(2·BITS), rounded up."""
    shift = radius = 0
    keys = sorted(a.keys() | b.keys())
    for i, k in enumerate(keys):
        p, q = a.get(k, 0), b.get(k, 0)
        square = p * q  # times t² from 0 to 1
        shift += square
        radius += abs(square)
        for j in keys[i + 1 :]:
            radius += 2 * abs(p * b.get(j, 0) + q * a.get(j, 0))
    return shift >> 1, (radius >> 1) + 2


Operation = Callable[..., Form]
