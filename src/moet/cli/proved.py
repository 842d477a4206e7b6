"""What ``moet distill --prove`` tells and writes besides the policy: its certificate, and what guards it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.output import Exit, check_writable
from moet.cli.verdicts import exit_code, name_of
from moet.errors import InputError

if TYPE_CHECKING:
    from moet.distill.outcome import Distillation
    from moet.verify.systems.system import System

Prove = Annotated[
    str | None,
    typer.Option(
        help="System that the policy is to keep safe, such as cartpole or its file: go on until it is proved."
    ),
]
Steps = Annotated[int | None, typer.Option(min=0, help="With --prove: for so many steps; for ever by default.")]
Within = Annotated[
    int | None, typer.Option(min=1, help="With --prove: that the system's goal is reached in so many steps.")
]
Front = Annotated[
    Path | None, typer.Option(help="With --prove: file to draw fidelity against what is proved to, such as front.png.")
]


def chosen_system(prove: str | None, steps: int | None, within: int | None, front: Path | None) -> System | None:
    """The system that is asked about, if any."""
    if prove is None:
        for option, value in (("--steps", steps), ("--within", within), ("--front", front)):
            if value is not None:
                raise InputError(f"{option} goes with --prove, the system to be kept safe")
        return None
    if front is not None:
        from moet.explain.style import check_format

        check_writable(front)
        check_format(front)
    from moet.verify import systems

    return systems.find(prove)


def save_proof(run: Distillation, output: Path, front: Path | None) -> dict[str, Path]:
    """Write the certificate beside the policy, the policy that guards it if there is one, and the picture."""
    written: dict[str, Path] = {}
    stem = output.name.removesuffix(".json").removesuffix(".moet")
    if run.certificate is not None:
        written["certificate"] = output.with_name(f"{stem}.cert")
        run.certificate.save(written["certificate"])
    if run.shield is not None:
        from moet import save

        written["guard"] = output.with_name(f"{stem}.guard.moet.json")
        save(run.shield.policy, written["guard"])
    if front is not None:
        from moet.explain.style import save_figure

        save_figure(run.plot_front(), front)
        written["front"] = front
    return written


def proof_report(
    run: Distillation, system: str, output: Path, within: int | None, written: dict[str, Path]
) -> dict[str, str]:
    """What was proved, for people; the system as they named it, and the file of the policy."""
    from moet.distill.fence import FENCE

    assert run.verdict is not None
    what = "safe in" if within is None else f"at the goal within {within} steps in"
    report = {"proof": f"{name_of(run.verdict)}: {what} {system}"}
    if reason := getattr(run.verdict, "reason", None):
        report["reason"] = reason
    if run.teacher_failure is not None:
        last = ", ".join(f"{value:.3g}" for value in run.teacher_failure.states[-1])
        wrong = "is unsafe itself" if within is None else "is not at the goal itself"
        report["teacher"] = f"{wrong} after {len(run.teacher_failure.actions)} steps of a simulated run, at {last}"
    if run.shield is not None:
        promise = "safe for ever" if within is None else "at the goal in time"
        report["shield"] = f"replaces {run.overridden:.2%} of the actions; {promise} with it"
    elif run.given_up:
        kept = run.candidates[run.kept or 0]
        how = "in a fence of a regulator" if kept.name == FENCE else f"{kept.share:.0%} of the way"
        report["given up"] = f"{run.given_up:.4f} of fidelity, {how}"
    report |= {name: str(path) for name, path in written.items()}
    if run.certificate is not None:
        about = written.get("guard", output)
        report["check with"] = shlex.join(["moet", "check", str(written["certificate"]), str(about), system])
    return report


def proof_exit(run: Distillation) -> Exit:
    """OK unless a proof was asked for and there is neither one nor a shield."""
    return Exit.OK if run.verdict is None or run.certificate is not None else exit_code(run.verdict)


def proof_document(run: Distillation, written: dict[str, Path]) -> dict[str, Any]:
    """The same for programs."""
    assert run.verdict is not None
    candidates = [
        {"name": one.name, "share": one.share, "fidelity": one.fidelity, "reward": one.reward}
        | {"verdict": one.verdict, "seconds": one.seconds}
        for one in run.candidates
    ]
    failure = run.teacher_failure
    return {
        "proof": {
            "verdict": name_of(run.verdict),
            "reason": getattr(run.verdict, "reason", None),
            "shielded": run.shield is not None,
            "overridden": run.overridden,
            "given_up": run.given_up,
            "kept": run.kept,
            "candidates": candidates,
            "teacher_failure": None if failure is None else failure.states.tolist(),
            **{name: str(path) for name, path in written.items()},
        }
    }
