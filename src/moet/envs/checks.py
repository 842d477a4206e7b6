"""What must hold of actions and numbers that go into and come out of an environment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moet.envs.task import Floats
from moet.errors import TaskError


def check_actions(actions: NDArray[np.int64], n_episodes: int, n_actions: int) -> None:
    """Refuse actions that the task does not have, or of which there are too few or too many."""
    if actions.shape != (n_episodes,):
        raise TaskError(f"got actions of shape {actions.shape} for {n_episodes} running episodes; give one for each")
    if n_episodes and not 0 <= actions.min() <= actions.max() < n_actions:
        strange = actions[(actions < 0) | (actions >= n_actions)][0]
        raise TaskError(f"there is no action {strange}; the task has actions 0 to {n_actions - 1}")


def check_seeds(seeds: Sequence[int], n_episodes: int) -> None:
    """Refuse more or fewer seeds than episodes to begin, and to begin none."""
    if len(seeds) != n_episodes or n_episodes == 0:
        raise TaskError(f"got {len(seeds)} seeds to begin {n_episodes} episodes; give one for each, and at least one")


def check_finite(values: Floats, source: str) -> None:
    """Refuse NaN and infinity; ``source`` is the beginning of a sentence about where they came from."""
    if not np.isfinite(values).all():
        raise TaskError(f"{source} {values[~np.isfinite(values)][0]}, which is not a finite number")
