"""Pendulum with three torques to choose from."""

from __future__ import annotations

import gymnasium
import numpy as np
from numpy.typing import NDArray

from moet.envs.classic import PENDULUM_TORQUES


class DiscretePendulum(gymnasium.ActionWrapper[NDArray[np.float32], np.int64, NDArray[np.float32]]):
    """Gymnasium's Pendulum-v1, whose action is the number of a torque: −2, 0 or 2 N m."""

    def __init__(self, env: gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]) -> None:
        super().__init__(env)
        self.action_space = gymnasium.spaces.Discrete(len(PENDULUM_TORQUES))

    def action(self, action: np.int64) -> NDArray[np.float32]:
        """The torque of an action."""
        return PENDULUM_TORQUES[action : action + 1]
