"""The one reader of what a check is given: JSON without surprises, numbers of bounded length. Standard library only.

Files are regular files of bounded size. An object has no key twice and none that is not expected, numbers are finite,
and digits and exponents are counted before a number is made of them. Documents that are given in memory must be what
such a file could have held. Whatever is not is a :class:`CertificateError` that says where.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from moet.errors import CertificateError

MOST_BYTES = 64 * 2**20
"""Size of the longest document."""

MOST_DEPTH = 40
"""Lists and objects inside one another."""

MOST_DIGITS = 4000
"""Decimal digits of a number, or of either part of a fraction."""

LARGEST_EXPONENT = 350
"""Decimal exponent of a number."""

_NUMBER = re.compile(r"[+-]?(?:(\d+)/(\d+)|(?=\d|\.\d)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?)", re.ASCII)
_SHOWN = 60
_DIGITS = {str(digit): Fraction(digit) for digit in range(-9, 10)}
_LARGEST = 2**1024


def shown(value: Any) -> str:
    """A value for a message, not longer than a line."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    if isinstance(value, int) and value.bit_length() > 300:
        return "a very long integer"
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def read_file(path: str | os.PathLike[str], limit: int = MOST_BYTES) -> bytes:
    """Content of a regular file of at most ``limit`` bytes."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise CertificateError(f"cannot read {path!s}: it is not a file")
        with open(path, "rb") as file:
            content = file.read(limit + 1)
    except (OSError, ValueError, MemoryError) as error:
        if isinstance(error, CertificateError):
            raise
        raise CertificateError(
            f"cannot read {shown(os.fspath(path))}: {getattr(error, 'strerror', None) or error}"
        ) from None
    if len(content) > limit:
        raise CertificateError(f"cannot read {path!s}: it has more than {limit} bytes")
    return content


def parse(content: bytes) -> Any:
    """The value that a JSON text stands for."""
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_float,
        )
    except CertificateError:
        raise
    except RecursionError:
        raise CertificateError("it is nested too deeply") from None
    except (ValueError, MemoryError) as error:
        raise CertificateError(f"it is not JSON, or damaged: {error}") from None
    _check_depth(value)
    return value


def plain(value: Any) -> Any:
    """What a file with a document that is given in memory would hold."""
    return parse(written(value))


def written(value: Any) -> bytes:
    """A file with a document that is given in memory."""
    try:
        return json.dumps(value, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError, MemoryError) as error:
        raise CertificateError(f"it is not plain JSON: {error}") from None


def _check_depth(value: Any) -> None:
    level = [value] if type(value) in (dict, list) else []
    for _ in range(MOST_DEPTH):
        if not level:
            return
        inner = (part.values() if type(part) is dict else part for part in level)
        level = [part for parts in inner for part in parts if type(part) in (dict, list)]
    if level:
        raise CertificateError(f"lists and objects are nested more than {MOST_DEPTH} deep")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise CertificateError(f"an object has a key twice, its keys are {shown([key for key, _ in pairs][:20])}")
    return found


def _no_constant(name: str) -> Any:
    raise CertificateError(f"it contains {name}, which is not a number")


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise CertificateError(f"a number has more than {MOST_DIGITS} digits")
    return int(text)


def _float(text: str) -> float:
    if len(text) > 25 or "e" in text or "E" in text:
        _bounded(text)
    value = float(text)
    if not math.isfinite(value):
        raise CertificateError(f"the number {text[:_SHOWN]} is beyond the range of float64")
    return value


def _bounded(text: str) -> tuple[str | None, ...]:
    """The parts of a number: of a fraction, or before and after the point, and exponent; of not too many digits."""
    match = _NUMBER.fullmatch(text) if len(text) <= 2 * MOST_DIGITS + 2 else None
    parts: tuple[str | None, ...] = match.groups() if match is not None else ()
    if not parts or len(parts[2] or "") + len(parts[3] or "") > MOST_DIGITS:
        raise CertificateError(f"{shown(text)} is no number, or has more than {MOST_DIGITS} digits")
    if any(len(part) > MOST_DIGITS for part in parts if part) or abs(int(parts[4] or 0)) > LARGEST_EXPONENT:
        raise CertificateError(
            f"the number {shown(text)} has more than {MOST_DIGITS} digits, or an exponent beyond {LARGEST_EXPONENT}"
        )
    return parts


def _written(text: str) -> Fraction:
    """The number that a text stands for."""
    if text in _DIGITS:  # as most coefficients are
        return _DIGITS[text]
    top, bottom, before, after, exponent = _bounded(text)
    sign = -1 if text[0] == "-" else 1
    if bottom is not None:
        return Fraction(sign * int(top or 0), int(bottom))
    digits, shift = sign * int((before or "") + (after or "")), int(exponent or 0) - len(after or "")
    return Fraction(digits, 10**-shift) if shift < 0 else Fraction(digits * 10**shift)


def exact(value: Any, where: str) -> Fraction:
    """The number that is meant: a string is what is written, a float its binary value."""
    if type(value) is not str and type(value) is not int and not (type(value) is float and math.isfinite(value)):
        raise CertificateError(f"{where} has {shown(value)} where a number is due")
    try:
        number = _written(value) if type(value) is str else Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise CertificateError(f"{where} has {shown(value)}, which is no number") from None
    if abs(number.numerator) >= _LARGEST * number.denominator:
        raise CertificateError(f"{where} has {shown(value)}, which is beyond the range of float64")
    return number


def double(value: Any, where: str) -> float:
    """A float64 number; integers that are one count."""
    if type(value) not in (int, float):
        raise CertificateError(f"{where} has {shown(value)} where a number is due")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise CertificateError(f"{where} has a number beyond the range of float64")
    if number != value:
        raise CertificateError(f"{where} has {shown(value)}, which no float64 number is")
    return number


def whole(value: Any, where: str, least: int, most: int) -> int:
    """An integer of a range."""
    if type(value) is not int or not least <= value <= most:
        raise CertificateError(f"{where} must be an integer from {least} to {most}, got {shown(value)}")
    return value


def all_double(values: list[Any], where: str) -> list[float]:
    """Float64 numbers; at once if they are ordinary ones."""
    if set(map(type, values)) <= {float} and all(map(math.isfinite, values)):
        return values
    return [double(value, where) for value in values]


def all_whole(values: list[Any], where: str, least: int, most: int) -> list[int]:
    """Integers of a range; at once if they are ordinary ones."""
    if set(map(type, values)) == {int} and least <= min(values) and max(values) <= most:
        return values
    return [whole(value, where, least, most) for value in values]


def items(value: Any, where: str, size: int | None = None) -> list[Any]:
    """A list, of ``size`` entries if that is given."""
    if type(value) is not list or (size is not None and len(value) != size):
        due = "a list" if size is None else f"a list of {size}"
        raise CertificateError(f"{where} must be {due}, got {shown(value)}")
    return value


def vector(value: Any, where: str, size: int) -> list[Fraction]:
    """A list of ``size`` exact numbers."""
    return [exact(number, where) for number in items(value, where, size)]


def doubles(value: Any, where: str, size: int | None = None) -> list[Fraction]:
    """A list of float64 numbers, as fractions."""
    return [Fraction(double(number, where)) for number in items(value, where, size)]


def interval(value: Any, where: str) -> tuple[Fraction, Fraction]:
    """The two ends of an interval that is not empty."""
    low, high = vector(value, where, 2)
    if low > high:
        raise CertificateError(f"{where} has an empty interval")
    return low, high


def members(value: Any, where: str, names: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """An object that has all these keys, perhaps the optional ones, and no others."""
    if type(value) is not dict:
        raise CertificateError(f"{where} must be an object, got {shown(value)}")
    if missing := [name for name in names if name not in value]:
        raise CertificateError(f"{where} lacks {', '.join(missing)}")
    if unknown := [key for key in value if key not in names and key not in optional]:
        raise CertificateError(f"{where} has unknown keys: {', '.join(map(shown, unknown[:5]))}")
    return value


def text(value: Any, where: str) -> str:
    """A string."""
    if type(value) is not str:
        raise CertificateError(f"{where} must be a string, got {shown(value)}")
    return value
