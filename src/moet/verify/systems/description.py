"""Reading a description of a system: exact numbers, and one of what is given for every state."""

from __future__ import annotations

import keyword
import math
import re
import sys
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

from moet.errors import InputError

Number = int | float | str | Fraction
"""A float means its exact binary value, a string what is written: ``"0.1"`` and ``"1/10"`` are one tenth."""

Side = tuple[Fraction, Fraction]
"""Least and largest value."""

Schedule = dict[str, tuple[Side, ...]]
"""For names, what they are in every step from the first on; the last entry holds on."""

_NUMBER = re.compile(
    r"\s*[+-]?(\d{1,4000}/\d{1,4000}|(\d{1,2000}\.?\d{0,2000}|\.\d{1,2000})(e[+-]?\d{1,3})?)\s*", re.I | re.A
)
"""Numbers of bounded length: nothing is made of the text before that is known."""

_MOST_BITS = 13_000
_LONGEST_NAME = 200


def float_above(value: Fraction) -> float:
    """Smallest float64 that is not below ``value``; infinite beyond the range of float64."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -sys.float_info.max
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def exact(value: Number) -> Fraction:
    """The number that was meant; within the range of float64."""
    try:
        if isinstance(value, bool) or (isinstance(value, str) and not _NUMBER.fullmatch(value)):
            raise ValueError
        number = Fraction(value)
        if max(number.numerator.bit_length(), number.denominator.bit_length()) > _MOST_BITS:
            raise ValueError
        float(number)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InputError(
            f"expected a number in the range of float64 or a string such as '1/3', got {value!r:.60}"
        ) from None
    return number


EVERYWHERE: Any = object()
NOTHING = (Fraction(0), Fraction(0))


def interval(value: Any) -> Side | None:
    """Read a pair (low, high); None for ``EVERYWHERE``."""
    if value is EVERYWHERE:
        return None
    try:
        low, high = value
    except (TypeError, ValueError):
        raise InputError(f"expected a pair (low, high), got {value!r}") from None
    if exact(low) > exact(high):
        raise InputError(f"the interval ({low}, {high}) is empty; its lower end comes first")
    return exact(low), exact(high)


def point_or_interval(value: Any) -> Side | None:
    """Read a number or a pair (low, high)."""
    return (exact(value), exact(value)) if isinstance(value, Number) else interval(value)


def radius_or_interval(value: Any) -> Side | None:
    """Read a radius or a pair (low, high)."""
    return interval((-exact(value), exact(value)) if isinstance(value, Number) else value)


def named_intervals(given: Mapping[str, Any], what: str) -> dict[str, Side]:
    """Read names with a number or a pair (low, high) each."""
    if not isinstance(given, Mapping):
        raise InputError(f"{what} maps names to (low, high), got {given!r:.60}")
    sides = {name: point_or_interval(value) for name, value in given.items()}
    return {name: side for name, side in sides.items() if side is not None}


def read_schedule(given: Mapping[str, Any] | None) -> Schedule:
    """Read names with a number or a pair (low, high) for every step each."""
    if not isinstance(given or {}, Mapping):
        raise InputError(f"schedule maps names to one number for each step, got {given!r:.60}")
    schedule = {}
    for name, values in (given or {}).items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise InputError(f"the schedule of {name!r} is a list with one number for each step, got {values!r:.60}")
        schedule[name] = tuple(side for value in values if (side := point_or_interval(value)) is not None)
    return schedule


def scheduled(schedule: Schedule, step: int, share: float = 0.5) -> dict[str, float]:
    """Numbers of a step, each at this share of the way between its limits; the last of a schedule holds on."""
    sides = {name: entries[min(step, len(entries) - 1)] for name, entries in schedule.items()}
    return {name: float(low) + share * float(high - low) for name, (low, high) in sides.items()}


def by_state(given: Mapping[str, Any], states: Sequence[str], what: str, read: Any, default: Any) -> list[Any]:
    """One entry per state, in their order; without a default all must be given."""
    if unknown := set(given) - set(states):
        raise InputError(f"{what} names {sorted(unknown)}, but the states are {list(states)}")
    if default is None and (missing := set(states) - set(given)):
        raise InputError(f"{what} lacks {sorted(missing)}")
    return [read(given.get(name, default)) for name in states]


def distinct_names(names: Sequence[str], what: str) -> tuple[str, ...]:
    """Names as a tuple; complain if two are the same, or one cannot be told in a line."""
    proper = isinstance(names, list | tuple) and all(isinstance(name, str) and _readable(name) for name in names)
    if not proper or not names or len(set(names)) < len(names):
        raise InputError(
            f"{what} must be different printable names of at most {_LONGEST_NAME} characters, got {names!r}"
        )
    return tuple(names)


def _readable(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and name.isprintable() and name == name.strip()


def check_identifiers(names: Sequence[str], taken: Collection[str]) -> None:
    """Complain about names that an equation cannot use, or that mean something else there."""
    for name in distinct_names(names, "states, inputs and let"):
        # Python normalises some letters when it reads a name
        same_when_read = unicodedata.normalize("NFKC", name) == name
        if not name.isidentifier() or keyword.iskeyword(name) or name in taken or not same_when_read:
            raise InputError(f"{name!r} cannot be used in equations: write a name such as {_suggested(name)!r}")


def _suggested(name: str) -> str:
    return "x_" + "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)


def table(rows: Sequence[Sequence[Number]], what: str, height: int, width: int) -> tuple[tuple[Fraction, ...], ...]:
    """Read rows of numbers of a given shape."""
    numbers = tuple(tuple(exact(value) for value in row) for row in rows)
    if len(numbers) != height or any(len(row) != width for row in numbers):
        raise InputError(f"{what} must have {height} rows of {width} numbers, got {rows!r}")
    return numbers


def texts(value: Any) -> Any:
    """Fractions as strings, however deep they sit in tuples."""
    if isinstance(value, tuple):
        return [texts(part) for part in value]
    return None if value is None else str(value)
