"""Affine functions on the box of first states, one long integer each. Standard library only.

A function Σ a_k·z_k + b of z in [-1, 1]^d is one integer: its coefficients side by side, each in so many bits (its
*lane*), and the constant above them, Σ a_k·2^(k·width) + b·2^(d·width). So functions are added, and taken several
times, as numbers are, all coefficients at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import lshift


class Functions:
    """How functions are written.

    Parameters
    ----------
    d : int
        Coefficients.
    bits : int
        Coefficients are below two to this.

    Examples
    --------
    >>> functions = Functions(2, bits=20)
    >>> first, second = functions.of([3, -5], 1), functions.of([1, 4], 2)
    >>> functions.coefficients(2 * first + second)
    [7, -6]
    >>> functions.least(2 * first + second)  # 4 − 7 − 6
    -9
    """

    def __init__(self, d: int, bits: int) -> None:
        self.width = bits + d.bit_length() + 2
        self.above = d * self.width
        """By how much a constant is shifted."""
        self._last, self._places = self.width - 1, range(0, self.above, self.width)
        ones = sum(1 << k * self.width for k in range(d))
        self._highest, self._others, self._lane = ones << self._last, (ones << self._last) - ones, (1 << self.width) - 1
        self._halves = [self.width << k for k in reversed(range((d - 1).bit_length()))]

    def of(self, coefficients: Iterable[int], constant: int = 0) -> int:
        """The integer of a function."""
        return sum(map(lshift, coefficients, self._places), constant << self.above)

    def coefficients(self, function: int) -> list[int]:
        """Those of a function."""
        moved, half = function + self._highest, 1 << self._last
        return [(moved >> place & self._lane) - half for place in self._places]

    def least(self, function: int) -> int:
        """Least value in the box: the constant less the sizes of all coefficients."""
        moved = function + self._highest  # no lane is negative now, and its highest bit says whether it was
        negative = ~moved & self._highest
        signs = negative >> self._last
        sizes = ((moved ^ (negative - signs)) & self._others) + signs  # -a is ~a + 1
        for half in self._halves:  # the upper half of the lanes is added to the lower one, until there is one
            sizes += sizes >> half
        return (moved >> self.above) - (sizes & self._lane)
