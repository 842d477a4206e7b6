"""Memory of past play, from which n-step returns are drawn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

Floats32 = NDArray[np.float32]


class Sample(NamedTuple):
    """Where play was, what was done, and what it was worth, one row per draw."""

    observations: Floats32
    actions: NDArray[np.int64]
    returns: Floats32
    """Discounted sum of the rewards up to the next observation."""
    next_observations: Floats32
    discounts: Floats32
    """Weight of the value of the next observation; zero where the episode terminated."""


class Replay:
    """The last ``capacity`` ticks of play in parallel slots; a tick is one step in every slot.

    Parameters
    ----------
    capacity : int
        Ticks to remember.
    slots : int
        Episodes that are played side by side.
    n_features : int
        Numbers in an observation.
    """

    def __init__(self, capacity: int, slots: int, n_features: int) -> None:
        self.capacity = capacity
        self.slots = slots
        self.ticks = 0
        self._observations = np.zeros((capacity, slots, n_features), dtype=np.float32)
        self._next_observations = np.zeros((capacity, slots, n_features), dtype=np.float32)
        self._actions = np.zeros((capacity, slots), dtype=np.int64)
        self._rewards = np.zeros((capacity, slots), dtype=np.float32)
        self._terminated = np.zeros((capacity, slots), dtype=np.bool_)
        self._ended = np.zeros((capacity, slots), dtype=np.bool_)

    def add(
        self,
        observations: NDArray[np.floating],
        actions: NDArray[np.int64],
        rewards: NDArray[np.floating],
        next_observations: NDArray[np.floating],
        terminated: NDArray[np.bool_],
        ended: NDArray[np.bool_],
    ) -> None:
        """Remember one tick. ``ended`` also covers episodes that were cut off, whose future still has a value."""
        tick = self.ticks % self.capacity
        self._observations[tick] = observations
        self._actions[tick] = actions
        self._rewards[tick] = rewards
        self._next_observations[tick] = next_observations
        self._terminated[tick] = terminated
        self._ended[tick] = ended
        self.ticks += 1

    def sample(self, rng: np.random.Generator, count: int, n_steps: int, discount: float) -> Sample:
        """Draw steps uniformly, with the rewards of the up to ``n_steps`` steps that begin there."""
        remembered = min(self.ticks, self.capacity)
        oldest = self.ticks - remembered
        first = oldest + rng.integers(remembered - n_steps + 1, size=count)
        slot = rng.integers(self.slots, size=count)
        tick = (first[:, None] + np.arange(n_steps)) % self.capacity
        same_episode = np.ones((count, n_steps), dtype=np.bool_)
        same_episode[:, 1:] = ~np.logical_or.accumulate(self._ended[tick[:, :-1], slot[:, None]], axis=1)
        length = same_episode.sum(axis=1)
        powers = (discount ** np.arange(n_steps)).astype(np.float32)
        rewards = np.where(same_episode, self._rewards[tick, slot[:, None]], 0)
        first, last = tick[:, 0], tick[np.arange(count), length - 1]
        return Sample(
            observations=self._observations[first, slot],
            actions=self._actions[first, slot],
            returns=rewards @ powers,
            next_observations=self._next_observations[last, slot],
            discounts=np.where(self._terminated[last, slot], 0, discount**length).astype(np.float32),
        )

    def state(self) -> dict[str, Any]:
        """Everything remembered, for a checkpoint."""
        used = min(self.ticks, self.capacity)
        return {"ticks": self.ticks, "arrays": [torch.from_numpy(array[:used]) for array in self._arrays()]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a state that :meth:`state` gave."""
        self.ticks = state["ticks"]
        for array, saved in zip(self._arrays(), state["arrays"], strict=True):
            array[: len(saved)] = saved.numpy()

    def _arrays(self) -> list[NDArray[Any]]:
        return [
            self._observations,
            self._next_observations,
            self._actions,
            self._rewards,
            self._terminated,
            self._ended,
        ]
