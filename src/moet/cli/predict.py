"""``moet predict``: the answers of a model for a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.output import AsJson, check_writable, print_json, say, write_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from moet.model.regression.mixture import RegressionMixture


def predict(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    data: Annotated[
        Path, typer.Argument(help="Table to answer for: comma-separated values with a header, Parquet or Arrow.")
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write instead of stdout.")] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also give the probability of every class.")] = False,
    target: Annotated[str | None, typer.Option(help="Column of true labels or numbers to compare with.")] = None,
    as_json: AsJson = False,
) -> None:
    """Predict the label, or the outputs, of every row of a table.

    Columns are found by the feature names of the model; others are ignored. Prints one label per line; with --proba,
    and for a model that answers with numbers, comma-separated values with a header.
    """
    if output is not None:
        check_writable(output)
    from moet.cli.data import agreement, encode_like, encode_rows, features_of, read_table, target_numbers, text_names
    from moet.model.file import as_model
    from moet.model.regression.mixture import RegressionMixture

    mixture = as_model(model)
    if isinstance(mixture, RegressionMixture):
        _refuse_label_options(mixture, proba, target)
        outputs = mixture.predict(features_of(data, mixture))
        written: dict[str, Any] = {"model": str(model), "rows": len(outputs), "outputs": list(mixture.outputs)}
        if target is not None:
            from moet.cli.fit_numbers import r_squared

            written["r2"] = r_squared(target_numbers(read_table(data), target), outputs[:, 0])
            say(f"R² {written['r2']:.4f} ({len(outputs)} rows)")
        _answer(_csv(mixture.outputs, outputs.tolist()), written | {"predictions": outputs.tolist()}, output, as_json)
        return
    as_text = text_names(mixture)
    if target is not None and mixture.classes.dtype.kind == "U":
        as_text.add(target)
    table = read_table(data, as_text)
    schema = mixture.schema
    X = encode_like(table, mixture.feature_names) if schema is None else encode_rows(table, schema)
    predicted = mixture.predict(X)
    result: dict[str, Any] = {"model": str(model), "rows": len(X), "predictions": predicted.tolist()}
    probabilities = None
    if proba:
        probabilities = mixture.predict_proba(X)
        result |= {"classes": mixture.classes.tolist(), "probabilities": probabilities.tolist()}
    if target is not None:
        result["accuracy"] = agreement(predicted, table, target)
        say(f"accuracy {result['accuracy']:.4f} ({len(X)} rows)")
    text = _lines(predicted)
    if probabilities is not None:
        rows = ([label, *row] for label, row in zip(predicted.tolist(), probabilities.tolist(), strict=True))
        text = _csv(["label", *(f"p({label})" for label in result["classes"])], rows)
    _answer(text, result, output, as_json)


def _refuse_label_options(mixture: RegressionMixture, proba: bool, target: str | None) -> None:
    from moet.errors import InputError

    if proba:
        raise InputError("this model answers with numbers: --proba is for models that answer with labels")
    if target is not None and mixture.n_outputs > 1:
        raise InputError(f"this model answers with {mixture.n_outputs} numbers: --target is for models with one output")


def _answer(text: str, result: dict[str, Any], output: Path | None, as_json: bool) -> None:
    if output is not None:
        write_text(output, text)
        say(f"wrote {output}")
    if as_json:
        print_json(result)
    elif output is None:
        typer.echo(text, nl=False)


def _lines(predicted: NDArray[Any]) -> str:
    return "".join(f"{label}\n" for label in predicted.tolist())


def _csv(header: Iterable[str], rows: Iterable[list[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
