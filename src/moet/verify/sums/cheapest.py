"""The cheapest row, or the nearest input, that a sum of trees answers as wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.file import digest
from moet.model.mixture import Mixture
from moet.model.schema import Column
from moet.verify.arguments import json_sides
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.exact import as_float
from moet.verify.inputs.distance import Norm
from moet.verify.limits import Deadline
from moet.verify.result import Closest, Recourse, Unknown
from moet.verify.rows.costs import Costs, Kind
from moet.verify.rows.domain import Domain, Values, schema_of_model
from moet.verify.sums.exact import ExactSum
from moet.verify.sums.forest import one_row, sum_of
from moet.verify.sums.prices import Prices
from moet.verify.sums.search import TIED, CaseSearch, problem_of

Floats = NDArray[np.float64]
Cost = tuple[Kind, dict[str, float]]

GAP = 1e-9
"""By how much, relative to 1 or to the cost, what is claimed is below what was found: for rounding of costs."""

_TRIES = 500
_TIED_HERE = f"at the row itself {TIED}"
_CLOSE = 0.02
"""Halving ends when the bounds of the cost differ by this share."""


class Found(NamedTuple):
    """The cheapest point (None: there is none below the limit), a lower bound of all costs, and boxes looked at."""

    point: Floats | None
    at_least: float
    boxes: int


class CheapestVote:
    """Looks for the cheapest row that is answered with one of some classes.

    Parameters
    ----------
    mixture : Mixture
        A sum of trees.
    x : array of float
        The row that changes.
    rows : Domain
        What it may become.
    wanted : sequence of int
        Classes that are looked for.
    cost : kind and weights by column
    deadline : Deadline
    """

    def __init__(
        self, mixture: Mixture, x: Floats, rows: Domain, wanted: Sequence[int], cost: Cost, deadline: Deadline
    ) -> None:
        self._mixture, self._x, self._rows, self._deadline = mixture, x, rows, deadline
        self._wanted, self._kind = list(wanted), cost[0]
        self.costs = Costs(*cost, rows, x)
        trees = sum_of(mixture)
        self._exact, forest = trees.exact, trees.forest(rows)
        self._cells = forest.cells
        self._prices = Prices.of(*cost, rows, self._cells, x)
        self._problems = {
            answer: problem_of(forest, one_row(answer, len(mixture.classes)), self._prices) for answer in wanted
        }
        self._searches: list[CaseSearch] = []
        self._base = self._prices.base
        self.boxes = 0

    def run(self, first: Floats | None, limit: float) -> Found | str:
        """The cheapest point below a limit, beginning with one that is known; or why it is not known."""
        best = None if first is None else self._pulled(first)
        upper = limit if best is None else min(limit, self._price(best))
        lower = 0.0
        while best is not None and self._kind != "columns" and upper - lower > _CLOSE * upper:
            middle = lower + (upper - lower) / 2
            if not lower < middle < upper:  # there is no number between them
                break
            nearer = self._any(middle)
            if isinstance(nearer, str):
                return nearer
            if nearer is None:
                lower = middle
            else:
                best, upper = nearer, min(upper, self._price(nearer))
        self._searches, found = [], None
        for answer in self._wanted:
            search = self._search(answer, upper)
            is_done = search.run(is_cheapest=True)
            self.boxes += search.boxes
            if not is_done:
                return search.reason or TIED
            if search.doubtful is not None and not self._is_settled(search):
                return TIED
            if search.found is not None:
                found, upper = self._cells.point(*search.found, self._x), search.limit
            self._searches.append(search)
        at_least = max(upper, self._base) if self._kind == "largest" else upper + self._base
        return Found(best if found is None else found, at_least, self.boxes)

    def _any(self, limit: float) -> Floats | str | None:
        """Some row below a limit."""
        for answer in self._wanted:
            search = self._search(answer, limit)
            is_done = search.run()
            self.boxes += search.boxes
            if not is_done:
                return search.reason or TIED
            if search.found is not None and self.shows(y := self._cells.point(*search.found, self._x)):
                return y
        return None

    def _pulled(self, y: Floats) -> Floats:
        """The row of the same cells that is nearest to the one that changes."""
        places = self._cells.places(y)
        return self._cells.point(places, places, self._x)

    def _price(self, y: Floats) -> float:
        """What the cheapest row of the same cells costs, which need not be a row of float64 numbers."""
        return self._prices.at(y, self._cells)

    def _search(self, answer: int, limit: float) -> CaseSearch:
        return CaseSearch(self._cells, self._problems[answer], self._deadline, limit)

    def _is_settled(self, search: CaseSearch) -> bool:
        """Whether doubtful rows cost too much to matter."""
        assert search.doubtful is not None
        y = self._cells.point(*search.doubtful, self._x)
        return self._price(y) >= search.limit

    def write(self, certificate: Certificate) -> None:
        """Append the proof that nothing is cheaper than what :meth:`run` found."""
        for search in self._searches:
            search.write(certificate)

    def shows(self, y: Floats) -> bool:
        """Whether a row is answered as wanted, in exact arithmetic and as deployed."""
        return all(answer in self._wanted for answer in self._exact.answers(y))

    def cheapest_of(self, Y: Floats, answers: NDArray[np.int64]) -> Floats | None:
        """The cheapest of some rows that is answered as wanted."""
        hits = np.flatnonzero(np.isin(answers, self._wanted))
        order = np.argsort(self._prices.rough(Y, self._cells)[hits])
        return next((Y[i] for i in hits[order] if self.shows(Y[i])), None)

    def with_few_changes(self, y: Floats) -> Floats:
        """Undo the changes of columns that need not change."""
        changed = set(np.flatnonzero(y != self._x).tolist())
        for part in self._rows.values:
            own = list(part.features)
            if changed.isdisjoint(own) or not part.contains(self._x[own]):
                continue
            undone = y.copy()
            undone[own] = self._x[own]
            y = undone if self.shows(undone) else y
        return y


def cheapest_sum(
    mixture: Mixture,
    x: Floats,
    rows: Domain,
    label: Any,
    cost: Cost,
    at_most: float | None,
    deadline: Deadline,
    seed: int,
) -> Recourse | Unknown:
    """Answer :func:`moet.verify.recourse` for a sum of trees and a row of features; None is any other answer."""
    wanted = wanted_classes(mixture, x, label)
    if wanted is None:
        return Unknown(reason=_TIED_HERE, effort={"seconds": deadline.seconds})
    question = CheapestVote(mixture, x, rows, wanted, cost, deadline)
    counts = cost[0] == "columns"
    limit = math.inf if at_most is None else math.floor(at_most) + 1.0 if counts else at_most + GAP * max(1.0, at_most)
    near = _near_rows(rows, x, seed)
    first = question.cheapest_of(near, mixture.votes(near).argmax(axis=1))
    if first is not None and float(question.costs.of(first)) >= limit:
        first = None
    found = question.run(first, limit)
    if isinstance(found, str):
        return Unknown(reason=found, effort={"boxes": question.boxes, "seconds": deadline.seconds})
    y = None if found.point is None else question.with_few_changes(found.point)
    bound = _claimed(found.at_least, counts, None if y is None else question.costs.of(y), at_most)
    schema = schema_of_model(mixture)
    claim = {
        "model": digest(mixture),
        "rows": rows.claim(),
        "row": schema.row(x),
        "answer": label,
        "cost": question.costs.claim(),
        "at_least": None if bound is None else str(bound),
    }
    certificate = Certificate("recourse", claim)
    if bound is None or bound > 0:
        question.write(certificate)
    before, row = schema.row(x), None if y is None else schema.row(y)
    recourse = Recourse(
        row=row,
        point=y,
        changes={} if row is None else {n: (before[n], row[n]) for n in row if row[n] != before[n]},
        cost=math.inf if y is None else up(question.costs.of(y)),
        at_least=math.inf if bound is None else as_float(bound),
        answer=None if y is None else mixture.predict(y[None, :]).tolist()[0],
        certificate=certificate,
        effort={"boxes": question.boxes, "seconds": deadline.seconds},
    )
    return confirmed(recourse, mixture, deadline=deadline)


def closest_sum(
    mixture: Mixture, x: Floats, norm: Norm, lo: Floats, hi: Floats, label: Any, deadline: Deadline, seed: int
) -> Closest | Unknown:
    """Answer :func:`moet.verify.closest` for a sum of trees without a schema."""
    rows = rows_of_box(mixture, lo, hi)
    cost: Cost = ("largest" if norm == "linf" else "sum", dict.fromkeys(mixture.feature_names, 1.0))
    wanted = wanted_classes(mixture, x, label)
    if wanted is None:
        return Unknown(reason=_TIED_HERE, effort={"seconds": deadline.seconds})
    question = CheapestVote(mixture, x, rows, wanted, cost, deadline)
    inside = np.clip(x, lo, hi)
    first = inside if question.shows(inside) else question.cheapest_of(*sum_of(mixture).sample(lo, hi, _TRIES, seed))
    found = question.run(first, math.inf)
    if isinstance(found, str):
        return Unknown(reason=found, effort={"boxes": question.boxes, "seconds": deadline.seconds})
    y = None if found.point is None else question.with_few_changes(found.point)
    away = None if y is None else question.costs.of(y)
    bound = _claimed(found.at_least, False, away, None)
    claim = {
        "model": digest(mixture),
        "lo": json_sides(lo),
        "hi": json_sides(hi),
        "point": x.tolist(),
        "norm": norm,
        "answer": label,
        "distance": None if bound is None else str(bound),
    }
    certificate = Certificate("closest", claim)
    if bound is None or bound > 0:
        question.write(certificate)
    closest = Closest(
        distance=math.inf if bound is None else as_float(bound),
        exact_distance=None,
        point=y,
        point_distance=math.inf if away is None else up(away),
        answer=None if y is None else mixture.predict(y[None, :]).tolist()[0],
        certificate=certificate,
        effort={"boxes": question.boxes, "seconds": deadline.seconds},
    )
    return confirmed(closest, mixture, deadline=deadline)


def wanted_classes(mixture: Mixture, x: Floats, label: Any) -> list[int] | None:
    """Classes that are looked for: that of the label, or all but the answer at ``x``; None if rounding decides that."""
    labels = mixture.classes.tolist()
    if label is not None:
        return [labels.index(label)]
    trees = sum_of(mixture)
    votes = trees.exact.votes(x.tolist())
    own = votes.index(max(votes))
    others = [c for c in range(len(labels)) if c != own]
    doubt = Fraction(trees.band, 2**trees.bits)
    is_sure = all(Fraction(votes[own] - votes[c], 2**ExactSum.UNITS) > doubt for c in others)
    return others if is_sure else None


def rows_of_box(mixture: Mixture, lo: Floats, hi: Floats) -> Domain:
    """A box of inputs, which may be open, as rows of numbers."""
    sides = zip(_number_columns(mixture.feature_names), lo.tolist(), hi.tolist(), strict=True)
    return Domain(tuple(Values(column, (k,), low, high) for k, (column, low, high) in enumerate(sides)))


@lru_cache(maxsize=8)
def _number_columns(names: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(Column(name, "number", (name,), 0.0, 0.0) for name in names)


def _claimed(cost: float, counts: bool, found: Fraction | None, at_most: float | None) -> Fraction | None:
    """What is claimed of all rows that are answered as wanted; None: there is none."""
    if found is None:
        return None if at_most is None else Fraction(math.floor(at_most) + 1 if counts else at_most)
    if counts:
        return found
    return Fraction(max(0.0, min(cost, as_float(found)) * (1.0 - 1e-12)))


def _near_rows(rows: Domain, x: Floats, seed: int) -> Floats:
    """Random possible rows in which most columns are as in ``x``, which is the first."""
    rng = np.random.default_rng(seed)
    Y = rows.sample(_TRIES, rng)
    for part in rows.values:
        stays = rng.random(_TRIES) < 0.7
        for k in part.features:
            Y[stays, k] = x[k]
    return np.vstack([x[None, :], Y])


def up(value: Fraction) -> float:
    """The least float64 number that is not below."""
    rounded = as_float(value)
    return rounded if Fraction(rounded) >= value else math.nextafter(rounded, math.inf)
