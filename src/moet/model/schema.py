"""The columns of the user's table behind the features of a model: what a row is, and which rows are possible."""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError, ModelError, MoetWarning
from moet.model.whole import LARGEST_WHOLE, refuse_lost_digits

Kind = Literal["number", "integer", "ordered", "category", "boolean"]
"""What the cells of a column are. Ordered categories are ranks from 0 on; yes is 1 and no is 0."""

Floats = NDArray[np.float64]

EMPTY = "(empty)"
"""What an empty cell of a column of categories is called."""

MISSING = frozenset(
    ["#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "n/a", "NA", "NULL", "null", "NaN", "nan", "-NaN", "-nan", "None"]
)
"""Texts that ``pandas.read_csv`` reads as empty cells, and the reader of our command line as texts."""

NO_YES = ("no", "yes")
_SPELLINGS = {"yes": 1, "true": 1, "1": 1, "1.0": 1, "no": 0, "false": 0, "0": 0, "0.0": 0}


@dataclass(frozen=True)
class Column:
    """A column of the user's table.

    Attributes
    ----------
    name : str
    kind : {"number", "integer", "ordered", "category", "boolean"}
    features : tuple of str
        The model's features that it became: one per category of kind ``"category"``, otherwise one.
    low, high : float or None
        Range seen, of numbers and integers.
    categories : tuple of str
        Of categories, in the order of the features or ranks; ``"(empty)"`` is the empty cell.
    unit : str
        For people.

    Examples
    --------
    >>> Column("Duration", "integer", ("Duration",), 4, 72, unit="months")
    Column(name='Duration', kind='integer', features=('Duration',), low=4, high=72, categories=(), unit='months')
    """

    name: str
    kind: Kind
    features: tuple[str, ...]
    low: float | None = None
    high: float | None = None
    categories: tuple[str, ...] = ()
    unit: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        object.__setattr__(self, "categories", tuple(self.categories))
        _check_column(self)
        if self.low is not None and self.high is not None:  # one way to write a number
            exact = int if self.kind == "integer" else float
            object.__setattr__(self, "low", exact(self.low))
            object.__setattr__(self, "high", exact(self.high))

    @property
    def is_whole(self) -> bool:
        """Whether its one feature is a whole number."""
        return self.kind in ("integer", "ordered", "boolean")

    @property
    def labels(self) -> tuple[str, ...]:
        """Words for its values, in the order of ranks or features; none of numbers."""
        return NO_YES if self.kind == "boolean" else self.categories

    @property
    def reach(self) -> tuple[float, float]:
        """Least and largest value of a possible row in its one feature; not for categories without an order."""
        if self.labels:
            return 0.0, float(len(self.labels) - 1)
        assert self.low is not None
        assert self.high is not None
        return float(self.low), float(self.high)

    def encoded(self, value: Any) -> list[float]:
        """Features of a cell; an InputError says what is wrong with it."""
        if self.kind in ("number", "integer"):
            return [_number(value, self)]
        place = self.place(value)
        if self.kind == "category":
            return [float(k == place) for k in range(len(self.categories))]
        return [float(place)]

    def place(self, value: Any) -> int:
        """Position of a category, or 1 for yes and 0 for no."""
        if self.kind == "boolean":
            word = str(value).strip().lower()
            if word in _SPELLINGS:
                return _SPELLINGS[word]
            raise InputError(f"column {self.name!r} is yes or no, got {value!r}")
        text = self.category(value)
        if text not in self.categories:
            raise InputError(
                f"the model never saw {text!r} in column {self.name!r}; it knows {', '.join(self.categories)}"
            )
        return self.categories.index(text)

    def category(self, value: Any) -> str:
        """Name of the category that a cell holds.

        A table read by pandas has empty cells where the file says ``NA``, read by the command line it has the text. The
        one is taken for the other, with a warning, where the model knows just one of them.
        """
        text = category_of(value)
        alike = {EMPTY} if text in MISSING else MISSING if text == EMPTY else frozenset()
        if text in self.categories or len(known := alike.intersection(self.categories)) != 1:
            return text
        (name,) = known
        told = f"{text!r} in column {self.name!r} is taken for {name!r}, as pandas would; the model never saw {text!r}"
        warnings.warn(told, MoetWarning, stacklevel=2)
        return name

    def decoded(self, features: Sequence[float]) -> Any:
        """The cell that has these features; numbers that are none's stay as they are, told by feature."""
        if self.kind == "category":
            if sorted(features) == [0.0] * (len(features) - 1) + [1.0]:
                return self.categories[list(features).index(1.0)]
            return dict(zip(self.categories, features, strict=True))
        (value,) = features
        if self.kind == "number" or not float(value).is_integer():
            return value
        if self.kind == "integer":
            return int(value)
        return self.labels[int(value)] if 0 <= value < len(self.labels) else value


class Place(NamedTuple):
    """A column and the positions of its features."""

    column: Column
    features: tuple[int, ...]


@dataclass(frozen=True)
class Schema:
    """What the table of a model's user is like: its columns, and the features that each became.

    The possible rows are the product of the columns: exactly one of its categories, a whole number of the range, and so
    on. A schema is part of a model: it says what a row of the table means.

    Parameters
    ----------
    columns : iterable of Column

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"Age": [34, 51, 20], "Housing": ["own", "rent", "own"]})
    >>> schema = Schema.of(table)
    >>> schema.feature_names
    ('Age', 'Housing=own', 'Housing=rent')
    >>> schema.encode_row({"Age": 40, "Housing": "rent"}).tolist()
    [40.0, 0.0, 1.0]
    >>> schema.row([40.0, 0.0, 1.0])
    {'Age': 40, 'Housing': 'rent'}
    """

    columns: tuple[Column, ...]

    def __init__(self, columns: Iterable[Column]) -> None:
        object.__setattr__(self, "columns", tuple(columns))
        names = [column.name for column in self.columns]
        if not names or len(set(names)) != len(names):
            raise ModelError(f"a schema needs columns with different names, got {names}")
        features = self.feature_names
        if len(set(features)) != len(features):
            twice = next(name for name in features if features.count(name) > 1)
            raise ModelError(f"two columns would both be called {twice!r}; rename one")

    @classmethod
    def of(cls, table: Any, categories: Iterable[str] = ()) -> Schema:
        """Make the schema of a table (pandas or polars).

        Parameters
        ----------
        table : DataFrame
            Strings and categories become categories, an ordered categorical ranks, booleans yes or no, integers and
            other numbers themselves, with the range that is seen.
        categories : iterable of str
            Columns to take for categories, whatever they hold.
        """
        from moet.model.dataframes import schema_of

        return schema_of(table, categories)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of all features, in the order in which the model has them."""
        return tuple(name for column in self.columns for name in column.features)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Columns with the positions of their features."""
        found, k = [], 0
        for column in self.columns:
            found.append(Place(column, tuple(range(k, k + len(column.features)))))
            k += len(column.features)
        return tuple(found)

    def place(self, name: str) -> Place:
        """One column by name, with the positions of its features."""
        for place in self.places:
            if place.column.name == name:
                return place
        names = [column.name for column in self.columns]
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"the table has {', '.join(names)}"
        raise InputError(f"there is no column {name!r}; {hint}")

    def encode(self, table: Any, *, unknown: Literal["error", "zeros"] = "error") -> Floats:
        """Features of every row of a table that has these columns (others are ignored).

        Parameters
        ----------
        table : DataFrame
            pandas or polars.
        unknown : {"error", "zeros"}
            What a category is that the model never saw: an error, or a category of its own that nothing tests.
        """
        from moet.model.dataframes import encode_table

        return encode_table(self, table, unknown)

    def encode_row(self, row: Any) -> Floats:
        """Features of one row: a mapping or a Series by column, or the cells in the order of the columns."""
        if not isinstance(row, Mapping) and hasattr(row, "to_dict"):
            row = row.to_dict()
        if isinstance(row, Mapping):
            cells = dict(row)
            missing = [column.name for column in self.columns if column.name not in cells]
            if missing:
                raise InputError(f"the row lacks {', '.join(map(repr, missing))}: give every column a value")
        else:
            values = list(row)
            if len(values) != len(self.columns):
                raise InputError(f"a row of this table has {len(self.columns)} cells, got {len(values)}")
            cells = dict(zip((column.name for column in self.columns), values, strict=True))
        return np.array([number for column in self.columns for number in column.encoded(cells[column.name])])

    def row(self, x: Sequence[float] | Floats) -> dict[str, Any]:
        """Cells of the row that has these features."""
        values = [float(value) for value in x]
        return {column.name: column.decoded([values[k] for k in ks]) for column, ks in self.places}

    def document(self) -> list[dict[str, Any]]:
        """What a model file holds."""
        return [_document(column) for column in self.columns]

    @classmethod
    def from_document(cls, document: Any) -> Schema:
        """Read what :meth:`document` wrote, strictly."""
        if not isinstance(document, list):
            raise ModelError("schema must be a list of columns")
        return cls(_column(part) for part in document)


def category_of(value: Any) -> str:
    """Name of the category that a cell holds."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or value == "":
        return EMPTY
    return str(value)


def _number(value: Any, column: Column) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"column {column.name!r} must hold numbers, got {value!r}") from None
    if not math.isfinite(number):
        raise InputError(f"column {column.name!r} must hold finite numbers, got {value!r}; fill it in")
    refuse_lost_digits(column.name, [value])
    if column.kind == "integer" and not number.is_integer():
        raise InputError(f"column {column.name!r} holds whole numbers, got {value!r}")
    return number


_RANGED, _LISTED = ("name", "kind", "features", "low", "high"), ("name", "kind", "features", "categories")


def _document(column: Column) -> dict[str, Any]:
    parts: dict[str, Any] = {"name": column.name, "kind": column.kind, "features": list(column.features)}
    if column.kind in ("number", "integer"):
        parts |= {"low": column.low, "high": column.high}
    elif column.kind != "boolean":
        parts["categories"] = list(column.categories)
    return parts | ({"unit": column.unit} if column.unit else {})


def _column(part: Any) -> Column:
    if not isinstance(part, dict) or part.get("kind") not in get_args(Kind):
        raise ModelError(f"every column of a schema has a kind, one of {', '.join(get_args(Kind))}")
    wanted = _RANGED if part["kind"] in ("number", "integer") else _LISTED if part["kind"] != "boolean" else _LISTED[:3]
    if missing := [key for key in wanted if key not in part]:
        raise ModelError(f"a column of the schema lacks {', '.join(missing)}")
    if strange := [key for key in part if key not in (*wanted, "unit")]:
        raise ModelError(f"a column of the schema has unknown keys: {strange}")
    if part.get("unit") == "":
        raise ModelError("a column of the schema has an empty unit: leave it out")
    for key in ("features", "categories"):
        if key in part and not isinstance(part[key], list):
            raise ModelError(f"{key} of a column must be a list")
    return Column(**part)


def _check_column(column: Column) -> None:
    texts = (column.name, column.unit, *column.features, *column.categories)
    if not all(isinstance(text, str) for text in texts) or not column.name:
        raise ModelError(f"a column needs a name, and names are strings: {column.name!r}")
    if column.kind not in get_args(Kind):
        raise ModelError(f"column {column.name!r} is of kind {column.kind!r}, not of {', '.join(get_args(Kind))}")
    n_features = len(column.categories) if column.kind == "category" else 1
    if len(column.features) != n_features or not n_features:
        raise ModelError(f"column {column.name!r} has {len(column.features)} features, and should have {n_features}")
    if len(set(column.categories)) != len(column.categories) or "" in column.categories:
        raise ModelError(f"column {column.name!r} has a category twice, or one without a name")
    listed = column.kind in ("category", "ordered")
    if listed != bool(column.categories):
        raise ModelError(f"column {column.name!r} of kind {column.kind} has {len(column.categories)} categories")
    if column.kind in ("number", "integer"):
        _check_range(column)
    elif column.low is not None or column.high is not None:
        raise ModelError(f"column {column.name!r} of kind {column.kind} has no range")


def _check_range(column: Column) -> None:
    for side in (column.low, column.high):
        if type(side) not in (int, float) or not math.isfinite(side):  # type: ignore[arg-type]
            raise ModelError(f"the range of column {column.name!r} must be two finite numbers, got {side!r}")
        if column.kind == "integer" and not (float(side).is_integer() and abs(side) <= LARGEST_WHOLE):  # type: ignore[arg-type]
            raise ModelError(f"the range of column {column.name!r} must be whole numbers up to 2^53, got {side!r}")
    if column.low > column.high:  # type: ignore[operator]
        raise ModelError(f"the range of column {column.name!r} is empty: {column.low} to {column.high}")
