"""``moet distill``: an agent in, a small policy out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
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
    Workers,
    chosen_task,
    chosen_teacher,
)
from moet.cli.choices import Importance, Seed, Selection, Weighting, look_here
from moet.cli.evaluate import evaluation_document, evaluation_report
from moet.cli.output import AsJson, check_writable, print_json, print_report, say
from moet.cli.proved import (
    Front,
    Prove,
    Steps,
    Within,
    chosen_system,
    proof_document,
    proof_exit,
    proof_report,
    save_proof,
)
from moet.cli.sizes import Budget, Depth, Digits, Experts, Hard, size_report
from moet.errors import InputError

if TYPE_CHECKING:
    from moet.distill.outcome import Distillation


def distill(
    output: Annotated[Path, typer.Option("-o", "--output", help="Model file to write, such as policy.moet.json.")],
    task: Annotated[
        str | None,
        typer.Argument(
            callback=look_here,
            help="Task of the catalogue (`moet tasks`), any Gymnasium id, also with settings "
            '("FrozenLake-v1(is_slippery=False)"), MODULE:FUNCTION that makes an environment, or the file of a plant.',
        ),
    ] = None,
    env: Annotated[
        str | None, typer.Option(hidden=True, callback=look_here, help="Another way to name the task.")
    ] = None,
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
    experts: Experts = None,
    depth: Depth = None,
    hard: Hard = None,
    boosted: Annotated[
        bool, typer.Option("--boosted", help="Grow the experts one after another, each for what is still wrong.")
    ] = False,
    tree: Annotated[
        int | None, typer.Option(min=1, help="Distil into one decision tree of this depth instead (VIPER).")
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(min=1, help="Rounds of play and training.", show_default="40; fewer of long games and robots"),
    ] = None,
    rollouts: Annotated[
        int | None, typer.Option(min=1, help="Episodes played in each round.", show_default="10; 5 of robots")
    ] = None,
    max_samples: Annotated[int, typer.Option(min=1, help="Largest number of rows a student is fitted on.")] = 200_000,
    importance: Annotated[
        Importance | None,
        typer.Option(
            help="How much a state matters: all the same, or by the teacher's scores.",
            show_default="q_gap if the agent has a critic, else uniform",
        ),
    ] = None,
    weighting: Annotated[
        Weighting, typer.Option(help="How importance enters: as weights, or by drawing rows as published.")
    ] = Weighting.weight,
    selection: Annotated[Selection, typer.Option(help="Which student is kept.")] = Selection.reward_then_fidelity,
    selection_episodes: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Episodes that each student is judged on; the best play four times as many.",
            show_default="50; 2 long games",
        ),
    ] = None,
    digits: Digits = None,
    budget: Budget = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Folder to save each round in and to go on from; by default beside the output, removed at the end."
        ),
    ] = None,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Fresh episodes to evaluate the policy on; by default the task's.")
    ] = None,
    prove: Prove = None,
    steps: Steps = None,
    within: Within = None,
    front: Front = None,
    seed: Seed = 0,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Distil an agent into a small mixture of trees, and evaluate it on fresh episodes.

    Without --experts and --depth the smallest mixture is found whose reward is within 2 % (or one standard error) of
    the best that was reached. What is kept is pruned and rounded, so that `moet show` prints it exactly.

    For continuous actions it is a mixture of affine laws; one law is tried first.

    A run that was interrupted goes on where it stopped when the same command is given again.

    With --prove the run goes on until the policy is proved, or has a shield that is: exit code 0 then, 1 if it was
    refuted and 3 if that is not known. A plant with controls, plant.json, is played itself: `moet distill plant.json
    --onnx net.onnx --prove plant.json`.
    """
    check_writable(output)
    system = chosen_system(prove, steps, within, front)
    _check_student(experts, depth, hard, boosted, tree, budget)
    named = Named(sb3, arrays, onnx, torch, folder, agent)
    if data is not None:
        if named:
            raise InputError("--data is learned from without a teacher; name either of them")
        from moet.cli.recorded import distill_recorded

        size = 4 if experts is None and depth is None else experts  # without an environment no size can be tried
        student_for = partial(_student_for, experts=size, depth=depth, hard=hard, boosted=boosted, tree=tree)
        distill_recorded(data, output, task or env, student_for, seed, as_json)
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
            _student_for(chosen.continuous, experts, depth, hard, boosted, tree),
            prediction="soft" if hard is False else "hard",
            iterations=iterations,
            rollouts_per_iteration=rollouts,
            max_samples=max_samples,
            importance=None if importance is None else importance.value,
            weighting=weighting.value,
            selection=selection.value,
            selection_episodes=selection_episodes,
            digits=digits,
            budget=budget,
            seed=seed,
            workers=workers,
            checkpoint=saved,
            prove=system,
            steps=steps,
            within=within,
            verbose=1,
        )
    except KeyboardInterrupt:
        say("stopped; the same command goes on from the last finished round")
        raise
    told = {"made_by": "moet distill", **named.file}
    policy = replace(result.policy, provenance=dict(result.policy.provenance) | told)
    save(policy, output)
    written = save_proof(result, output, front) if system is not None else {}
    if checkpoint is None:
        remove_checkpoint(saved)
    say("evaluating on fresh episodes")
    found = evaluate(policy, episodes=episodes, seed=seed, teacher=teacher, workers=workers)
    if as_json:
        document = _document(result) | {"model": str(output), "task": chosen.name}
        proved = {} if system is None else proof_document(result, written)
        print_json(document | {"evaluation": evaluation_document(found)} | proved)
    else:
        ending = {} if prove is None else proof_report(result, prove, output, within, written)
        print_report(evaluation_report(found) | _report(result) | {"saved to": str(output)} | ending)
    raise typer.Exit(proof_exit(result))


