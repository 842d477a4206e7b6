"""Play the same episodes through a batch and through Gymnasium, one environment at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.envs import Batch, Task

Policy = Callable[[NDArray[np.float64], NDArray[np.int64]], NDArray[np.int64]]
"""From observations, one per row, and an action drawn at random for each, to actions."""


class Episode(NamedTuple):
    """Everything an environment said, in order; observations have one row more than the rest."""

    observations: list[list[float]]
    rewards: list[float]
    terminated: list[bool]
    truncated: list[bool]


def at_random(observations: NDArray[np.float64], drawn: NDArray[np.int64]) -> NDArray[np.int64]:
    return drawn


def play_batch(batch: Batch, n_actions: int, policy: Policy, seeds: Sequence[int]) -> list[Episode]:
    observations = batch.reset(seeds)
    episodes = [Episode([row], [], [], []) for row in observations.tolist()]
    generators = [np.random.default_rng(seed) for seed in seeds]
    running = np.arange(len(seeds))
    while len(running):
        drawn = np.array([generators[i].integers(n_actions) for i in running])
        step = batch.step(policy(observations, drawn))
        for k, i in enumerate(running):
            for record, values in zip(episodes[i], step, strict=True):
                record.append(values[k].tolist())
        going_on = ~(step.terminated | step.truncated)
        batch.keep(going_on)
        observations, running = step.observations[going_on], running[going_on]
    return episodes


def play_one(env: Any, n_actions: int, policy: Policy, seed: int) -> Episode:
    observation, _ = env.reset(seed=seed)
    episode = Episode([observation.tolist()], [], [], [])
    generator = np.random.default_rng(seed)
    while not episode.terminated or not (episode.terminated[-1] or episode.truncated[-1]):
        action = policy(observation[None].astype(np.float64), np.array([generator.integers(n_actions)]))[0]
        observation, *rest, _ = env.step(action)
        for record, value in zip(episode, (observation.tolist(), *rest), strict=True):
            record.append(value)
    return episode


def assert_same_episodes(task: Task, policy: Policy, seeds: Sequence[int]) -> int:
    """Compare every number exactly and return how many steps were compared."""
    n_actions = len(task.action_names)
    batch, env = task.batch(), task.make()
    played = play_batch(batch, n_actions, policy, seeds)
    for seed, episode in zip(seeds, played, strict=True):
        assert episode == play_one(env, n_actions, policy, seed), f"the episode of seed {seed} differs"
    batch.close()
    env.close()
    return sum(len(episode.rewards) for episode in played)
