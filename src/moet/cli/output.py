"""How a command tells its user something."""

from __future__ import annotations

import json
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.errors import InputError
from moet.files import written_whole

if TYPE_CHECKING:
    from moet.model.mixture import Size

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


class Exit(IntEnum):
    """Exit codes of every command."""

    OK = 0
    NEGATIVE = 1
    USAGE = 2
    UNDECIDED = 3
    INTERRUPTED = 130


def say(message: str) -> None:
    """Tell the user something that is not part of the result."""
    typer.echo(f"moet: {message}", err=True)


def print_json(result: dict[str, Any]) -> None:
    """Print a result for programs. NaN and infinity are not JSON and raise."""
    typer.echo(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False))


def check_writable(path: Path) -> None:
    """Complain about a place that cannot be written to before the work, not after it."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} exists and is not a file")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}")


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, also when interrupted."""
    with written_whole(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def size_in_words(size: Size) -> str:
    """Size of a model in one line, gate included."""
    from moet.model.text import count

    counts = count(size.experts, "expert"), count(size.leaves, "leaf", "leaves"), count(size.nodes, "node")
    return f"{', '.join(counts)}, depth {size.depth}, {size.gate_numbers} gate numbers"


def print_report(report: dict[str, str]) -> None:
    """Print a result for people, one named value per line."""
    width = max(len(name) for name in report)
    for name, value in report.items():
        typer.echo(f"{name:<{width}}  {value}")
