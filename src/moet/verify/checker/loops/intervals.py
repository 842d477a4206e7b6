"""Intervals of integers over 2^BITS, rounded outward. Standard library only; the search does not use it."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt

from moet.verify.checker.exp_bounds import BITS as FINER
from moet.verify.checker.exp_bounds import exponential

BITS = 80
ONE = 1 << BITS

_LARGEST_EXPONENT = 700
"""Beyond this, an exponential is out of the range of float64."""

LARGEST = ONE << 1024
"""Beyond this, the values of a step are out of the range of float64, and nothing is said of them."""

Interval = tuple[int, int]


class Undefined(Exception):
    """A step has no value somewhere in a box, or none that intervals can tell."""


def rounded(value: Fraction) -> Interval:
    """Smallest interval around a number."""
    return (value.numerator << BITS) // value.denominator, -((-value.numerator << BITS) // value.denominator)


def add(a: Interval, b: Interval) -> Interval:
    """Sums."""
    return a[0] + b[0], a[1] + b[1]


def negative(a: Interval) -> Interval:
    """The same numbers with the other sign."""
    return -a[1], -a[0]


def times(a: Interval, b: Interval) -> Interval:
    """Products."""
    if a[0] < 0:
        a, b = b, a
    low, high = b
    if a[0] < 0:  # neither is known to have no negative numbers
        products = a[0] * low, a[0] * high, a[1] * low, a[1] * high
        return _in_range(min(products) >> BITS, -(-max(products) >> BITS))
    least, most = a[low < 0] * low, a[high >= 0] * high
    return _in_range(least >> BITS, -(-most >> BITS))


def _in_range(low: int, high: int) -> Interval:
    if low < -LARGEST or high > LARGEST:
        raise Undefined("a step may be beyond the range of float64")
    return low, high


def over(a: Interval, b: Interval) -> Interval:
    """Quotients."""
    if b[0] <= 0 <= b[1]:
        raise Undefined("a step may divide by zero")
    pairs = [(x << BITS, y) for x in a for y in b]
    return _in_range(min(x // y for x, y in pairs), max(-(-x // y) for x, y in pairs))


def square_of(x: Interval) -> Interval:
    """Squares of all numbers in ``x``."""
    low, high = x
    least = 0 if low <= 0 <= high else min(low * low, high * high) >> BITS
    return _in_range(least, -(-max(low * low, high * high) >> BITS))


def root_of(x: Interval) -> Interval:
    """Square roots of all numbers in ``x``."""
    if x[0] < 0:
        raise Undefined("a step may take the root of a negative number")
    return isqrt(x[0] << BITS), isqrt(x[1] << BITS) + 1


def hull(a: Interval, b: Interval) -> Interval:
    """Smallest interval around both."""
    return min(a[0], b[0]), max(a[1], b[1])


def wave(x: Interval, first: int) -> Interval:
    """Sine (``first`` = 1) or cosine (0) of all numbers in ``x``, by its tangent at the middle: |f''| <= 1."""
    middle = (x[0] + x[1]) >> 1
    reach = max(x[1] - middle, middle - x[0])
    value, other = wave_at(middle, first), wave_at(middle, 1 - first)
    slope = max(abs(other[0]), abs(other[1]))
    change = -(-slope * reach >> BITS) + -(-reach * reach >> (BITS + 1))
    return max(value[0] - change, -ONE), min(value[1] + change, ONE)


_MORE = 64
_TURN = int(Fraction("6.28318530717958647692528676655900576839433879875021164194988918") * 2 ** (BITS + _MORE))
"""2π in more bits than others have, off by less than one: for what it is taken from may be many turns."""

_MOST_TURNS = 2**40
"""Beyond so many turns, nothing is said of sine and cosine."""


@lru_cache(maxsize=2**14)
def wave_at(x: int, first: int) -> Interval:
    """Sine or cosine at one point, less whole turns: Taylor's series, whose rest is below the first term left out."""
    turns = (2 * (x << _MORE) + _TURN) // (2 * _TURN)
    if abs(turns) > _MOST_TURNS:
        return -ONE, ONE
    x = ((x << _MORE) - turns * _TURN) >> _MORE  # off by less than 2
    square_low, square_high = x * x >> BITS, -(-x * x >> BITS)
    low = high = abs(x) if first else ONE
    total_low, total_high = low, high
    n, sign = first, 1
    while True:
        n += 2
        divisor = n * (n - 1)
        low, high = (low * square_low >> BITS) // divisor, -((-high * square_high >> BITS) // divisor)
        sign = -sign
        if n * n * ONE > square_high and high <= 4:
            low, high = total_low - 8, total_high + 8
            return (low, high) if x >= 0 or not first else (-high, -low)
        if sign > 0:
            total_low, total_high = total_low + low, total_high + high
        else:
            total_low, total_high = total_low - high, total_high - low


def tangent_of(x: Interval) -> Interval:
    """Tangents of all numbers in ``x``: between two poles they rise, so the ends bound the others."""
    over((ONE, ONE), wave(x, 0))  # complains about a pole, near enough
    low, high = (over(wave((end, end), 1), wave((end, end), 0)) for end in x)
    return low[0], high[1]


def exponential_of(x: Interval) -> Interval:
    """Exponentials of all numbers in ``x``."""
    if max(map(abs, x)) > _LARGEST_EXPONENT << BITS:
        raise Undefined("a step may be beyond the range of float64")
    (low, _), (_, high) = (exponential(end << (FINER - BITS)) for end in x)
    return low >> (FINER - BITS), -(-high >> (FINER - BITS))
