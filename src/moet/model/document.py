"""Values of a JSON document, taken for what they must be or refused with a :class:`moet.errors.ModelError`."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import ModelError


def members(value: Any, where: str, names: tuple[str, ...]) -> list[Any]:
    """Return the values of an object that must have exactly the keys ``names``, in that order."""
    if not isinstance(value, dict):
        raise ModelError(f"{where} must be an object")
    if missing := [name for name in names if name not in value]:
        raise ModelError(f"{where} lacks {', '.join(missing)}")
    if len(value) != len(names):
        raise ModelError(f"{where} has unknown keys: {[key for key in value if key not in names]}")
    return [value[name] for name in names]


def list_of(value: Any, where: str, *types: type) -> list[Any]:
    """Return ``value`` if it is a list whose entries have one of the types."""
    # types are compared, not isinstance: to Python a bool is an int
    if not isinstance(value, list) or not set(map(type, value)) <= set(types):
        raise ModelError(f"{where} must be a list, each entry of type {' or '.join(kind.__name__ for kind in types)}")
    return value


def array_of(value: Any, where: str, dtype: type[np.generic], *types: type) -> NDArray[Any]:
    """Return a list of finite numbers, or of labels, as an array."""
    try:
        array: NDArray[Any] = np.array(list_of(value, where, *types), dtype=dtype)
    except OverflowError:
        raise ModelError(f"{where} has a number beyond the range of {dtype.__name__}") from None
    if array.dtype == np.float64 and not np.all(np.isfinite(array)):
        raise ModelError(f"{where} has a number beyond the range of float64")
    return array


def matrix_of(value: Any, where: str) -> NDArray[np.float64]:
    """Return a list of lists of numbers, all of the same length, as an array of two dimensions."""
    rows = list_of(value, where, list)
    lengths = {len(row) for row in rows}
    if len(lengths) != 1:
        raise ModelError(f"{where} must have rows, all of the same length")
    return array_of(list(chain.from_iterable(rows)), where, np.float64, int, float).reshape(len(rows), lengths.pop())


def cube_of(value: Any, where: str) -> NDArray[np.float64]:
    """Return a list of matrices of the same shape as an array of three dimensions."""
    matrices = [matrix_of(matrix, where) for matrix in list_of(value, where, list)]
    if len({matrix.shape for matrix in matrices}) != 1:
        raise ModelError(f"{where} must have rows, all of the same length")
    return np.stack(matrices)
