"""The agents that benchmarks distil: the bundled ones, published ones, and zips that somebody brought."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from moet import teachers
from moet.teachers import Teacher

BUNDLED = ("cartpole", "mountaincar", "acrobot", "pendulum", "lunarlander", "gridworld", "pong", "pong-18")
PUBLISHED = ("cartpole", "mountaincar", "acrobot", "lunarlander")
SUCCESSORS = {"LunarLander-v2": "LunarLander-v3", "LunarLanderContinuous-v2": "LunarLanderContinuous-v3"}
"""Environments that are no more, and what there is instead."""


class Agent(NamedTuple):
    """Somebody's teacher and the task it plays."""

    task: str
    load: Callable[[], Teacher]


def agents() -> Iterator[tuple[str, Agent]]:
    """Every agent with discrete actions that is here, by name.

    Published ones are in the folder that MOET_TEACHERS names, zips in those of MOET_AGENTS, with a colon between them.
    """
    for task in BUNDLED:
        yield f"bundled {task}", Agent(task, partial(teachers.load, task))
    for task in PUBLISHED:
        path = Path(os.environ.get("MOET_TEACHERS", "")) / f"{task}.npz"
        if path.is_file():
            yield f"published {task}", Agent(task, partial(Teacher.from_arrays, path))
    for path in zips():
        if not from_zip(path).continuous:
            yield path.stem, Agent(env_of(path), partial(from_zip, path))


def zips() -> list[Path]:
    """Files of Stable-Baselines3, named ALGORITHM_ENVIRONMENT.zip."""
    folders = filter(None, os.environ.get("MOET_AGENTS", "").split(os.pathsep))
    return [path for folder in folders for path in sorted(Path(folder).glob("*_*.zip"))]


def env_of(path: Path) -> str:
    """The environment that a zip is named after, or its successor."""
    name = path.stem.partition("_")[2]
    return SUCCESSORS.get(name, name)


def statistics_of(path: Path) -> Path | None:
    """ALGORITHM_ENVIRONMENT.vecnormalize.pkl, if the agent needs one."""
    beside = path.with_name(f"{path.stem}.vecnormalize.pkl")
    return beside if beside.exists() else None


def from_zip(path: Path) -> Teacher:
    """The teacher, with the statistics beside it."""
    return Teacher.from_sb3(path, normalize=statistics_of(path))
