"""Search without gradients: CMA-ES, remembered as the scores it was told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError

Floats = NDArray[np.float64]

MANY_NUMBERS = 500
"""Beyond them only the spread of each number is learned: all pairs of them would be too many to learn, and to solve."""


class Evolution:
    """A normal distribution over points that moves to where scores are high and takes on their shape.

    The library ``cma`` does the work (Hansen's own, pure Python). What it asks follows from its start, its seed and
    the scores it was told, to the bit: these scores are all that a checkpoint needs to go on from (:meth:`replay`).

    Parameters
    ----------
    start : array of float, shape (n,)
        Where the search begins.
    step : float
        Standard deviation of the first points.
    population : int
        Points in a generation.
    seed : int or sequence of int
        Draws the points.

    Attributes
    ----------
    told : list of list of float
        Scores of every generation so far.

    Examples
    --------
    >>> import numpy as np
    >>> search = Evolution(np.zeros(3), 0.5, population=8, seed=0)
    >>> for _ in range(60):
    ...     search.tell([-float(((point - 1) ** 2).sum()) for point in search.ask()])
    >>> bool(np.abs(search.centre - 1).max() < 0.01)
    True
    """

    def __init__(self, start: Floats, step: float, *, population: int, seed: int | Sequence[int]) -> None:
        import cma

        rng = np.random.default_rng(seed)
        options = {
            "popsize": population,
            "randn": lambda *shape: rng.standard_normal(shape),  # its own default draws from NumPy's global state
            "seed": np.nan,
            "CMA_diagonal": len(start) > MANY_NUMBERS,
            "verbose": -9,
        }
        # it knows no search among one number: a second one that nobody looks at costs nothing
        self._n = len(start)
        self._search: Any = cma.CMAEvolutionStrategy(np.append(start, 0.0), step, options)
        self._asked: list[Floats] | None = None
        self.told: list[list[float]] = []

    @property
    def centre(self) -> Floats:
        """Mean of the distribution."""
        return np.array(self._search.mean[: self._n])

    @property
    def spread(self) -> float:
        """Standard deviation of the distribution, over all numbers."""
        return float(self._search.sigma * np.sqrt(np.mean(np.square(self._search.D))))

    def ask(self) -> list[Floats]:
        """Points of the next generation; the same ones until their scores are told."""
        if self._asked is None:
            self._asked = [np.asarray(point, dtype=np.float64) for point in self._search.ask()]
        return [point[: self._n].copy() for point in self._asked]

    def tell(self, scores: Sequence[float]) -> None:
        """How good the points of this generation are; more is better."""
        self.ask()
        assert self._asked is not None
        if len(scores) != len(self._asked) or not np.isfinite(scores).all():
            raise InputError(f"a generation of {len(self._asked)} points needs as many finite scores, got {scores!r}")
        self._search.tell(self._asked, [-score for score in scores])
        self.told.append([float(score) for score in scores])
        self._asked = None

    def replay(self, told: Iterable[Sequence[float]]) -> None:
        """Bring a new search to where another one was that was told these scores."""
        for scores in told:
            self.tell(scores)


def careful_mean(returns: Floats, tail: float) -> float:
    """Half the mean, half the mean of the worst: rare crashes, which a mean hides, count.

    Parameters
    ----------
    returns : array of float, shape (n,)
        Rewards of episodes.
    tail : float
        Share of the episodes that are the worst, one at least (conditional value at risk).

    Examples
    --------
    >>> import numpy as np
    >>> careful_mean(np.array([0.0, 10.0, 10.0, 10.0]), tail=0.25)
    3.75
    """
    worst = np.sort(returns)[: max(1, round(tail * len(returns)))]
    return float(0.5 * returns.mean() + 0.5 * worst.mean())
