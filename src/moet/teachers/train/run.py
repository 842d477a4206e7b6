"""A training run: learn, select, stop, and say how good the result is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from moet.envs.catalog import resolve
from moet.envs.rollout import play
from moet.envs.task import Task
from moet.progress import progress_bar
from moet.teachers.continuous import ContinuousTeacher
from moet.teachers.network import Network, NetworkTeacher
from moet.teachers.train.checkpoint import Checkpoint
from moet.teachers.train.learner import Recipe
from moet.teachers.train.patience import cut_off_idle
from moet.teachers.train.report import Figure, measure


class Outcome(NamedTuple):
    """What a run came to."""

    teacher: NetworkTeacher | ContinuousTeacher
    """The best network, by its mean reward over the selection episodes, at work."""
    history: list[tuple[int, float]]
    """Steps and mean reward over the selection episodes, after each leg."""
    figures: list[Figure]
    """What the network did in the trials of its recipe, on episodes that chose nothing."""

    @property
    def network(self) -> Network:
        """The network itself."""
        return self.teacher.network


def train(recipe: Recipe, seed: int, *, folder: Path | None = None, shown: bool = False) -> Outcome:
    """Train a teacher.

    Parameters
    ----------
    recipe : Recipe
        What to learn, and how.
    seed : int
        Decides everything random. The same recipe and seed give the same network on the same machine.
    folder : Path, optional
        Where to write a checkpoint after each leg. A run that finds its own there goes on from it, and ends like one
        that was never interrupted.
    shown : bool
        Show a progress bar on stderr.
    """
    task = resolve(recipe.task)
    learner = recipe.learner(task, seed)
    selection_task = cut_off_idle(task, recipe.selection_patience)
    selection_seeds = recipe.selection_seeds(seed)
    checkpoint = None if folder is None else Checkpoint(folder, recipe, seed)
    try:
        history, best = ([], None) if checkpoint is None else checkpoint.restore(learner)
        with progress_bar(f"{recipe.task}, thousands of steps", math.ceil(recipe.steps / 1000), shown=shown) as advance:
            advanced = 0
            while best is None or (learner.steps < recipe.steps and history[-1][1] < recipe.stop):
                learner.advance()
                network = learner.network()
                reward = _selection_reward(selection_task, network, selection_seeds)
                improved = reward > max((past for _, past in history), default=-math.inf)
                best = network if improved else best
                history.append((learner.steps, reward))
                if checkpoint is not None:
                    checkpoint.save(learner, history, network if improved else None)
                for _ in range(advanced, learner.steps // 1000):
                    advance(f"reward {reward:.2f}, best {max(past for _, past in history):.2f}")
                advanced = learner.steps // 1000
    finally:
        learner.close()
    teacher = _at_work(best, task)
    return Outcome(teacher, history, [measure(teacher, trial, seed) for trial in recipe.trials])


def _at_work(network: Network, task: Task) -> NetworkTeacher | ContinuousTeacher:
    if task.box is None:
        return NetworkTeacher(network)
    return ContinuousTeacher(network, task.box.low, task.box.high)


def _selection_reward(task: Task, network: Network, seeds: list[int]) -> float:
    """Mean reward by which the networks of a run are compared: always over the same episodes."""
    return float(play(_at_work(network, task).act, task, seeds).returns.mean())
