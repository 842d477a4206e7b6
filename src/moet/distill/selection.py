"""Which of the students of a run is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Selection = Literal["reward", "reward_then_fidelity", "fidelity_then_size", "harmonic"]
"""``"reward"``: the highest mean reward, as published. ``"reward_then_fidelity"``: the most faithful of those whose
reward is within one standard error of the highest. ``"fidelity_then_size"``: the smallest of those whose fidelity is
within one standard error of the highest. ``"harmonic"``: the highest harmonic mean of fidelity and of reward, rescaled
to 0 … 1 between the worst and the best of those compared, so that among a few close ones reward decides."""


CLEAR = 2.0
"""Standard errors of a difference of rewards from which on it is not called luck."""


@dataclass(frozen=True)
class Score:
    """How a student did on the episodes it is selected by.

    Attributes
    ----------
    reward, reward_error : float
        Mean sum of rewards, and its standard error.
    fidelity, fidelity_error : float
        Share of steps in which it acts as its teacher, and its standard error over the episodes.
    leaves : int or None
        Its size.
    """

    reward: float
    reward_error: float
    fidelity: float
    fidelity_error: float
    leaves: int | None


def ranking(scores: Sequence[Score], selection: Selection) -> list[int]:
    """Indices of ``scores``, the best first; the later one among equals, since it has seen more."""
    reward = np.array([score.reward for score in scores])
    fidelity = np.array([score.fidelity for score in scores])
    leaves = np.array([np.inf if score.leaves is None else score.leaves for score in scores])
    keys: tuple[NDArray[Any], ...]
    match selection:
        case "reward":
            keys = (-reward, -fidelity)
        case "reward_then_fidelity":
            close = reward >= reward.max() - scores[int(reward.argmax())].reward_error
            keys = (~close, np.where(close, -fidelity, -reward), -reward)
        case "fidelity_then_size":
            close = fidelity >= fidelity.max() - scores[int(fidelity.argmax())].fidelity_error
            keys = (~close, np.where(close, leaves, -fidelity), -fidelity)
        case "harmonic":
            spread = np.ptp(reward)
            rescaled = (reward - reward.min()) / spread if spread > 0 else np.ones(len(reward))
            mean = 2 * rescaled * fidelity / np.maximum(rescaled + fidelity, np.finfo(float).tiny)
            keys = (-mean, -fidelity)
    return [int(k) for k in np.lexsort((-np.arange(len(scores)), *keys[::-1]))]


def undecided(returns: Sequence[NDArray[np.float64]], worst: float) -> list[int]:
    """Who cannot be told from the first by what all earned in the same episodes, the first among them.

    Who has not crashed yet may still do so, and then it costs what no spread of good episodes tells: a lead is luck,
    too, if a single episode that ends as the worst of all did would undo it. Those who earn the same in every episode
    are told apart by nothing that is played, and so they are left out.

    Parameters
    ----------
    returns : sequence of arrays
        What each of them earned, the best first.
    worst : float
        The least that anybody earned in an episode, they or others.

    Examples
    --------
    >>> import numpy as np
    >>> safe, rash, poor = np.full(100, 260.0), np.append(np.full(99, 262.0), 10.0), np.full(100, 200.0)
    >>> undecided([rash, safe, poor, rash], worst=10.0)
    [0, 1]
    >>> undecided([safe + 1, safe, poor], worst=190.0), undecided([safe + 1, safe, poor], worst=10.0)
    ([0], [0, 1])
    """
    leads = [returns[0] - other for other in returns[1:]]
    crash = np.median(returns[0]) - worst
    luck = [max(CLEAR * lead.std() * np.sqrt(len(lead)), crash) / len(lead) for lead in leads]
    return [0, *(k for k, lead in enumerate(leads, 1) if abs(lead.mean()) <= luck[k - 1] and lead.any())]
