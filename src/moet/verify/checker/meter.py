"""How much work a check may take, whatever its files say. Standard library only.

A unit is an operation on small integers, about a tenth of a microsecond; those on long ones count for more. The count
depends on the files alone, so the same proof is accepted, or refused, on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

from moet.errors import CertificateError

LIMIT = 10**9
"""Units of work of one check: one to two minutes."""

MOST_HELD = 10**8
"""Words of 64 bits that the numbers which a check keeps may take."""

MOST_BITS = 2**20
"""Digits, in binary, of the longest number that a check may make."""

_LOOK = 20_000
"""Units between two looks at the clock."""


class Interrupted(CertificateError):
    """The check was told to stop; nothing is said about the proof."""


class Meter:
    """Counts work; too much of it is a :class:`CertificateError`.

    Parameters
    ----------
    stop : callable, optional
        Asked now and then; once it says True, the check ends with :class:`Interrupted`.
    limit : int
        Units that may be spent.

    Examples
    --------
    >>> meter = Meter(limit=10)
    >>> meter.spend(10)
    >>> meter.spend(1)
    Traceback (most recent call last):
        ...
    moet.errors.CertificateError: the check takes more work than the 10 units that are allowed
    """

    def __init__(self, stop: Callable[[], bool] | None = None, limit: int = LIMIT) -> None:
        self.spent = 0
        self.held = 0
        self.limit = limit
        self._stop = stop
        self._next_look = _LOOK

    def spend(self, units: int) -> None:
        """Count work that is about to be done."""
        self.spent += units
        if self.spent > self.limit:
            raise CertificateError(f"the check takes more work than the {self.limit} units that are allowed")
        if self._stop is not None and self.spent >= self._next_look:
            self._next_look = self.spent + _LOOK
            if self._stop():
                raise Interrupted("the check was interrupted")

    def hold(self, count: int, bits: int = 64) -> None:
        """Count numbers that are about to be made and kept, with so many bits each."""
        self.held += count * (1 + (bits >> 6))
        if self.held > MOST_HELD:
            raise CertificateError(f"the check takes more memory than the {MOST_HELD} words that are allowed")
        self.spent += count  # what is held is bounded, so the next look at what is spent is soon enough


def cost(count: int, bits: int) -> int:
    """Units that ``count`` products of numbers of so many bits take."""
    if bits > MOST_BITS:
        raise CertificateError(f"a number would have {bits} bits, more than the {MOST_BITS} that are allowed")
    return count * (1 + ((bits >> 6) * (1 + isqrt(bits)) >> 6))
