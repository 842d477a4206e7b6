"""Rows as people write them: ``Sex = female, Age = 34``, or ``german.csv:17``; and the parts of conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.schema import Schema

_QUOTES = "'\""
_FILE = re.compile(r"(.+):(\d+)")


def parts_of(text: str) -> Iterator[str]:
    """Parts between commas that are neither in quotes nor in brackets."""
    depth, quote, part = 0, "", ""
    for k, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in _QUOTES and _opens(text, k):
            quote = sign
        elif sign in "()":
            depth = max(0, depth + (1 if sign == "(" else -1))
        if sign == "," and not depth and not quote:
            yield part.strip()
            part = ""
        else:
            part += sign
    yield part.strip()


def _opens(text: str, k: int) -> bool:
    """Whether a quotation mark begins a quotation: one inside of a word, as in driver's, does not."""
    return (k == 0 or not text[k - 1].isalnum()) and text[k] in text[k + 1 :]


def names_in(text: str, known: Sequence[str]) -> list[str]:
    """Names between commas; one that has commas of its own is quoted, or stands alone.

    Examples
    --------
    >>> names_in('Age, "Income, net"', ["Age", "Income, net"])
    ['Age', 'Income, net']
    >>> names_in("Income, net", ["Age", "Income, net"])
    ['Income, net']
    """
    if text.strip() in known:
        return [text.strip()]
    return [part if part in known else unquoted(part) for part in parts_of(text) if part]


def unquoted(text: str) -> str:
    """A value without the quotation marks around it."""
    text = text.strip()
    return text[1:-1] if len(text) >= 2 and text[0] in _QUOTES and text[0] == text[-1] else text


def after_name(text: str, names: Sequence[str]) -> tuple[str, str] | None:
    """The longest name that a text begins with, quoted or not, and what comes after it."""
    for name in sorted(names, key=len, reverse=True):
        for written in (name, f"'{name}'", f'"{name}"'):
            rest = text[len(written) :]
            if text.startswith(written) and (not rest or not (rest[0].isalnum() or rest[0] == "_")):
                return name, rest.strip()
    return None


def row_of_text(text: str, schema: Schema) -> dict[str, Any]:
    """Cells of a row: of a file (``table.csv:17``, the 17th row after the header), or written out by column."""
    written = _FILE.fullmatch(text.strip())
    if written and Path(written[1]).suffix:
        return _row_of_file(Path(written[1]), int(written[2]), schema)
    names = [column.name for column in schema.columns]
    cells: dict[str, Any] = {}
    for part in filter(None, parts_of(text)):
        found = after_name(part, names)
        if found is None or not found[1].startswith("="):
            raise InputError(
                f"cannot read {part!r} as column=value; the columns are {', '.join(names)}. "
                "A row of a file is written as table.csv:17"
            )
        if found[0] in cells:
            raise InputError(f"column {found[0]!r} is given twice")
        cells[found[0]] = unquoted(found[1].lstrip("="))
    return cells


def features_of_row(row: Any, schema: Schema) -> NDArray[np.float64] | None:
    """Features of a row in the user's words; None if it is an array of features already."""
    if isinstance(row, str):
        return schema.encode_row(row_of_text(row, schema))
    if hasattr(row, "columns"):
        if len(row) != 1:
            raise InputError(f"one row is asked about, got a table of {len(row)}; take one of them")
        only: NDArray[np.float64] = schema.encode(row)[0]
        return only
    if hasattr(row, "keys"):
        return schema.encode_row(row)
    if isinstance(row, list | tuple) and len(row) == len(schema.columns):
        is_encoded = len(row) == len(schema.feature_names) and all(isinstance(cell, int | float) for cell in row)
        return None if is_encoded else schema.encode_row(row)
    return None


def features_of_rows(rows: Any, schema: Schema) -> NDArray[np.float64] | None:
    """Features of one row in the user's words, or of a list of them; None if these are anything else."""
    listed = rows if isinstance(rows, list | tuple) else [rows]
    if (
        not listed
        or hasattr(rows, "columns")
        or not all(isinstance(row, str) or hasattr(row, "keys") for row in listed)
    ):
        return None
    return np.array([features_of_row(row, schema) for row in listed])


def read_rows(path: Path, schema: Schema) -> Any:
    """A table as the columns of a schema want it: what is a category stays text, even if it looks like a number."""
    from moet.table_file import read_table_file

    return read_table_file(path, [column.name for column in schema.columns if column.labels])


def _row_of_file(path: Path, number: int, schema: Schema) -> dict[str, Any]:
    table = read_rows(path, schema)
    if not 1 <= number <= len(table):
        raise InputError(f"{path} has rows 1 to {len(table)}, not {number}")
    names = [column.name for column in schema.columns]
    if missing := [name for name in names if name not in table.columns]:
        raise InputError(f"{path} lacks {', '.join(map(repr, missing))}; it has {', '.join(table.columns)}")
    cells: dict[str, Any] = table.iloc[number - 1][names].to_dict()
    return cells
