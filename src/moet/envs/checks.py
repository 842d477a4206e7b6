"""What must hold of actions and numbers that go into and come out of an environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


def begun(answer: Any, name: str) -> Any:
    """The observation in what ``reset`` gave, which must be as Gymnasium has it; ``name`` is the environment's."""
    if not (isinstance(answer, tuple | list) and len(answer) == 2 and isinstance(answer[1], dict)):
        raise TaskError(
            f"reset of {name} gave {answer!r:.100}; in Gymnasium it gives two things, an observation and a dictionary. "
            f"{_OLD}"
        )
    return answer[0]


def stepped(answer: Any, name: str) -> tuple[Any, float, bool, bool]:
    """Observation, reward and how the episode ended, in what ``step`` gave, which must be as Gymnasium has it."""
    if not (isinstance(answer, tuple | list) and len(answer) == 5):
        count = f"{len(answer)} things" if isinstance(answer, tuple | list) else f"{answer!r:.100}"
        raise TaskError(
            f"step of {name} gave {count}; in Gymnasium it gives five: observation, reward, terminated, truncated "
            f"and a dictionary. {_OLD}"
        )
    observation, reward, terminated, truncated, _ = answer
    for what, ended in (("terminated", terminated), ("truncated", truncated)):
        if not _is_truth(ended):
            raise TaskError(f"{name} says that {what} is {ended!r:.100}, which is neither true nor false")
    try:
        return observation, float(reward), bool(terminated), bool(truncated)
    except (TypeError, ValueError):
        raise TaskError(f"{name} gave a reward of {reward!r:.100}, which is not one number") from None


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biu")


_OLD = "An environment of the old gym can be wrapped: shimmy.GymV21CompatibilityV0"
