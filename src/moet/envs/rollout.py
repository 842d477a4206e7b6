"""Playing episodes, and how sure their mean is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.envs.task import Batch, Floats, Task
from moet.envs.workers import number_of_workers, spread

Act = Callable[[Floats], NDArray[Any]]
"""Chooses one action per row of observations: its number, or a row of numbers."""

WIDTH = 256
"""Episodes that are played side by side: enough to keep array operations busy, few enough for slow environments."""

BOOTSTRAP_SAMPLES = 2_000


@dataclass(frozen=True)
class Episodes:
    """Steps of finished episodes, one episode after the other.

    Attributes
    ----------
    observations : array, shape (n_steps, n_observed)
        What the environment showed before each action.
    actions : array, shape (n_steps,), or (n_steps, n_numbers)
        Action numbers; of a task with continuous actions, rows.
    rewards : array, shape (n_steps,)
    lengths, returns : arrays, shape (n_episodes,)
        Number of steps and sum of rewards.
    """

    observations: Floats
    actions: NDArray[Any]
    rewards: Floats
    lengths: NDArray[np.int64]
    returns: Floats

    @property
    def number(self) -> NDArray[np.int64]:
        """Number of the episode that each step belongs to."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def followed_by(self, others: Episodes) -> Episodes:
        """These episodes, and then the others."""
        return _joined([self, others])

    def split(self, count: int) -> tuple[Episodes, Episodes]:
        """The first ``count`` episodes, and the others."""
        steps = int(self.lengths[:count].sum())
        cuts = {"observations": steps, "actions": steps, "rewards": steps, "lengths": count, "returns": count}
        return (
            Episodes(**{name: getattr(self, name)[:cut] for name, cut in cuts.items()}),
            Episodes(**{name: getattr(self, name)[cut:] for name, cut in cuts.items()}),
        )


def play(act: Act, task: Task, seeds: Sequence[int], workers: int = 1) -> Episodes:
    """Play one episode per seed, each to its end.

    Parameters
    ----------
    act : callable
        From observations to actions, one row per episode that is still running.
    task : Task
    seeds : sequence of int
        Episode ``i`` is the one that the environment begins on ``reset(seed=seeds[i])``.
    workers : int
        Processes to spread the episodes over; with 1, as many as ``joblib.parallel_config`` says, on this machine or on
        others. The result does not depend on it.
    """
    if len(seeds) > 1 and (count := number_of_workers(workers)) > 1:
        return _joined(spread(act, task, seeds, count))
    batch = task.batch()
    try:
        return _joined([_play_together(act, batch, seeds[k : k + WIDTH]) for k in range(0, len(seeds), WIDTH)])
    finally:
        batch.close()


def bootstrap_interval(values: Floats, seed: int) -> tuple[float, float]:
    """95 % percentile interval of the mean."""
    draws = np.random.default_rng(seed).integers(len(values), size=(BOOTSTRAP_SAMPLES, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def _play_together(act: Act, batch: Batch, seeds: Sequence[int]) -> Episodes:
    observations = batch.reset(seeds)
    episode = np.arange(len(seeds))
    steps: list[tuple[Any, ...]] = []
    while len(episode):
        actions = act(observations)
        after = batch.step(actions)
        steps.append((episode, observations, actions, after.rewards))
        running = ~(after.terminated | after.truncated)
        observations = after.observations
        if not running.all():
            batch.keep(running)
            episode, observations = episode[running], observations[running]
    number, seen, actions, rewards = (np.concatenate(column) for column in zip(*steps, strict=True))
    order = np.argsort(number, kind="stable")
    return Episodes(
        observations=seen[order],
        actions=actions[order],
        rewards=rewards[order],
        lengths=np.bincount(number, minlength=len(seeds)),
        returns=np.bincount(number, weights=rewards, minlength=len(seeds)).astype(np.float64),
    )


def _joined(parts: list[Episodes]) -> Episodes:
    fields = Episodes.__dataclass_fields__
    return Episodes(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in fields})
