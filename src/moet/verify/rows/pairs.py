"""Questions about pairs of possible rows: whether an answer is monotone, or indifferent to some columns."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.file import as_mixture, digest
from moet.model.mixture import Mixture
from moet.verify.arguments import CPU_LIMIT, is_soft, is_sum, known_labels
from moet.verify.box import Box
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.exact import ExactMixture, exactly
from moet.verify.inputs.agreement import Grouped
from moet.verify.inputs.float_doubt import caveat_of, doubtful_share, float_band
from moet.verify.limits import Deadline
from moet.verify.result import Proved, Refuted, Unknown
from moet.verify.rounding import OVERFLOW, may_overflow
from moet.verify.rows.domain import Domain, rows_of, schema_of_model
from moet.verify.rows.questions import TRIES, different, refuted, unknown_reason
from moet.verify.rows.search import Copy, RowSearch
from moet.verify.rows.space import Space
from moet.verify.soft.pairs import search_pairs
from moet.verify.soft.voters import doubt_of
from moet.verify.sums.exact import ExactSum
from moet.verify.sums.forest import sum_of, two_rows
from moet.verify.sums.search import search_cases

Floats = NDArray[np.float64]
Direction = Literal["increasing", "decreasing"]

_MOST_VARIANTS = 64


def monotone(
    model: Any,
    column: str,
    domain: Box | None = None,
    *,
    direction: Direction = "increasing",
    answer: Any,
    timeout: float | None = None,
    cpu_limit: float | None = CPU_LIMIT,
    seed: int = 0,
) -> Proved | Refuted | Unknown:
    """Ask whether more of a column, and nothing else, never takes an answer away.

    The claim is about exact arithmetic on possible rows, the first of equal logits winning; a counterexample, a pair of
    possible rows, shows it in exact arithmetic *and* as deployed.

    Parameters
    ----------
    model : Mixture, classifier, policy, model file or scikit-learn tree
    column : str
        A column of numbers, integers, ordered categories, or yes and no.
    domain : Box, optional
        Such as ``Box.where(model, "Sex = male")``; every possible row by default.
    direction : {"increasing", "decreasing"}
        Whether a row keeps the answer when the column grows, or when it falls.
    answer : label
        The answer that must not be taken away.
    timeout, cpu_limit : float or None
        Seconds of the wall clock, and of CPU time, after which the answer is Unknown.
    seed : int
        Seed of the random search for a counterexample.

    Examples
    --------
    >>> import pandas as pd
    >>> from moet import MoETClassifier, verify
    >>> loans = pd.DataFrame({"Duration": [6, 12, 24, 36, 48, 60], "Sex": ["f", "m", "f", "m", "f", "m"]})
    >>> risk = ["good", "good", "good", "bad", "bad", "bad"]
    >>> model = MoETClassifier(n_experts=1, max_depth=1, prediction="hard", random_state=0).fit(loans, risk)
    >>> verify.monotone(model, "Duration", answer="bad").checked
    True
    """
    mixture = as_mixture(model)
    (wanted,) = known_labels([answer], [mixture])
    if direction not in ("increasing", "decreasing"):
        raise InputError(f"direction must be increasing or decreasing, got {direction!r}")
    schema = schema_of_model(mixture)
    if schema.place(column).column.kind == "category":
        raise InputError(
            f"the categories of {column!r} have no order; ask whether the model ignores it instead: "
            f"verify.ignores(model, [{column!r}]), or --ignores {shlex.quote(column)}"
        )
    rows = rows_of(domain, mixture)
    claim = {"column": column, "direction": direction, "answer": wanted}
    has = np.array([int(label == wanted) for label in mixture.classes.tolist()])
    groups = (has, 1 - has) if direction == "increasing" else (1 - has, has)
    question = _Pair(mixture, rows, {column}, column, groups, _both, seed)
    return question.answered("monotone", claim, Deadline(timeout, cpu_limit))


def ignores(
    model: Any,
    columns: Iterable[str],
    domain: Box | None = None,
    *,
    table: Any = None,
    timeout: float | None = None,
    cpu_limit: float | None = CPU_LIMIT,
    seed: int = 0,
) -> Proved | Refuted | Unknown:
    """Ask whether a change of some columns, and of nothing else, never changes the answer.

    See :func:`monotone` about arithmetic and parameters. A counterexample is a pair of possible rows that differ in
    these columns only; ``share`` says how often the answer changes.

    Parameters
    ----------
    columns : iterable of str
        All of them may change at once.
    table : DataFrame, optional
        Whose rows ``share`` is about; random possible rows by default.

    Examples
    --------
    >>> import pandas as pd
    >>> from moet import MoETClassifier, verify
    >>> loans = pd.DataFrame({"Duration": [6, 12, 24, 36, 48, 60], "Sex": ["f", "m", "f", "m", "f", "m"]})
    >>> risk = ["good", "good", "good", "bad", "bad", "bad"]
    >>> model = MoETClassifier(n_experts=1, max_depth=1, prediction="hard", random_state=0).fit(loans, risk)
    >>> verify.ignores(model, ["Sex"]).checked
    True
    >>> sorted(verify.ignores(model, ["Duration"]).answers)
    ['bad', 'good']
    """
    mixture = as_mixture(model)
    if isinstance(columns, str):
        raise InputError(f"expected a list of columns, got {columns!r}: write [{columns!r}]")
    names = list(dict.fromkeys(columns))
    schema = schema_of_model(mixture)
    for name in names:
        schema.place(name)
    if not names:
        raise InputError("name at least one column that is to be ignored")
    rows = rows_of(domain, mixture)
    own = np.arange(len(mixture.classes))
    question = _Pair(mixture, rows, set(names), None, (own, own), different, seed)
    verdict = question.answered("ignores", {"columns": names}, Deadline(timeout, cpu_limit))
    if not isinstance(verdict, Refuted):
        return verdict
    X = rows.sample(TRIES, np.random.default_rng(seed)) if table is None else schema.encode(table)
    return replace(verdict, share=_share(mixture, rows, names, X, np.random.default_rng(seed)))


def _both(a: int, b: int) -> bool:
    return bool(a & 2 and b & 2)


class _Pair:
    """A question about pairs of rows that share all but some columns."""

    def __init__(
        self,
        mixture: Mixture,
        rows: Domain,
        free: set[str],
        order: str | None,
        groups: tuple[NDArray[np.int64], NDArray[np.int64]],
        bad: Callable[[int, int], bool],
        seed: int,
    ) -> None:
        self._mixture, self._rows, self._groups, self._bad, self._seed = mixture, rows, groups, bad, seed
        self._schema = schema_of_model(mixture)
        self._space = Space(rows, free, order)
        self._exact = _exact_of(mixture)
        self._doubt = doubt_of(mixture, *rows.bounds()) if self._exact is None else 0.0
        self._labels = mixture.classes.tolist()

    def answered(self, kind: str, claim: dict[str, Any], deadline: Deadline) -> Proved | Refuted | Unknown:
        """Search for a pair; if there is none, have the proof checked."""
        low, high = self._rows.bounds()
        votes = is_soft(self._mixture)
        band = None if votes else float_band([self._mixture], low, high)
        if may_overflow(self._mixture.gate_weights, self._mixture.gate_bias, low, high):
            return Unknown(reason=OVERFLOW, band=band)
        X = self._rows.sample(TRIES, np.random.default_rng(self._seed))
        found = self._random(X)
        if found is not None:
            return self._refuted(found, band, {"seconds": deadline.seconds})
        certificate = Certificate(kind, {"model": digest(self._mixture), "rows": self._rows.claim()} | claim)
        if votes:
            return self._voted(certificate, X[0], deadline)
        copies = [Copy(self._mixture, self._groups[row], self._space, row, deployed=False) for row in (0, 1)]
        search = RowSearch(self._space, copies, self._bad, self._shows, deadline, certificate)
        z = search.counterexample()
        effort = search.effort | {"seconds": deadline.seconds}
        if z is not None:
            return self._refuted(z, band, effort)
        if search.timed_out or search.undecided:
            return Unknown(reason=unknown_reason(search, deadline), band=band, effort=effort)
        is_exact = all(copy.gate.is_exact for copy in copies)
        grouped = Grouped(self._mixture, np.arange(len(self._labels)), low, high)
        caveats = () if is_exact else caveat_of(doubtful_share([grouped], X))
        proved = Proved(certificate=certificate, band=0.0 if is_exact else band, effort=effort, caveats=caveats)
        return confirmed(proved, self._mixture, deadline=deadline)

    def _voted(self, certificate: Certificate, x: Floats, deadline: Deadline) -> Proved | Refuted | Unknown:
        """The same where experts vote, case by case: the classes of two rows that may not be answered so."""
        n = len(self._labels)
        pairs = [
            (a, b)
            for a, b in product(range(n), repeat=2)
            if self._bad(1 << int(self._groups[0][a]), 1 << int(self._groups[1][b]))
        ]
        if not self._space.orders:  # the two rows may be exchanged
            pairs = [(a, b) for a, b in pairs if a < b]
        search = self._summed if is_sum(self._mixture) else self._weighed
        found, effort = search(pairs, certificate, x, deadline)
        if isinstance(found, str):
            return Unknown(reason=found, effort=effort)
        if found is not None:
            return self._refuted(found, None, effort)
        return confirmed(Proved(certificate=certificate, effort=effort), self._mixture, deadline=deadline)

    def _summed(
        self, pairs: list[tuple[int, int]], certificate: Certificate, x: Floats, deadline: Deadline
    ) -> tuple[Floats | str | None, dict[str, float]]:
        """Two rows that a sum of trees answers so, None if there are none, or why that is not known."""
        near = np.empty(self._space.n)
        for own in reversed(self._space.maps):
            near[own] = x
        forest = sum_of(self._mixture).over(self._space)
        cases = [two_rows(a, b, len(self._labels)) for a, b in pairs]
        found = search_cases(forest, cases, self._shows, deadline, certificate, near)
        return found.reason if found.point is None else found.point, found.effort

    def _weighed(
        self, pairs: list[tuple[int, int]], certificate: Certificate, x: Floats, deadline: Deadline
    ) -> tuple[Floats | str | None, dict[str, float]]:
        """The same of experts whose votes the gate weighs."""

        def shows(Z: Floats) -> NDArray[np.bool_]:
            return np.array([self._shows(z) for z in Z])

        return search_pairs(self._mixture, self._space, pairs, deadline, certificate, shows)

    def _random(self, X: Floats) -> Floats | None:
        """A pair of random rows that shows it."""
        rng = np.random.default_rng([self._seed, 1])
        Z = np.empty((len(X), self._space.n))
        first, second = self._space.maps
        Z[:, first] = X
        Z[:, second[second >= X.shape[1]]] = self._rows.sample(len(X), rng)[:, second >= X.shape[1]]
        for i, j in self._space.orders:
            Z[:, [i, j]] = np.sort(Z[:, [i, j]], axis=1)
        classes = {label: k for k, label in enumerate(self._labels)}
        a, b = (
            np.array([group[classes[label]] for label in self._mixture.predict(Z[:, own]).tolist()])
            for group, own in zip(self._groups, (first, second), strict=True)
        )
        bad = [self._bad(1 << int(p), 1 << int(q)) for p, q in zip(a, b, strict=True)]
        return next((z for z in Z[bad] if self._shows(z)), None)

    def _shows(self, z: Floats) -> bool:
        """Whether a pair of possible rows is a counterexample, in exact arithmetic and as deployed."""
        if any(z[i] > z[j] for i, j in self._space.orders):
            return False
        X = np.array([z[own] for own in self._space.maps])
        if not all(x in self._rows for x in X):
            return False
        votes = self._mixture.votes(X)
        deployed = votes.argmax(axis=1).tolist()
        if self._exact is None:
            second, first = np.sort(votes, axis=1)[:, -2:].T
            return bool(np.all(first - second > self._doubt)) and self._is_bad(deployed)
        return self._is_bad(deployed) and self._is_bad([self._exact.answer(exactly(x.tolist())) for x in X])

    def _is_bad(self, answers: list[int]) -> bool:
        """Whether two rows must not be answered with these classes."""
        a, b = (1 << int(group[c]) for group, c in zip(self._groups, answers, strict=True))
        return self._bad(a, b)

    def _refuted(self, z: Floats, band: float | None, effort: dict[str, float]) -> Refuted:
        points = tuple(z[own] for own in self._space.maps)
        return refuted(self._mixture, self._schema, points, band, effort)


def _exact_of(mixture: Mixture) -> ExactSum | ExactMixture | None:
    """What answers in exact arithmetic; None where that takes exponentials."""
    if is_soft(mixture):
        return sum_of(mixture).exact if is_sum(mixture) else None
    return ExactMixture(mixture)


def _share(mixture: Mixture, rows: Domain, names: list[str], X: Floats, rng: np.random.Generator) -> float:
    """Share of rows whose answer changes for some values of the columns, or for some of many random ones."""
    parts = [part for part in rows.values if part.column.name in names]
    cells = [_cells(part, rng) for part in parts]
    answers, changed = mixture.predict(X), np.zeros(len(X), dtype=bool)
    for variant in variants([len(own) for own in cells], rng):
        other = X.copy()
        for part, own, k in zip(parts, cells, variant, strict=True):
            other[:, list(part.features)] = own[k]
        changed |= mixture.predict(other) != answers
    return float(changed.mean())


def variants(sizes: list[int], rng: np.random.Generator) -> Iterable[Sequence[int]]:
    """All choices of one of so many values per column, or random ones: those of ten columns fit no memory."""
    if prod(sizes) <= _MOST_VARIANTS:
        return product(*map(range, sizes))
    drawn: list[list[int]] = rng.integers(sizes, size=(_MOST_VARIANTS, len(sizes))).tolist()
    return drawn


def _cells(part: Any, rng: np.random.Generator) -> Floats:
    """All values of a column, or some random ones if they are many."""
    if part.column.kind == "category":
        return np.eye(len(part.column.categories))[list(part.allowed)]
    if part.column.is_whole and part.high - part.low < _MOST_VARIANTS:
        return np.arange(part.low, part.high + 1)[:, None]
    cells: Floats = part.sample(_MOST_VARIANTS, rng)
    return cells
