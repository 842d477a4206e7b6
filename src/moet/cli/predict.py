"""``moet predict``: the answers of a model for a table."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.output import AsJson, check_writable, print_json, say, write_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def predict(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    data: Annotated[Path, typer.Argument(help="Table to answer for: comma-separated values with a header.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write instead of stdout.")] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also give the probability of every class.")] = False,
    target: Annotated[str | None, typer.Option(help="Column of true labels to compare the answers with.")] = None,
    as_json: AsJson = False,
) -> None:
    """Predict the label of every row of a table.

    Columns are found by the feature names of the model; others are ignored. Prints one label per line, or with --proba
    comma-separated values with a header.
    """
    if output is not None:
        check_writable(output)
    from moet import load
    from moet.cli.data import agreement, encode_like, read_table, text_columns

    mixture = load(model)
    as_text = text_columns(mixture.feature_names)
    if target is not None and mixture.classes.dtype.kind == "U":
        as_text.add(target)
    table = read_table(data, as_text)
    X = encode_like(table, mixture.feature_names)
    predicted = mixture.predict(X)
    result: dict[str, Any] = {"model": str(model), "rows": len(X), "predictions": predicted.tolist()}
    probabilities = None
    if proba:
        probabilities = mixture.predict_proba_hard(X) if mixture.prediction == "hard" else mixture.predict_proba(X)
        result |= {"classes": mixture.classes.tolist(), "probabilities": probabilities.tolist()}
    if target is not None:
        result["accuracy"] = agreement(predicted, table, target)
        say(f"accuracy {result['accuracy']:.4f} ({len(X)} rows)")
    text = _lines(predicted) if probabilities is None else _csv(predicted, probabilities, result["classes"])
    if output is not None:
        write_text(output, text)
        say(f"wrote {output}")
    if as_json:
        print_json(result)
    elif output is None:
        typer.echo(text, nl=False)


def _lines(predicted: NDArray[Any]) -> str:
    return "".join(f"{label}\n" for label in predicted.tolist())


def _csv(predicted: NDArray[Any], probabilities: NDArray[np.float64], classes: list[Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["label", *(f"p({label})" for label in classes)])
    writer.writerows([label, *row] for label, row in zip(predicted.tolist(), probabilities.tolist(), strict=True))
    return text.getvalue()
