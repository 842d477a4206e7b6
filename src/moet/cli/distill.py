"""``moet distill``: an agent in, a small policy out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
    Seed,
    Torch,
    Trust,
    Workers,
    chosen_task,
    chosen_teacher,
)
from moet.cli.evaluate import evaluation_document, evaluation_report
from moet.cli.output import AsJson, check_writable, print_json, print_report, say
from moet.errors import InputError


def distill(
    output: Annotated[Path, typer.Option("-o", "--output", help="Model file to write, such as policy.moet.json.")],
    task: Annotated[str | None, typer.Argument(help="Task of the catalogue; see `moet tasks`.")] = None,
    env: Annotated[str | None, typer.Option(help="Any other Gymnasium environment, by its id.")] = None,
    sb3: Sb3 = None,
    arrays: Arrays = None,
    onnx: Onnx = None,
    torch: Torch = None,
    folder: Folder = None,
    agent: Agent = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Learn from recorded episodes instead: a folder of Minari, or .npz files; no environment."),
    ] = None,
    normalize: Normalize = None,
    activation: Activation = None,
    trust: Trust = False,
    experts: Annotated[int, typer.Option(min=1, help="Number of experts.")] = 4,
    depth: Annotated[int, typer.Option(min=0, help="Largest depth of their trees; 0 is a single leaf.")] = 3,
    hard: Annotated[bool, typer.Option("--hard", help="Let the most probable expert answer alone.")] = False,
    boosted: Annotated[
        bool, typer.Option("--boosted", help="Grow the experts one after another, each for what is still wrong.")
    ] = False,
    tree: Annotated[
        int | None, typer.Option(min=1, help="Distil into one decision tree of this depth instead (VIPER).")
    ] = None,
    iterations: Annotated[int, typer.Option(min=1, help="Rounds of play and training.")] = 40,
    rollouts: Annotated[int, typer.Option(min=1, help="Episodes played in each round.")] = 10,
    max_samples: Annotated[int, typer.Option(min=1, help="Largest number of rows a student is fitted on.")] = 200_000,
    importance: Annotated[str, typer.Option(help="How much a state matters: q_gap or uniform.")] = "q_gap",
    weighting: Annotated[str, typer.Option(help="How importance enters: weight, or resample as published.")] = "weight",
    selection: Annotated[
        str,
        typer.Option(help="Which student is kept: reward, reward_then_fidelity, fidelity_then_size or harmonic."),
    ] = "reward_then_fidelity",
    selection_episodes: Annotated[
        int, typer.Option(min=1, help="Episodes that each student is judged on; the best play four times as many.")
    ] = 50,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Folder to save each round in and to go on from; by default beside the output, removed at the end."
        ),
    ] = None,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Fresh episodes to evaluate the policy on; by default the task's.")
    ] = None,
    seed: Seed = 0,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Distil an agent into a small mixture of trees, and evaluate it on fresh episodes.

    A run that was interrupted goes on where it stopped when the same command is given again.
    """
    check_writable(output)
    named = Named(sb3, arrays, onnx, torch, folder, agent)
    if data is not None:
        if named:
            raise InputError("--data is learned from without a teacher; name either of them")
        from moet.cli.recorded import distill_recorded

        distill_recorded(data, output, task or env, _student(experts, depth, hard, boosted, tree), seed, as_json)
        return
    chosen = chosen_task(task, env)
    teacher = chosen_teacher(chosen, named, normalize, activation, trust)
    from moet import save
    from moet.distill import distill as run_distillation
    from moet.distill import evaluate
    from moet.distill.checkpoint import remove_checkpoint

    saved = checkpoint or output.with_name(output.name + ".run")
    try:
        result = run_distillation(
            teacher,
            chosen,
            _student(experts, depth, hard, boosted, tree),
            iterations=iterations,
            rollouts_per_iteration=rollouts,
            max_samples=max_samples,
            importance=importance,  # type: ignore[arg-type]  # checked there
            weighting=weighting,  # type: ignore[arg-type]
            selection=selection,  # type: ignore[arg-type]
            selection_episodes=selection_episodes,
            seed=seed,
            workers=workers,
            checkpoint=saved,
            verbose=1,
        )
    except KeyboardInterrupt:
        say("stopped; the same command goes on from the last finished round")
        raise
    save(result.policy, output)
    if checkpoint is None:
        remove_checkpoint(saved)
    say("evaluating on fresh episodes")
    found = evaluate(result.policy, episodes=episodes, seed=seed, teacher=teacher, workers=workers)
    if as_json:
        history = [
            {"iteration": k, "reward": it.score.reward, "fidelity": it.score.fidelity, "leaves": it.score.leaves}
            | {"loss": it.loss, "rows": it.rows, "seconds": it.seconds}
            for k, it in enumerate(result.history)
        ]
        print_json(
            {"model": str(output), "task": chosen.name, "selected_iteration": result.selected}
            | {"evaluation": evaluation_document(found), "history": history}
        )
        return
    print_report(
        evaluation_report(found) | {"kept": f"student {result.selected} of {iterations}", "saved to": str(output)}
    )


def _student(experts: int, depth: int, hard: bool, boosted: bool, tree: int | None) -> Any:
    if hard and boosted:
        raise InputError("--boosted experts vote together; with --hard one of them answers alone")
    if tree is None:
        from moet import MoETClassifier
        from moet.study.presets import BOOSTED

        options = BOOSTED if boosted else {}
        return MoETClassifier(n_experts=experts, max_depth=depth, prediction="hard" if hard else "soft", **options)
    if hard or boosted:
        raise InputError(f"--{'hard' if hard else 'boosted'} is about experts; a single --tree has none")
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=tree)
