"""``moet show``: a model file as text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moet.cli.inputs import known_task, units_of
from moet.cli.output import AsJson, print_json


def show(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    digits: Annotated[int, typer.Option(min=1, max=17, help="Significant digits; 17 shows every number exactly.")] = 4,
    as_json: AsJson = False,
) -> None:
    """Show a model as text: its size, its gate and its trees."""
    from moet.explain import rules
    from moet.model.file import as_mixture

    mixture = as_mixture(model)
    units = units_of(mixture, known_task(mixture))
    text = rules(mixture, digits=digits, units=units)
    if as_json:
        print_json(
            {
                "model": str(model),
                "prediction": mixture.prediction,
                "classes": mixture.classes.tolist(),
                "feature_names": list(mixture.feature_names),
                "units": units,
                "size": mixture.size._asdict(),
                "rules": text,
            }
        )
    else:
        typer.echo(text)
