"""What is asked about a row that changes, whatever the model is: costs, random rows, claims and verdicts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.model.file import digest
from moet.model.mixture import Mixture
from moet.verify.arguments import known_labels
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.exact import as_float
from moet.verify.limits import Deadline
from moet.verify.result import Recourse, Unknown
from moet.verify.rows.costs import Costs, Kind
from moet.verify.rows.domain import Domain, schema_of_model
from moet.verify.sums.cheapest import up

Floats = NDArray[np.float64]

_TRIES = 2000


class Asked(ABC):
    """Which answers are wanted of a row, and what changes cost.

    Parameters
    ----------
    mixture : Mixture
    x : array of float
        The row that changes.
    rows : Domain
        What it may become.
    answer : label or None
        The answer wanted; None is any but the own one.
    cost : kind and weights by column
    deadline : Deadline
    own : int
        Position of the class that answers the row.

    Attributes
    ----------
    band : float or None
        How close logits must be for rounding to matter; None where claims hold as deployed, too.
    """

    band: float | None = None

    def __init__(
        self,
        mixture: Mixture,
        x: Floats,
        rows: Domain,
        answer: Any,
        cost: tuple[Kind, dict[str, float]],
        deadline: Deadline,
        own: int,
    ) -> None:
        self._mixture, self._x, self._rows, self._deadline = mixture, x, rows, deadline
        labels = mixture.classes.tolist()
        self._wanted = None if answer is None else known_labels([answer], [mixture])[0]
        if self._wanted is None:
            self._groups = np.array([int(k != own) for k in range(len(labels))])
        else:
            self._groups = np.array([int(label == self._wanted) for label in labels])
        self._good = {label for label, group in zip(labels, self._groups, strict=True) if group}
        self._costs = Costs(*cost, rows, x)

    @abstractmethod
    def shows(self, y: Floats) -> bool:
        """Whether a row is possible and answered as wanted, in exact arithmetic and as deployed."""

    @abstractmethod
    def any_row(self, rows: Domain | None = None, certificate: Certificate | None = None) -> Floats | str | None:
        """A row of some that is answered as wanted; None if there is none; or why that is not known."""

    def cost(self, y: Floats) -> Fraction:
        """What it costs to become ``y``."""
        return self._costs.of(y)

    def random_rows(self, seed: int) -> Floats:
        """Possible rows that are answered as wanted, the row itself first; cheapest ones of many."""
        Y = self._random(seed)
        hits = Y[[label in self._good for label in self._mixture.predict(Y).tolist()]]
        return hits[np.argsort([float(self._costs.of(y)) for y in hits])[:50]]

    def _random(self, seed: int) -> Floats:
        """The row, and possible ones in most columns of which it stays as it is."""
        rng = np.random.default_rng(seed)
        Y = self._rows.sample(_TRIES, rng)
        for part in self._rows.values:
            stays = rng.random(_TRIES) < 0.7
            for k in part.features:
                Y[stays, k] = self._x[k]
        return np.vstack([self._x[None, :], Y])

    def with_few_changes(self, y: Floats) -> Floats:
        """Undo the changes of columns that need not change."""
        for part in self._rows.values:
            undone = y.copy()
            undone[list(part.features)] = self._x[list(part.features)]
            y = undone if self.shows(undone) else y
        return y

    def proved_within(self, radius: float | None, best: Floats | None) -> Recourse | Unknown:
        """Have it checked that no row within a radius is answered as wanted; None: that there is none at all."""
        limit = None if radius is None else Fraction(radius)
        certificate = self._certificate(limit)
        names = [part.column.name for part in self._rows.values]
        rows = None if radius is None else self._rows.within(self._x, dict.fromkeys(names, radius))
        reason = self.any_row(rows, certificate) if radius != 0.0 else None
        if isinstance(reason, str):
            return self._unknown(reason)
        return self._confirmed(certificate, limit, None if best is None else (self.cost(best), best))

    def _unknown(self, reason: str) -> Unknown:
        return Unknown(reason=reason, band=self.band, effort={"seconds": self._deadline.seconds})

    def _certificate(self, limit: Fraction | None) -> Certificate:
        claim = {
            "model": digest(self._mixture),
            "rows": self._rows.claim(),
            "row": schema_of_model(self._mixture).row(self._x),
            "answer": self._wanted,
            "cost": self._costs.claim(),
            "at_least": None if limit is None else str(limit),
        }
        return Certificate("recourse", claim)

    def _confirmed(
        self,
        certificate: Certificate,
        limit: Fraction | None,
        best: tuple[Fraction, Floats] | None,
        effort: dict[str, float] | None = None,
    ) -> Recourse | Unknown:
        mixture, schema = self._mixture, schema_of_model(self._mixture)
        cost, y = (None, None) if best is None else best
        row = None if y is None else schema.row(y)
        before = schema.row(self._x)
        found = Recourse(
            row=row,
            point=y,
            changes={} if row is None else {n: (before[n], row[n]) for n in row if row[n] != before[n]},
            cost=math.inf if cost is None else up(cost),
            at_least=math.inf if limit is None else as_float(limit),
            answer=None if y is None else mixture.predict(y[None, :]).tolist()[0],
            certificate=certificate,
            band=self.band,
            effort={**(effort or {}), "seconds": self._deadline.seconds},
        )
        return confirmed(found, mixture, deadline=self._deadline)
