"""Teachers from which nothing can be learned, and environments that forget their seed, noticed before training."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.envs.rollout import Episodes, play
from moet.envs.task import Floats, Task
from moet.errors import MoetWarning

_NEXT = (
    "If it was trained on normalised observations, give their statistics: --normalize vecnormalize.pkl, in Python "
    "Teacher.from_sb3(agent, normalize='vecnormalize.pkl'). Otherwise see whether it is an agent for this environment"
)


MANY_STEPS = 100
"""In fewer, a good player may happen to need one action only."""

FIRST_STEPS, SAME = 10, 1e-6
"""Steps in which an episode is compared with itself, and how far it may be off, of a number or in all."""

HARDLY = 0.01
"""Of the range of a number: actions that differ by no more are one and the same for all that can be learned."""


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
    count, steps = len(played.lengths), len(played.actions)
    reward = played.returns.mean()
    chance = reward_of_chance(task, seeds)
    alike = _acts_alike(task, played.actions)
    if reward > chance and not (alike and steps >= MANY_STEPS):
        return
    if alike:
        first = played.actions[0]
        action = np.round(first, 4).tolist() if task.continuous else repr(task.action_names[int(first)])
        problem = f"always acts alike: {action} in all {steps} steps of {count} episodes"
    else:
        problem = (
            f"plays no better than chance: mean reward {reward:.2f} against {chance:.2f} on the same {count} episodes"
        )
    warnings.warn(f"the teacher {problem}. {_NEXT}", MoetWarning, stacklevel=4)


def warn_if_seed_is_forgotten(task: Task, played: Episodes, seeds: Sequence[int]) -> None:
    """Warn of an environment in which the first episode begins otherwise with the same seed and actions.

    Only its first steps tell: last digits may depend on how many episodes are played at once, and they grow.
    """
    first, _ = played.split(1)
    again = play(_Repeated(first.actions), task, seeds[:1])
    one, other = (np.column_stack([run.observations, run.rewards])[:FIRST_STEPS] for run in (first, again))
    if len(one) == len(other) and np.allclose(one, other, rtol=SAME, atol=SAME):
        return
    warnings.warn(
        f"{task.name} goes otherwise with the same seed and the same actions, so this run cannot be repeated, and "
        "players are not compared on the same episodes. Its reset should call super().reset(seed=seed), and all its "
        "chance should come from self.np_random",
        MoetWarning,
        stacklevel=4,
    )


def _acts_alike(task: Task, actions: NDArray[Any]) -> bool:
    """Whether one action does for all steps, where there are several to choose from."""
    if task.box is None:
        return len(task.action_names) > 1 and bool((actions == actions[0]).all())
    widths = np.subtract(task.box.high, task.box.low)
    return bool((np.ptp(actions, axis=0) <= HARDLY * widths).all())


def reward_of_chance(task: Task, seeds: Sequence[int]) -> float:
    """Mean reward of random play in these episodes."""
    return float(play(_Chance(task), task, seeds).returns.mean())


class _Chance:
    """Chooses among all actions alike; the same ones in every run."""

    def __init__(self, task: Task) -> None:
        self.n_actions = len(task.action_names)
        self.box = task.box
        self.rng = np.random.default_rng(0)

    def __call__(self, observations: Floats) -> NDArray[Any]:
        if self.box is not None:
            return self.rng.uniform(self.box.low, self.box.high, size=(len(observations), len(self.box)))
        return self.rng.integers(self.n_actions, size=len(observations))


class _Repeated:
    """Does in one episode what was done before; once more the last of it if the episode goes on."""

    def __init__(self, actions: NDArray[Any]) -> None:
        self._actions, self._taken = actions, 0

    def __call__(self, observations: Floats) -> NDArray[Any]:
        k = min(self._taken, len(self._actions) - 1)
        self._taken += 1
        return self._actions[k : k + 1]
