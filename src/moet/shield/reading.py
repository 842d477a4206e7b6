"""What shields are given, read: numbers are numbers, and an action is a whole one. All else is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError


def numbers(given: Any, what: str) -> NDArray[np.float64]:
    """Numbers in float64, in one piece; texts, None and complex numbers are none."""
    try:
        array = given if isinstance(given, np.ndarray) else np.asarray(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} must be numbers, got {given!r}: {error}") from error
    if array.dtype.kind not in "biuf":
        raise InputError(f"{what} must be numbers, got {given!r}")
    return np.ascontiguousarray(array, np.float64)


def whole(given: Any) -> int | None:
    """The whole number that is given, whatever its type; None if it is none."""
    try:
        number = int(given)
        return number if number == given else None
    except (TypeError, ValueError, OverflowError):
        return None
