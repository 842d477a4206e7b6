"""``moet evaluate``: a policy and fresh episodes in, figures out."""

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
    Workers,
    chosen_teacher,
)
from moet.cli.choices import Env, Seed
from moet.cli.output import AsJson, print_json, print_report, say, size_in_words
from moet.errors import TeacherError

if TYPE_CHECKING:
    from moet.distill import Evaluation
    from moet.envs.task import Task
    from moet.model.file import Model
    from moet.teachers.teacher import Teacher


def evaluate(
    policy: Annotated[Path, typer.Argument(help="Model file of the policy.")],
    env: Env = None,
    sb3: Sb3 = None,
    arrays: Arrays = None,
    onnx: Onnx = None,
    torch: Torch = None,
    folder: Folder = None,
    agent: Agent = None,
    normalize: Normalize = None,
    activation: Activation = None,
    trust: Trust = False,
    episodes: Annotated[int | None, typer.Option(min=1, help="Episodes to play; by default the task's.")] = None,
    seed: Seed = 0,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Play fresh episodes with a policy, and compare it with its teacher.

    The teacher is the one named, or else the one that comes with the task if the policy was distilled from it.
    """
    from moet.distill import evaluate as run_evaluation
    from moet.distill.policy import task_of_model
    from moet.envs.catalog import resolve
    from moet.model.file import as_model

    mixture = as_model(policy)
    task = task_of_model(mixture, policy) if env is None else resolve(env)
    named = Named(sb3, arrays, onnx, torch, folder, agent)
    own = not named and normalize is None and activation is None and not trust
    teacher = _own_teacher(mixture, task) if own else chosen_teacher(task, named, normalize, activation, trust)
    found = run_evaluation(mixture, task, episodes=episodes, seed=seed, teacher=teacher, workers=workers)
    if as_json:
        print_json({"model": str(policy), "task": task.name, "evaluation": evaluation_document(found)})
    else:
        print_report(evaluation_report(found))


def evaluation_document(found: Evaluation) -> dict[str, Any]:
    """An evaluation as JSON values."""
    return {
        "episodes": len(found.returns),
        "reward": found.reward,
        "reward_interval": list(found.reward_interval),
        "mean_length": float(found.lengths.mean()),
        "fidelity": found.fidelity,
        "fidelity_raw": found.fidelity_raw,
        "fidelity_teacher_play": found.fidelity_teacher_play,
        "teacher_reward": found.teacher_reward,
        "q_regret": found.q_regret,
        "distinct_games": found.distinct_games,
        "size": None if found.size is None else found.size._asdict(),
        "microseconds": found.microseconds,
        "action_error": found.action_error,
        "r2": found.r2,
        "numbers": found.numbers,
    }


def evaluation_report(found: Evaluation) -> dict[str, str]:
    """An evaluation as named values for people."""
    low, high = found.reward_interval
    report = {"reward": f"{found.reward:.2f} (95 %: {low:.2f} to {high:.2f}; {len(found.returns)} episodes)"}
    if found.fidelity is not None:
        report["teacher's reward"] = f"{found.teacher_reward:.2f} on the same episodes"
        report["fidelity"] = f"{found.fidelity:.4f} in its own play, {found.fidelity_teacher_play:.4f} in the teacher's"
        if found.fidelity_raw is not None and found.fidelity_raw != found.fidelity:
            report["fidelity"] += f" ({found.fidelity_raw:.4f} by action number)"
    if found.action_error is not None:
        report["fidelity"] += " (each number within 5 % of its range)"
        r2 = "" if found.r2 is None else f"; R² {found.r2:.4f}"
        report["difference"] = f"{found.action_error:.4g} of the range in its own play, mean{r2}"
    if found.q_regret is not None:
        report["regret"] = f"{found.q_regret:.4g} per step, in the teacher's scores"
    if found.distinct_games is not None:
        report["games"] = f"{found.distinct_games} different ones among the episodes"
    report["episode length"] = f"{found.lengths.mean():.1f} steps"
    if found.size is not None:
        report["size"] = size_in_words(found.size)
    if found.numbers is not None:
        report["numbers"] = f"{found.numbers} in its laws, tests and gate"
    report["one decision"] = f"{found.microseconds:.1f} µs"
    return report


def _own_teacher(mixture: Model, task: Task) -> Teacher | None:
    from moet.teachers import load

    try:
        teacher = load(task.name)
    except TeacherError:
        return None
    if mixture.provenance.get("teacher") in (None, teacher.digest):
        return teacher
    say("the policy was distilled from another teacher than the bundled one; name it for fidelity (--sb3, --arrays)")
    return None
