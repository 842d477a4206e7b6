"""``moet demo``: an agent distilled into one line, measured, drawn and proved safe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moet.cli.choices import Seed
from moet.cli.evaluate import evaluation_document, evaluation_report
from moet.cli.output import AsJson, print_json, print_report, say

if TYPE_CHECKING:
    from moet.distill import Policy
    from moet.teachers.teacher import Teacher

TASK = "cartpole"
LONG_TASK = "cartpole-500"
STEPS_TO_PROVE = 200
SECONDS_TO_PROVE = 300.0


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write to.")] = Path("demo"),
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Distil the bundled CartPole agent into two experts of depth 0, a program of one line, and prove it safe."""
    output.mkdir(parents=True, exist_ok=True)
    from moet import MoETClassifier, save, verify
    from moet.cli.verdicts import name_of, save_certificate
    from moet.distill import distill, evaluate
    from moet.explain import rules
    from moet.teachers import load

    teacher = load(TASK)
    say("distilling the CartPole agent, a network with one hidden layer of 8, into 2 experts of depth 0")
    student = MoETClassifier(n_experts=2, max_depth=0, prediction="hard")
    policy = distill(teacher, TASK, student, seed=seed, verbose=1).policy
    model, picture, proof = (output / name for name in ("cartpole.moet.json", "regions.png", "cartpole.proof"))
    save(policy, model)
    _draw(teacher, policy, picture)

    say("evaluating on fresh episodes")
    short = evaluate(policy, TASK, seed=seed, teacher=teacher)
    long = evaluate(policy, LONG_TASK, seed=seed)
    say(f"proving that the pole stays up for {STEPS_TO_PROVE} steps, on the equations of CartPole, from every start")
    verdict = verify.safe(policy, verify.systems.cartpole(), STEPS_TO_PROVE, cpu_limit=SECONDS_TO_PROVE)
    certificate = save_certificate(verdict, proof)
    if as_json:
        print_json(
            {
                "model": str(model),
                "picture": str(picture),
                "safe": name_of(verdict),
                "certificate": certificate,
                "rules": rules(policy),
                "evaluation": evaluation_document(short),
                "reward_500_steps": long.reward,
            }
        )
        return
    typer.echo(rules(policy) + "\n")
    print_report(
        evaluation_report(short)
        | {
            "reward in 500 steps": f"{long.reward:.2f}",
            f"safe for {STEPS_TO_PROVE} steps": name_of(verdict),
            "saved to": str(model),
            "picture": str(picture),
        }
        | ({} if certificate is None else {"certificate": certificate})
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
