"""Whether two soft models answer every possible row alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.model.file import digest
from moet.model.mixture import Mixture
from moet.verify.arguments import is_soft
from moet.verify.box import Box
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.inputs.soft import are_same, equivalent_soft
from moet.verify.limits import Deadline
from moet.verify.result import Proved, Refuted, Unknown
from moet.verify.rounding import OVERFLOW, may_overflow
from moet.verify.rows.domain import Domain, rows_of, schema_of_model, with_table
from moet.verify.rows.space import Space
from moet.verify.soft.questions import leads, search_cases
from moet.verify.soft.search import Case, Goal, Term
from moet.verify.soft.voters import Bools, Floats, Voters, doubt_of

Groups = Sequence[NDArray[np.int64]]

_TRIES = 4000


def all_vote(pair: Sequence[Mixture]) -> bool:
    """Whether experts of both models vote, one alone perhaps, and there is a table."""
    tables = any(mixture.schema is not None for mixture in pair)
    return tables and all(is_soft(mixture) or mixture.n_experts == 1 for mixture in pair)


def equivalent_votes(
    pair: tuple[Mixture, Mixture],
    groups: Groups,
    wanted: list[Any] | None,
    domain: Box | None,
    deadline: Deadline,
    seed: int,
) -> Proved | Refuted | Unknown:
    """Answer :func:`moet.verify.equivalent` about possible rows, for models whose experts vote."""
    owner = with_table(pair)
    rows = rows_of(domain, owner)
    low, high = rows.bounds()
    if any(may_overflow(mixture.gate_weights, mixture.gate_bias, low, high) for mixture in pair):
        return Unknown(reason=OVERFLOW)
    if are_same(*pair):
        return equivalent_soft(pair, groups, wanted, low, high, deadline, seed)
    shows = _Difference(pair, groups, rows)
    X = rows.sample(_TRIES, np.random.default_rng(seed))
    hits = X[shows(X)]
    claim = {"models": [digest(mixture) for mixture in pair], "rows": rows.claim(), "classes": wanted}
    certificate, effort = Certificate("row_equivalent", claim), {"seconds": deadline.seconds}
    found: Floats | str | None = hits[0] if len(hits) else None
    if found is None:
        space = Space(rows, free=set())
        voters = [Voters(mixture, space, row, [row]) for row, mixture in enumerate(pair)]
        found, effort = search_cases(space, voters, _cases(pair, groups), deadline, certificate, shows)
    if isinstance(found, str):
        return Unknown(reason=found, effort=effort)
    if found is None:
        return confirmed(Proved(certificate=certificate, effort=effort), *pair, deadline=deadline)
    answers = tuple(mixture.predict(found[None, :]).tolist()[0] for mixture in pair)
    row = schema_of_model(owner).row(found)
    return Refuted(point=found, points=(found,), rows=(row,), answers=answers, effort=effort)


class _Difference:
    """Possible rows that two models answer differently, beyond doubt."""

    def __init__(self, pair: Sequence[Mixture], groups: Groups, rows: Domain) -> None:
        self._pair, self._groups, self._rows = pair, groups, rows
        self._doubts = [doubt_of(mixture, *rows.bounds()) for mixture in pair]

    def __call__(self, X: Floats) -> Bools:
        sure, answers = np.array([x in self._rows for x in X]), []
        for mixture, group, doubt in zip(self._pair, self._groups, self._doubts, strict=True):
            votes = mixture.votes(X)
            second, first = np.sort(votes, axis=1)[:, -2:].T
            sure &= first - second > doubt
            answers.append(group[votes.argmax(axis=1)])
        differ: Bools = sure & (answers[0] != answers[1])
        return differ


def _cases(pair: Sequence[Mixture], groups: Groups) -> list[Case]:
    """All pairs of answers in different groups."""
    labels = [mixture.classes.tolist() for mixture in pair]
    return [
        two_models(a, b, labels)
        for a, first in enumerate(groups[0])
        for b, second in enumerate(groups[1])
        if first != second
    ]


def two_models(a: int, b: int, labels: Sequence[list[Any]]) -> Case:
    """The case that one model answers with its class a, and the other with its class b."""
    first, second = labels
    goals: list[Goal] = []
    if first[a] in second and second[b] in first:
        goals.append((Term(0, a, first.index(second[b])), Term(1, b, second.index(first[a]))))
    return Case([*goals, *leads(0, a, len(first)), *leads(1, b, len(second))])
