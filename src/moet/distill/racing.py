"""A race among policies whose rewards are luck in part: all play a little, and the better half plays on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from moet.envs.task import Floats

ROUNDS = (1, 2, 4)
"""Episodes that those who are still in the race have played after each round, in units of the first."""

LAST = 2
"""So many play all rounds."""

T = TypeVar("T")


def race(
    entrants: Sequence[T], returns: Callable[[T, int, int], Floats], merit: Callable[[Floats], Any], episodes: int
) -> list[tuple[T, Floats]]:
    """Successive halving: who is left at the end, the best first, with all that they earned.

    A hundred episodes do not tell a policy that never crashes from one that crashes once in a hundred; to play many
    more with all of them would take as long as the search that found them.

    Parameters
    ----------
    entrants : sequence
    returns : callable
        What one of them earns in the episodes from one number to another; the same episodes for all.
    merit : callable
        How good such earnings are, the more the better.
    episodes : int
        In the first round.

    References
    ----------
    - Karnin, Z., T. Koren, O. Somekh. *Almost Optimal Exploration in Multi-Armed Bandits.* ICML 2013.

    Examples
    --------
    >>> import numpy as np
    >>> luck = np.random.default_rng(0).normal(size=400)
    >>> found = race(range(8), lambda skill, a, b: skill + luck[a:b], np.mean, episodes=100)
    >>> [(skill, len(earned)) for skill, earned in found]
    [(7, 400), (6, 400)]
    """
    running = [(entrant, np.zeros(0)) for entrant in entrants]
    played = 0
    for times in ROUNDS:
        upto = times * episodes
        running = [(one, np.append(earned, returns(one, played, upto))) for one, earned in running]
        running.sort(key=lambda one: merit(one[1]), reverse=True)
        if times != ROUNDS[-1]:
            running = running[: max(LAST, (len(running) + 1) // 2)]
        played = upto
    return running
