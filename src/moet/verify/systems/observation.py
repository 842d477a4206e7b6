"""What a policy sees of a state: rounding on the way, as the search takes it into account.

A noisy state is rounded to float64 and perhaps to float32, each time to the nearest number. That keeps the order of
numbers: a test of what is seen against a threshold is one of the noisy state against a number half a unit above it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def seen_edges(threshold: float, float32: bool) -> tuple[Fraction, Fraction]:
    """Where what is seen may begin to be above a threshold, and where it may last be at most that.

    Examples
    --------
    >>> seen_edges(1.0, float32=False) == (1 + Fraction(1, 2**53), 1 + Fraction(1, 2**53))
    True
    """
    if not float32:
        middle = _middle(np.float64(threshold), np.float64(np.inf))
        return middle, middle
    bounded = np.clip(threshold, -(2.0**127), 2.0**127)
    below = np.float32(bounded)
    if float(below) > bounded:
        below = np.nextafter(below, np.float32(-np.inf))
    edge = np.float64(float(_middle(below, np.float32(np.inf))))  # it has 25 digits
    return _middle(edge, np.float64(-np.inf)), _middle(edge, np.float64(np.inf))


def _middle(number: np.float32 | np.float64, towards: np.float32 | np.float64) -> Fraction:
    """Middle between a number and the next one of its type; after the last, as if numbers went on like before it."""
    with np.errstate(over="ignore"):
        following = float(np.nextafter(number, towards))
    if not np.isfinite(following):
        return Fraction(float(number)) + (Fraction(float(number)) - Fraction(float(np.nextafter(number, -towards)))) / 2
    return (Fraction(float(number)) + Fraction(following)) / 2
