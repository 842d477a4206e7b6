"""The cheapest change of a row that gets an answer from a soft model."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from moet.model.mixture import Mixture
from moet.verify.checker.certificate import Certificate
from moet.verify.limits import Deadline
from moet.verify.result import Recourse, Unknown
from moet.verify.rows.asked import Asked
from moet.verify.rows.costs import Kind
from moet.verify.rows.domain import Domain
from moet.verify.rows.space import Space
from moet.verify.soft.prices import Prices
from moet.verify.soft.questions import one_row, search_soft
from moet.verify.soft.search import TIED, SoftSearch
from moet.verify.soft.voters import Bodies, Bools, Floats, Voters, doubt_of

TOLERANCE = 1e-3
"""By which share of the cost what is proved may be below what was found."""

TIED_HERE = "at the row itself two answers are too close to call; give the answer that is looked for"
_STEPS, _ROUNDS = 33, 4
"""Points at once, and how often, of which the nearest with the answer is taken on the way to a row."""


class SoftQuestion(Asked):
    """What is asked about a row of a soft model. Parameters are those of :class:`Asked`.

    Attributes
    ----------
    is_clear : bool
        Whether it is known which classes are wanted: at the row itself none but one may be the answer.
    """

    def __init__(
        self,
        mixture: Mixture,
        x: Floats,
        rows: Domain,
        answer: Any,
        cost: tuple[Kind, dict[str, float]],
        deadline: Deadline,
    ) -> None:
        super().__init__(mixture, x, rows, answer, cost, deadline, int(mixture.votes(x[None, :])[0].argmax()))
        self._space = Space(rows)
        self._voters = Voters(mixture, self._space, 0, [0])
        self._doubt = doubt_of(mixture, *rows.bounds())
        self.is_clear = self._wanted is not None or bool(self._wanted_of(x[None, :], 0)[0])
        self._prices = Prices(self._costs, rows, self._space)
        self._limit, self._best = math.inf, x
        self._boxes = 0

    def _wanted_of(self, Y: Floats, group: int = 1) -> Bools:
        """Which rows are answered as wanted (or, with group 0, otherwise), beyond doubt."""
        votes = self._mixture.votes(Y)
        second, first = np.sort(votes, axis=1)[:, -2:].T
        wanted: Bools = (self._groups[votes.argmax(axis=1)] == group) & (first - second > self._doubt)
        return wanted

    def shows(self, y: Floats) -> bool:
        """Whether a row is possible and answered as wanted, in exact arithmetic and as deployed."""
        return y in self._rows and bool(self._wanted_of(y[None, :])[0])

    def any_row(self, rows: Domain | None = None, certificate: Certificate | None = None) -> Floats | str | None:
        """A row of some that is answered as wanted; None if there is none; or why that is not known."""
        space = self._space if rows is None else Space(rows)
        proof = Certificate("recourse", {}) if certificate is None else certificate
        z, effort = search_soft(self._mixture, space, self._groups, self._deadline, proof, self._wanted_of)
        self._boxes += int(effort["boxes"])
        return z

    def random_rows(self, seed: int) -> Floats:
        """Possible rows that are answered as wanted; cheapest ones of many."""
        Y = self._random(seed)
        Y = Y[self._wanted_of(Y)]
        nowhere = np.zeros(Y.shape, dtype=bool)
        points = Bodies(Y, Y, nowhere, np.zeros((len(Y), len(self._rows.values)), dtype=bool), np.zeros(len(Y), int))
        return Y[np.argsort(self._prices.least(points).sum(axis=1))[:50]]

    def answered(self, at_most: float | None, seed: int) -> Recourse | Unknown:
        """Search for the cheapest row, beginning with a random one, and have the proof checked."""
        if not self.is_clear:
            return self._unknown(TIED_HERE)
        near = self.random_rows(seed)
        found: Floats | str | None = near[0] if len(near) else None
        if found is None and at_most is None:
            certificate = self._certificate(None)
            found = self.any_row(certificate=certificate)
            if found is None:
                return self._confirmed(certificate, None, None, {"boxes": self._boxes})
        if isinstance(found, str):
            return self._unknown(found)
        self._limit = math.inf if at_most is None else self._beyond(at_most)
        beyond, best = self._limit, None
        if found is not None and float(self.cost(found)) < self._limit:
            best = self._improved(found)
        return self._cheapest(beyond, best)

    def _beyond(self, at_most: float) -> float:
        """A cost that is just too much if ``at_most`` is not."""
        return math.floor(at_most) + 1.0 if self._prices.counts else math.nextafter(at_most, math.inf)

    def _cheapest(self, beyond: float, best: float | None) -> Recourse | Unknown:
        """Search until no class that is wanted has a cheaper row."""
        while True:
            limit, proofs = self._limit, []
            for answer in np.flatnonzero(self._groups).tolist():
                case = one_row(answer, len(self._groups))
                search = SoftSearch(self._space, [self._voters], case, self._hits, self._deadline, self._prices)
                search.run(self._limit, self._improved)
                self._boxes += search.bodies
                if search.reason is not None:
                    known = (
                        "" if self._limit == beyond else f"it costs at most {float(self.cost(self._best)):.6g}, but "
                    )
                    return self._unknown(f"{known}{search.reason}")
                if search.stuck:
                    return self._unknown(TIED)
                proofs.append(search.tree)
            if self._limit == limit:
                break
        is_found = best is not None or limit < beyond
        certificate = self._certificate(Fraction(limit))
        if limit > 0:
            for tree in proofs:
                tree.write(certificate)
        y = self.with_few_changes(self._best) if is_found else None
        return self._confirmed(
            certificate, Fraction(limit), None if y is None else (self.cost(y), y), {"boxes": self._boxes}
        )

    def _hits(self, Y: Floats) -> Bools:
        """Which rows are answered as wanted and cheap enough."""
        hits = self._wanted_of(Y)
        for i in np.flatnonzero(hits).tolist():
            hits[i] = float(self.cost(Y[i])) < self._limit and Y[i] in self._rows
        return hits

    def _improved(self, y: Floats) -> float:
        """Take a row with the answer, or a cheaper one on the way there; what others must cost less than to matter."""
        y = min((y, self._on_way(y)), key=self.cost)
        cost = float(self.cost(y))
        limit = cost if self._prices.counts else max(0.0, cost * (1.0 - TOLERANCE))
        if limit < self._limit:
            self._limit, self._best = limit, y
        return self._limit

    def _on_way(self, y: Floats) -> Floats:
        """The first row with the answer on the way to one that has it: numbers move, categories have changed."""
        near, far = 0.0, 1.0
        is_number = self._space.group_of < 0
        for _ in range(_ROUNDS):
            shares = np.linspace(near, far, _STEPS)
            Y = np.where(is_number, self._x + shares[:, None] * (y - self._x), y)
            Y = np.clip(np.where(self._space.whole, np.round(Y), Y), self._space.body.lo, self._space.body.hi)
            first = int(np.argmax(self._wanted_of(Y)))
            if first == 0:
                break
            near, far = shares[first - 1], shares[first]
        z = Y[first]
        return z if self.shows(z) else y


def cheapest_soft(
    mixture: Mixture,
    x: Floats,
    rows: Domain,
    answer: Any,
    cost: tuple[Kind, dict[str, float]],
    at_most: float | None,
    deadline: Deadline,
    seed: int,
) -> Recourse | Unknown:
    """Answer :func:`moet.verify.recourse` for a soft model and a row of features."""
    return SoftQuestion(mixture, x, rows, answer, cost, deadline).answered(at_most, seed)
