"""Small environments that misbehave, or show what a tree cannot read."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete


class Counter(gymnasium.Env[Any, Any]):
    """Shows how many steps were taken, and ends after ``length`` of them; never if that is None."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, length: int | None = 3, render_mode: str | None = None) -> None:
        self.observation_space: Any = Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space: Any = Discrete(2)
        self.length = length
        self.render_mode = render_mode
        self.count = 0
        self.closed = False

    def observation(self) -> Any:
        return np.array([self.count, self.np_random_seed], dtype=np.float64)

    def reward(self) -> Any:
        return 1.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count = 0
        return self.observation(), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        assert self.length is None or self.count < self.length, "a finished episode was stepped"
        self.count += 1
        return self.observation(), self.reward(), self.count == self.length, False, {}

    def close(self) -> None:
        self.closed = True


class Image(Counter):
    """Shows a small picture."""

    def __init__(self) -> None:
        super().__init__()
        self.observation_space = Box(0, 255, (4, 5), np.uint8)

    def observation(self) -> Any:
        return np.full((4, 5), self.count, np.uint8)
