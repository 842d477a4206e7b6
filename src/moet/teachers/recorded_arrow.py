"""Recorded episodes in Minari's other two formats: a folder per episode, with Arrow or Parquet files in it.

Every column has one row per observation. The last observation of an episode calls for no action, so the last action is
one that nobody took.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from moet.arrow_package import safe_pyarrow
from moet.errors import InputError

SUFFIXES = (".arrow", ".parquet")

_COLUMNS = ("observations", "actions")


def arrow_files(folder: Path) -> list[Path]:
    """The files of all episodes, in the order of the episodes; none if the folder holds something else."""
    for place in (folder / "data", folder):
        episodes = sorted((sub for sub in place.glob("*") if sub.name.isdecimal()), key=lambda sub: int(sub.name))
        files = [file for sub in episodes for file in sorted(sub.iterdir()) if file.suffix in SUFFIXES]
        if files:
            return files
    return []


def read_arrow(file: Path, most_bytes: int) -> dict[str, Any]:
    """Observations and actions of one episode."""
    try:
        pyarrow = safe_pyarrow()
    except ImportError:
        raise InputError("reading it needs the package pyarrow: pip install pyarrow") from None
    if file.stat().st_size > most_bytes:
        raise InputError(f"it has more than {most_bytes} bytes")
    try:
        table = _table(file)
        if table.nbytes > most_bytes:
            raise InputError(f"it has {table.nbytes} bytes, more than {most_bytes}")
        missing = [name for name in _COLUMNS if name not in table.column_names]
        if missing:
            raise InputError(f"it has no column {missing[0]}, it has {', '.join(table.column_names) or 'none'}")
        columns = {name: _numbers(table.column(name).combine_chunks()) for name in _COLUMNS}
    except (pyarrow.ArrowException, OSError, ValueError, TypeError) as error:
        raise InputError(f"it is no file of Minari, or damaged: {error}") from None
    return columns | {"actions": columns["actions"][:-1]}


def _table(file: Path) -> Any:
    if file.suffix == ".parquet":
        from pyarrow import parquet

        return parquet.read_table(file, columns=list(_COLUMNS), partitioning=None)
    from pyarrow import ipc

    with ipc.open_file(file) as opened:
        return opened.read_all()


def _numbers(column: Any) -> Any:
    """An array with one row per step, or a dictionary of them."""
    import pyarrow

    kind = column.type
    if column.null_count:
        raise InputError("some of its numbers are missing")
    if pyarrow.types.is_struct(kind):
        return {field.name: _numbers(column.field(field.name)) for field in kind}
    if pyarrow.types.is_fixed_size_list(kind):
        return np.asarray(column.flatten().to_numpy(zero_copy_only=False)).reshape(len(column), kind.list_size)
    return np.asarray(column.to_numpy(zero_copy_only=False))
