"""``moet export``: a model file in another language."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from moet.cli.output import AsJson, check_writable, print_json, say
from moet.errors import ExportError
from moet.files import written_whole


class Language(StrEnum):
    """What a model can be exported to."""

    C = "c"
    ONNX = "onnx"
    PYTHON = "python"
    DOT = "dot"
    SMT2 = "smt2"


class Style(StrEnum):
    """The styles of :func:`moet.export.c`."""

    TABLES = "tables"
    IFS = "ifs"


class Precision(StrEnum):
    """The precisions of :func:`moet.export.c`."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    APPROXIMATE = "float32-approximate"


def export(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    to: Annotated[
        Language, typer.Option(help="A C header, an ONNX model, a Python function, a Graphviz drawing, or SMT-LIB.")
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", help='File to write; "-" is stdout.')] = None,
    name: Annotated[str | None, typer.Option(help="C: beginning of every name in the header (default: moet).")] = None,
    style: Annotated[Style | None, typer.Option(help="C: constant tables (the default) or nested ifs.")] = None,
    precision: Annotated[
        Precision | None,
        typer.Option(help="C: type of the inputs; approximate has a float32 gate, too (default: float64)."),
    ] = None,
    self_test: Annotated[
        bool, typer.Option("--self-test", help="C: add a function that tries the compiled model on test vectors.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a model in another language, with the same answers to the bit.

    C, Python and SMT-LIB are for hard models; fit with --hard. The head of a C file says how to compile it. ONNX is
    binary, so it needs a file to be written to.
    """
    choices = {
        "name": name,
        "precision": precision and precision.value,
        "self_test": self_test or None,
        "style": style and style.value,
    }
    options: dict[str, Any] = {option: value for option, value in choices.items() if value is not None}
    if options and to != Language.C:
        raise ExportError(f"--{min(options).replace('_', '-')} is an option of --to c")
    if output == Path("-"):
        output = None
    if output is not None:
        check_writable(output)
    elif to == Language.ONNX:
        raise ExportError("ONNX models are binary: name a file with -o, such as -o model.onnx")
    from moet import export
    from moet.model.file import as_model, digest

    mixture = as_model(model)
    exported = getattr(export, to.value)(mixture, **options)
    if output is not None:
        _write(output, exported.encode("utf-8") if isinstance(exported, str) else exported.SerializeToString())
        say(f"wrote {output}")
    if as_json:
        result = {"model": str(model), "digest": digest(mixture), "to": to.value, "size": mixture.size._asdict()}
        print_json(result | ({"text": exported} if output is None else {"output": str(output)}))
    elif output is None:
        typer.echo(exported, nl=False)


def _write(path: Path, content: bytes) -> None:
    try:
        with written_whole(path) as unfinished:
            unfinished.write_bytes(content)
    except OSError as error:
        raise ExportError(f"cannot write {path}: {error.strerror}") from None
