"""The paper's Gridworld: two ways out, and a wall across that decides which one is near.

Cells have coordinates (x, y) from 0 to N − 1, from left to right and from bottom to top. The cells with x + y = N − 1
are wall. Every row has a door to the left of its first cell and one to the right of its last. Whoever runs against the
wall, the bottom or the top stays where it was; every step costs 0.1, the last one too. An episode begins in a random
cell off the wall.

Below the wall the shortest way out is left, x + 1 steps; above it right, N − x steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from moet.envs.dynamics import Dynamics, DynamicsBatch, State
from moet.envs.task import Floats, Task
from moet.errors import TaskError

ACTIONS = ("up", "left", "right", "down")
MAX_STEPS = 100
STEP_REWARD = -0.1

_DX = np.array([0.0, -1.0, 1.0, 0.0])
_DY = np.array([1.0, 0.0, 0.0, -1.0])


def move(size: int, x: Floats, y: Floats, actions: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Cells that actions lead to; x is −1 or ``size`` outside a door."""
    new_x, new_y = x + _DX[actions], y + _DY[actions]
    stays = (new_x + new_y == size - 1) | (new_y < 0) | (new_y >= size)
    return np.where(stays, x, new_x), np.where(stays, y, new_y)


def steps_to_door(size: int, x: Floats, y: Floats) -> Floats:
    """Length of the shortest way out."""
    return np.maximum(np.where(x + y < size - 1, x + 1, size - x), 0)


def optimal_scores(size: int) -> Callable[[Floats], Floats]:
    """Function from observations to exact undiscounted Q values, one column per action.

    The time limit does not enter: the longest way out is far shorter. The best action is always unique.
    """
    return partial(_optimal_scores, size)


def _optimal_scores(size: int, observations: Floats) -> Floats:
    x, y = observations.T
    actions = np.arange(len(ACTIONS))[:, None]
    return STEP_REWARD * (1 + steps_to_door(size, *move(size, x, y, actions))).T


def _start(size: int, generator: np.random.Generator) -> Floats:
    """A random cell off the wall."""
    x, y = divmod(int(generator.integers(size * (size - 1))), size - 1)
    return np.array([x, y + (y >= size - 1 - x)], dtype=np.float64)


def _advance(size: int, state: State, actions: NDArray[np.int64]) -> tuple[State, Floats, NDArray[np.bool_]]:
    x, y = state
    x, y = move(size, x, y, actions)
    return (x, y), np.full(len(x), STEP_REWARD), (x < 0) | (x >= size)


def _observe(state: State) -> State:
    return state


class Gridworld(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One Gridworld as a Gymnasium environment, without time limit.

    Parameters
    ----------
    size : int
        Number of rows and of columns.
    render_mode : {None, "ansi", "rgb_array"}
        Text, or a picture.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012  Gymnasium's

    def __init__(self, size: int = 10, render_mode: str | None = None) -> None:
        self.size = size
        self.render_mode = render_mode
        low, high = np.array([-1, 0], np.float32), np.array([size, size - 1], np.float32)
        self.observation_space = gymnasium.spaces.Box(low, high)
        self.action_space = gymnasium.spaces.Discrete(len(ACTIONS))
        self._cell = np.zeros(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin in a random cell off the wall."""
        super().reset(seed=seed)
        self._cell = _start(self.size, self.np_random)
        return self._cell.astype(np.float32), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Move by one cell, if nothing is in the way."""
        (x, y), reward, outside = _advance(self.size, tuple(self._cell[:, None]), np.array([action]))
        self._cell = np.array([x[0], y[0]])
        return self._cell.astype(np.float32), float(reward[0]), bool(outside[0]), False, {}

    def render(self) -> Any:
        """Show the grid with a column for the doors on either side."""
        if self.render_mode is None:
            return None
        rows, columns = np.indices((self.size, self.size + 2))
        x, y = columns - 1, self.size - 1 - rows
        inside = (x >= 0) & (x < self.size)
        kinds = np.select(
            [(x == self._cell[0]) & (y == self._cell[1]), inside & (x + y == self.size - 1), inside], [3, 2, 1], 0
        )
        if self.render_mode == "ansi":
            return "\n".join("".join(" .#o"[kind] for kind in row) for row in kinds)
        colours = np.array([[225, 240, 225], [255, 255, 255], [120, 120, 120], [200, 60, 40]], np.uint8)
        return colours[kinds].repeat(24, axis=0).repeat(24, axis=1)


def _make(size: int, *, render_mode: str | None = None) -> Any:
    return gymnasium.wrappers.TimeLimit(Gridworld(size, render_mode), MAX_STEPS)


def _batch(size: int) -> DynamicsBatch:
    dynamics = Dynamics(len(ACTIONS), partial(_start, size), partial(_advance, size), _observe)
    return DynamicsBatch(dynamics, MAX_STEPS)


def gridworld_task(name: str, size: int) -> Task:
    """The task on a grid of ``size`` rows and columns."""
    if size < 2:
        raise TaskError(f"a Gridworld of size {size} has no cell off the wall; choose a size of 2 or more")
    return Task(
        name=name,
        make=partial(_make, size),
        batch=partial(_batch, size),
        observation_names=("x", "y"),
        feature_names=("x", "y"),
        feature_units=("cells", "cells"),
        action_names=ACTIONS,
        max_steps=MAX_STEPS,
        episodes=100,
        depths=(0,),
        experts=(2,),
    )
