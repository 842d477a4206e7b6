"""The nearest possible row with another answer, by the norms of :func:`moet.verify.closest`."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.mixture import Mixture
from moet.verify.arguments import is_soft, is_sum
from moet.verify.box import Box
from moet.verify.inputs.distance import Norm
from moet.verify.limits import Deadline
from moet.verify.result import Closest, Recourse, Unknown
from moet.verify.rows.changes import Question, cheapest_change
from moet.verify.rows.costs import Kind, weights_of
from moet.verify.rows.domain import Domain, rows_of, schema_of_model
from moet.verify.soft.changes import TIED_HERE, TOLERANCE, SoftQuestion

Floats = NDArray[np.float64]

_GAP = 1e-9


def closest_row(
    mixture: Mixture,
    x: Floats,
    norm: Norm | Literal["share"],
    domain: Box | None,
    answer: Any,
    deadline: Deadline,
    seed: int,
) -> Closest | Unknown:
    """Answer :func:`moet.verify.closest` about possible rows; a change of category moves two features by 1.

    With ``"share"`` changes count as :func:`moet.verify.recourse` counts them: as shares of the ranges of columns.
    """
    rows = rows_of(domain, mixture).with_row(x)
    if x not in rows:
        row = schema_of_model(mixture).row(x)
        raise InputError(f"the row {row} is none of the table: exactly one category, whole numbers")
    if norm == "share":
        found = cheapest_change(mixture, x, rows, answer, weights_of(None, rows), None, deadline, seed)
    elif norm == "l1":
        weights = {part.column.name: 2.0 if part.column.kind == "category" else 1.0 for part in rows.values}
        found = cheapest_change(mixture, x, rows, answer, ("sum", weights), None, deadline, seed)
    else:
        found = _nearest_by_largest(mixture, x, rows, answer, deadline, seed)
    if isinstance(found, Unknown):
        return found
    return Closest(
        distance=found.at_least,
        exact_distance=Fraction(found.at_least) if math.isfinite(found.at_least) else None,
        point=found.point,
        point_distance=found.cost,
        answer=found.answer,
        certificate=found.certificate,
        band=found.band,
        checked=found.checked,
        claim=found.claim,
        caveats=found.caveats,
        effort=found.effort,
    )


def _nearest_by_largest(
    mixture: Mixture, x: Floats, rows: Domain, answer: Any, deadline: Deadline, seed: int
) -> Recourse | Unknown:
    """Halve the radius between one in which there is no such row and one in which there is."""
    weights = {part.column.name: 1.0 for part in rows.values}
    if is_sum(mixture):
        return cheapest_change(mixture, x, rows, answer, ("largest", weights), None, deadline, seed)
    cost: tuple[Kind, dict[str, float]] = ("largest", weights)
    question: Question | SoftQuestion
    if is_soft(mixture):
        question = SoftQuestion(mixture, x, rows, answer, cost, deadline)
        if not question.is_clear:
            return Unknown(reason=TIED_HERE, effort={"seconds": deadline.seconds})
    else:
        question = Question(mixture, x, rows, answer, cost, deadline)
    best = next((y for y in question.random_rows(seed) if question.shows(y)), None)
    best = question.any_row() if best is None else best
    if isinstance(best, str):
        return Unknown(reason=best, effort={"seconds": deadline.seconds})
    if best is None:
        return question.proved_within(None, None)
    near, far = 0.0, float(question.cost(best))
    whole = all(part.column.kind != "number" for part in rows.values)
    while far - near > (0.5 if whole and far >= 1.0 else _least_gap(mixture, far)) and far > 0.0:
        middle = near + (far - near) / 2.0
        if not near < middle < far:  # no float64 number is between them
            break
        found = question.any_row(rows.within(x, dict.fromkeys(weights, middle)))
        if isinstance(found, str):
            return Unknown(reason=found, effort={"seconds": deadline.seconds})
        if found is None:
            near = middle
        else:
            best, far = found, min(far, float(question.cost(found)))
    if whole and far >= 1.0:
        near = math.nextafter(far, 0.0)
    return question.proved_within(near if far > 0.0 else 0.0, question.with_few_changes(best))


def _least_gap(mixture: Mixture, distance: float) -> float:
    """How close two bounds of a distance are to be."""
    return TOLERANCE * distance if is_soft(mixture) else _GAP * max(1.0, distance)
