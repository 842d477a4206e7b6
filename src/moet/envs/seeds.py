"""Seeds of episodes: what one step of the work has seen, no other step is judged on."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

_RANDOM_BITS = 28


class Purpose(IntEnum):
    """What an episode is played for. Episodes of different purposes never share a seed, whatever the run's seed."""

    TRAINING = 0
    SELECTION = 1
    FINAL_SELECTION = 2
    REPORT = 3
    COMPARISON = 4


def episode_seeds(seed: int, purpose: Purpose, count: int, start: int = 0) -> list[int]:
    """Seeds of the episodes number ``start`` to ``start + count - 1`` of a run.

    They are 31-bit numbers, which every environment takes; their upper three bits are the purpose.
    """
    rng = np.random.default_rng([seed, purpose])
    random = rng.integers(2**_RANDOM_BITS, size=start + count)[start:]
    return [(int(purpose) << _RANDOM_BITS) | int(value) for value in random]
