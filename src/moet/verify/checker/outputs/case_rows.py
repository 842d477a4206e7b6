"""Conditions on outputs as conditions on inputs, at one leaf of each model. Standard library only.

An output is its law, clipped. A condition on one output alone is one on its law, or is met, or missed, by the bounds
that it is clipped to. If a condition has several outputs, each of them that has bounds is at its low bound, between
them or at its high one: every combination is a case of its own, in this order, the last output's changing fastest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from moet.verify.checker.inputs.gate import Sum
from moet.verify.checker.meter import Meter, cost


class Wanted(NamedTuple):
    """coefficients·u >= bound, or > if strict; u are the outputs of all models, one model after the other."""

    coefficients: list[Fraction]
    bound: Fraction
    strict: bool


class Output(NamedTuple):
    """The law of an output at a leaf, with its errors, and the bounds it is clipped to."""

    law: Sum
    low: Fraction | None
    high: Fraction | None


class Row(NamedTuple):
    """coefficients·x >= bound, or > if strict."""

    coefficients: list[Fraction]
    bound: Fraction
    strict: bool


def cases(wanted: Sequence[Wanted], outputs: Sequence[Output], meter: Meter) -> Iterator[list[Row]]:
    """Rows that inputs satisfy at which all conditions hold, case by case; none where the bounds rule that out."""
    alone: list[Wanted] = []
    together: list[Wanted] = []
    for condition in wanted:
        (alone if sum(map(bool, condition.coefficients)) <= 1 else together).append(condition)
    first: list[Row] = []
    for condition in alone:
        rows = _one_output(condition, outputs)
        if rows is None:
            return
        first += rows
    involved = sorted({o for condition in together for o, c in enumerate(condition.coefficients) if c})
    for places in product(*(_places(outputs[o]) for o in involved)):
        meter.spend(cost((len(wanted) + 2 * len(involved)) * (1 + len(outputs[0].law.weights)), 64))
        rows = _in_places(together, outputs, dict(zip(involved, places, strict=True)))
        found = None if rows is None else _sifted([*first, *rows])
        if found is not None:
            yield found


def ruled_out(wanted: Sequence[Wanted], low: Sequence[Fraction | None], high: Sequence[Fraction | None]) -> bool:
    """Whether the bounds of one output alone rule out that all conditions hold, at whichever leaf."""
    for condition in wanted:
        used = [(c, low[o], high[o]) for o, c in enumerate(condition.coefficients) if c]
        if len(used) == 1 and _by_bounds(condition, *used[0]) is False:
            return True
    return False


def _by_bounds(condition: Wanted, c: Fraction, low: Fraction | None, high: Fraction | None) -> bool | None:
    """Whether c·u meets a condition whatever u between the bounds is; None if it depends."""
    ends = [None if end is None else c * end for end in (low, high)]
    least, most = ends if c > 0 else ends[::-1]
    if least is not None and _holds(least, condition):
        return True
    return None if most is None or _holds(most, condition) else False


def _places(output: Output) -> list[int]:
    """Where an output may be: at its low bound (-1), between the bounds (0), at its high one (1)."""
    return [-1] * (output.low is not None) + [0] + [1] * (output.high is not None)


def _one_output(condition: Wanted, outputs: Sequence[Output]) -> list[Row] | None:
    """Rows of a condition on at most one output; None if bounds rule it out."""
    used = [o for o, c in enumerate(condition.coefficients) if c]
    if not used:
        return _sifted([Row([], condition.bound, condition.strict)])
    law, low, high = outputs[used[0]]
    by_bounds = _by_bounds(condition, condition.coefficients[used[0]], low, high)
    if by_bounds is None:
        return [_row([(condition.coefficients[used[0]], law)], condition.bound, condition.strict)]
    return [] if by_bounds else None


def _in_places(conditions: list[Wanted], outputs: Sequence[Output], places: dict[int, int]) -> list[Row] | None:
    """Rows of conditions where every output that they use is in its place; None if the bounds rule it out."""
    rows = []
    for o, place in places.items():
        law, low, high = outputs[o]
        at_least, at_most = (low, high) if place == 0 else (high, None) if place > 0 else (None, low)
        if at_least is not None:
            rows.append(_row([(Fraction(1), law)], at_least, False))
        if at_most is not None:
            rows.append(_row([(Fraction(-1), law)], -at_most, False))
    for condition in conditions:
        bound, terms = condition.bound, []
        for o, c in enumerate(condition.coefficients):
            end = None if not c or not places[o] else outputs[o].low if places[o] < 0 else outputs[o].high
            if end is not None:
                bound -= c * end
            elif c:
                terms.append((c, outputs[o].law))
        rows.append(_row(terms, bound, condition.strict))
    return rows


def _row(terms: list[tuple[Fraction, Sum]], bound: Fraction, strict: bool) -> Row:
    """Σ c·law >= bound, as far as float64 arithmetic may make it so."""
    coefficients: list[Fraction] = []
    for c, law in terms:
        now = [c * w + abs(c) * s for w, s in zip(law.weights, law.slope, strict=True)]
        coefficients = [a + b for a, b in zip(coefficients, now, strict=True)] if coefficients else now
        bound -= c * law.bias + abs(c) * law.error
    return Row(coefficients, bound, strict)


def _sifted(rows: list[Row]) -> list[Row] | None:
    """Rows without those that say nothing about inputs; None if one of these is false."""
    left = []
    for row in rows:
        if any(row.coefficients):
            left.append(row)
        elif row.bound > 0 or (row.bound == 0 and row.strict):
            return None
    return left


def _holds(value: Fraction, condition: Wanted) -> bool:
    return value > condition.bound or (value == condition.bound and not condition.strict)
