"""Many episodes of a task at once, from equations that take arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.envs.box import ActionBox
from moet.envs.checks import check_actions, check_seeds
from moet.envs.task import Floats, Step

State = tuple[Floats, ...]
"""One array per variable of the state, with one entry per episode."""


@dataclass(frozen=True)
class Dynamics:
    """The equations of a task.

    Attributes
    ----------
    actions : int or ActionBox
        Actions are the numbers below it, or rows of numbers between bounds.
    begin : callable
        Draws the first state of one episode, an array with one entry per variable.
    advance : callable
        From states and actions to the next states, the rewards, and where the episode has ended.
    observe : callable
        From states to what the environment shows of them, one array per entry of an observation.
    shown_as : type
        What observations are rounded to; Gymnasium's tasks show float32.
    """

    actions: int | ActionBox
    begin: Callable[[np.random.Generator], NDArray[np.floating]]
    advance: Callable[[State, NDArray[Any]], tuple[State, Floats, NDArray[np.bool_]]]
    observe: Callable[[State], State]
    shown_as: type[np.floating] = np.float32


class DynamicsBatch:
    """A :class:`~moet.envs.task.Batch` of episodes under common equations, with the same random starts as Gymnasium."""

    def __init__(self, dynamics: Dynamics, max_steps: int) -> None:
        self._dynamics = dynamics
        self._max_steps = max_steps
        self._state: State = ()
        self._elapsed = np.zeros(0, np.int64)

    def reset(self, seeds: Sequence[int]) -> Floats:
        """Begin one episode per seed."""
        check_seeds(seeds, len(seeds))
        first = self._first_states(seeds)
        self._state = tuple(variable.astype(np.float64) for variable in first)
        self._elapsed = np.zeros(len(seeds), np.int64)
        return self._observations(first)

    def step(self, actions: NDArray[Any]) -> Step:
        """Take one action in each running episode."""
        if isinstance(self._dynamics.actions, ActionBox):
            actions = self._dynamics.actions.env_actions(actions, len(self._elapsed))
        else:
            check_actions(actions, len(self._elapsed), self._dynamics.actions)
        self._state, rewards, terminated = self._dynamics.advance(self._state, actions)
        self._elapsed += 1
        return Step(self._observations(self._state), rewards, terminated, self._elapsed >= self._max_steps)

    def restart(self, finished: NDArray[np.bool_], seeds: Sequence[int]) -> Floats:
        """Begin new episodes in place of finished ones."""
        check_seeds(seeds, int(np.count_nonzero(finished)))
        first = self._first_states(seeds)
        for variable, values in zip(self._state, first, strict=True):
            variable[finished] = values
        self._elapsed[finished] = 0
        return self._observations(first)

    def keep(self, running: NDArray[np.bool_]) -> None:
        """Go on with some of the episodes only."""
        self._state = tuple(variable[running] for variable in self._state)
        self._elapsed = self._elapsed[running]

    def close(self) -> None:
        """Nothing is held."""

    def _first_states(self, seeds: Sequence[int]) -> State:
        """The states that Gymnasium's ``reset(seed=...)`` draws: every episode has its own generator."""
        states = [self._dynamics.begin(np.random.Generator(np.random.PCG64(int(seed)))) for seed in seeds]
        return tuple(np.array(states).T.copy())

    def _observations(self, state: State) -> Floats:
        """Observations as Gymnasium gives them, rounded, and widened."""
        return np.array(self._dynamics.observe(state), dtype=self._dynamics.shown_as).T.astype(np.float64, order="C")
