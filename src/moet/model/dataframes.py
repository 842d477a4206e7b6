"""Schemas of tables, and the features of their rows; pandas is loaded by whoever has a table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.column_table import ColumnTable
from moet.model.schema import EMPTY, NO_YES, Column, Schema, category_of
from moet.model.whole import LARGEST_WHOLE, refuse_lost_digits

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

MAX_CATEGORIES = 256
"""A text column with more different values is rather a name, a date or a mistake than a category."""

_MANY = 50
"""So many different texts in fewer than twice as many rows are rather names of the rows."""

_NUMBER = re.compile(r"(?=.*[,%$€£¥])[-+]?[$€£¥]?\s?(\d{1,3}(,\d{3})+(\.\d+)?|\d+([.,]\d+)?)\s?[%$€£¥]?")
"""Thousands with commas, per cent, currencies, and commas for points."""

_WHOLE = re.compile(r"[-+]?\d+")

_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{4}( .*)?")


def is_table(data: Any) -> bool:
    """Whether ``data`` is a DataFrame, of pandas or polars."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] in ("pandas", "polars")


def as_pandas(table: Any) -> pd.DataFrame:
    """A table as one of pandas, with different strings as names of its columns."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        if not is_table(table):
            raise InputError(f"expected a DataFrame of pandas or polars, got {type(table).__name__}")
        table = pd.DataFrame({name: polars_column(table[name]) for name in table.columns})
    check_names(list(table.columns))
    return table


def check_names(names: list[Any]) -> None:
    """Complain about names of columns that are no different strings."""
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"the names of columns must be strings, got {names[:8]}")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two columns are called {twice!r}; rename one")


def _by_columns(table: Any) -> pd.DataFrame | ColumnTable:
    return table if isinstance(table, ColumnTable) else as_pandas(table)


def polars_column(column: Any) -> Any:
    """A column of polars without pyarrow: categories that have an order keep it."""
    import pandas as pd

    if column.dtype.is_numeric() and not column.null_count():
        return column.to_numpy()
    values = column.to_list()
    if type(column.dtype).__name__ == "Enum":
        return pd.Categorical(values, categories=column.dtype.categories.to_list(), ordered=True)
    return pd.Series(values)


def schema_of(table: Any, categories: Iterable[str] = ()) -> Schema:
    """Make a schema; see :meth:`Schema.of`."""
    table = _by_columns(table)
    chosen = set(categories)
    if strange := chosen - set(table.columns):
        raise InputError(f"there is no column {min(strange)!r}; the columns are {', '.join(table.columns)}")
    if not len(table) or not len(table.columns):
        raise InputError("the table has no rows, or no columns")
    return Schema(_column(name, table[name], name in chosen) for name in table.columns)


def encode_table(schema: Schema, table: Any, unknown: Literal["error", "zeros"]) -> Floats:
    """Features of every row; see :meth:`Schema.encode`."""
    table = _by_columns(table)
    if missing := [column.name for column in schema.columns if column.name not in table.columns]:
        raise InputError(f"the table lacks {_listed(missing)}; it has {_listed(table.columns)}")
    features = np.empty((len(table), len(schema.feature_names)))
    for column, places in schema.places:  # into its place at once: a second table of a large one may not fit
        features[:, places[0] : places[-1] + 1] = _encoded(column, table[column.name], unknown)
    return features


def _column(name: str, cells: pd.Series, as_category: bool) -> Column:
    from pandas.api import types

    if types.is_datetime64_any_dtype(cells) or types.is_timedelta64_dtype(cells):
        raise InputError(_about_dates(name, cells.iloc[0]))
    if isinstance(cells.dtype, types.CategoricalDtype):
        return _of_categorical(name, cells)
    if as_category:
        return _of_texts(name, cells)
    if types.is_bool_dtype(cells) or (types.is_object_dtype(cells) and set(map(type, cells.dropna())) == {bool}):
        _check_complete(name, cells)
        return Column(name, "boolean", (name,))
    if types.is_complex_dtype(cells):
        raise InputError(f"column {name!r} holds complex numbers; turn it into two columns, or leave it out")
    if types.is_numeric_dtype(cells):
        return _of_numbers(name, cells)
    _check_no_large_number(name, cells)
    _check_no_odd_cell(name, cells)
    _check_is_category(name, cells)
    return _of_texts(name, cells)


def _of_numbers(name: str, cells: pd.Series) -> Column:
    from pandas.api import types

    numbers = _numbers(name, cells)
    low, high = float(numbers.min()), float(numbers.max())
    if types.is_integer_dtype(cells) and max(-low, high) <= LARGEST_WHOLE:
        return Column(name, "integer", (name,), int(low), int(high))
    return Column(name, "number", (name,), low, high)


def _of_categorical(name: str, cells: pd.Series) -> Column:
    names = tuple(str(value) for value in cells.cat.categories)
    if cells.cat.ordered:
        _check_complete(name, cells)
        return Column(name, "ordered", (name,), categories=names)
    return _with_categories(name, [*names, *([EMPTY] if cells.isna().any() else [])])


def _of_texts(name: str, cells: pd.Series) -> Column:
    if EMPTY in set(cells.dropna()):
        raise InputError(f"column {name!r} has a cell {EMPTY!r}, which is what empty cells are called; rename it")
    return _with_categories(name, sorted({category_of(value) for value in cells.unique()}))


def _with_categories(name: str, values: list[str]) -> Column:
    if len(values) > MAX_CATEGORIES:
        raise InputError(
            f"column {name!r} is text with {len(values)} different values, such as {values[0]!r}; "
            f"turn it into numbers or leave it out (at most {MAX_CATEGORIES} values can become columns)"
        )
    if all(_DATE.fullmatch(value) for value in values):
        raise InputError(_about_dates(name, values[0]))
    return Column(name, "category", tuple(f"{name}={value}" for value in values), categories=tuple(values))


def _check_no_large_number(name: str, cells: pd.Series) -> None:
    """Complain about whole numbers too large even for the reader of a table, who leaves them as they are, or texts."""
    values = cells.dropna().unique().tolist()
    if all(isinstance(value, str) and _WHOLE.fullmatch(value) for value in values):
        refuse_lost_digits(name, values)
    refuse_lost_digits(name, [value for value in values if isinstance(value, int)])


def _check_no_odd_cell(name: str, cells: pd.Series) -> None:
    """Complain about a column of numbers that some cells make text, naming the first of them."""
    import pandas as pd

    filled = cells[cells.notna() & (cells != "")]
    odd = filled[pd.to_numeric(filled, errors="coerce").isna()]
    if 0 < len(odd) < len(filled) / 2:
        raise InputError(
            f"column {name!r} holds numbers, but {odd.iloc[0]!r} in row {_row_number(cells, odd.index[0])}"
            f"{f' (and {len(odd) - 1} more such cells)' if len(odd) > 1 else ''}; correct the cell, or, if these are "
            f"categories, say so: `moet fit --category {name!r}`, or text throughout in a DataFrame"
        )


def _check_is_category(name: str, cells: pd.Series) -> None:
    """Complain about texts that are rather numbers in a notation of their own, or different in nearly every row."""
    values = [str(value) for value in cells.dropna().unique()]
    if len(values) > 2 and all(_NUMBER.fullmatch(value) for value in values):
        what = f"numbers written as text, such as {values[0]!r}; write them as plain numbers"
    elif _MANY < len(values) <= MAX_CATEGORIES and len(values) > len(cells) / 2:
        what = f"{len(values)} different texts in {len(cells)} rows, such as {values[0]!r}; leave it out"
    else:
        return
    raise InputError(
        f"column {name!r} holds {what}, or, if these are categories, say so: `moet fit --category {name!r}`, or a "
        "pandas category in a DataFrame"
    )


def _row_number(cells: pd.Series, label: Any) -> int:
    return list(cells.index).index(label) + 1


def _about_dates(name: str, example: Any) -> str:
    return (
        f"column {name!r} holds dates, such as {str(example)!r}; turn it into a number, such as days since a date, "
        "or leave it out"
    )


def _check_complete(name: str, cells: pd.Series) -> None:
    n_missing = int(cells.isna().sum())
    if n_missing:
        raise InputError(
            f"values are missing in column {name!r} ({n_missing} of {len(cells)} rows); fill them in or leave them "
            "out (pandas: fillna, dropna)"
        )


def _numbers(name: str, cells: pd.Series) -> Floats:
    import pandas as pd

    _check_complete(name, cells)
    refuse_lost_digits(name, cells)
    if not pd.api.types.is_numeric_dtype(cells):
        wrong = cells[pd.to_numeric(cells, errors="coerce").isna()]
        if len(wrong):
            raise InputError(f"column {name!r} must hold numbers, but has {wrong.iloc[0]!r}")
        cells = pd.to_numeric(cells)
    numbers = cells.to_numpy(np.float64)
    if not np.all(np.isfinite(numbers)):
        raise InputError(f"column {name!r} holds infinite values")
    return numbers


def _encoded(column: Column, cells: pd.Series, unknown: Literal["error", "zeros"]) -> Floats:
    if column.kind in ("number", "integer"):
        numbers = _numbers(column.name, cells)
        if column.kind == "integer" and not np.all(numbers == np.round(numbers)):
            wrong = numbers[numbers != np.round(numbers)][0]
            raise InputError(f"column {column.name!r} holds whole numbers, but has {wrong:g}")
        return numbers[:, None]
    if column.kind == "boolean":
        _check_complete(column.name, cells)
        return np.array([[column.place(value)] for value in cells], dtype=np.float64)
    names = cells.astype(object).map(column.category, na_action=None)
    strange = names[~names.isin(column.categories)]
    if len(strange) and (unknown == "error" or column.kind == "ordered"):
        column.place(strange.iloc[0])
    place = names.map({name: k for k, name in enumerate(column.categories)}).to_numpy(np.float64)
    if column.kind == "ordered":
        return place[:, None]
    return (place[:, None] == np.arange(len(column.categories))).astype(np.float64)


def unseen(schema: Schema, table: Any) -> dict[str, list[str]]:
    """Categories of a table that the model never saw, by column, one entry per row."""
    table = as_pandas(table)
    found = {}
    for column in schema.columns:
        if column.kind == "category" and column.name in table.columns:
            names = table[column.name].astype(object).map(column.category, na_action=None)
            if strange := names[~names.isin(column.categories)].tolist():
                found[column.name] = strange
    return found


def _listed(names: Iterable[str], limit: int = 8) -> str:
    names = list(names)
    rest = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(repr(name) for name in names[:limit]) + rest


__all__ = ["MAX_CATEGORIES", "NO_YES", "as_pandas", "encode_table", "is_table", "schema_of", "unseen"]
