"""Episodes that end when nothing happens in them any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from moet.envs.task import Batch, Floats, Step, Task


def cut_off_idle(task: Task, patience: int | None) -> Task:
    """The same task, cut off after ``patience`` steps in a row without any reward; None never cuts."""
    return task if patience is None else replace(task, batch=lambda: _ImpatientBatch(task.batch(), patience))


class _ImpatientBatch:
    def __init__(self, batch: Batch, patience: int) -> None:
        self._batch = batch
        self._patience = patience
        self._idle: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def reset(self, seeds: Sequence[int]) -> Floats:
        self._idle = np.zeros(len(seeds), dtype=np.int64)
        return self._batch.reset(seeds)

    def step(self, actions: NDArray[np.int64]) -> Step:
        step = self._batch.step(actions)
        self._idle = np.where(step.rewards == 0, self._idle + 1, 0)
        return step._replace(truncated=step.truncated | (self._idle >= self._patience))

    def restart(self, finished: NDArray[np.bool_], seeds: Sequence[int]) -> Floats:
        self._idle[finished] = 0
        return self._batch.restart(finished, seeds)

    def keep(self, running: NDArray[np.bool_]) -> None:
        self._idle = self._idle[running]
        self._batch.keep(running)

    def close(self) -> None:
        self._batch.close()
