"""Episodes that end after some steps, whatever the environment says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.envs.task import Batch, Floats, Step, Task


def cut_short(task: Task, steps: int) -> Task:
    """The same task, of which :func:`~moet.envs.rollout.play` plays so many steps of an episode at most.

    Examples
    --------
    >>> import numpy as np
    >>> from moet.envs import resolve
    >>> from moet.envs.rollout import play
    >>> task = cut_short(resolve("MountainCar-v0"), 5)
    >>> play(lambda rows: np.ones(len(rows), dtype=int), task, [0, 1]).lengths.tolist()
    [5, 5]
    """
    return replace(task, batch=partial(_CutShort, task.batch, steps))


class _CutShort:
    """A :class:`~moet.envs.task.Batch` whose episodes end after some steps at the latest."""

    def __init__(self, batch: Callable[[], Batch], steps: int) -> None:
        self._batch, self._steps = batch(), steps
        self._taken = np.zeros(0, dtype=np.int64)

    def reset(self, seeds: Sequence[int]) -> Floats:
        self._taken = np.zeros(len(seeds), dtype=np.int64)
        return self._batch.reset(seeds)

    def step(self, actions: NDArray[Any]) -> Step:
        self._taken += 1
        after = self._batch.step(actions)
        return after._replace(truncated=after.truncated | (self._taken >= self._steps))

    def restart(self, finished: NDArray[np.bool_], seeds: Sequence[int]) -> Floats:
        self._taken[finished] = 0
        return self._batch.restart(finished, seeds)

    def keep(self, running: NDArray[np.bool_]) -> None:
        self._taken = self._taken[running]
        self._batch.keep(running)

    def close(self) -> None:
        self._batch.close()
