"""Speed of rollouts: many episodes at once against one Gymnasium environment at a time.

    python benchmarks/rollout.py [--quick] [--json out.json]

Both sides play the same episodes with the same random actions, drawn beforehand, and are checked to earn the same
rewards. Resets are part of the time.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from harness import Results, Row, console, cpu_seconds, machine, show, single_threaded
from numpy.typing import NDArray

from moet.envs import Batch, Task, resolve

TASKS = ("cartpole", "acrobot", "mountaincar", "pendulum", "gridworld", "lunarlander")

Actions = NDArray[np.int64]
"""One row per episode, one column per step."""


def play_one_by_one(task: Task, actions: Actions) -> tuple[int, float]:
    """Steps taken and rewards earned by a Gymnasium environment that plays an episode per row."""
    env = task.make()
    steps, earned = 0, 0.0
    for seed, row in enumerate(actions):
        env.reset(seed=seed)
        for action in row:
            _, reward, terminated, truncated, _ = env.step(action)
            steps += 1
            earned += float(reward)
            if terminated or truncated:
                break
    return steps, earned


def play_at_once(batch: Batch, actions: Actions) -> tuple[int, float]:
    """The same by a batch."""
    batch.reset(range(len(actions)))
    running = np.arange(len(actions))
    steps, earned = 0, 0.0
    for column in actions.T:
        step = batch.step(column[running])
        steps += len(running)
        earned += step.rewards.sum()
        going_on = ~(step.terminated | step.truncated)
        if not going_on.all():
            batch.keep(going_on)
            running = running[going_on]
            if not len(running):
                break
    return steps, earned


def rollout(name: str, n_episodes: int, n_repeats: int) -> Row:
    """Steps per CPU second of both sides."""
    task = resolve(name)
    assert task.max_steps is not None
    actions = np.random.default_rng(0).integers(len(task.action_names), size=(n_episodes, task.max_steps))
    batch = task.batch()
    play_at_once(batch, actions[:, :1])  # environments are made before the first reset
    (steps, earned), at_once = cpu_seconds(lambda: play_at_once(batch, actions), n_repeats)
    (steps_of_one, earned_by_one), one_by_one = cpu_seconds(lambda: play_one_by_one(task, actions))
    assert steps == steps_of_one
    assert np.isclose(earned, earned_by_one, rtol=1e-12)
    return {"steps": steps, "one": steps / one_by_one, "batch": steps / at_once}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, without LunarLander")
    parser.add_argument("--json", type=Path, help="keep the rows in this file; rows found there are not measured again")
    options = parser.parse_args()
    single_threaded()
    results = Results(options.json)
    names = TASKS[:-1] if options.quick else TASKS
    rows = [results.measure(rollout, name=name, n_episodes=100, n_repeats=3 if options.quick else 20) for name in names]
    console.print(machine())
    show(
        "Steps per CPU second, 100 episodes of random play",
        ["task", "steps", "one at a time", "at once", "ratio"],
        [[row["name"], row["steps"], int(row["one"]), int(row["batch"]), row["batch"] / row["one"]] for row in rows],
    )


if __name__ == "__main__":
    main()
