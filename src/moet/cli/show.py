"""``moet show``: a model file as text."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.inputs import known_task, units_of
from moet.cli.output import AsJson, print_json

if TYPE_CHECKING:
    from moet.model.file import Model


MOST_COLUMNS = 8
"""Columns of one sum that are shown unless all are asked for."""


def show(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    digits: Annotated[
        int | None,
        typer.Option(
            min=1, max=17, help="Significant digits; 17 shows every number exactly, as is the default for short ones."
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="Show all columns and categories of a gate, not only those of largest influence."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a model as text: its size, its gate and its trees.

    A model of a table is told in the columns of the table.
    """
    from moet.explain import rules
    from moet.model.file import as_model

    mixture = as_model(model)
    units = units_of(mixture, known_task(mixture))
    text = rules(mixture, digits=digits, units=units, columns=None if every else MOST_COLUMNS)
    if as_json:
        print_json(
            {
                "model": str(model),
                "prediction": mixture.prediction,
                **_answers(mixture),
                "feature_names": list(mixture.feature_names),
                "units": units,
                "size": mixture.size._asdict(),
                "rules": text,
            }
        )
    else:
        typer.echo(text)


def _answers(mixture: Model) -> dict[str, Any]:
    """What a model answers with: classes, or outputs and their bounds, null where there is none."""
    if hasattr(mixture, "classes"):
        return {"classes": mixture.classes.tolist()}
    low, high = (
        [bound if math.isfinite(bound) else None for bound in side.tolist()] for side in (mixture.low, mixture.high)
    )
    return {"outputs": list(mixture.outputs), "low": low, "high": high, "numbers": mixture.n_numbers}
