"""``moet sweep``: many configurations of students on a task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.agents import (
    Activation,
    Agent,
    Arrays,
    Folder,
    Named,
    Normalize,
    Onnx,
    Sb3,
    Torch,
    Trust,
    chosen_teacher,
)
from moet.cli.choices import Preset, Sampler, look_here
from moet.cli.output import AsJson, print_json, say
from moet.errors import InputError

if TYPE_CHECKING:
    from moet.study import Outcome


def sweep(
    task: Annotated[
        str, typer.Argument(callback=look_here, help="Task of the catalogue (`moet tasks`), a Gymnasium id, or `all`.")
    ],
    preset: Annotated[
        Preset,
        typer.Option(help="quick (minutes), standard (`all` takes two cores about two hours) or paper (a cluster)."),
    ] = Preset.standard,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the results; runs/TASK-PRESET by default.")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(help="Keep them in this storage instead, such as postgresql://USER@HOST/DATABASE."),
    ] = None,
    study: Annotated[str | None, typer.Option(help="Name of the study; TASK-PRESET by default.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes on this machine.")] = 2,
    sampler: Annotated[
        Sampler, typer.Option(help="grid, or a search between the grid's limits: nsga2 or tpe.")
    ] = Sampler.grid,
    trials: Annotated[int | None, typer.Option(min=1, help="Configurations that a search tries.")] = None,
    sb3: Sb3 = None,
    arrays: Arrays = None,
    onnx: Onnx = None,
    torch: Torch = None,
    folder: Folder = None,
    agent: Agent = None,
    normalize: Normalize = None,
    activation: Activation = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Distil trees and mixtures of many sizes, and keep reward, fidelity, size and model of each.

    A sweep that was stopped goes on where it was when the same command is given again; several at once share the work,
    and so does `moet worker` on other machines.
    """
    if output is not None and storage is not None:
        raise InputError("-o and --storage name two places for the results; give one")
    from moet.envs.catalog import resolve
    from moet.study.presets import EVALUATED_TASKS
    from moet.study.storage import display
    from moet.study.sweep import Sweep, run

    named = Named(sb3, arrays, onnx, torch, folder, agent)
    tasks = list(EVALUATED_TASKS) if task == "all" else [task]
    if task == "all" and (study is not None or named):
        raise InputError("a study's name and a teacher belong to one task; `all` takes neither")
    own_teacher = bool(named) or normalize is not None or activation is not None or trust
    sweeps = [
        Sweep(
            name,
            preset.value,
            storage=storage or output or Path("runs") / (study or f"{task}-{preset}"),
            name=study,
            teacher=chosen_teacher(resolve(name), named, normalize, activation, trust) if own_teacher else None,
            sampler=sampler.value,
            trials=trials,
        )
        for name in tasks
    ]
    where = display(sweeps[0].url)
    say(f"{sum(s.definition.trials for s in sweeps)} trials, kept in {where}")
    try:
        found = run(sweeps, workers, verbose=1)
    except KeyboardInterrupt:
        say("stopped; finished trials are kept, and the same command goes on from them")
        raise
    if as_json:
        print_json({"storage": where, "outcomes": [outcome_document(outcome) for outcome in found]})
        return
    for line in _table(found):
        typer.echo(line)
    typer.echo(f"kept in {where}")


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON values, without its model and history."""
    document = {name: value for name, value in vars(outcome).items() if name not in ("model", "history")}
    measured = {name: vars(document[name]) for name in ("before", "after")}
    return document | measured | {"configuration": outcome.configuration, "training": outcome.training}


def _table(found: list[Outcome]) -> list[str]:
    """The best configuration of each family by the episodes for comparing, as it did on fresh ones."""
    lines = [f"{'task':<14}{'family':<8}{'best':<9}{'seed':>4}{'reward':>11}{'fidelity':>10}{'leaves':>8}"]
    for task, family in dict.fromkeys((outcome.task, outcome.family) for outcome in found):
        best = max(
            (outcome for outcome in found if (outcome.task, outcome.family) == (task, family)),
            key=lambda outcome: (outcome.before.reward, outcome.before.fidelity, -outcome.leaves),
        )
        lines.append(
            f"{task:<14}{family:<8}{best.configuration:<9}{best.seed:>4}{best.after.reward:>11.2f}"
            f"{best.after.fidelity:>10.4f}{best.leaves:>8}"
        )
    return lines
