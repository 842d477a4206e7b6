"""Whole numbers that a float64 cannot hold: beyond 2⁵³ it keeps some of them only, and takes others for their like."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from moet.errors import InputError

LARGEST_WHOLE = 2**53
"""Up to here, every whole number is a float64."""


def refuse_lost_digits(name: str, cells: Any) -> None:
    """Complain about the first whole number of a column that as a float64 would be another one.

    Parameters
    ----------
    name : str
        Of the column, for the message.
    cells : array, Series or iterable
        Numbers of any kind; floats are what they are, and texts are read as Python reads whole numbers.
    """
    for value in _suspects(cells):
        whole = _whole(value)
        if whole is not None and not _is_float(whole):
            raise InputError(
                f"column {name!r} holds {_shown(whole)}, and beyond 2^53 a model loses digits of whole numbers. Leave "
                "the column out if it numbers the rows; else use a larger unit, or subtract a common part; or, if "
                f"these are categories, say so: `moet fit --category {name!r}`, or a pandas category in a DataFrame"
            )


def _suspects(cells: Any) -> Iterable[Any]:
    """Cells that may be such numbers, quickly where a column has a type."""
    values = np.asarray(cells, dtype=object if isinstance(cells, list) else None)  # a list of such would become floats
    if values.dtype.kind not in "iu":
        return values.ravel().tolist() if values.dtype.kind in "OUS" else ()
    return values[(values > LARGEST_WHOLE) | (values < -LARGEST_WHOLE)].tolist()


def _whole(value: Any) -> int | None:
    """The whole number that a cell is or spells."""
    if isinstance(value, int):
        return value
    try:
        return int(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _is_float(whole: int) -> bool:
    try:
        return int(float(whole)) == whole
    except OverflowError:
        return False


def _shown(whole: int) -> str:
    """The number, or how many digits it has."""
    digits = int(whole.bit_length() * 0.30103) + 1
    return str(whole) if digits <= 40 else f"a number of about {digits} digits"
