"""Questions about possible rows, one by one: whether an answer is always given, and two models give the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.model.file import digest
from moet.model.mixture import Mixture
from moet.model.schema import Schema
from moet.verify.arguments import is_soft, is_sum
from moet.verify.box import Box
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.exact import ExactMixture, exactly
from moet.verify.inputs.agreement import Grouped
from moet.verify.inputs.float_doubt import caveat_of, doubtful_share, float_band
from moet.verify.limits import Deadline
from moet.verify.result import Proved, Refuted, Unknown
from moet.verify.rounding import OVERFLOW, may_overflow
from moet.verify.rows.domain import Domain, rows_of, schema_of_model, with_table
from moet.verify.rows.search import Copy, RowSearch
from moet.verify.rows.space import Space
from moet.verify.soft.questions import search_soft
from moet.verify.sums.forest import SumOfTrees, one_row, sum_of
from moet.verify.sums.search import search_cases

Floats = NDArray[np.float64]

TRIES = 4000
"""Random rows among which a counterexample is looked for first."""


def different(a: int, b: int) -> bool:
    """Whether groups, given as bits, may differ."""
    return a != b or bool(a & (a - 1))


def always_rows(
    mixture: Mixture, domain: Box | None, permitted: list[Any], deadline: Deadline, seed: int
) -> Proved | Refuted | Unknown:
    """Whether every possible row is answered with a permitted label, as deployed."""
    rows = rows_of(domain, mixture)
    claim = {"model": digest(mixture), "rows": rows.claim(), "answers": permitted}
    certificate = Certificate("row_always", claim)
    forbidden = np.array([int(label not in permitted) for label in mixture.classes.tolist()])
    trees = sum_of(mixture) if is_sum(mixture) else None
    found, effort = search_row(mixture, rows, forbidden, deadline, certificate, seed, trees=trees)
    if isinstance(found, str):
        return Unknown(reason=found, effort=effort)
    if found is not None:
        return refuted(mixture, schema_of_model(mixture), [found], None, effort)
    return confirmed(Proved(certificate=certificate, effort=effort), mixture, deadline=deadline)


def search_row(
    mixture: Mixture,
    rows: Domain,
    forbidden: NDArray[np.int64],
    deadline: Deadline,
    certificate: Certificate,
    seed: int,
    tries: int = TRIES,
    trees: SumOfTrees | None = None,
) -> tuple[Floats | str | None, dict[str, float]]:
    """A possible row whose answer, as deployed, is of group 1; None if there is none; or why that is not known.

    ``trees`` are those of the mixture, if it is a sum of them.
    """
    low, high = rows.bounds()
    if may_overflow(mixture.gate_weights, mixture.gate_bias, low, high):
        return OVERFLOW, {"seconds": deadline.seconds}
    wrong = {label for label, group in zip(mixture.classes.tolist(), forbidden, strict=True) if group}
    X = rows.sample(tries, np.random.default_rng(seed))
    hits = [label in wrong for label in mixture.predict(X).tolist()]
    if any(hits):
        return X[hits.index(True)], {"seconds": deadline.seconds}

    def shows(z: Floats) -> bool:
        return z in rows and mixture.predict(z[None, :]).tolist()[0] in wrong

    space = Space(rows)
    if is_soft(mixture) and trees is None:

        def answered(Z: Floats) -> NDArray[np.bool_]:
            return np.array([shows(z) for z in Z])

        return search_soft(mixture, space, forbidden, deadline, certificate, answered)
    if trees is not None:
        cases = [one_row(int(c), len(forbidden)) for c in np.flatnonzero(forbidden)]
        outcome = search_cases(trees.over(space), cases, shows, deadline, certificate, X[0])
        return outcome.reason if outcome.point is None else outcome.point, outcome.effort
    copies = [Copy(mixture, forbidden, space, 0, deployed=True)]
    search = RowSearch(space, copies, lambda a: bool(a & 2), shows, deadline, certificate)
    z = search.counterexample()
    effort = search.effort | {"seconds": deadline.seconds}
    if z is None and (search.timed_out or search.undecided):
        return unknown_reason(search, deadline), effort
    return z, effort


def equivalent_rows(
    pair: tuple[Mixture, Mixture],
    groups: Sequence[NDArray[np.int64]],
    wanted: list[Any] | None,
    domain: Box | None,
    deadline: Deadline,
    seed: int,
) -> Proved | Refuted | Unknown:
    """Whether two models with one schema answer every possible row alike, in exact arithmetic."""
    owner = with_table(pair)
    rows = rows_of(domain, owner)
    low, high = rows.bounds()
    band = float_band(pair, low, high)
    schema, exact = schema_of_model(owner), [ExactMixture(mixture) for mixture in pair]
    places = [{label: k for k, label in enumerate(mixture.classes.tolist())} for mixture in pair]

    def deployed(X: Floats) -> list[NDArray[np.int64]]:
        return [
            np.array([group[place[label]] for label in mixture.predict(X).tolist()])
            for mixture, group, place in zip(pair, groups, places, strict=True)
        ]

    def shows(z: Floats) -> bool:
        if z not in rows:
            return False
        a, b = deployed(z[None, :])
        p, q = (group[one.answer(exactly(z.tolist()))] for one, group in zip(exact, groups, strict=True))
        return bool(a[0] != b[0] and p != q)

    if any(may_overflow(mixture.gate_weights, mixture.gate_bias, low, high) for mixture in pair):
        return Unknown(reason=OVERFLOW, band=band)
    X = rows.sample(TRIES, np.random.default_rng(seed))
    a, b = deployed(X)
    z = next((x for x in X[a != b] if shows(x)), None)
    claim = {"models": [digest(mixture) for mixture in pair], "rows": rows.claim(), "classes": wanted}
    certificate = Certificate("row_equivalent", claim)
    space = Space(rows, free=set())
    copies = [Copy(pair[row], groups[row], space, row, deployed=False) for row in (0, 1)]
    search = RowSearch(space, copies, different, shows, deadline, certificate)
    z = search.counterexample() if z is None else z
    effort = search.effort | {"seconds": deadline.seconds}
    if z is not None:
        answers = tuple(mixture.predict(z[None, :]).tolist()[0] for mixture in pair)
        return Refuted(point=z, points=(z,), rows=(schema.row(z),), answers=answers, band=band, effort=effort)
    if search.timed_out or search.undecided:
        return Unknown(reason=unknown_reason(search, deadline), band=band, effort=effort)
    grouped = [Grouped(mixture, group, low, high) for mixture, group in zip(pair, groups, strict=True)]
    is_exact = all(copy.gate.is_exact for copy in copies)
    caveats = () if is_exact else caveat_of(doubtful_share(grouped, X))
    proved = Proved(certificate=certificate, band=0.0 if is_exact else band, effort=effort, caveats=caveats)
    return confirmed(proved, *pair, deadline=deadline)


def refuted(
    mixture: Mixture, schema: Schema, points: Sequence[Floats], band: float | None, effort: dict[str, float]
) -> Refuted:
    """The verdict that rows are a counterexample."""
    answers = tuple(mixture.predict(np.array(points)).tolist())
    rows = tuple(schema.row(x) for x in points)
    return Refuted(point=points[0], points=tuple(points), rows=rows, answers=answers, band=band, effort=effort)


def unknown_reason(search: RowSearch, deadline: Deadline) -> str:
    """Why a search has no answer."""
    if search.timed_out:
        return deadline.reason
    return (
        f"in {search.undecided} region(s) a counterexample is possible only within the rounding error of the gate, or "
        "only at numbers that float64 lacks: no possible row was found that shows it, and none is ruled out"
    )
