"""Teachers from which nothing can be learned, noticed before anything is trained."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moet.envs.rollout import Episodes, play
from moet.envs.task import Floats, Task
from moet.errors import MoetWarning

_NEXT = (
    "If it was trained on normalised observations, give their statistics: --normalize vecnormalize.pkl, in Python "
    "Teacher.from_sb3(agent, normalize='vecnormalize.pkl'). Otherwise see whether it is an agent for this environment"
)


def warn_if_useless(task: Task, played: Episodes, seeds: Sequence[int]) -> None:
    """Warn of a teacher that always acts alike, or plays no better than chance.

    Parameters
    ----------
    task : Task
    played : Episodes
        The teacher's play.
    seeds : sequence of int
        The episodes that it played; chance plays the same.
    """
    count = len(played.lengths)
    if len(task.action_names) > 1 and (played.actions == played.actions[0]).all():
        action = task.action_names[int(played.actions[0])]
        problem = f"always acts alike: {action!r} in all {len(played.actions)} steps of {count} episodes"
    else:
        chance = play(_Chance(len(task.action_names)), task, seeds).returns.mean()
        if played.returns.mean() > chance:
            return
        problem = (
            f"plays no better than chance: mean reward {played.returns.mean():.2f} against {chance:.2f} on the same "
            f"{count} episodes"
        )
    warnings.warn(f"the teacher {problem}. {_NEXT}", MoetWarning, stacklevel=4)


class _Chance:
    """Chooses among all actions alike; the same ones in every run."""

    def __init__(self, n_actions: int) -> None:
        self.n_actions = n_actions
        self.rng = np.random.default_rng(0)

    def __call__(self, observations: Floats) -> NDArray[np.int64]:
        return self.rng.integers(self.n_actions, size=len(observations))
