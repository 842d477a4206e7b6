"""Conditions on outputs as conditions on inputs, at one leaf of each model.

An output is its law, clipped. A condition on one output alone is one on its law, or is met, or missed, by the bounds.
If a condition has several outputs, each of them that has bounds is below them, between or above, and each combination
is a case of its own. The checker goes through the same cases, by code of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from moet.verify.outputs.laws import Sum
from moet.verify.rational import ZERO, Row

Wanted = Sequence[Row]
"""Conditions on outputs that hold together; the coefficients are those of the outputs of all models."""


class Output(NamedTuple):
    """The law of an output, and the bounds that it is clipped to."""

    law: Sum
    low: Fraction | None
    high: Fraction | None


def cases(wanted: Wanted, outputs: Sequence[Output]) -> Iterator[list[Row]]:
    """Rows of inputs at which all conditions hold, case by case, without those that bounds or constants rule out."""
    single = [condition for condition in wanted if len(_used(condition)) == 1]
    several = [condition for condition in wanted if len(_used(condition)) > 1]
    own = []
    for condition in single:
        (o,) = _used(condition)
        met = met_by_bounds(condition, o, outputs[o].low, outputs[o].high)
        if met is False:
            return
        if met is None:
            own.append(_row([(condition.coefficients[o], outputs[o].law)], condition))
    clipped = sorted({o for condition in several for o in _used(condition)})
    for places in product(*([p for p in _PLACES if _exists(outputs[o], p)] for o in clipped)):
        rows = [*own, *_case(several, outputs, dict(zip(clipped, places, strict=True)))]
        if not any(_is_false(row) for row in rows):
            yield [row for row in rows if any(row.coefficients)]


_PLACES = (-1, 0, 1)
"""At the low bound, between the bounds, at the high one."""


def _exists(output: Output, place: int) -> bool:
    return place == 0 or (output.low if place < 0 else output.high) is not None


def is_possible(wanted: Wanted, low: Sequence[Fraction | None], high: Sequence[Fraction | None]) -> bool:
    """Whether the bounds leave room for conditions on single outputs."""
    alone = [(condition, _used(condition)[0]) for condition in wanted if len(_used(condition)) == 1]
    return all(met_by_bounds(condition, o, low[o], high[o]) is not False for condition, o in alone)


def met_by_bounds(condition: Row, o: int, low: Fraction | None, high: Fraction | None) -> bool | None:
    """Whether a condition on one output holds wherever that is between its bounds; None if it depends."""
    c = condition.coefficients[o]
    least, most = (low, high) if c > 0 else (high, low)
    if least is not None and holds(condition, c * least):
        return True
    return None if most is None or holds(condition, c * most) else False


def holds(condition: Row, value: Fraction) -> bool:
    """Whether the left side of a condition may have this value."""
    return value > condition.bound or (value == condition.bound and not condition.strict)


def _case(conditions: Sequence[Row], outputs: Sequence[Output], places: dict[int, int]) -> Iterator[Row]:
    one = Fraction(1)
    for o, place in places.items():
        law, low, high = outputs[o]
        least, most = {-1: (None, low), 0: (low, high), 1: (high, None)}[place]
        if least is not None:
            yield _row([(one, law)], Row([], least))
        if most is not None:
            yield _row([(-one, law)], Row([], -most))
    for condition in conditions:
        fixed = {o: outputs[o].low if places[o] < 0 else outputs[o].high for o in _used(condition) if places[o]}
        moved = sum((condition.coefficients[o] * (end or ZERO) for o, end in fixed.items()), ZERO)
        terms = [(condition.coefficients[o], outputs[o].law) for o in _used(condition) if not places[o]]
        yield _row(terms, Row([], condition.bound - moved, condition.strict))


def _row(terms: list[tuple[Fraction, Sum]], condition: Row) -> Row:
    """Σ c·law >= bound, as far as float64 arithmetic may make it so."""
    bound, width = condition.bound, len(terms[0][1].slope) if terms else 0
    coefficients = [ZERO] * width
    for c, law in terms:
        coefficients = [
            total + c * s + abs(c) * e for total, s, e in zip(coefficients, law.slope, law.error_slope, strict=True)
        ]
        bound -= c * law.value + abs(c) * law.error
    return Row(coefficients, bound, condition.strict)


def _is_false(row: Row) -> bool:
    return not any(row.coefficients) and not holds(row, ZERO)


def _used(condition: Row) -> list[int]:
    return [o for o, c in enumerate(condition.coefficients) if c]
