"""The cheapest change of a row that gets an answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.file import as_mixture
from moet.model.mixture import Mixture
from moet.verify.arguments import CPU_LIMIT, is_soft, is_sum, known_labels, state
from moet.verify.box import Box
from moet.verify.checker.certificate import Certificate
from moet.verify.exact import ExactMixture, exactly
from moet.verify.inputs.float_doubt import float_band
from moet.verify.limits import Deadline
from moet.verify.result import Recourse, Unknown
from moet.verify.rounding import OVERFLOW, may_overflow
from moet.verify.rows.asked import Asked
from moet.verify.rows.cheapest_search import GAP, CheapestSearch
from moet.verify.rows.costs import Kind, weights_of
from moet.verify.rows.diverse import other_changes
from moet.verify.rows.domain import Domain, rows_of, schema_of_model
from moet.verify.rows.questions import unknown_reason
from moet.verify.rows.search import Copy, RowSearch
from moet.verify.rows.space import Space
from moet.verify.soft.changes import cheapest_soft
from moet.verify.sums.cheapest import cheapest_sum

Floats = NDArray[np.float64]


def recourse(
    model: Any,
    row: Any,
    *,
    answer: Any = None,
    fixed: Iterable[str] = (),
    cost: str | Mapping[str, float] | None = None,
    at_most: float | None = None,
    n: int = 1,
    domain: Box | None = None,
    timeout: float | None = None,
    cpu_limit: float | None = CPU_LIMIT,
    seed: int = 0,
) -> Recourse | Unknown:
    """Find the cheapest possible change of a row that gets an answer, and prove that none is cheaper.

    The lower bound is one of exact arithmetic, the first of equal logits winning; the row that is found has the answer
    in exact arithmetic *and* as deployed.

    Parameters
    ----------
    model : Mixture, classifier, policy, model file or scikit-learn tree
    row : dict, Series, list of cells, array of features, or text such as ``"german.csv:17"``
    answer : label, optional
        The answer wanted; by default any other than that of ``row``.
    fixed : iterable of str
        Columns that cannot change.
    cost : mapping, "columns" or None
        Weights by column, of the change of a number or of ranks, and of a change of category. A column that is not
        named, or all by default, counts its change as a share of the range seen, and 1 for a change of category.
        ``"columns"`` counts the columns that change.
    at_most : float, optional
        Rows that cost more do not matter: none is found, and that all cost at least this is proved.
    n : int
        How many changes are wanted. Those after the cheapest, in ``others``, are the next cheapest of which none
        changes all columns that one before it changes; each has a proof that none is cheaper that leaves the same
        columns as they are.
    domain : Box, optional
        What the row may become; every possible row by default. A column may always stay as it is.
    timeout, cpu_limit : float or None
        Seconds of the wall clock, and of CPU time, after which the answer is Unknown.
    seed : int
        Seed of the random search for a first row.

    References
    ----------
    - Ustun, B., A. Spangher, Y. Liu. *Actionable Recourse in Linear Classification.* Conference on Fairness,
      Accountability, and Transparency 2019.

    Examples
    --------
    >>> import pandas as pd
    >>> from moet import MoETClassifier, verify
    >>> loans = pd.DataFrame({"Duration": [6, 12, 24, 36, 48, 60], "Sex": ["f", "m", "f", "m", "f", "m"]})
    >>> risk = ["good", "good", "good", "bad", "bad", "bad"]
    >>> model = MoETClassifier(n_experts=1, max_depth=1, prediction="hard", random_state=0).fit(loans, risk)
    >>> found = verify.recourse(model, {"Duration": 48, "Sex": "f"}, answer="good", fixed=["Sex"], cost={"Duration": 1})
    >>> found.changes, found.cost, found.checked
    ({'Duration': (48, 30)}, 18.0, True)
    >>> verify.recourse(model, {"Duration": 48, "Sex": "f"}, answer="good", n=3).others
    ()
    """
    deadline = Deadline(timeout, cpu_limit)
    mixture = as_mixture(model)
    x = state(row, mixture)
    names = [fixed] if isinstance(fixed, str) else list(fixed)
    schema = schema_of_model(mixture)
    for name in names:
        schema.place(name)
    kind, weights = weights_of(cost, rows_of(domain, mixture))
    if at_most is not None and not 0.0 <= at_most < math.inf:
        raise InputError(f"at_most must be a finite number, not below 0, got {at_most!r}")
    if n < 1:
        raise InputError(f"n must be at least 1, got {n!r}")
    rows = rows_of(domain, mixture).with_row(x).with_fixed(x, names)
    if x not in rows:
        raise InputError(f"the row {schema.row(x)} is none of the table: exactly one category, whole numbers")

    def solve(more: frozenset[str]) -> Recourse | Unknown:
        return cheapest_change(mixture, x, rows.with_fixed(x, more), answer, (kind, weights), at_most, deadline, seed)

    found = solve(frozenset())
    if n == 1 or isinstance(found, Unknown) or found.row is None:
        return found
    return replace(found, others=other_changes(found, solve, n - 1))


def cheapest_change(
    mixture: Mixture,
    x: Floats,
    rows: Domain,
    answer: Any,
    cost: tuple[Kind, dict[str, float]],
    at_most: float | None,
    deadline: Deadline,
    seed: int,
) -> Recourse | Unknown:
    """Answer :func:`recourse` for a row of features."""
    if is_sum(mixture):
        label = None if answer is None else known_labels([answer], [mixture])[0]
        return cheapest_sum(mixture, x, rows, label, cost, at_most, deadline, seed)
    if is_soft(mixture):
        return cheapest_soft(mixture, x, rows, answer, cost, at_most, deadline, seed)
    low, high = rows.bounds()
    band = float_band([mixture], low, high)
    if may_overflow(mixture.gate_weights, mixture.gate_bias, low, high):
        return Unknown(reason=OVERFLOW, band=band)
    question = Question(mixture, x, rows, answer, cost, deadline)
    search = question.search(math.inf if at_most is None else question.beyond(at_most))
    for y in question.random_rows(seed):
        search.offer(y)
    if search.best is None:
        verdict = question.any_row()
        if verdict is None:
            return question.proved(None, None)
        if isinstance(verdict, str):
            return Unknown(reason=verdict, band=band, effort={"seconds": deadline.seconds})
        search.offer(verdict)
    search.run()
    if search.best is not None:
        search.offer(question.with_few_changes(search.best[1]))
    effort = {"regions": search.regions, "seconds": deadline.seconds}
    if search.timed_out:
        return Unknown(reason=deadline.reason, band=band, effort=effort)
    beyond = at_most is not None and (search.best is None or search.best[0] > at_most)
    if search.best is None and not beyond:
        return Unknown(reason="no float64 row was found that shows the answer", band=band, effort=effort)
    return question.proved(search, None if beyond else search.best, at_most)


class Question(Asked):
    """What is asked about a row of a hard model."""

    def __init__(
        self,
        mixture: Mixture,
        x: Floats,
        rows: Domain,
        answer: Any,
        cost: tuple[Kind, dict[str, float]],
        deadline: Deadline,
    ) -> None:
        self._exact = ExactMixture(mixture)
        super().__init__(mixture, x, rows, answer, cost, deadline, self._exact.answer(exactly(x.tolist())))
        self._space = Space(rows)
        self._copy = Copy(mixture, self._groups, self._space, 0, deployed=False)
        self.band = 0.0 if self._copy.gate.is_exact else float_band([mixture], *rows.bounds())

    def search(self, most: float) -> CheapestSearch:
        """The branch and bound."""
        return CheapestSearch(self._space, self._copy, self._costs, self.shows, self._deadline, most)

    def beyond(self, cost: float) -> float:
        """A cost that is just too much if ``cost`` is not."""
        if self._costs.kind == "columns":
            return math.floor(cost) + 1.0
        return cost + 2.0 * GAP * max(1.0, cost)

    def any_row(self, rows: Domain | None = None, certificate: Certificate | None = None) -> Floats | str | None:
        """A row of some that is answered as wanted; None if there is none; or why that is not known."""
        space, copy = self._space, self._copy
        if rows is not None:
            space = Space(rows)
            copy = Copy(self._mixture, self._groups, space, 0, deployed=False)
        search = RowSearch(space, [copy], lambda a: bool(a & 2), self.shows, self._deadline, certificate)
        z = search.counterexample()
        if z is None and (search.timed_out or search.undecided):
            return unknown_reason(search, self._deadline)
        return z

    def shows(self, y: Floats) -> bool:
        """Whether a row is possible and answered as wanted, in exact arithmetic and as deployed."""
        if y not in self._rows or self._mixture.predict(y[None, :]).tolist()[0] not in self._good:
            return False
        return bool(self._groups[self._exact.answer(exactly(y.tolist()))])

    def proved(
        self,
        search: CheapestSearch | None,
        best: tuple[Fraction, Floats] | None,
        at_most: float | None = None,
    ) -> Recourse | Unknown:
        """Have it checked that nothing is cheaper than the best; or, without a search, that there is nothing."""
        limit = None if search is None else self._claimed(search, best, at_most)
        certificate = self._certificate(limit)
        if search is None or limit is None:
            reason = self.any_row(certificate=certificate)
        else:
            reason = search.write_proof(self._proof_limit(limit), certificate)
        if isinstance(reason, str):
            return self._unknown(reason)
        return self._confirmed(certificate, limit, best, {"regions": 0 if search is None else search.regions})

    def _claimed(self, search: CheapestSearch, best: tuple[Fraction, Floats] | None, at_most: float | None) -> Fraction:
        """What every row costs at least: what the best does, less a gap for real numbers."""
        if best is None:
            assert at_most is not None
            return Fraction(math.floor(at_most) + 1 if self._costs.kind == "columns" else at_most)
        if self._costs.kind == "columns":  # counts are whole
            return (
                best[0] if math.isinf(search.floor) else min(best[0], Fraction(max(0, math.ceil(search.floor - 1e-6))))
            )
        cost = float(best[0])
        return Fraction(max(0.0, min(cost - GAP * max(1.0, cost), search.floor - GAP * max(1.0, cost))))

    def _proof_limit(self, limit: Fraction) -> float:
        """What the bound of a region must reach: counted costs are whole."""
        return float(limit) - 1.0 + 1e-6 if self._costs.kind == "columns" else float(limit)
