"""What a policy sees of a state, and what that says about the state. Standard library only.

A policy sees a state in this order: the state, a real number; plus noise, at most so much; rounded to float64; and, if
the system says so, rounded to float32. Rounding is to the nearest number and so never changes the order of two numbers:
what is seen is at most a threshold exactly if the noisy state is at most the middle between the threshold and the next
number (there, either may be). The gate is another matter: it adds up what it sees, so for it the distance between the
state and what is seen must have a bound.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from moet.errors import CertificateError

_LARGEST, _LARGEST32 = Fraction(2**1020), Fraction(2**126)
"""Beyond these sizes, rounding may lead to infinity."""

_CLAMP32 = 2.0**127


class Observation(NamedTuple):
    """Noise of every state, and whether what is seen is a float32."""

    noise: Sequence[Fraction]
    float32: bool

    @property
    def is_exact(self) -> bool:
        """Whether a policy sees the state but for rounding to float64."""
        return not (self.float32 or any(self.noise))

    def largest_below(self, k: int, threshold: float) -> Fraction:
        """Largest value of state k at which x_k <= threshold may be seen."""
        middle, noise = _middle(threshold, self.float32, math.inf), self.noise[k]
        return middle + noise if noise else middle

    def least_above(self, k: int, threshold: float) -> Fraction:
        """Least value of state k at which x_k > threshold may be seen."""
        middle, noise = _middle(threshold, self.float32, -math.inf), self.noise[k]
        return middle - noise if noise else middle

    def errors(self, largest: Sequence[Fraction]) -> list[Fraction]:
        """How far what is seen may be from states of at most these absolute values."""
        return [self._error(most, noise) for most, noise in zip(largest, self.noise, strict=True)]

    def _error(self, most: Fraction, noise: Fraction) -> Fraction:
        noisy = most + noise if noise else most
        if noisy >= (_LARGEST32 if self.float32 else _LARGEST):
            raise CertificateError("what the policy sees may be beyond the range of its numbers")
        # noisy·2^-53 + 2^-1075
        rounding = Fraction((noisy.numerator << 1022) + noisy.denominator, noisy.denominator << 1075)
        if self.float32:
            rounding += (noisy + rounding) / 2**24 + Fraction(1, 2**150)
        return noise + rounding if noise else rounding


def _middle(threshold: float, float32: bool, towards: float) -> Fraction:
    """Where rounded numbers pass from at most the threshold to above it.

    With two roundings that is known up to half a unit of the first, and ``towards`` says which end is wanted.
    """
    if not float32:
        return _between(threshold, math.nextafter(threshold, math.inf))
    middle = float(_between(*_neighbours32(min(max(threshold, -_CLAMP32), _CLAMP32))))  # 25 digits: exact
    return _between(middle, math.nextafter(middle, towards))


def _between(a: float, b: float) -> Fraction:
    if math.isinf(b):  # above the largest number: as far again as the one below it
        return Fraction(a) + (Fraction(a) - Fraction(math.nextafter(a, 0.0))) / 2
    (top, bottom), (other_top, other_bottom) = a.as_integer_ratio(), b.as_integer_ratio()
    both = max(bottom, other_bottom)  # which are powers of two
    return Fraction(top * (both // bottom) + other_top * (both // other_bottom), 2 * both)


def _neighbours32(value: float) -> tuple[float, float]:
    """Largest float32 that is at most ``value``, and the next one."""
    (number,) = struct.unpack("<i", struct.pack("<f", value))
    if _float32(number) > value:
        number = _previous(number)
    return _float32(number), _float32(_next(number))


def _float32(number: int) -> float:
    return float(struct.unpack("<f", struct.pack("<i", number))[0])


def _next(number: int) -> int:
    """Bits of the next float32: those of positive numbers count up, those of negative ones down."""
    if number == -(2**31):  # minus zero
        return 1
    return number + 1 if number >= 0 else number - 1


def _previous(number: int) -> int:
    if number in (0, -(2**31)):
        return 1 - 2**31
    return number - 1 if number > 0 else number + 1
