"""The package that reads files of Arrow and Parquet, if it is there and safe."""

from __future__ import annotations

from typing import Any

from moet.errors import InputError

_SAFE = (14, 0, 1)
"""Before this version pyarrow executed what some files say."""


def safe_pyarrow() -> Any:
    """The package; ImportError if it is not installed, InputError if it is too old to be trusted with a file."""
    import pyarrow

    if tuple(int(part) for part in pyarrow.__version__.split(".")[:3] if part.isdecimal()) < _SAFE:
        raise InputError(f"pyarrow {pyarrow.__version__} executes code from files: pip install -U pyarrow")
    return pyarrow
