"""Answers that are more than one verdict: where two models differ, and which rows keep their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from moet.verify.polytopes import Polytope


@dataclass(frozen=True, kw_only=True, eq=False)
class Differences:
    """Where two models give different answers.

    Attributes
    ----------
    points : array of float, shape (n, n_features)
        Inputs with different answers, in exact arithmetic and as deployed, one per region.
    answers : list of (label, label)
        What the models answer at the points; if they answer with numbers, their outputs by name.
    regions : list of Polytope
        The regions of the points; in all of a region the answers are these, or some output of the models is apart by
        more than the tolerance, by the same laws. Regions of different outputs may overlap.
    complete : bool
        Whether these are all regions: neither ``limit`` nor the time limit ended the search. Regions so thin that no
        float64 input was found in them are counted in ``unseen`` and are not among ``regions``.
    unseen : int
    share : float or None
        Share of the domain's volume in which the models differ; None if the domain has no finite volume.
    share_interval : (float, float) or None
        Bounds of the share: it lies between them with a probability of at least ``confidence``. They are equal to
        the share, and the confidence is 1, where it was computed rather than estimated.
    confidence : float
    band, effort
        As in :class:`Verdict`.

    Examples
    --------
    >>> from moet import Mixture, Tree, verify
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> moved = Mixture([[1, 2], [-1, -2]], [0, 1], model.trees, ["up", "down"])
    >>> from moet import Box
    >>> found = verify.differences(model, moved, Box.from_bounds([-1, -1], [1, 1]))
    >>> found.answers, found.complete, found.share
    ([('up', 'down')], True, 0.125)
    """

    points: NDArray[np.float64]
    answers: list[tuple[Any, Any]]
    regions: list[Polytope]
    complete: bool
    unseen: int
    share: float | None
    share_interval: tuple[float, float] | None
    confidence: float
    band: float | None
    effort: Mapping[str, float]

    def __len__(self) -> int:
        return len(self.points)


@dataclass(frozen=True, kw_only=True, eq=False)
class Robust:
    """Which rows of a table keep their answers within a radius.

    Attributes
    ----------
    kept : array of bool, shape (n_rows,)
        Rows that were proved to keep their answers; the certificate is about them.
    changed : dict of int to dict
        Rows that do not, by position, each with a possible row within the radius that has another answer.
    unknown : list of int
        Rows that were not decided.
    answers : array
        What the model answers to the rows.
    certificate : Certificate or None
    checked : bool
        Whether the exact checker accepted it.
    claim : str or None
        What was proved, in words.
    effort : mapping

    Examples
    --------
    >>> import pandas as pd
    >>> from moet import MoETClassifier, verify
    >>> loans = pd.DataFrame({"Duration": [6, 12, 24, 36, 48, 60]})
    >>> risk = ["good", "good", "good", "bad", "bad", "bad"]
    >>> model = MoETClassifier(n_experts=1, max_depth=1, prediction="hard", random_state=0).fit(loans, risk)
    >>> found = verify.robust(model, loans, {"Duration": 7})
    >>> found.share, found.changed[2]
    (0.6666666666666666, {'Duration': 31})
    >>> print(found)
    Robust: 4 of 6 rows keep their answers, 2 do not, and 0 are not decided
    """

    kept: NDArray[np.bool_]
    changed: dict[int, dict[str, Any]]
    unknown: list[int]
    answers: NDArray[Any]
    certificate: Any
    checked: bool
    claim: str | None
    effort: Mapping[str, float]

    def __str__(self) -> str:
        """What came out, in one line; ``repr`` has all of its parts."""
        kept, changed, unknown = int(self.kept.sum()), len(self.changed), len(self.unknown)
        told = f"{kept} of {len(self.kept)} rows keep their answers, {changed} do not, and {unknown} are not decided"
        return f"Robust: {told}"

    @property
    def share(self) -> float:
        """Share of the rows that were proved to keep their answers."""
        return float(self.kept.mean())

    def accuracy(self, labels: Any) -> float:
        """Certified accuracy: the share of rows that are answered rightly and were proved to keep their answers."""
        return float(np.mean(self.kept & (self.answers == np.asarray(labels))))
