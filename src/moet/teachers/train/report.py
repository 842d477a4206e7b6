"""The final figures of a teacher, from episodes that nothing was decided on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from moet.envs.catalog import resolve
from moet.envs.rollout import Episodes, bootstrap_interval, play
from moet.envs.seeds import Purpose, episode_seeds
from moet.teachers.teacher import Teacher
from moet.teachers.train.learner import Trial

END = 100
"""Steps that make up the end of an episode."""


class Figure(NamedTuple):
    """How a teacher did in one trial."""

    trial: Trial
    reward: float
    """Mean over the episodes."""
    interval: tuple[float, float]
    """95 % bootstrap interval of the mean."""
    worst: float
    distinct: int
    """Episodes that differ from each other: a deterministic task repeats itself."""

    @property
    def reached(self) -> bool:
        """Whether the target was reached."""
        return self.reward >= self.trial.target


def measure(teacher: Teacher, trial: Trial, seed: int) -> Figure:
    """Play the episodes of a trial."""
    seeds = episode_seeds(seed, Purpose.REPORT, trial.episodes)
    episodes = play(teacher.act, resolve(trial.task), seeds)
    return Figure(
        trial=trial,
        reward=float(episodes.returns.mean()),
        interval=bootstrap_interval(episodes.returns, seed),
        worst=float(episodes.returns.min()),
        distinct=count_distinct(episodes),
    )


def count_distinct(episodes: Episodes) -> int:
    """Number of episodes that did not end like another one, step for step.

    The end is enough to tell games apart, and the beginning would tell too many: to wait a little longer for a ball
    that is served at a fixed time makes no other game.
    """
    ends = np.cumsum(episodes.lengths)
    starts = np.maximum(ends - episodes.lengths, ends - END)
    steps = np.column_stack([episodes.observations, episodes.actions])
    return len({steps[start:end].tobytes() for start, end in zip(starts, ends, strict=True)})
