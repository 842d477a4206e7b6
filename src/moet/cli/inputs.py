"""What commands about one model share: an input named on the command line, the model's task, its units."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moet.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from moet.envs.task import Task
    from moet.model.base import BaseMixture
    from moet.model.schema import Schema

_AT = typer.Option(
    help='The input: its numbers, separated by commas, or by name, such as "theta=0.1, theta_dot=0"; of a model '
    'with a schema a row of its table, such as german.csv:17 or "Sex=female, Age=34, ...".'
)
At = Annotated[str, _AT]
OptionalAt = Annotated[str | None, _AT]


def read_input(text: str, mixture: BaseMixture, default: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Read an input: all its numbers in order, or by name; what is not named is as in ``default`` if there is one."""
    from moet.explain.text import feature_index
    from moet.verify.arguments import state

    if mixture.schema is not None and (found := _row(text, mixture.schema, default)) is not None:
        return state(found, mixture)
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if "=" not in text:
        return state([_number(part) for part in parts], mixture)
    values: dict[int, float] = {}
    for part in parts:
        name, _, value = part.rpartition("=")  # the last one: names of encoded text columns contain another
        values[feature_index(name.strip(), mixture.feature_names)] = _number(value)
    names = mixture.feature_names
    if default is None and (missing := [name for k, name in enumerate(names) if k not in values]):
        raise InputError(f"--at must name every feature; {', '.join(missing)} is missing")
    return state([values[k] if default is None or k in values else default[k] for k in range(len(names))], mixture)


def columns_of(text: str, mixture: BaseMixture) -> list[str]:
    """Read columns between commas; one that has commas of its own is quoted, or stands alone."""
    from moet.model.words import names_in

    columns = () if mixture.schema is None else mixture.schema.columns
    return names_in(text, [column.name for column in columns])


def _row(text: str, schema: Schema, default: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Read a row of the user's table; None if features are meant."""
    from moet.model.words import parts_of, row_of_text

    parts = [part for part in parts_of(text) if part]
    if parts and all("=" not in part and ":" not in part for part in parts):
        if len(parts) == len(schema.columns) != len(schema.feature_names):
            return schema.encode_row(parts)
        return None
    if "=" in text and all(part.rpartition("=")[0].strip() in schema.feature_names for part in parts):
        is_column = {column.name for column in schema.columns}
        if not all(part.rpartition("=")[0].strip() in is_column for part in parts):
            return None  # features by name
    known = {} if default is None else schema.row(default)
    return schema.encode_row(known | row_of_text(text, schema))


def known_task(mixture: BaseMixture) -> Task | None:
    """The task of the catalogue that a model was made for."""
    name = mixture.provenance.get("task")
    if not isinstance(name, str):
        return None
    from moet.envs.catalog import known

    return known(name)


def units_of(mixture: BaseMixture, task: Task | None) -> dict[str, str]:
    """Units by feature name, where the task that a model was made for knows them."""
    if task is None or task.feature_names != mixture.feature_names:
        return {}
    return dict(zip(task.feature_names, task.feature_units, strict=True))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        from moet.table_file import COLUMNAR

        row = ". A row of a file is written as table.csv:17" if Path(text).suffix in (".csv", *COLUMNAR) else ""
        raise InputError(
            f"--at must be numbers separated by commas, or name=number; {text!r} is neither{row}"
        ) from None
