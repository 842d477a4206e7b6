"""What certificates about possible rows prove, in the words of the table. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from moet.verify.checker.documents.model import PlainModel
from moet.verify.checker.documents.schema import PlainColumn
from moet.verify.checker.numbers import between, exactly, name_of, quoted
from moet.verify.checker.rows import claims

_HARD = "in exact arithmetic (the first of equal logits wins)"
_SOFT = "in exact arithmetic and as deployed, whatever float64 arithmetic rounds"


def row_claim(kind: str, claim: Any, models: Sequence[PlainModel]) -> list[str]:
    """The claim of a certificate, some lines of text."""
    model = models[0]
    if kind == "row_always":
        return _always(claims.row_always(claim, model))
    if kind == "row_equivalent":
        return _equivalent(claims.row_equivalent(claim, model, models[1]))
    if kind == "monotone":
        return _monotone(claims.monotone(claim, model), model)
    if kind == "ignores":
        return _ignores(claims.ignores(claim, model), model)
    if kind == "recourse":
        return _recourse(claims.recourse(claim, model), model)
    return _robust(claims.robust(claim, model), model)


def _where(model: PlainModel) -> str:
    """Of which arithmetic a claim is."""
    return _HARD if model.is_hard else _SOFT


def _always(claim: claims.RowAlways) -> list[str]:
    answers = " or ".join(map(quoted, claim.answers))
    return [
        f"The model as deployed answers every possible row with {answers}, whatever float64 arithmetic rounds.",
        *_possible(claim.rows),
    ]


def _equivalent(claim: claims.RowEquivalent) -> list[str]:
    what = "give the same answer to every possible row"
    if claim.classes is not None:
        what = f"agree, for every possible row, on which of {', '.join(map(quoted, claim.classes))} is the answer"
    return [f"Both models {what}, {_HARD}.", *_possible(claim.rows)]


def _monotone(claim: claims.Monotone, model: PlainModel) -> list[str]:
    more = "greater" if claim.increasing else "smaller"
    return [
        f"If a possible row is answered {quoted(claim.answer)}, so is every possible row with a {more} value of "
        f"{name_of(claim.column)} and the same values of all other columns, {_where(model)}.",
        *_possible(claim.rows),
    ]


def _ignores(claim: claims.Ignores, model: PlainModel) -> list[str]:
    return [
        f"Two possible rows that differ in nothing but {', '.join(map(name_of, claim.columns))} have the same answer, "
        f"{_where(model)}.",
        *_possible(claim.rows),
    ]


def _recourse(claim: claims.Recourse, model: PlainModel) -> list[str]:
    wanted = "another answer than this row" if claim.answer is None else f"the answer {quoted(claim.answer)}"
    near = ""
    if claim.at_least is not None:
        price = {
            "sum": "the sum, over the columns, of weight times change, a change of category counting 1",
            "columns": "the sum of the weights of the columns that change",
            "largest": "the largest weight times change of a column, a change of category counting 1",
        }[claim.cost.kind]
        near = f" at a cost below {exactly(claim.at_least)}: {price}"
    lines = [f"No possible row has {wanted}{near}, {_where(model)}.", "The row:"]
    lines += [f"  {name_of(c.name)} = {_cell(c, claim.row)}" for c in model.columns]
    if claim.at_least is not None:
        weights = zip(model.columns, claim.cost.weights, strict=True)
        lines.append("Weights: " + ", ".join(f"{name_of(c.name)} {exactly(weight)}" for c, weight in weights) + ".")
    return [*lines, *_possible(claim.rows)]


def _robust(claim: claims.Robust, model: PlainModel) -> list[str]:
    radius = [
        f"{name_of(column.name)} by at most {exactly(size)}"
        for column, size in zip(model.columns, claim.radius, strict=True)
        if size
    ]
    moved = ", ".join(radius) if radius else "nothing"
    return [
        f"Each of the {len(claim.table)} rows that the certificate lists keeps its answer, as deployed, whatever "
        f"possible row it becomes when these change: {moved} (a change of category counts 1).",
        *_possible(claim.rows),
    ]


def _possible(rows: claims.Rows) -> list[str]:
    return ["Possible rows:", *(f"  {name_of(values.column.name)} {_values(values)}" for values in rows)]


def _values(values: claims.Values) -> str:
    column, low, high, allowed = values
    unit = f" {column.unit}" if column.unit else ""
    if not column.labels:
        return f"{between(low, high)}{unit}{', whole' if column.is_whole and low < high else ''}"
    places = allowed if column.kind == "category" else range(int(low), int(high) + 1)
    return f"is {' or '.join(quoted(column.labels[k]) for k in places)}"


def _cell(column: PlainColumn, row: list[Fraction]) -> str:
    own = row[column.first : column.first + len(column.features)]
    if column.kind == "category":
        return quoted(column.labels[own.index(Fraction(1))])
    return quoted(column.labels[int(own[0])]) if column.labels else exactly(own[0])
