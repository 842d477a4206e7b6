"""Episodes in which an action is random now and then, so that no two of them are the same game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.envs.box import ActionBox
from moet.envs.task import Batch, Floats, Step, Task

SHARE = 0.01
"""Of the actions, with which chance takes over: enough to get off a track, too few to play badly."""

HELD = 8
"""Steps for which random numbers stay as they are, at most: of a single one a body with a mass notices nothing."""


def perturbed(task: Task, share: float = SHARE) -> Task:
    """The same task, in which the environment now and then does something else than it is told.

    A random action of a few lasts one step; random numbers are held for one to eight. An episode is the same whoever
    else is played beside it: what is random follows from its seed.

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
    draw = partial(_choice, len(task.action_names)) if task.box is None else partial(_numbers, task.box)
    return replace(task, batch=partial(_Perturbed, task.batch, share, draw))


Draw = Callable[[np.random.Generator], tuple[int, Any]]
"""How many steps chance decides, and what is done in them."""


def _choice(count: int, chance: np.random.Generator) -> tuple[int, Any]:
    return 1, chance.integers(count)


def _numbers(box: ActionBox, chance: np.random.Generator) -> tuple[int, Any]:
    return int(chance.integers(1, HELD + 1)), chance.uniform(box.low, box.high)


class _Hand:
    """What is done in one episode: what the environment is told, or what chance says."""

    def __init__(self, share: float, draw: Draw, seed: int) -> None:
        self._share, self._draw, self._chance = share, draw, np.random.default_rng(seed)
        self._left, self._random = 0, None

    def done(self, told: Any) -> Any:
        if self._left == 0 and self._chance.random() < self._share:
            self._left, self._random = self._draw(self._chance)
        if self._left == 0:
            return told
        self._left -= 1
        return self._random


class _Perturbed:
    """A :class:`~moet.envs.task.Batch` in which chance takes over now and then."""

    def __init__(self, batch: Callable[[], Batch], share: float, draw: Draw) -> None:
        self._batch, self._hand = batch(), partial(_Hand, share, draw)
        self._hands: list[_Hand] = []

    def reset(self, seeds: Sequence[int]) -> Floats:
        self._hands = [self._hand(seed) for seed in seeds]
        return self._batch.reset(seeds)

    def step(self, actions: NDArray[Any]) -> Step:
        done = np.array(actions)
        for k, hand in enumerate(self._hands):
            done[k] = hand.done(done[k])
        return self._batch.step(done)

    def restart(self, finished: NDArray[np.bool_], seeds: Sequence[int]) -> Floats:
        observations = self._batch.restart(finished, seeds)  # which complains of a wrong number of seeds
        for k, seed in zip(np.flatnonzero(finished), seeds, strict=True):
            self._hands[k] = self._hand(seed)
        return observations

    def keep(self, running: NDArray[np.bool_]) -> None:
        self._hands = list(compress(self._hands, running))
        self._batch.keep(running)

    def close(self) -> None:
        self._batch.close()
