"""What every benchmark shares: one thread, CPU seconds, tables, and results that survive an interruption."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import numba
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

Result = TypeVar("Result")
Row = dict[str, Any]

console = Console(width=120, highlight=False)


def single_threaded() -> None:
    """Confine BLAS, OpenMP and numba to one thread. Call after the imports: it reaches what is loaded."""
    threadpool_limits(1)
    numba.set_num_threads(1)


def cpu_seconds(work: Callable[[], Result], repeat: int = 1) -> tuple[Result, float]:
    """Run ``work`` and return its result and its CPU seconds, the mean of ``repeat`` runs."""
    start = time.process_time()
    for _ in range(repeat):
        result = work()
    return result, (time.process_time() - start) / repeat


def search_and_check(ask: Callable[[], Any]) -> tuple[Any, float, float]:
    """Ask for a verdict, and return it with the CPU seconds of the search and of the check, of the same call."""
    from moet.verify.checking import checked_claim

    checking = 0.0

    def checked(*subjects: Any, **settings: Any) -> str:
        nonlocal checking
        claim, seconds = cpu_seconds(lambda: checked_claim(*subjects, **settings))
        checking += seconds
        return claim

    with patch("moet.verify.confirm.checked_claim", checked):
        verdict, whole = cpu_seconds(ask)
    return verdict, whole - checking, checking


def machine() -> str:
    """Describe where the figures come from."""
    versions = ", ".join(f"{name} {__import__(name).__version__}" for name in ("numpy", "sklearn", "numba"))
    return f"Python {platform.python_version()}, {versions}, {platform.machine()}, one thread"


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table; floats with three significant digits, everything to the right."""
    table = Table()
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row))
    console.print(f"\n{title}")
    console.print(table)


class Results:
    """Rows of measurements; written to a file as they come when a path is given.

    A row is known by the function that measures it and by its arguments. A row that the file already holds is not
    measured again.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.rows: list[Row] = json.loads(path.read_text()) if path and path.exists() else []

    def measure(self, work: Callable[..., Row], **arguments: Any) -> Row:
        """Return the arguments and the figures of ``work(**arguments)``."""
        key = {"measure": work.__name__, **arguments}
        for row in self.rows:
            if key.items() <= row.items():
                return row
        row = key | work(**arguments)
        self.rows.append(row)
        if self.path:
            partial = self.path.with_suffix(".part")
            partial.write_text(json.dumps(self.rows, indent=1))
            os.replace(partial, self.path)
        return row
