"""Functions on a box as linear forms with a remainder, in integers only. Standard library only.

The box has a middle and radii; δ is where a point is relative to the middle. A form (c, s, r) stands for every function
with |f - c - Σ s_k·δ_k| <= r on the box. Numbers are integers over 2^BITS; what rounding loses goes into r.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import isqrt
from typing import Generic, NamedTuple, TypeVar

from moet.verify.checker.loops.intervals import (
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


N = TypeVar("N")


class Arithmetic(ABC, Generic[N]):
    """What follows from a few operations, for any kind of numbers."""

    @abstractmethod
    def ends(self, x: N) -> Interval:
        """Least and largest value."""

    @abstractmethod
    def negative(self, x: N) -> N:
        """-x."""

    @abstractmethod
    def half(self, x: N) -> N:
        """X / 2."""

    @abstractmethod
    def add(self, x: N, y: N) -> N:
        """X + y."""

    @abstractmethod
    def multiply(self, x: N, y: N) -> N:
        """x·y."""

    @abstractmethod
    def constant(self, x: Form) -> N:
        """A number, or at any time any of an interval."""

    def subtract(self, x: N, y: N) -> N:
        """X - y."""
        return self.add(x, self.negative(y))

    def power(self, x: N, exponent: int) -> N:
        """X to a whole power."""
        if exponent == 1:
            return x
        half = self.power(x, exponent // 2)
        square = self.multiply(half, half)
        return self.multiply(square, x) if exponent % 2 else square

    def magnitude(self, x: N) -> N:
        """|x|; where the sign is not sure, the chord between the ends and what is below it."""
        low, high = self.ends(x)
        if low >= 0:
            return x
        if high <= 0:
            return self.negative(x)
        slope = ((high + low) << BITS) // (high - low)
        most = max(up(high * (ONE - slope)), up(-low * (ONE + slope)))
        chord = self.multiply(x, self.constant(Form(slope, {}, 0)))
        return self.add(chord, self.constant(Form(most >> 1, {}, (most >> 1) + 1)))

    def least(self, x: N, y: N) -> N:
        """min(x, y) = (x + y - |x - y|) / 2."""
        low, high = self.ends(difference := self.subtract(x, y))
        if high <= 0:
            return x
        if low >= 0:
            return y
        return self.half(self.subtract(self.add(x, y), self.magnitude(difference)))

    def most(self, x: N, y: N) -> N:
        """max(x, y)."""
        return self.negative(self.least(self.negative(x), self.negative(y)))


class Forms(Arithmetic[Form]):
    """The arithmetic of forms on a box with these radii."""

    def __init__(self, radii: list[int]) -> None:
        self.radii = radii
        self._loss = sum(radii) // ONE + len(radii) + 2  # if every slope is off by one

    def variable(self, k: int, middle: int) -> Form:
        """Variable number k."""
        return Form(middle, {k: ONE}, 0)

    def constant(self, x: Form) -> Form:
        """A number, or any of an interval."""
        return x

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

    def multiply(self, x: Form, y: Form) -> Form:
        """x·y: products of two slopes are bounded variable by variable, squares being at least 0."""
        shift, radius, sum_a, sum_b = self.product_of_slopes(x.slopes, y.slopes)
        radius += x.radius * (abs(y.center) + sum_b + y.radius) + y.radius * (abs(x.center) + sum_a)
        slopes = {k: s * y.center for k, s in x.slopes.items()}
        for k, s in y.slopes.items():
            slopes[k] = slopes.get(k, 0) + s * x.center
        center = x.center * y.center + shift
        exact_up_to = {k: s >> BITS for k, s in slopes.items()}
        return Form(center >> BITS, exact_up_to, up(radius) + self._loss)

    def product_of_slopes(self, x: dict[int, int], y: dict[int, int]) -> tuple[int, int, int, int]:
        """Middle and radius of (Σ x_k·δ_k)(Σ y_k·δ_k), over 2^(2·BITS), and how large both factors are at most."""
        a = {k: s * self.radii[k] >> BITS for k, s in x.items()}
        b = {k: s * self.radii[k] >> BITS for k, s in y.items()}
        shift, radius = _quadratic(a, b)
        sum_a, sum_b = sum(map(abs, a.values())) + len(a), sum(map(abs, b.values())) + len(b)
        # a and b are rounded: each of their products is off by less than |a| + |b| + 1
        radius += len(b) * (sum_a + len(a)) + len(a) * (sum_b + len(b))
        return shift, radius, sum_a, sum_b

    def divide(self, x: Form, y: Form) -> Form:
        """X / y, both made larger or smaller alike until y is near 1: its inverse has few digits where y is large."""
        digits = abs(y.center).bit_length() - BITS
        return self._quotient(self._scaled(x, digits), self._scaled(y, digits))

    def _scaled(self, x: Form, digits: int) -> Form:
        """X / 2^digits."""
        if digits <= 0:
            return Form(x.center << -digits, {k: s << -digits for k, s in x.slopes.items()}, x.radius << -digits)
        slopes = {k: s >> digits for k, s in x.slopes.items()}
        return Form(x.center >> digits, slopes, (x.radius >> digits) + self._loss)

    def _quotient(self, x: Form, y: Form) -> Form:
        if not y.slopes and not y.radius:
            inverse = over((ONE, ONE), (y.center, y.center))
            middle = (inverse[0] + inverse[1]) >> 1
            return self.multiply(x, Form(middle, {}, inverse[1] - inverse[0] + 1))
        return self.multiply(x, self._reciprocal(y))

    def sine(self, x: Form) -> Form:
        """Sin x."""
        ends, at = self.ends(x), x.center
        value, slope = wave_at(at, 1), wave_at(at, 0)
        return self._smooth(x, (value, slope, negative(value)), negative(wave(ends, 1)), negative(wave(ends, 0)))

    def cosine(self, x: Form) -> Form:
        """Cos x."""
        ends, at = self.ends(x), x.center
        value, slope = wave_at(at, 0), negative(wave_at(at, 1))
        return self._smooth(x, (value, slope, negative(value)), negative(wave(ends, 0)), wave(ends, 1))

    def tangent(self, x: Form) -> Form:
        """Tan x = t; its derivatives are 1 + t², 2·t·(1 + t²), which rises with t, and 2·(1 + t²)·(1 + 3·t²)."""
        t, at = tangent_of(self.ends(x)), tangent_of((x.center, x.center))
        low, high = ((end, end) for end in t)
        bends = _tangent_bend(low)[0], _tangent_bend(high)[1]
        square = _square(t)
        third = times(times((2 * ONE, 2 * ONE), _one_more(square)), _one_more((3 * square[0], 3 * square[1])))
        return self._smooth(x, (at, _one_more(_square(at)), _tangent_bend(at)), bends, third)

    def exponential(self, x: Form) -> Form:
        """Exp x is its own derivative."""
        at, values = exponential_of((x.center, x.center)), exponential_of(self.ends(x))
        return self._smooth(x, (at, at, at), values, values)

    def root(self, x: Form) -> Form:
        """√x = 2^digits·√(x/4^digits), with a number near 1."""
        digits = (abs(x.center).bit_length() - BITS) // 2
        return self._scaled(self._small_root(self._scaled(x, 2 * digits)), -digits)

    def _small_root(self, x: Form) -> Form:
        """√x = r; its derivatives are 1/(2·r), -1/(4·r³) and 3/(8·r⁵)."""
        low, high = self.ends(x)
        if low <= 0:
            raise Undefined("the equations may take the root of a number that is not positive")
        at, steepest, flattest = (over((ONE, ONE), root_at(v)) for v in (x.center, low, high))
        inverse = flattest[0], steepest[1]  # 1/r on all values of x, positive
        cube, square = times(inverse, times(inverse, inverse)), times(inverse, inverse)
        derivatives = root_at(x.center), multiple(at, 1, 2), multiple(times(at, times(at, at)), -1, 4)
        return self._smooth(x, derivatives, multiple(cube, -1, 4), multiple(times(cube, square), 3, 8))

    def half(self, x: Form) -> Form:
        """X / 2."""
        return Form(x.center >> 1, {k: s >> 1 for k, s in x.slopes.items()}, (x.radius >> 1) + self._loss)

    def _reciprocal(self, x: Form) -> Form:
        """1/x; its derivatives are -1/x², 2/x³ and -6/x⁴."""
        ends = self.ends(x)
        if ends[0] <= 0 <= ends[1]:
            raise Undefined("the equations may divide by zero")
        at, inverse = over((ONE, ONE), (x.center, x.center)), over((ONE, ONE), ends)
        cube, square = times(inverse, times(inverse, inverse)), times(inverse, inverse)
        derivatives = at, negative(times(at, at)), multiple(times(at, times(at, at)), 2, 1)
        return self._smooth(x, derivatives, multiple(cube, 2, 1), multiple(times(square, square), -6, 1))

    def _smooth(
        self, x: Form, derivatives: tuple[Interval, Interval, Interval], second: Interval, third: Interval
    ) -> Form:
        """A function by Taylor: its value and two derivatives at the center; the second and third on all values of x.

        What two terms leave is bounded by the second derivative; what three leave by the third, where t³ is taken to
        be 3/4·q²·t give or take q³/4 for t from -q to q. The better bound is taken.
        """
        q = self.spread(x)
        square = up(q * q)
        cube = up(square * q)
        shift, radius = square_term(second, square)
        middle, dev = (third[0] + third[1]) >> 1, third[1] - third[0] + 1
        bent, bent_radius = square_term(derivatives[2], square)
        finer = bent_radius + up(abs(middle) * cube) // 24 + up(dev * cube) // 6 + 4
        value, slope, _ = derivatives
        steep, doubt = (slope[0] + slope[1]) >> 1, slope[1] - slope[0] + 1
        if finer < radius:
            shift, radius = bent, finer
            steep, doubt = steep + (middle * square >> (BITS + 3)), doubt + 2
        radius += (value[1] - value[0]) + 1 + up(abs(steep) * x.radius) + up(doubt * q) + self._loss
        center = ((value[0] + value[1]) >> 1) + shift
        return Form(center, {k: s * steep >> BITS for k, s in x.slopes.items()}, radius)


def square_term(bend: Interval, square: int) -> Interval:
    """Middle and radius of bend/2·t² where t² is from 0 to ``square``."""
    below, above = up(max(-bend[0], 0) * square), up(max(bend[1], 0) * square)
    return (above - below) >> 2, ((above + below) >> 2) + 2


def _square(x: Interval) -> Interval:
    """Squares, none of them negative."""
    low, high = times(x, x)
    return max(low, 0), high


def _one_more(x: Interval) -> Interval:
    return x[0] + ONE, x[1] + ONE


def _tangent_bend(t: Interval) -> Interval:
    return times((2 * t[0], 2 * t[1]), _one_more(_square(t)))


def multiple(x: Interval, numerator: int, denominator: int) -> Interval:
    """A multiple of all numbers of an interval."""
    ends = sorted((x[0] * numerator, x[1] * numerator))
    return ends[0] // denominator, -(-ends[1] // denominator)


def root_at(value: int) -> Interval:
    """The root of a number."""
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
