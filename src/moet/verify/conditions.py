"""Conditions in the words of the user's table, as sides of features: ``Sex = male, Duration <= 12``."""

from __future__ import annotations

import math
import re
from typing import Any

from moet.errors import InputError
from moet.model.schema import Column, Schema
from moet.model.words import after_name, parts_of, unquoted

Side = tuple[float, float]

_COMPARED = re.compile(r"(<=|>=|==|!=|=|<|>)\s*(.+)", re.DOTALL)
_LISTED = re.compile(r"(not\s+in|in)\s*\((.*)\)", re.DOTALL | re.IGNORECASE)
_CHAINED = re.compile(r"(\S+)\s*(<=|<)\s*(.+?)\s*(<=|<)\s*(\S+)")
_FLIPPED = {"<=": ">=", "<": ">"}


def sides_of(text: str, schema: Schema) -> dict[str, Side]:
    """Sides of the features that conditions bound.

    Examples
    --------
    >>> age = Column("Age", "integer", ("Age",), 19, 75)
    >>> sex = Column("Sex", "category", ("Sex=f", "Sex=m"), categories=("f", "m"))
    >>> sides_of("25 <= Age < 60, Sex = m", Schema([age, sex]))
    {'Age': (25.0, 59.0), 'Sex=f': (0.0, 0.0)}
    """
    sides: dict[str, Side] = {}
    for part in filter(None, parts_of(text)):
        for name, (low, high) in _condition(part, schema):
            before = sides.get(name, (-math.inf, math.inf))
            sides[name] = max(before[0], low), min(before[1], high)
    for name, (low, high) in sides.items():
        if low > high:
            raise InputError(f"the conditions {text!r} contradict one another at {name!r}: nothing is left")
    return sides


def _condition(part: str, schema: Schema) -> list[tuple[str, Side]]:
    names = [column.name for column in schema.columns]
    found = after_name(part, names)
    if found is not None:
        column = schema.place(found[0]).column
        if match := _LISTED.fullmatch(found[1]):
            values = [unquoted(value) for value in parts_of(match[2])]
            return _one_of(column, values, match[1].lower() == "in", part)
        if match := _COMPARED.fullmatch(found[1]):
            return _compared(column, match[1], unquoted(match[2]), part)
    elif (match := _CHAINED.fullmatch(part)) and unquoted(match[3]) in names:
        column = schema.place(unquoted(match[3])).column
        return [*_compared(column, _FLIPPED[match[2]], match[1], part), *_compared(column, match[4], match[5], part)]
    raise InputError(
        f"cannot read the condition {part!r}; write for example Age <= 30, Sex = male or Housing in (own, rent), "
        f"with the columns {', '.join(names)}"
    )


def _one_of(column: Column, values: list[str], among: bool, part: str) -> list[tuple[str, Side]]:
    if not column.labels:
        if not among or len(values) != 1:
            raise InputError(f"column {column.name!r} holds numbers: write bounds such as 1 <= {column.name} <= 3")
        return _compared(column, "=", values[0], part)
    chosen = {column.place(value) for value in values}
    allowed = [k for k in range(len(column.labels)) if (k in chosen) == among]
    if not allowed:
        raise InputError(f"the condition {part!r} leaves nothing of column {column.name!r}")
    if column.kind == "category":
        return [(name, (0.0, 0.0)) for k, name in enumerate(column.features) if k not in allowed]
    if allowed != list(range(allowed[0], allowed[-1] + 1)):
        raise InputError(
            f"the condition {part!r} leaves a gap among the ordered categories of {column.name!r} "
            f"({', '.join(column.labels)}); ask about one side of it, then the other"
        )
    return [(column.features[0], (float(allowed[0]), float(allowed[-1])))]


def _compared(column: Column, sign: str, text: str, part: str) -> list[tuple[str, Side]]:
    if sign in ("=", "==", "!="):
        if column.labels or sign == "!=":
            return _one_of(column, [text], sign != "!=", part)
        value = _number(column, text, part)
        return [(column.features[0], (value, value))]
    if column.kind == "category":
        raise InputError(f"the categories of {column.name!r} have no order: write {column.name} = ... or in (...)")
    value = float(column.place(text)) if column.labels else _number(column, text, part)
    side = _side(sign, value, column.is_whole)
    if column.labels:
        side = max(side[0], 0.0), min(side[1], len(column.labels) - 1.0)
    return [(column.features[0], side)]


def _side(sign: str, value: float, is_whole: bool) -> Side:
    below = math.ceil(value) - 1.0 if is_whole else math.nextafter(value, -math.inf)
    above = math.floor(value) + 1.0 if is_whole else math.nextafter(value, math.inf)
    sides: dict[str, Any] = {"<=": (-math.inf, value), ">=": (value, math.inf)}
    sides |= {"<": (-math.inf, below), ">": (above, math.inf)}
    low, high = sides[sign]
    return float(low), float(high)


def _number(column: Column, text: str, part: str) -> float:
    try:
        value = float(text)
    except ValueError:
        reason = f"{text!r} in the condition {part!r} is not a number, and {column.name!r} holds numbers"
        raise InputError(reason) from None
    if not math.isfinite(value):
        raise InputError(f"a bound must be finite, got {part!r}; leave a side out to open it")
    return value
