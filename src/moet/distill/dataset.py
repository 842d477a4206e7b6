"""The states a student learns from, and how much each of them matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.envs.task import Floats

Importance = Literal["q_gap", "uniform"]
"""``"q_gap"``: max_a Q(s, a) − min_a Q(s, a), what a wrong action can cost. ``"uniform"``: all the same."""

Weighting = Literal["weight", "resample"]
"""``"weight"``: every state once, weighted by importance. ``"resample"``: drawn with replacement, as published."""


REPEATED = 0.5
"""Games repeat themselves where a larger share of what they show was shown by several of them."""


@dataclass(frozen=True, repr=False)
class Labelled:
    """States labelled by a teacher.

    Attributes
    ----------
    features : array, shape (n_states, n_features)
        What the student sees.
    actions : array, shape (n_states,), or (n_states, n_numbers)
        What the teacher does: action numbers, or rows of numbers.
    importance : array, shape (n_states,)
        How much the choice matters to the teacher; not normalised.
    episode : array, shape (n_states,)
        Which episode a state was seen in, numbered over the whole run.
    """

    features: Floats
    actions: NDArray[Any]
    importance: Floats
    episode: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.actions)

    def __repr__(self) -> str:
        return f"Labelled({len(self)} states, {self.features.shape[1]} features)"

    @classmethod
    def joined(cls, parts: Sequence[Labelled]) -> Labelled:
        """All states of several parts, in their order."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__))


def games_repeat(data: Labelled) -> bool:
    """Whether most states of the episodes were met in several of them.

    Examples
    --------
    >>> import numpy as np
    >>> def met(*states):
    ...     rows = np.array(states, dtype=float)[:, None]
    ...     return Labelled(rows, np.zeros(4, int), np.ones(4), np.array([0, 0, 1, 1]))
    >>> games_repeat(met(1, 2, 1, 3)), games_repeat(met(1, 2, 1, 2)), games_repeat(met(1, 1, 2, 3))
    (False, True, False)
    """
    _, state = np.unique(data.features, axis=0, return_inverse=True)
    met = np.unique(np.column_stack([state.ravel(), data.episode]), axis=0)[:, 0]
    return bool(np.mean(np.bincount(met)[state.ravel()] > 1) > REPEATED)


class Sample(NamedTuple):
    """Rows to train on; ``weight`` is None if all count the same."""

    features: Floats
    actions: NDArray[Any]
    weight: Floats | None
    episode: NDArray[np.int64]


def q_gap(scores: Floats) -> Floats:
    """VIPER's importance of each state, max_a Q(s, a) − min_a Q(s, a)."""
    return scores.max(axis=1) - scores.min(axis=1)


def relative_importance(importance: Floats) -> Floats:
    """Importance divided by its mean; all ones if no state matters more than nothing."""
    # the largest first, so that neither sum nor quotient leaves the range of float64
    largest = importance.max(initial=0.0)
    if largest == 0:
        return np.ones(len(importance))
    shares = importance / largest
    return shares / shares.mean()


def training_sample(data: Labelled, weighting: Weighting, max_samples: int, rng: np.random.Generator) -> Sample:
    """At most ``max_samples`` rows of ``data`` that a student should be trained on."""
    weight = relative_importance(data.importance)
    size = min(len(data), max_samples)
    if weighting == "resample":
        rows = np.sort(rng.choice(len(data), size=size, p=weight / weight.sum()))
        return Sample(data.features[rows], data.actions[rows], None, data.episode[rows])
    if size == len(data):
        return Sample(data.features, data.actions, weight, data.episode)
    rows = np.sort(rng.choice(len(data), size=size, replace=False))
    return Sample(data.features[rows], data.actions[rows], weight[rows], data.episode[rows])