def _document(result: Distillation) -> dict[str, Any]:
    """The course of a run, for programs."""
    history = [
        {"iteration": k, "reward": it.score.reward, "fidelity": it.score.fidelity, "leaves": it.score.leaves}
        | {"loss": it.loss, "rows": it.rows, "seconds": it.seconds}
        for k, it in enumerate(result.history)
    ]
    sizes = {"sizes": [one._asdict() for one in result.front], "taken": result.taken, "tolerance": result.tolerance}
    return {"selected_iteration": result.selected, "history": history} | sizes


def _report(result: Distillation) -> dict[str, str]:
    """The same, for people."""
    size = size_report(result.front, result.taken, result.tolerance, "reward")
    return size | {"kept": f"student {result.selected} of {len(result.history)}"}


def _check_student(
    experts: int | None, depth: int | None, hard: bool | None, boosted: bool, tree: int | None, budget: float | None
) -> None:
    """Refuse options that do not go together, before anything is imported."""
    if hard and boosted:
        raise InputError("--boosted experts vote together; with --hard one of them answers alone")
    about_experts = {
        "boosted": boosted,
        "hard": hard is True,
        "soft": hard is False,
        "experts": experts is not None,
        "depth": depth is not None,
    }
    if tree is not None and (told := [name for name, given in about_experts.items() if given]):
        raise InputError(f"--{told[0]} is about experts; a single --tree has none")
    if budget is not None and (tree is not None or boosted or experts is not None or depth is not None):
        raise InputError("--budget is for finding a size; leave out the size, or take fewer --iterations")


def _student_for(
    continuous: bool, experts: int | None, depth: int | None, hard: bool | None, boosted: bool, tree: int | None
) -> Any:
    return (_regressor if continuous else _student)(experts, depth, hard, boosted, tree)


def _student(experts: int | None, depth: int | None, hard: bool | None, boosted: bool, tree: int | None) -> Any:
    """The student that the options describe; None if its size is to be found."""
    if tree is not None:
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(max_depth=tree)
    if experts is None and depth is None and not boosted:
        return None
    from moet import MoETClassifier
    from moet.study.presets import BOOSTED

    soft = boosted or hard is False
    options = BOOSTED if boosted else {}
    return MoETClassifier(
        n_experts=4 if experts is None else experts,
        max_depth=3 if depth is None else depth,
        prediction="soft" if soft else "hard",
        **options,
    )


def _regressor(experts: int | None, depth: int | None, hard: bool | None, boosted: bool, tree: int | None) -> Any:
    """The student that the options describe, for continuous actions; None if its size is to be found."""
    if boosted:
        raise InputError("--boosted experts vote for labels; continuous actions take --experts and --depth alone")
    if tree is not None:
        from sklearn.tree import DecisionTreeRegressor

        return DecisionTreeRegressor(max_depth=tree)
    if experts is None and depth is None:
        return None
    from moet import MoETRegressor

    return MoETRegressor(
        n_experts=4 if experts is None else experts,
        max_depth=0 if depth is None else depth,
        prediction="soft" if hard is False else "hard",
    )
