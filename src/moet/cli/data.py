"""Tables from CSV files, and the columns of numbers that a model sees of them.

The schema of a table says what its columns are and which features each becomes, and a model keeps it. Of a model file
without one, the feature names (``column=value`` for text) are all that is needed to build the same features again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from moet.cli.output import say
from moet.errors import InputError
from moet.model.base import BaseMixture
from moet.model.column_table import ColumnTable
from moet.model.schema import Schema
from moet.model.whole import refuse_lost_digits
from moet.table_file import open_table_file, read_table_file

AnyTable: TypeAlias = pd.DataFrame | ColumnTable


def read_table(path: Path, text_columns: Iterable[str] = ()) -> pd.DataFrame:
    """Read a table (CSV, Parquet, Arrow); ``text_columns`` stay text even where they look like numbers."""
    table = read_table_file(path, text_columns)
    _check_has_rows(path, table)
    return table


def open_table(path: Path, text_columns: Iterable[str] = ()) -> AnyTable:
    """The same, but the columns of Parquet and Arrow are read one at a time, when they are asked for."""
    table = open_table_file(path, text_columns)
    _check_has_rows(path, table)
    return table


def _check_has_rows(path: Path, table: AnyTable) -> None:
    if not len(table) or not len(table.columns):
        raise InputError(f"{path} has a header but no rows")


def labels(table: AnyTable, target: str) -> NDArray[Any]:
    """Take the column to learn."""
    column = _column(table, target)
    _check_complete(table, [target])
    if _is_text(column):
        return column.to_numpy(dtype=np.str_)
    values = column.to_numpy()
    if values.dtype.kind == "f" and not np.all(values == np.round(values)):
        raise InputError(f"target column {target!r} holds real numbers, which are no labels; fit them with --numbers")
    return values


def target_numbers(table: AnyTable, target: str) -> NDArray[np.float64]:
    """Take a column of numbers to learn."""
    _column(table, target)
    _check_complete(table, [target])
    numbers = _numbers(table, target)
    _check_finite({target: numbers})
    return numbers


def features_of(path: Path, mixture: BaseMixture) -> NDArray[np.float64]:
    """Features of the rows of a file, as a model wants them."""
    if mixture.schema is None:
        return encode_like(read_table(path, text_columns(mixture.feature_names)), mixture.feature_names)
    return encode_rows(read_table(path, text_names(mixture)), mixture.schema)


def text_names(mixture: BaseMixture) -> set[str]:
    """Columns of a table that are text to a model."""
    if mixture.schema is None:
        return text_columns(mixture.feature_names)
    return {column.name for column in mixture.schema.columns if column.labels}


def encode_rows(table: pd.DataFrame, schema: Schema) -> NDArray[np.float64]:
    """Features of the rows of a table; says so if there are categories that the model never saw."""
    from moet.model.dataframes import unseen

    for name, values in unseen(schema, table).items():
        say(f"{len(values)} rows have values of {name!r} that the model never saw, such as {values[0]!r}")
    return schema.encode(table, unknown="zeros")


def text_columns(feature_names: Sequence[str]) -> set[str]:
    """Columns that may have been the text behind the features of a model."""
    return {column for name in feature_names for column in _prefixes(name)} - set(feature_names)


def encode_like(table: pd.DataFrame, feature_names: Sequence[str]) -> NDArray[np.float64]:
    """Build the features that a model was trained on, in its order, from a table read with its :func:`text_columns`."""
    source = {name: _source(table, name) for name in feature_names}
    if missing := [name for name, column in source.items() if column is None]:
        bases = list(dict.fromkeys(name.partition("=")[0] for name in missing))
        raise InputError(f"the table lacks {_listed(bases)}; it has {_listed(table.columns)}")
    _check_complete(table, [name for name, column in source.items() if column == name])
    features = {}
    known: dict[str, set[str]] = {}
    for name, column in source.items():
        if column == name:
            features[name] = _numbers(table, name)
        else:
            value = name[len(str(column)) + 1 :]
            features[name] = (_texts(table[column]) == value).to_numpy(np.float64)
            known.setdefault(str(column), set()).add(value)
    for column, values in known.items():
        strange = _texts(table[column])[~_texts(table[column]).isin(values)]
        if len(strange):
            say(f"{len(strange)} rows have values of {column!r} that the model never saw, such as {strange.iloc[0]!r}")
    _check_finite(features)
    return np.column_stack(list(features.values()))


def agreement(predicted: NDArray[Any], table: pd.DataFrame, target: str) -> float:
    """Share of rows whose predicted label is the one in the table."""
    actual = _column(table, target)
    _check_complete(table, [target])
    if predicted.dtype.kind != "U":
        actual = pd.to_numeric(actual, errors="coerce")  # what is no number equals no label
    return float(np.mean(actual.to_numpy() == predicted))


def _column(table: AnyTable, name: str) -> pd.Series:
    if name not in table.columns:
        raise InputError(f"there is no column {name!r}; the columns are {_listed(table.columns)}")
    return table[name]


def _is_text(column: pd.Series) -> bool:
    return not pd.api.types.is_numeric_dtype(column)  # booleans count as numbers, 0 and 1


def _texts(column: pd.Series) -> pd.Series:
    """A column of categories in which an empty cell is one of them."""
    return column.where(column.notna(), "").astype(str)


def _prefixes(name: str) -> list[str]:
    """Everything before an equals sign of ``name``, the longest first."""
    parts = name.split("=")
    return ["=".join(parts[:k]) for k in range(len(parts) - 1, 0, -1)]


def _source(table: pd.DataFrame, name: str) -> str | None:
    """Column of the table that a feature comes from."""
    return next((column for column in [name, *_prefixes(name)] if column in table.columns), None)


def _numbers(table: AnyTable, name: str) -> NDArray[np.float64]:
    cells = table[name]
    if _is_text(cells):
        wrong = cells[pd.to_numeric(cells, errors="coerce").isna()]
        raise InputError(f"column {name!r} must hold numbers, but has {wrong.iloc[0]!r}")
    refuse_lost_digits(name, cells)
    return cells.to_numpy(np.float64)


def _check_complete(table: AnyTable, columns: Iterable[Any]) -> None:
    missing = {name: int(table[name].isna().sum()) for name in columns}
    if any(missing.values()):
        holes = [f"{name!r} ({count} of {len(table)} rows)" for name, count in missing.items() if count]
        raise InputError(
            f"values are missing in column {_listed(holes, str)}; fill them in or leave them out (pandas: fillna, "
            "dropna)"
        )


def _check_finite(features: dict[str, NDArray[np.float64]]) -> None:
    for name, values in features.items():
        if not np.all(np.isfinite(values)):
            raise InputError(f"column {name!r} holds infinite values")


def _listed(names: Iterable[str], show: Any = repr, limit: int = 8) -> str:
    names = list(names)
    rest = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(show(name) for name in names[:limit]) + rest
