"""Exact numbers and names as text. Standard library only."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

_SHORT = 15
"""Digits of numbers that are written out."""


def exactly(value: Fraction) -> str:
    """A number without rounding: as a decimal or a fraction if that is short, as a float64 number if it is one.

    Examples
    --------
    >>> exactly(Fraction(-1, 40)), exactly(Fraction(1, 3)), exactly(Fraction(0.1))
    ('-0.025', '1/3', 'float64(0.1)')
    """
    numerator, denominator = abs(value.numerator), value.denominator
    if denominator == 1 and numerator < 10**_SHORT:
        return str(value.numerator)
    for digits in range(1, _SHORT if denominator < 10**_SHORT else 0):
        scaled, rest = divmod(numerator * 10**digits, denominator)
        if rest == 0 and scaled < 10**_SHORT:
            whole = str(scaled).rjust(digits + 1, "0")
            return f"{'-' if value < 0 else ''}{whole[:-digits]}.{whole[-digits:]}"
    if max(numerator, denominator) < 10 ** (_SHORT // 2):
        return str(value)
    near = float(value) if abs(value) < 2**1020 else 0.0
    return f"float64({near!r})" if Fraction(near) == value else str(value)


def between(low: Fraction, high: Fraction) -> str:
    """An interval, or the one number in it."""
    return f"= {exactly(low)}" if low == high else f"from {exactly(low)} to {exactly(high)}"


def name_of(name: str) -> str:
    """A name as it is, if it cannot be mistaken for anything else."""
    return name if name.isascii() and name.isidentifier() else quoted(name)


def quoted(label: Any) -> str:
    """A label, in quotation marks if it is text; letters beyond ASCII in escapes, too, for many look like others."""
    if not isinstance(label, str):
        return str(label)
    return ascii(label) if label.isascii() else f"{label!r} ({label!a})"
