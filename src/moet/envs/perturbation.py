"""Episodes in which an action is random now and then, so that no two of them are the same game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.envs.task import Batch, Floats, Step, Task

SHARE = 0.01
"""Of the actions, that are random: enough to get off a track, too few to play badly."""


def perturbed(task: Task, share: float = SHARE) -> Task:
    """The same task of a few actions, in which the environment now and then does something else than it is told.

    An episode is the same whoever else is played beside it: what is random follows from its seed.

    Examples
    --------
    >>> import numpy as np
    >>> from moet.envs import resolve
    >>> from moet.envs.perturbation import perturbed
    >>> from moet.envs.rollout import play
    >>> lake, left = resolve("FrozenLake-v1(is_slippery=False)"), lambda rows: np.zeros(len(rows), dtype=int)
    >>> set(play(left, lake, range(20)).lengths.tolist())  # against the left edge, to the time limit
    {100}
    >>> len(set(play(left, perturbed(lake, 0.1), range(20)).lengths.tolist())) > 10
    True
    """
    return replace(task, batch=partial(_Perturbed, task.batch, share, len(task.action_names)))


class _Perturbed:
    """A :class:`~moet.envs.task.Batch` that takes a random action now and then."""

    def __init__(self, batch: Callable[[], Batch], share: float, n_actions: int) -> None:
        self._batch, self._share, self._n_actions = batch(), share, n_actions
        self._chance: list[np.random.Generator] = []

    def reset(self, seeds: Sequence[int]) -> Floats:
        self._chance = [np.random.default_rng(seed) for seed in seeds]
        return self._batch.reset(seeds)

    def step(self, actions: NDArray[Any]) -> Step:
        done = np.array(actions)
        for k, chance in enumerate(self._chance):
            if chance.random() < self._share:
                done[k] = chance.integers(self._n_actions)
        return self._batch.step(done)

    def restart(self, finished: NDArray[np.bool_], seeds: Sequence[int]) -> Floats:
        observations = self._batch.restart(finished, seeds)  # which complains of a wrong number of seeds
        for k, seed in zip(np.flatnonzero(finished), seeds, strict=True):
            self._chance[k] = np.random.default_rng(seed)
        return observations

    def keep(self, running: NDArray[np.bool_]) -> None:
        self._chance = list(compress(self._chance, running))
        self._batch.keep(running)

    def close(self) -> None:
        self._batch.close()
