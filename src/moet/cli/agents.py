"""What the commands about agents share: how a task and its teacher are named."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from moet.cli import choices
from moet.errors import InputError

if TYPE_CHECKING:
    from moet.envs.task import Task
    from moet.teachers.teacher import Teacher

Sb3 = Annotated[
    Path | None,
    typer.Option("--sb3", help="Teacher: a .zip saved by Stable-Baselines3, of any algorithm."),
]
Arrays = Annotated[Path | None, typer.Option("--arrays", help="Teacher: a .npz with the layers of a network.")]
Onnx = Annotated[Path | None, typer.Option("--onnx", help="Teacher: a network in an .onnx file.")]
Torch = Annotated[
    Path | None, typer.Option("--torch", help="Teacher: a file of PyTorch, such as CleanRL's; only numbers are read.")
]
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Teacher: a folder of the Hugging Face hub with a zip and statistics.")
]
Agent = Annotated[
    str | None,
    typer.Option("--agent", help="Teacher: MODULE:NAME, a function from observations (rows) to actions, or a Teacher."),
]
Activation = Annotated[
    choices.Activation | None, typer.Option("--activation", help="What stands between layers of the --torch file.")
]
Normalize = Annotated[
    Path | None,
    typer.Option("--normalize", help="Statistics of the agent's observations: vecnormalize.pkl, or a .npz of them."),
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Load the --sb3 file with Stable-Baselines3 itself: this executes code in it.")
]
Workers = Annotated[int, typer.Option(min=1, help="Processes to play episodes in.")]


class Named(NamedTuple):
    """A teacher as it was named on the command line; all None if none was."""

    sb3: Path | None = None
    arrays: Path | None = None
    onnx: Path | None = None
    torch: Path | None = None
    folder: Path | None = None
    agent: str | None = None

    def __bool__(self) -> bool:
        return any(source is not None for source in self)

    @property
    def file(self) -> dict[str, list[str]]:
        """The option and the name of the file, without its folder, to be told again; nothing if it is no file."""
        files = {"sb3": self.sb3, "arrays": self.arrays, "onnx": self.onnx, "torch": self.torch}
        told = [[f"--{option}", path.name] for option, path in files.items() if path is not None]
        return {"agent": told[0]} if told else {}


def chosen_task(task: str | None, env: str | None) -> Task:
    """The task named on the command line, from the catalogue, by its Gymnasium id, or as the file of a plant."""
    from moet.envs.catalog import resolve

    match task, env:
        case (str(name), None) | (None, str(name)) if name.endswith(".json"):
            from moet.distill.plant import plant_task
            from moet.verify import systems

            return plant_task(systems.load(name))
        case (str(name), None) | (None, str(name)):
            return resolve(name)
    raise InputError("name a task, see `moet tasks`, or a Gymnasium id: moet distill CartPole-v1 --sb3 agent.zip")


def chosen_teacher(
    task: Task, named: Named, normalize: Path | None, activation: choices.Activation | None, trust: bool
) -> Teacher:
    """The agent named on the command line, or the one that comes with the task."""
    _check_options(named, normalize, activation, trust)
    from moet.teachers import Teacher, load

    if named.sb3 is not None:
        return Teacher.from_sb3(named.sb3, normalize=normalize, trust=trust)
    if named.arrays is not None:
        return Teacher.from_arrays(named.arrays)
    if named.onnx is not None:
        return Teacher.from_onnx(named.onnx, continuous=task.continuous, normalize=normalize)
    if named.torch is not None:
        return Teacher.from_torch(
            named.torch, activation=None if activation is None else activation.value, normalize=normalize
        )
    if named.folder is not None:
        return Teacher.from_folder(named.folder)
    return load(task.name) if named.agent is None else _imported(named.agent, task)


def _check_options(named: Named, normalize: Path | None, activation: choices.Activation | None, trust: bool) -> None:
    given = [f"--{name}" for name, source in named._asdict().items() if source is not None]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} name {len(given)} teachers; give one")
    if normalize is not None and named.sb3 is None and named.onnx is None and named.torch is None:
        raise InputError("--normalize says how an agent sees observations; name it with --sb3, --onnx or --torch")
    if trust and named.sb3 is None:
        raise InputError("--trust says how to read an agent of Stable-Baselines3; name it with --sb3")
    if activation is not None and named.torch is None:
        raise InputError("--activation says what stands between the layers of a file of PyTorch; name it with --torch")


def _imported(name: str, task: Task) -> Teacher:
    """What ``MODULE:NAME`` stands for; modules are looked for in the current folder too."""
    from moet.teachers import Teacher

    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise InputError(f"--agent takes MODULE:NAME, such as my_agent:act, got {name!r}")
    choices.look_here(name)
    try:
        found: Any = import_module(module)
    except ImportError as error:
        raise InputError(f"--agent {name}: cannot import {module}: {error}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise InputError(f"--agent {name}: {module} has no {attribute}")
        found = getattr(found, part)
    if isinstance(found, Teacher):
        return found
    if not callable(found):
        raise InputError(f"--agent {name} is a {type(found).__name__}, neither a function nor a Teacher")
    bounds: dict[str, Any] = {} if task.box is None else {"low": task.box.low, "high": task.box.high}
    return Teacher.from_callable(found, **bounds)
