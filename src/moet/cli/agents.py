"""What the commands about agents share: how a task and its teacher are named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moet.errors import InputError

if TYPE_CHECKING:
    from moet.envs.task import Task
    from moet.teachers.teacher import Teacher

Sb3 = Annotated[
    Path | None, typer.Option("--sb3", help="Teacher: a .zip saved by Stable-Baselines3 (DQN, QR-DQN, PPO or A2C).")
]
Arrays = Annotated[Path | None, typer.Option("--arrays", help="Teacher: a .npz with the layers of a network.")]
Normalize = Annotated[
    Path | None, typer.Option("--normalize", help="Statistics that the --sb3 agent's observations are normalised with.")
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Load the --sb3 file with Stable-Baselines3 itself: this executes code in it.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of everything random.")]
Workers = Annotated[int, typer.Option(min=1, help="Processes to play episodes in.")]


def chosen_task(task: str | None, env: str | None) -> Task:
    """The task named on the command line, from the catalogue or by its Gymnasium id."""
    from moet.envs.catalog import resolve

    match task, env:
        case (str(name), None) | (None, str(name)):
            return resolve(name)
    raise InputError("name either a task (see `moet tasks`) or, with --env, a Gymnasium id")


def chosen_teacher(task: Task, sb3: Path | None, arrays: Path | None, normalize: Path | None, trust: bool) -> Teacher:
    """The agent named on the command line, or the one that comes with the task."""
    from moet.teachers import Teacher, load

    if sb3 is not None and arrays is not None:
        raise InputError("--sb3 and --arrays name two teachers; give one")
    if sb3 is None and (normalize is not None or trust):
        raise InputError("--normalize and --trust say how to read an agent of Stable-Baselines3; name it with --sb3")
    if sb3 is not None:
        return Teacher.from_sb3(sb3, normalize=normalize, trust=trust)
    return Teacher.from_arrays(arrays) if arrays is not None else load(task.name)
