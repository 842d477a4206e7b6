"""Two processes against one, for environments whose steps take so many milliseconds.

python benchmarks/workers.py
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

from moet.envs import resolve
from moet.envs.rollout import play


class Slow(gymnasium.Env):
    """Fifty steps that each wait, as a simulator elsewhere would make one wait."""

    def __init__(self, seconds: float) -> None:
        self.observation_space = Box(-1, 1, (4,))
        self.action_space = Discrete(2)
        self.seconds = seconds
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return self.np_random.uniform(-1, 1, 4).astype(np.float32), {}

    def step(self, action: Any) -> Any:
        time.sleep(self.seconds)
        self.steps += 1
        return self.np_random.uniform(-1, 1, 4).astype(np.float32), 1.0, self.steps == 50, False, {}


def right_if_positive(rows: np.ndarray) -> np.ndarray:
    return (rows[:, 0] > 0).astype(np.int64)


def main() -> None:
    print("| milliseconds per step | one process | two | two, when the processes are there |\n|---|---|---|---|")
    for milliseconds in (0.1, 1.0, 5.0):
        task = resolve(partial(Slow, milliseconds / 1000))
        times = []
        for workers in (1, 2, 2):
            begin = time.perf_counter()
            play(right_if_positive, task, range(60), workers)
            times.append(f"{time.perf_counter() - begin:.1f} s")
        print(f"| {milliseconds:g} | {' | '.join(times)} |", flush=True)


if __name__ == "__main__":
    main()
