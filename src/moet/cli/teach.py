"""``moet teach``: train a teacher from scratch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.choices import Seed
from moet.cli.output import AsJson, check_writable, print_json, print_report, say

if TYPE_CHECKING:
    from moet.teachers.train.report import Figure


def teach(
    task: Annotated[str, typer.Argument(help="Task of the catalogue, such as cartpole.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write (default: TASK.npz).")] = None,
    seed: Seed = 0,
    steps: Annotated[int | None, typer.Option(min=1, help="Stop at the first evaluation after so many steps.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder to save progress in; the same command goes on from there.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a teacher from scratch, the way the bundled ones were.

    Needs PyTorch, the extra "teachers". The network is chosen on some episodes and measured on others. The same command
    writes the same file on the same machine.
    """
    output = output or Path(f"{task}.npz")
    check_writable(output)
    from moet.teachers.arrays import write_network
    from moet.teachers.train.recipes import find_recipe
    from moet.teachers.train.run import train

    recipe = find_recipe(task)
    if steps is not None:
        recipe = replace(recipe, steps=steps)
    try:
        outcome = train(recipe, seed, folder=checkpoint, shown=True)
    except KeyboardInterrupt:
        kept = checkpoint is not None
        say("the same command goes on from the last checkpoint" if kept else "nothing was kept: no --checkpoint")
        raise
    write_network(outcome.teacher, output)

    steps_played, selection_reward = outcome.history[-1][0], max(reward for _, reward in outcome.history)
    if as_json:
        print_json(
            {
                "teacher": str(output),
                "digest": outcome.teacher.digest,
                "seed": seed,
                "steps": steps_played,
                "selection_reward": selection_reward,
                "trials": [_as_dict(figure) for figure in outcome.figures],
            }
        )
        return
    report = {figure.trial.task: _in_words(figure) for figure in outcome.figures}
    report["selection"] = f"{selection_reward:.2f} ({recipe.selection_episodes} other episodes)"
    report["trained for"] = f"{steps_played} steps"
    report["saved to"] = str(output)
    print_report(report)


def _as_dict(figure: Figure) -> dict[str, Any]:
    return {
        "task": figure.trial.task,
        "episodes": figure.trial.episodes,
        "distinct_episodes": figure.distinct,
        "reward": figure.reward,
        "reward_interval": list(figure.interval),
        "worst": figure.worst,
        "target": figure.trial.target,
        "target_reached": figure.reached,
    }


def _in_words(figure: Figure) -> str:
    low, high = figure.interval
    verdict = "reached" if figure.reached else "missed"
    return (
        f"{figure.reward:.2f} [{low:.2f}, {high:.2f}], worst {figure.worst:.2f} ({figure.trial.episodes} episodes, "
        f"{figure.distinct} distinct); target {figure.trial.target:g} {verdict}"
    )
