"""Endless play in parallel slots."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moet.envs.seeds import Purpose, episode_seeds
from moet.envs.task import Floats, Step, Task


class Stream:
    """Endless play in parallel slots: where an episode ends, another one begins.

    Parameters
    ----------
    task : Task
        What is played.
    slots : int
        How many episodes run side by side.
    """

    def __init__(self, task: Task, slots: int) -> None:
        self.slots = slots
        self.observations: Floats = np.empty((0, 0))
        self._batch = task.batch()

    def begin(self, rng: np.random.Generator) -> None:
        """Drop whatever is running and begin a new episode in every slot."""
        self.observations = self._batch.reset(training_seeds(rng, self.slots))

    def step(self, actions: NDArray[np.int64], rng: np.random.Generator) -> Step:
        """Take one action in every slot and begin new episodes where one ended.

        The result holds the last observations of the episodes that ended; :attr:`observations` holds what comes next.
        """
        step = self._batch.step(actions)
        ended = step.terminated | step.truncated
        self.observations = step.observations
        if ended.any():
            self.observations = step.observations.copy()
            self.observations[ended] = self._batch.restart(ended, training_seeds(rng, int(ended.sum())))
        return step

    def close(self) -> None:
        """Give back what the episodes hold."""
        self._batch.close()


def training_seeds(rng: np.random.Generator, count: int) -> list[int]:
    """Seeds of fresh episodes to learn from."""
    return episode_seeds(int(rng.integers(2**63)), Purpose.TRAINING, count)
