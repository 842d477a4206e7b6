"""``moet tasks``: what can be played."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from moet.cli.output import AsJson, print_json
from moet.errors import TaskError

if TYPE_CHECKING:
    from moet.envs import Task


def tasks(as_json: AsJson = False) -> None:
    """List the tasks that are known by name, and whether they can be played here.

    Besides them there is gridworld-N for a grid of any size N, and every Gymnasium id whose observations can be
    flattened and whose actions are a few, or numbers between finite bounds.
    """
    from moet.envs import resolve, tasks

    found = [resolve(name) for name in tasks()]
    missing = [_what_is_missing(task) for task in found]
    if as_json:
        rows = [_described(task, problem) for task, problem in zip(found, missing, strict=True)]
        print_json({"tasks": rows})
        return
    table = [("task", "environment", "features", "actions", "steps", "here")]
    for task, problem in zip(found, missing, strict=True):
        steps = "" if task.max_steps is None else str(task.max_steps)
        actions = f"{len(task.action_names)} real" if task.continuous else str(len(task.action_names))
        sizes = str(len(task.feature_names)), actions
        table.append((task.name, task.env_id or "our own", *sizes, steps, problem or "yes"))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (
            cell.rjust(width) if 2 <= i <= 4 else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        typer.echo("  ".join(cells).rstrip())


def _what_is_missing(task: Task) -> str | None:
    """Why the environment cannot be made here, None if it can."""
    try:
        task.make().close()
    except TaskError as error:
        return str(error)
    return None


def _described(task: Task, problem: str | None) -> dict[str, Any]:
    return {
        "name": task.name,
        "env_id": task.env_id,
        "features": [
            {"name": name, "unit": unit} for name, unit in zip(task.feature_names, task.feature_units, strict=True)
        ],
        "actions": list(task.action_names),
        "low": None if task.box is None else list(task.box.low),
        "high": None if task.box is None else list(task.box.high),
        "max_steps": task.max_steps,
        "episodes": task.episodes,
        "rounds": task.rounds._asdict(),
        "depths": list(task.depths),
        "experts": list(task.experts),
        "available": problem is None,
        "problem": problem,
    }
