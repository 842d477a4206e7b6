"""The columns of the table behind a model, by the rules of ``docs/model-format.md`` written once more.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.reading import double, items, members, shown, text, whole

_LARGEST_WHOLE = 2**53
_RANGED, _LISTED = ("number", "integer"), ("ordered", "category")


class PlainColumn(NamedTuple):
    """A column: its features begin at ``first``; ``labels`` are the words for its values, none of numbers."""

    name: str
    kind: str
    features: list[str]
    first: int
    low: float | int
    high: float | int
    labels: list[str]
    unit: str

    @property
    def is_whole(self) -> bool:
        """Whether its one feature is a whole number."""
        return self.kind in ("integer", "ordered", "boolean")


def plain_columns(schema: Any, is_given: bool, feature_names: list[str]) -> list[PlainColumn]:
    """The columns of a model's schema; without one, every feature is a number."""
    if not is_given:
        return [PlainColumn(name, "number", [name], k, 0.0, 0.0, [], "") for k, name in enumerate(feature_names)]
    columns: list[PlainColumn] = []
    for part in items(schema, "schema"):
        first = sum(len(column.features) for column in columns)
        columns.append(_column(part, first))
    if [name for column in columns for name in column.features] != feature_names:
        raise CertificateError("the schema is about other features")
    if len({column.name for column in columns}) < len(columns):
        raise CertificateError("the schema has two columns of one name")
    return columns


def check_same_meaning(first: Sequence[PlainColumn], second: Sequence[PlainColumn]) -> None:
    """Complain about tables whose words stand for other features; columns of numbers alone say nothing of words."""
    one, other = ([(c.name, c.kind, c.features, c.labels) for c in columns] for columns in (first, second))
    if one != other and all(any(c.kind != "number" for c in columns) for columns in (first, second)):
        raise CertificateError("the models are about tables of other columns, or of categories in another order")


def schema_document(columns: list[PlainColumn]) -> list[dict[str, Any]]:
    """The schema as a model file holds it."""
    return [_document(column) for column in columns]


def _column(part: Any, first: int) -> PlainColumn:
    kind = part.get("kind") if type(part) is dict else None
    if kind not in (*_RANGED, *_LISTED, "boolean"):
        raise CertificateError(f"a column of the schema has no kind, or {shown(kind)}")
    own = ("low", "high") if kind in _RANGED else ("categories",) if kind in _LISTED else ()
    members(part, "a column", ("name", "kind", "features", *own), optional=("unit",))
    low, high = _range(part, kind) if kind in _RANGED else (0, 0)
    labels = ["no", "yes"] if kind == "boolean" else []
    if kind in _LISTED:
        labels = [text(name, "categories") for name in items(part["categories"], "categories")]
        if not labels or "" in labels or len(set(labels)) < len(labels):
            raise CertificateError("a column has no categories, one twice, or one without a name")
    features = items(part["features"], "features", len(labels) if kind == "category" else 1)
    names = [text(name, "features") for name in features]
    name, unit = text(part["name"], "name"), text(part.get("unit", ""), "unit")
    if not name or ("unit" in part and not unit):
        raise CertificateError("a column of the schema has an empty name or unit")
    return PlainColumn(name, kind, names, first, low, high, labels, unit)


def _range(part: dict[str, Any], kind: str) -> tuple[float | int, float | int]:
    low, high = double(part["low"], "low"), double(part["high"], "high")
    if low > high:
        raise CertificateError("the range of a column is empty")
    if kind == "number":
        return low, high
    if not (low.is_integer() and high.is_integer()):
        raise CertificateError("the range of a column of integers must be whole numbers")
    return whole(int(low), "low", -_LARGEST_WHOLE, _LARGEST_WHOLE), whole(
        int(high), "high", -_LARGEST_WHOLE, _LARGEST_WHOLE
    )


def _document(column: PlainColumn) -> dict[str, Any]:
    parts: dict[str, Any] = {"name": column.name, "kind": column.kind, "features": column.features}
    if column.kind in _RANGED:
        parts |= {"low": column.low, "high": column.high}
    elif column.kind in _LISTED:
        parts["categories"] = column.labels
    return parts | ({"unit": column.unit} if column.unit else {})
