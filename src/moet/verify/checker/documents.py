"""Parts of a system's document, read with suspicion; standard library only."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from moet.errors import CertificateError


def sized(values: Any, size: int) -> list[Any]:
    """Return a list that must have ``size`` entries."""
    if not isinstance(values, list) or len(values) != size:
        raise CertificateError(f"found {values!r} where a list of {size} is due")
    return values


def vector(values: Any, size: int) -> list[Fraction]:
    """Return ``size`` exact numbers."""
    return [Fraction(value) for value in sized(values, size)]


def interval(side: Any) -> tuple[Fraction, Fraction]:
    """Return the two ends of an interval that must not be empty."""
    low, high = vector(side, 2)
    if low > high:
        raise CertificateError(f"the interval [{low}, {high}] is empty")
    return low, high


def action_number(label: Any, actions: list[str]) -> int:
    """Return the number of the action that a class of a model is: by name, or by number."""
    if isinstance(label, str) and label in actions:
        return actions.index(label)
    if type(label) is int and 0 <= label < len(actions):
        return label
    raise CertificateError(f"the class {label!r} of the model is no action of the system")
