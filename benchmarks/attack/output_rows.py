"""Questions about possible rows of tables behind nasty models of numbers, judged by every one of these rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from random_tables import random_schema

from attack.inputs import CPU_LIMIT, confirmed, demand
from attack.judge import accepted
from attack.models import Number, number_source
from attack.outputs import PlainLaws, nasty_laws
from moet import Box, Column, RegressionMixture, Schema
from moet.verify import Proved, Refuted, Unknown, always, equivalent
from moet.verify import range as range_of
from moet.verify.systems.conditions import HalfSpace

_FIRST = (2**53 - 3, -(2**53), 10**6, 2**31 - 2)
"""Where columns of large whole numbers begin: at the ends of what float64 counts, and of 32 bits."""

_ENDS = 20
"""Of a long column so many values at either end are tried."""


class _Subject(NamedTuple):
    model: RegressionMixture
    plain: PlainLaws
    domain: Box
    rows: list[list[float]]
    number: Number


def possible_rows(schema: Sequence[dict[str, Any]], lo: Sequence[float], hi: Sequence[float]) -> list[list[float]]:
    """Features of all rows of a table in a box; columns as model files hold them, none of real numbers."""
    cells: list[list[list[float]]] = []
    first = 0
    for column in schema:
        n = len(column["features"])
        cells.append(list(_cells(column, max(lo[first], -1e17), min(hi[first], 1e17))))
        first += n
    rows = ([value for cell in row for value in cell] for row in product(*cells))
    return [row for row in rows if all(a <= v <= b for a, v, b in zip(lo, row, hi, strict=True))]


def _cells(column: dict[str, Any], low: float, high: float) -> Iterator[list[float]]:
    if column["kind"] == "integer":
        values = range(math.ceil(low), math.floor(high) + 1)
        ends = values if len(values) <= 2 * _ENDS else [*values[:_ENDS], *values[-_ENDS:]]
        yield from ([float(v)] for v in ends)
        return
    n = 2 if column["kind"] == "boolean" else len(column["categories"])
    for k in range(n):
        yield [float(i == k) for i in range(n)] if column["kind"] == "category" else [float(k)]


def _subject(rng: np.random.Generator) -> _Subject:
    number = number_source(rng)
    schema = random_schema(rng)
    if rng.random() < 0.3:
        first = int(rng.choice(_FIRST))
        schema = Schema([*schema.columns, Column("far", "integer", ("far",), first, first + int(rng.integers(1, 4)))])
    model = replace(
        nasty_laws(rng, len(schema.feature_names), number), schema=schema, feature_names=schema.feature_names
    )
    sides = [_sides(rng, column) for column in schema.columns]
    lo, hi = ([v for side in sides for v in side[end]] for end in (0, 1))
    domain = Box(**dict(zip(schema.feature_names, zip(lo, hi, strict=True), strict=True)))
    return _Subject(model, PlainLaws.of(model), domain, possible_rows(schema.document(), lo, hi), number)


def _sides(rng: np.random.Generator, column: Column) -> tuple[list[float], list[float]]:
    """All of a column, or less of it: from some number on, or without some category."""
    n = len(column.features)
    if column.kind == "category":
        out = int(rng.integers(n)) if n > 1 and rng.random() < 0.4 else -1
        return [0.0] * n, [float(k != out) for k in range(n)]
    low, high = (column.low, column.high) if column.kind == "integer" else (0, len(column.labels) - 1)
    if rng.random() < 0.4:
        low = int(rng.integers(int(low or 0), int(high or 0) + 1))
    return [float(low or 0)], [float(high or 0)]


def attack_range(subject: _Subject) -> str:
    """No possible row may be answered beyond the bounds, and the ends are answers to possible rows."""
    model, plain, domain, rows, _ = subject
    found = accepted(range_of(model, domain, cpu_limit=CPU_LIMIT))
    if isinstance(found, Unknown):
        return "Unknown"
    confirmed(found, model)
    answers = [outputs for x in rows if (outputs := _deployed(plain, x)) is not None]
    for o in range(model.n_outputs):
        values = [outputs[o] for outputs in answers]
        demand(all(found.low[o] <= u <= found.high[o] for u in values), f"{values} exceed {found.low}, {found.high}")
        for at, end in ((found.least_at[o], found.least[o]), (found.largest_at[o], found.largest[o])):
            demand(at.tolist() in rows, f"{at.tolist()} is no possible row")
            outputs = plain.deployed(at.tolist())
            demand(outputs is not None and outputs[o] == end, f"{at.tolist()} is answered {outputs}, not {end}")
    return "tight" if not found.caveats else "loose"


def attack_conditions(subject: _Subject, rng: np.random.Generator) -> str:
    """A proof must hold of every possible row as deployed; a counterexample is one, exactly and as deployed."""
    model, plain, domain, rows, number = subject
    near = [u for x in rows[:50] for u in (_deployed(plain, x) or [])] or [0.0]
    conditions = [
        HalfSpace(
            tuple(Fraction(number()) if model.n_outputs > 1 else Fraction(1) for _ in range(model.n_outputs)),
            Fraction(float(rng.choice(near)) if rng.random() < 0.6 else number()),
        )
        for _ in range(int(rng.integers(1, 3)))
    ]

    def missed(outputs: Sequence[Any]) -> bool:
        return any(half.value([Fraction(u) for u in outputs]) > half.bound for half in conditions)

    verdict = accepted(always(model, domain, conditions, cpu_limit=CPU_LIMIT))
    if isinstance(verdict, Proved):
        confirmed(verdict, model)
        for x in rows:
            outputs = _deployed(plain, x)
            demand(outputs is None or not missed(outputs), f"{x} is answered {outputs}, which misses a condition")
    if isinstance(verdict, Refuted):
        x = verdict.point.tolist()
        demand(x in rows, f"{x} is no possible row")
        demand(missed(plain.deployed(x) or []), f"{x} is answered {plain.deployed(x)}: no counterexample")
        demand(missed(plain.exact([Fraction(v) for v in x])), f"at {x} the conditions hold in exact arithmetic")
    return type(verdict).__name__


def attack_tolerance(subject: _Subject, rng: np.random.Generator) -> str:
    """A proof must hold of every possible row in exact arithmetic; a counterexample is a possible row."""
    model, plain, domain, rows, number = subject
    moved = [replace(t, value=np.where(rng.random(t.value.shape) < 0.3, number(), t.value)) for t in model.trees]
    other = replace(model, trees=tuple(moved))
    second, tolerance = PlainLaws.of(other), Fraction(abs(number()))

    def off(x: list[float]) -> Fraction:
        exact = [Fraction(v) for v in x]
        return max(abs(a - b) for a, b in zip(plain.exact(exact), second.exact(exact), strict=True))

    verdict = accepted(equivalent(model, other, domain, tolerance=float(tolerance), cpu_limit=CPU_LIMIT))
    if isinstance(verdict, Proved):
        confirmed(verdict, model, other)
        demand(all(off(x) <= tolerance for x in rows), "the outputs differ by more at a possible row")
    if isinstance(verdict, Refuted):
        x = verdict.point.tolist()
        demand(x in rows, f"{x} is no possible row")
        demand(off(x) > tolerance, f"alike in exact arithmetic at {x}")
    return type(verdict).__name__


def attack_output_rows(seed: int) -> str:
    """One question about the possible rows of a nasty model of numbers."""
    rng = np.random.default_rng(seed)
    subject = _subject(rng)
    match seed % 3:
        case 0:
            return f"range {attack_range(subject)}"
        case 1:
            return f"always {attack_conditions(subject, rng)}"
        case _:
            return f"equivalent {attack_tolerance(subject, rng)}"


def _deployed(plain: PlainLaws, x: list[float]) -> list[float] | None:
    return None if plain.gate.overflows(x) else plain.deployed(x)
