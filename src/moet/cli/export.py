"""``moet export``: a model file in another language."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from moet.cli.output import AsJson, check_writable, print_json, say, write_text
from moet.errors import ExportError


class Language(StrEnum):
    """What a model can be exported to."""

    C = "c"
    PYTHON = "python"
    DOT = "dot"


class Style(StrEnum):
    """The styles of :func:`moet.export.c`."""

    TABLES = "tables"
    IFS = "ifs"


def export(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    to: Annotated[Language, typer.Option(help="Language to write: a C99 header, a Python function, or Graphviz.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help='File to write; "-" is stdout.')] = None,
    name: Annotated[str | None, typer.Option(help="C: beginning of every name in the header (default: moet).")] = None,
    style: Annotated[Style | None, typer.Option(help="C: constant tables (the default) or nested ifs.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a model in another language, with the same answers to the bit.

    C and Python are for hard models; fit with --hard. The head of a C file says how to compile it.
    """
    options: dict[str, Any] = {
        key: value for key, value in {"name": name, "style": style and style.value}.items() if value is not None
    }
    if options and to != Language.C:
        raise ExportError(f"--{min(options)} is an option of --to c")
    if output == Path("-"):
        output = None
    if output is not None:
        check_writable(output)
    from moet import export, load
    from moet.model.file import digest

    mixture = load(model)
    text = getattr(export, to.value)(mixture, **options)
    if output is not None:
        write_text(output, text)
        say(f"wrote {output}")
    if as_json:
        result = {"model": str(model), "digest": digest(mixture), "to": to.value, "size": mixture.size._asdict()}
        print_json(result | ({"text": text} if output is None else {"output": str(output)}))
    elif output is None:
        typer.echo(text, nl=False)
