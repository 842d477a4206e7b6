"""Functions of time and of a box as linear forms whose numbers are polynomials in time. Standard library only.

Time s goes from 0 to 1; the box has a middle and radii, δ is where a point is relative to the middle. A curve (c, s, r)
stands for every function with |f - Σ s^k·(c_k + Σ_j s_jk·δ_j)| <= r for all of these. Numbers are integers over 2^BITS;
what rounding loses, and powers of s beyond the degree, go into r. No power of s is larger than 1.
"""

from __future__ import annotations

from math import factorial
from typing import NamedTuple

from moet.verify.checker.loops.flowpipe.forms import (
    LARGEST,
    Arithmetic,
    Form,
    Forms,
    multiple,
    root_at,
    square_term,
    up,
)
from moet.verify.checker.loops.intervals import (
    BITS,
    ONE,
    Interval,
    Undefined,
    exponential_of,
    negative,
    over,
    times,
    wave,
    wave_at,
)

Polynomial = list[int]


class Curve(NamedTuple):
    """A linear form with a remainder, its center and slopes polynomials in time, whose first numbers come first."""

    center: Polynomial
    slopes: dict[int, Polynomial]
    radius: int


class Curves(Arithmetic[Curve]):
    """The arithmetic of curves of a degree, over a box with these radii."""

    def __init__(self, radii: list[int], degree: int) -> None:
        self.radii, self.degree = radii, degree
        self._forms = Forms(radii)
        self._loss = (degree + 1) * (sum(radii) // ONE + len(radii) + 2)  # if all numbers are off by one

    def constant(self, x: Form) -> Curve:
        """A number, or at any time any of an interval."""
        return Curve([x.center], {k: [s] for k, s in x.slopes.items()}, x.radius)

    def _linear(self, x: Curve) -> int:
        return sum(up(sum(map(abs, s)) * self.radii[k]) for k, s in x.slopes.items())

    def ends(self, x: Curve) -> Interval:
        """Least and largest value."""
        spread, (first, *later) = x.radius + self._linear(x), x.center
        low = first + sum(a for a in later if a < 0) - spread
        high = first + sum(a for a in later if a > 0) + spread
        if max(-low, high) > LARGEST:
            raise Undefined("the equations may grow beyond all bounds")
        return low, high

    def negative(self, x: Curve) -> Curve:
        """-x."""
        return Curve([-a for a in x.center], {k: [-a for a in s] for k, s in x.slopes.items()}, x.radius)

    def add(self, x: Curve, y: Curve) -> Curve:
        """X + y."""
        slopes = dict(x.slopes)
        for k, s in y.slopes.items():
            slopes[k] = _sum(slopes[k], s) if k in slopes else s
        return Curve(_sum(x.center, y.center), slopes, x.radius + y.radius)

    def multiply(self, x: Curve, y: Curve) -> Curve:
        """x·y: products of two slopes are bounded, those at first variable by variable."""
        center = _product(x.center, y.center)
        slopes = {k: _product(s, y.center) for k, s in x.slopes.items()}
        for k, s in y.slopes.items():
            more = _product(s, x.center)
            slopes[k] = _sum(slopes[k], more) if k in slopes else more
        shift, radius = self._slopes_multiplied(x, y)
        linear_x, linear_y = self._linear(x), self._linear(y)
        radius += up(x.radius * (sum(map(abs, y.center)) + linear_y + y.radius))
        radius += up(y.radius * (sum(map(abs, x.center)) + linear_x)) + self._loss
        d = self.degree + 1
        radius += up(sum(map(abs, center[d:])))
        radius += sum(up(up(sum(map(abs, s[d:]))) * self.radii[k]) for k, s in slopes.items() if len(s) > d)
        kept = [a >> BITS for a in center[:d]]
        kept[0] += shift
        return Curve(kept, {k: [a >> BITS for a in s[:d]] for k, s in slopes.items()}, radius)

    def _slopes_multiplied(self, x: Curve, y: Curve) -> tuple[int, int]:
        """Middle and radius of the product of both linear parts.

        Where a and b are those at first and a', b' what is added later, the rest is a·b' + a'·b + a'·b'.
        """
        if not x.slopes or not y.slopes:
            return 0, 0
        first_x, first_y = ({k: s[0] for k, s in z.slopes.items()} for z in (x, y))
        shift, radius, near_x, near_y = self._forms.product_of_slopes(first_x, first_y)
        later_x, later_y = (sum(up(sum(map(abs, s[1:])) * self.radii[k]) for k, s in z.slopes.items()) for z in (x, y))
        rest = near_x * later_y + later_x * (near_y + later_y)
        return shift >> BITS, up(radius) + up(rest) + 1

    def divide(self, x: Curve, y: Curve) -> Curve:
        """X / y, both made larger or smaller alike until y is near 1: its inverse has few digits where y is large."""
        digits = abs(y.center[0]).bit_length() - BITS
        return self.multiply(self._scaled(x, digits), self._reciprocal(self._scaled(y, digits)))

    def _scaled(self, x: Curve, digits: int) -> Curve:
        """X / 2^digits."""
        if digits <= 0:
            slopes = {k: [a << -digits for a in s] for k, s in x.slopes.items()}
            return Curve([a << -digits for a in x.center], slopes, x.radius << -digits)
        slopes = {k: [a >> digits for a in s] for k, s in x.slopes.items()}
        return Curve([a >> digits for a in x.center], slopes, (x.radius >> digits) + 1 + self._loss)

    def sine(self, x: Curve) -> Curve:
        """Sin x."""
        return self._near(x, self._wave(x, 1), self._wave(x, 0), negative(wave(self.ends(x), 1)))

    def cosine(self, x: Curve) -> Curve:
        """Cos x."""
        slope = self.negative(self._wave(x, 1))
        return self._near(x, self._wave(x, 0), slope, negative(wave(self.ends(x), 0)))

    def tangent(self, x: Curve) -> Curve:
        """Tan x."""
        return self.divide(self.sine(x), self.cosine(x))

    def exponential(self, x: Curve) -> Curve:
        """Exp x is its own derivative."""
        at, values = exponential_of((x.center[0], x.center[0])), exponential_of(self.ends(x))
        series = [multiple(at, 1, factorial(k)) for k in range(self.degree + 1)]
        value = self._along(x, series, multiple(values, 1, factorial(self.degree + 1))[1])
        return self._near(x, value, value, values)

    def root(self, x: Curve) -> Curve:
        """√x = 2^digits·√(x/4^digits), with a number near 1."""
        digits = (abs(x.center[0]).bit_length() - BITS) // 2
        return self._scaled(self._small_root(self._scaled(x, 2 * digits)), -digits)

    def _small_root(self, x: Curve) -> Curve:
        """√x = r; its derivatives are 1/(2·r) and -1/(4·r³)."""
        low, high = self.ends(x)
        if low <= 0:
            raise Undefined("the equations may take the root of a number that is not positive")
        last = _root_series(low, self.degree + 1)[-1]
        value = self._along(x, _root_series(x.center[0], self.degree), max(map(abs, last)))
        steepest, flattest = (over((ONE, ONE), root_at(v)) for v in (low, high))
        inverse = flattest[0], steepest[1]
        slope = self._reciprocal(self.add(value, value))
        return self._near(x, value, slope, multiple(times(inverse, times(inverse, inverse)), -1, 4))

    def half(self, x: Curve) -> Curve:
        """X / 2."""
        return self._scaled(x, 1)

    def _reciprocal(self, x: Curve) -> Curve:
        """1/x; its derivatives are -1/x² and 2/x³."""
        ends = self.ends(x)
        if ends[0] <= 0 <= ends[1]:
            raise Undefined("the equations may divide by zero")
        at, inverse = over((ONE, ONE), (x.center[0], x.center[0])), over((ONE, ONE), ends)
        series, largest = [at], max(map(abs, inverse))
        last = largest
        for _ in range(self.degree):
            series.append(negative(times(series[-1], at)))
        for _ in range(self.degree + 1):
            last = up(last * largest)
        value = self._along(x, series, last)
        slope = self.negative(self.multiply(value, value))
        return self._near(x, value, slope, multiple(times(inverse, times(inverse, inverse)), 2, 1))

    def _wave(self, x: Curve, first: int) -> Curve:
        """Sine (``first`` = 1) or cosine (0) of the center of a curve."""
        value, slope = wave_at(x.center[0], first), wave_at(x.center[0], 1 - first)
        slope = slope if first else negative(slope)
        derivatives = value, slope, negative(value), negative(slope)
        series = [multiple(derivatives[k % 4], 1, factorial(k)) for k in range(self.degree + 1)]
        return self._along(x, series, ONE // factorial(self.degree + 1) + 1)

    def _along(self, x: Curve, series: list[Interval], last: int) -> Curve:
        """A function of the center of a curve by its Taylor series there at first.

        ``last`` is at least the number by which the first power left out would be multiplied, on all of the center.
        """
        away = Curve([0, *x.center[1:]], {}, 0)
        total = _number(series[-1])
        for sides in series[-2::-1]:
            total = self.add(self.multiply(total, away), _number(sides))
        reach = sum(map(abs, away.center))
        for _ in series:
            last = up(last * reach)
        return total._replace(radius=total.radius + last)

    def _near(self, x: Curve, value: Curve, slope: Curve, bend: Interval) -> Curve:
        """A function by its value and slope along the center of a curve, and its second derivative on all values."""
        found = self.add(value, self.multiply(slope, Curve([0], x.slopes, x.radius)))
        q = x.radius + self._linear(x)
        shift, radius = square_term(bend, up(q * q))
        return Curve(_sum(found.center, [shift]), found.slopes, found.radius + radius)


def _number(sides: Interval) -> Curve:
    """Any number between two."""
    middle = (sides[0] + sides[1]) >> 1
    return Curve([middle], {}, sides[1] - middle + 1)


def _root_series(at: int, degree: int) -> list[Interval]:
    """Taylor's series of the root at a number."""
    inverse, series = over((ONE, ONE), (at, at)), [root_at(at)]
    for k in range(1, degree + 1):
        series.append(multiple(times(series[-1], inverse), 3 - 2 * k, 2 * k))
    return series


def _sum(x: Polynomial, y: Polynomial) -> Polynomial:
    if len(x) < len(y):
        x, y = y, x
    return [*map(int.__add__, x, y), *x[len(y) :]]


def _product(x: Polynomial, y: Polynomial) -> Polynomial:
    """The product of two polynomials, over 2^(2·BITS)."""
    total = [0] * (len(x) + len(y) - 1)
    for i, a in enumerate(x):
        if a:
            for j, b in enumerate(y):
                total[i + j] += a * b
    return total
