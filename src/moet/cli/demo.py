"""``moet demo``: an agent distilled into one line, and a picture of both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moet.cli.agents import Seed
from moet.cli.evaluate import evaluation_document, evaluation_report
from moet.cli.output import AsJson, print_json, print_report, say

if TYPE_CHECKING:
    from moet.distill import Policy
    from moet.teachers.teacher import Teacher

TASK = "cartpole"
LONG_TASK = "cartpole-500"


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = Path("demo"),
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Distil the bundled CartPole agent into two experts of depth 0: a program of one line."""
    output.mkdir(parents=True, exist_ok=True)
    from moet import MoETClassifier, save
    from moet.distill import distill, evaluate
    from moet.explain import rules
    from moet.teachers import load

    teacher = load(TASK)
    say("distilling the CartPole agent, a network with one hidden layer of 8, into 2 experts of depth 0")
    student = MoETClassifier(n_experts=2, max_depth=0, prediction="hard")
    policy = distill(teacher, TASK, student, seed=seed, verbose=1).policy
    model, picture = output / "cartpole.moet.json", output / "regions.png"
    save(policy, model)
    _draw(teacher, policy, picture)

    say("evaluating on fresh episodes")
    short = evaluate(policy, TASK, seed=seed, teacher=teacher)
    long = evaluate(policy, LONG_TASK, seed=seed)
    if as_json:
        print_json(
            {
                "model": str(model),
                "picture": str(picture),
                "rules": rules(policy),
                "evaluation": evaluation_document(short),
                "reward_500_steps": long.reward,
            }
        )
        return
    typer.echo(rules(policy) + "\n")
    print_report(
        evaluation_report(short)
        | {"reward in 500 steps": f"{long.reward:.2f}", "saved to": str(model), "picture": str(picture)}
    )


def _draw(teacher: Teacher, policy: Policy, path: Path) -> None:
    """Both policies over angle and angular velocity, with the cart at rest in the middle."""
    from moet.explain.regions import Axis, decision_regions, draw_regions

    task = policy.task
    horizontal, vertical = (
        Axis(feature, f"{task.feature_names[feature]} [{task.feature_units[feature]}]", -limit, limit)
        for feature, limit in ((2, 0.21), (3, 1.0))
    )
    policies = {"teacher (neural network)": teacher.act, "student (MoËT_h, 2 experts)": policy.act}
    panels = decision_regions(policies, horizontal, vertical, held=[0.0, 0.0, 0.0, 0.0])
    note = "CartPole with the cart at rest in the middle"
    draw_regions(panels, [f"push {name}" for name in task.action_names], note).savefig(path)
