"""Progress on stderr: a bar in a terminal, a line a minute in a log."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MINUTE = 60.0
"""Seconds between two lines of a log."""

Advance = Callable[[str], None]


def told(what: str, *, shown: bool) -> Advance:
    """A function that tells what is being done now, one line each, where nobody knows how much is to be done."""
    return lambda note: print(f"{what}: {note}", file=sys.stderr, flush=True) if shown else None


@contextmanager
def progress_bar(title: str, total: int, *, shown: bool) -> Iterator[Advance]:
    """Yield a function that advances the bar by one step and sets the text behind it."""
    if not shown:
        yield lambda note: None
    elif sys.stderr.isatty():
        with _bar(title, total) as advance:
            yield advance
    else:
        with _log(title, total) as advance:
            yield advance


@contextmanager
def _bar(title: str, total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total, note="")
        yield lambda note: bar.update(task, advance=1, note=note)
        bar.update(task, total=bar.tasks[0].completed)


@contextmanager
def _log(title: str, total: int) -> Iterator[Advance]:
    """Nobody watches a log, so it gets a line a minute, also while a step takes long, and one at the end."""
    begin, stderr, over = time.monotonic(), sys.stderr, threading.Event()
    done, last = 0, ""

    def tell() -> None:
        minutes, seconds = divmod(int(time.monotonic() - begin), 60)
        print(f"{title} {done}/{total} {minutes}:{seconds:02d} {last}".rstrip(), file=stderr, flush=True)

    def every_minute() -> None:
        while not over.wait(MINUTE):
            tell()

    def advance(note: str) -> None:
        nonlocal done, last
        done, last = done + 1, note

    teller = threading.Thread(target=every_minute, daemon=True)
    teller.start()
    try:
        yield advance
    finally:
        over.set()
        teller.join()
        tell()
