"""What certificates claim about possible rows, read with suspicion. Standard library only.

The possible rows are those of the model's schema; a claim says for every column which values it is about.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.model import Label, PlainModel
from moet.verify.checker.documents.reading import double, exact, items, members, shown, text
from moet.verify.checker.documents.schema import PlainColumn, check_same_meaning
from moet.verify.checker.inputs.claims import check_pair, labels_of, named

_LARGEST_WHOLE = 2**53
_ZERO, _ONE = Fraction(0), Fraction(1)
_FURTHEST = 10**150

ROW_KINDS = ("row_always", "row_equivalent", "monotone", "ignores", "recourse", "robust")


class Values(NamedTuple):
    """What a column may be: an interval of its one feature, or some of its categories."""

    column: PlainColumn
    low: Fraction
    high: Fraction
    allowed: list[int]


Rows = list[Values]


class RowAlways(NamedTuple):
    """Every row is answered with one of these."""

    rows: Rows
    answers: list[Label]


class RowEquivalent(NamedTuple):
    """Two models answer every row alike, as far as these classes go; None is all of them."""

    rows: Rows
    classes: list[Label] | None


class Monotone(NamedTuple):
    """More of a column (less, if it is decreasing) and nothing else never takes the answer away."""

    rows: Rows
    column: str
    increasing: bool
    answer: Label


class Ignores(NamedTuple):
    """A change of these columns and nothing else never changes the answer."""

    rows: Rows
    columns: list[str]


class Cost(NamedTuple):
    """What changes cost: ``sum`` of weights times changes, ``columns`` that change, by weight, or the ``largest``."""

    kind: str
    weights: list[Fraction]


class Recourse(NamedTuple):
    """No row with the answer (None: another than that of ``row``) costs less than this; None: there is none."""

    rows: Rows
    row: list[Fraction]
    answer: Label | None
    cost: Cost
    at_least: Fraction | None


class Robust(NamedTuple):
    """Every row of a table keeps its answer, whatever changes by at most so much per column."""

    rows: Rows
    table: list[list[Fraction]]
    answers: list[Label]
    radius: list[Fraction]


def row_always(claim: Any, model: PlainModel) -> RowAlways:
    """Read the claim of a proof that an answer is always given."""
    members(claim, "the claim", ("model", "rows", "answers"))
    named(claim["model"], model.digest, "model")
    answers = labels_of(claim["answers"], "answers", [model])
    if not answers:
        raise CertificateError("the claim names no answer")
    return RowAlways(rows_of(claim["rows"], model), answers)


def row_equivalent(claim: Any, first: PlainModel, second: PlainModel) -> RowEquivalent:
    """Read the claim of a proof that two models are equivalent."""
    members(claim, "the claim", ("models", "rows", "classes"))
    check_pair(claim["models"], first, second)
    if first.class_type != second.class_type:
        raise CertificateError(f"the models have classes of types {first.class_type} and {second.class_type}")
    check_same_meaning(first.columns, second.columns)
    classes = claim["classes"]
    wanted = None if classes is None else labels_of(classes, "classes", [first, second])
    return RowEquivalent(rows_of(claim["rows"], second if second.has_table and not first.has_table else first), wanted)


def monotone(claim: Any, model: PlainModel) -> Monotone:
    """Read the claim of a proof that an answer is monotone in a column."""
    members(claim, "the claim", ("model", "rows", "column", "direction", "answer"))
    named(claim["model"], model.digest, "model")
    if claim["direction"] not in ("increasing", "decreasing"):
        raise CertificateError(f"there is no direction {shown(claim['direction'])}")
    (answer,) = labels_of([claim["answer"]], "answer", [model])
    (name,) = _columns([claim["column"]], model)
    if next(column for column in model.columns if column.name == name).kind == "category":
        raise CertificateError("the categories of the column have no order")
    return Monotone(rows_of(claim["rows"], model), name, claim["direction"] == "increasing", answer)


def ignores(claim: Any, model: PlainModel) -> Ignores:
    """Read the claim of a proof that columns do not matter."""
    members(claim, "the claim", ("model", "rows", "columns"))
    named(claim["model"], model.digest, "model")
    columns = _columns(claim["columns"], model)
    if not columns:
        raise CertificateError("the claim names no column")
    return Ignores(rows_of(claim["rows"], model), columns)


def recourse(claim: Any, model: PlainModel) -> Recourse:
    """Read the claim of a proof that an answer costs so much."""
    members(claim, "the claim", ("model", "rows", "row", "answer", "cost", "at_least"))
    named(claim["model"], model.digest, "model")
    answer = claim["answer"]
    if answer is not None:
        (answer,) = labels_of([answer], "answer", [model])
    parts = members(claim["cost"], "cost", ("kind", "weights"))
    if parts["kind"] not in ("sum", "columns", "largest"):
        raise CertificateError(f"there is no cost {shown(parts['kind'])}")
    weights = members(parts["weights"], "weights", [column.name for column in model.columns])
    cost = Cost(parts["kind"], [Fraction(double(weights[column.name], "weights")) for column in model.columns])
    if any(weight < 0 for weight in cost.weights):
        raise CertificateError("a cost is negative")
    at_least = claim["at_least"]
    bound = None if at_least is None else exact(text(at_least, "at_least"), "at_least")
    return Recourse(rows_of(claim["rows"], model), row_of(claim["row"], model), answer, cost, bound)


def robust(claim: Any, model: PlainModel) -> Robust:
    """Read the claim of a proof that rows keep their answers."""
    members(claim, "the claim", ("model", "rows", "table", "answers", "radius"))
    named(claim["model"], model.digest, "model")
    radius = members(claim["radius"], "radius", [column.name for column in model.columns])
    sizes = [Fraction(double(radius[column.name], "radius")) for column in model.columns]
    if any(size < 0 for size in sizes):
        raise CertificateError("a radius is negative")
    table = [row_of(row, model) for row in items(claim["table"], "table")]
    answers = labels_of(items(claim["answers"], "answers", len(table)), "answers", [model])
    return Robust(rows_of(claim["rows"], model), table, answers, sizes)


def rows_of(value: Any, model: PlainModel) -> Rows:
    """What a claim says of every column."""
    parts = members(value, "rows", [column.name for column in model.columns])
    return [_values(parts[column.name], column) for column in model.columns]


def row_of(value: Any, model: PlainModel) -> list[Fraction]:
    """Features of a row that is given by column."""
    cells = members(value, "a row", [column.name for column in model.columns])
    return [number for column in model.columns for number in _features(cells[column.name], column)]


def ball(rows: Rows, row: list[Fraction], radius: list[Fraction]) -> Rows:
    """What is within a radius of a row: exact for whole numbers, ends of other intervals rounded to float64."""
    near = []
    for values, r in zip(rows, radius, strict=True):
        column, low, high, allowed = values
        x = row[column.first : column.first + len(column.features)]
        if column.kind == "category":
            own = x.index(Fraction(1))
            near.append(values._replace(allowed=sorted({*allowed, own}) if r >= 1 else [own]))
            continue
        if column.is_whole:
            ends = Fraction(ceil(x[0] - r)), Fraction(floor(x[0] + r))
        else:
            ends = Fraction(float(x[0]) - float(r)), Fraction(float(x[0]) + float(r))
        near.append(values._replace(low=max(min(low, x[0]), ends[0]), high=min(max(high, x[0]), ends[1])))
    return near


def _values(value: Any, column: PlainColumn) -> Values:
    zero = Fraction(0)
    if column.labels:
        chosen = [_place(label, column) for label in items(value, column.name)]
        if not chosen or sorted(set(chosen)) != chosen:
            raise CertificateError(f"the values of a column must be different and in order: {shown(column.name)}")
        if column.kind == "category":
            return Values(column, zero, zero, chosen)
        if chosen != list(range(chosen[0], chosen[-1] + 1)):
            raise CertificateError(f"the values of an ordered column have a gap: {shown(column.name)}")
        return Values(column, Fraction(chosen[0]), Fraction(chosen[-1]), [])
    low, high = (Fraction(double(side, column.name)) for side in items(value, column.name, 2))
    if low > high or max(abs(low), abs(high)) > (_LARGEST_WHOLE if column.is_whole else _FURTHEST):
        raise CertificateError(f"the range of a column is empty, or too large: {shown(column.name)}")
    if column.is_whole and not low.denominator == high.denominator == 1:
        raise CertificateError(f"the range of a column of integers must be whole numbers: {shown(column.name)}")
    return Values(column, low, high, [])


def _features(value: Any, column: PlainColumn) -> list[Fraction]:
    if column.labels:
        place = _place(value, column)
        if column.kind == "category":
            return [_ONE if k == place else _ZERO for k in range(len(column.labels))]
        return [Fraction(place)]
    number = Fraction(double(value, column.name))
    if abs(number) > (_LARGEST_WHOLE if column.is_whole else _FURTHEST):
        raise CertificateError(f"a number of a row is too large: {shown(column.name)}")
    if column.is_whole and floor(number) != number:
        raise CertificateError(f"a row has no whole number in column {shown(column.name)}")
    return [number]


def _place(label: Any, column: PlainColumn) -> int:
    if type(label) is not str or label not in column.labels:
        raise CertificateError(f"column {shown(column.name)} has no value {shown(label)}")
    return column.labels.index(label)


def _columns(value: Any, model: PlainModel) -> list[str]:
    names = [text(name, "columns") for name in items(value, "columns")]
    known = {column.name for column in model.columns}
    if len(set(names)) < len(names) or not set(names) <= known:
        raise CertificateError("the claim names a column twice, or one that the model does not have")
    return names
