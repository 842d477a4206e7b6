"""``moet predict``: the answers of a model for a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.inputs import OptionalAt, read_input
from moet.cli.output import AsJson, check_writable, print_json, say, write_text

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from moet.model.base import BaseMixture
    from moet.model.mixture import Mixture
    from moet.model.regression.mixture import RegressionMixture


def predict(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    data: Annotated[
        Path | None,
        typer.Argument(help="Table to answer for: comma-separated values with a header, Parquet or Arrow."),
    ] = None,
    at: OptionalAt = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write instead of stdout.")] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also give the probability of every class.")] = False,
    target: Annotated[str | None, typer.Option(help="Column of true labels or numbers to compare with.")] = None,
    as_json: AsJson = False,
) -> None:
    """Predict the label, or the outputs, of every row of a table, or of one input.

    Columns are found by the feature names of the model; others are ignored. Prints one label per line; with --proba,
    and for a model that answers with numbers, comma-separated values with a header.
    """
    from moet.model.file import as_model
    from moet.model.regression.mixture import RegressionMixture

    _refuse_both_or_none(data, at, target)
    if output is not None:
        check_writable(output)
    mixture = as_model(model)
    if isinstance(mixture, RegressionMixture):
        _refuse_label_options(mixture, proba, target)
        text, result = _numbers(mixture, data, at, target)
    else:
        text, result = _labels(mixture, data, at, proba, target)
    _answer(text, {"model": str(model)} | result, output, as_json)


def _numbers(
    mixture: RegressionMixture, data: Path | None, at: str | None, target: str | None
) -> tuple[str, dict[str, Any]]:
    """Outputs as text and as JSON values."""
    from moet.cli.data import features_of, read_table, target_numbers

    outputs = mixture.predict(features_of(data, mixture) if data is not None else _input(at, mixture))
    result: dict[str, Any] = {"rows": len(outputs), "outputs": list(mixture.outputs)}
    if data is not None and target is not None:
        from moet.cli.fit_numbers import r_squared

        result["r2"] = r_squared(target_numbers(read_table(data), target), outputs[:, 0])
        say(f"R² {result['r2']:.4f} ({len(outputs)} rows)")
    return _csv(mixture.outputs, outputs.tolist()), result | {"predictions": outputs.tolist()}


def _labels(
    mixture: Mixture, data: Path | None, at: str | None, proba: bool, target: str | None
) -> tuple[str, dict[str, Any]]:
    """Labels as text and as JSON values."""
    table, X = (None, _input(at, mixture)) if data is None else _table_and_features(mixture, data, target)
    predicted = mixture.predict(X)
    result: dict[str, Any] = {"rows": len(X), "predictions": predicted.tolist()}
    text = _lines(predicted)
    if proba:
        probabilities = mixture.predict_proba(X).tolist()
        result |= {"classes": mixture.classes.tolist(), "probabilities": probabilities}
        rows = ([label, *row] for label, row in zip(predicted.tolist(), probabilities, strict=True))
        text = _csv(["label", *(f"p({label})" for label in result["classes"])], rows)
    if table is not None and target is not None:
        from moet.cli.data import agreement

        result["accuracy"] = agreement(predicted, table, target)
        say(f"accuracy {result['accuracy']:.4f} ({len(X)} rows)")
    return text, result


def _table_and_features(mixture: Mixture, data: Path, target: str | None) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    from moet.cli.data import encode_like, encode_rows, read_table, text_names

    as_text = text_names(mixture)
    if target is not None and mixture.classes.dtype.kind == "U":
        as_text.add(target)
    table = read_table(data, as_text)
    schema = mixture.schema
    return table, encode_like(table, mixture.feature_names) if schema is None else encode_rows(table, schema)


def _input(at: str | None, mixture: BaseMixture) -> NDArray[np.float64]:
    assert at is not None
    return read_input(at, mixture)[None, :]


def _refuse_both_or_none(data: Path | None, at: str | None, target: str | None) -> None:
    from moet.errors import InputError

    if (data is None) == (at is None):
        raise InputError("give a table, or one input with --at, such as --at german.csv:17")
    if at is not None and target is not None:
        raise InputError("--target is a column of a table to compare with; leave it out with --at")


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
