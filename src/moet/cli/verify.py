"""``moet verify``: questions about a policy in a system, or about its answers in a box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from moet.cli.always import answer_always
from moet.cli.choices import Seed
from moet.cli.extent import answer_range
from moet.cli.next_steps import ask_why, next_steps, report
from moet.cli.output import AsJson, check_writable, print_json, print_report
from moet.cli.row_questions import ANSWER_SECONDS, Ask
from moet.cli.verdicts import (
    CertificateFile,
    Timeout,
    Where,
    exit_code,
    name_of,
    print_claim,
    save_certificate,
    verdict_document,
    verdict_report,
)
from moet.errors import InputError

if TYPE_CHECKING:
    from moet.verify.result import Trace
    from moet.verify.systems.system import System


def verify(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    system: Annotated[
        str | None, typer.Option(help="System to act on: its name, such as cartpole, or its file.")
    ] = None,
    steps: Annotated[int | None, typer.Option(min=0, help="Stay safe so many steps; for ever by default.")] = None,
    within: Annotated[int | None, typer.Option(min=0, help="Reach the goal in so many steps instead.")] = None,
    goal: Annotated[list[str] | None, typer.Option(help='Goal, such as "position >= 0.5"; may be repeated.')] = None,
    always: Annotated[
        list[str] | None,
        typer.Option(help='Always give this answer instead, or meet a condition like "torque <= 1"; may be repeated.'),
    ] = None,
    in_range: Annotated[
        bool, typer.Option("--range", help="Say between which numbers the outputs are instead.")
    ] = False,
    monotone: Annotated[
        str | None, typer.Option(help="Column of which more must not take --answer away, instead.")
    ] = None,
    direction: Annotated[
        Literal["increasing", "decreasing"], typer.Option(help="With --monotone: whether more of it, or less.")
    ] = "increasing",
    answer: Annotated[str | None, typer.Option(help="With --monotone: the answer that must stay.")] = None,
    ignores: Annotated[
        list[str] | None, typer.Option(help="Column whose change must not change the answer, instead; may be repeated.")
    ] = None,
    robust: Annotated[
        Path | None, typer.Option(help="Table whose rows must keep their answers within --radius, instead.")
    ] = None,
    radius: Annotated[
        str, typer.Option(help='With --robust: a share of every range, or by column, such as "Age=2, Duration=3".')
    ] = "0.01",
    where: Where = None,
    certificate: CertificateFile = None,
    plot: Annotated[Path | None, typer.Option(help="File to draw a counterexample to, such as trace.png.")] = None,
    timeout: Timeout = None,
    cpu_limit: Annotated[
        float | None,
        typer.Option(
            min=0.0, help="Seconds of CPU time after which the answer is unknown; 600 for runs and 60 for answers."
        ),
    ] = None,
    seed: Seed = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Threads of a search; by default one per core.")] = None,
    as_json: AsJson = False,
) -> None:
    """Prove something about a model, or find a counterexample.

    About the rows of a table, by the model's schema: --always (does it always give that answer?), --monotone with
    --answer, --ignores, --robust.

    With --system: do all runs of that system stay safe (or, with --within, reach the goal) when the model chooses the
    actions? With --always: does the model always give that answer, or numbers that meet that condition, where --where
    says? With --range: what are the least and the largest numbers it answers with there? Exit codes: 0 proved,
    1 refuted, 3 unknown.
    """
    questions = (system, always, in_range or None, monotone, ignores, robust)
    if sum(question is not None for question in questions) != 1:
        raise InputError(
            "give one of --system (a question about runs), --always, --range (about single answers), --monotone, "
            "--ignores and --robust (about rows of a table)"
        )
    if monotone is None and answer is not None:
        raise InputError("--answer goes with --monotone; to ask whether it is always given, use --always")
    ask = Ask(model, where, certificate, timeout, ANSWER_SECONDS if cpu_limit is None else cpu_limit, seed, as_json)
    if monotone is not None:
        ask.monotone(monotone, direction, answer)
    if ignores is not None:
        ask.ignores(ignores)
    if robust is not None:
        ask.robust(robust, radius)
    if always is not None:
        answer_always(model, always, where, certificate, timeout, cpu_limit, seed, as_json)
        return
    if in_range:
        answer_range(model, where, certificate, timeout, cpu_limit, seed, as_json)
        return
    if where is not None:
        raise InputError("--where goes with --always and --range; first states of runs are part of the system")
    runs = _Runs(model, str(system), steps, within, goal)
    runs.answer(timeout, cpu_limit, seed, workers, certificate, plot, as_json)


@dataclass(frozen=True)
class _Runs:
    """The question whether runs of a system stay safe, or reach a goal."""

    model: Path
    system: str
    steps: int | None
    within: int | None
    goal: list[str] | None

    def __post_init__(self) -> None:
        if self.within is None and self.goal:
            raise InputError("--goal goes with --within, the number of steps to reach it in")
        if self.within is not None and self.steps is not None:
            raise InputError("give either --steps (stay safe) or --within (reach the goal)")

    def answer(
        self,
        timeout: float | None,
        cpu_limit: float | None,
        seed: int,
        workers: int | None,
        certificate: Path | None,
        plot: Path | None,
        as_json: bool,
    ) -> None:
        """Decide it, keep what was asked for, and tell."""
        for path in (certificate, plot):
            if path is not None:
                check_writable(path)
        from moet.model.file import as_mixture, as_model, digest
        from moet.verify import systems
        from moet.verify.loops.questions import CPU_LIMIT, reaches, safe
        from moet.verify.result import Refuted

        subject = systems.find(self.system)
        mixture = as_model(self.model) if subject.controls else as_mixture(self.model)
        limits: dict[str, Any] = {"timeout": timeout, "cpu_limit": CPU_LIMIT if cpu_limit is None else cpu_limit}
        how: dict[str, Any] = {"seed": seed, "workers": workers, "verbose": not as_json}
        if self.within is not None:
            verdict = reaches(mixture, subject, self.goal, within=self.within, **limits, **how)
        else:
            verdict = safe(mixture, subject, self.steps, **limits, **how)
        saved = save_certificate(verdict, certificate)
        trace = verdict.trace if isinstance(verdict, Refuted) else None
        todo = self._next_steps(name_of(verdict), mixture.provenance, subject)
        if plot is not None and trace is not None:
            _draw(trace, subject, plot)
        if as_json:
            document = self._document(subject, digest(mixture), saved, trace)
            print_json(verdict_document(verdict) | document | {"try": todo})
        else:
            typer.echo(f"{name_of(verdict)}: {self._claim(subject)}")
            print_claim(verdict.claim)
            if trace is not None:
                _print_trace(trace, subject)
            kept = {"certificate": saved} if saved else {}
            print_report({"model": digest(mixture)} | verdict_report(verdict) | kept | report(todo))
        raise typer.Exit(exit_code(verdict))

    def _next_steps(self, verdict: str, provenance: Mapping[str, Any], subject: System) -> list[str]:
        """What to try where it was not decided whether a policy of actions stays safe."""
        if verdict != "unknown" or self.within is not None or subject.controls:
            return []
        why = ask_why(self.model, self.system, self.steps)
        return [why, *next_steps(verdict, self.model, provenance, self.system, self.steps)]

    def _claim(self, subject: System) -> str:
        if self.within is not None:
            return f"{subject.name} reaches its goal in {self.within} steps"
        return f"{subject.name} stays safe {'for ever' if self.steps is None else f'for {self.steps} steps'}"

    def _document(self, subject: System, digest: str, saved: str | None, trace: Trace | None) -> dict[str, Any]:
        return {
            "question": "safe" if self.within is None else "reaches",
            "model": str(self.model),
            "system": subject.name,
            "digest": digest,
            "steps": self.steps,
            "within": self.within,
            "goal": self.goal,
            "certificate": saved,
            "trace": _trace_document(trace),
        }


def _trace_document(trace: Trace | None) -> dict[str, Any] | None:
    if trace is None:
        return None
    disturbances = None if trace.disturbances is None else trace.disturbances.tolist()
    unknowns = {
        name: [float(x) for x in value] if isinstance(value, tuple) else float(value)
        for name, value in (trace.unknowns or {}).items()
    }
    document = {"states": trace.states.tolist(), "actions": list(trace.actions), "disturbances": disturbances}
    return {**document, "unknowns": unknowns or None}


def _print_trace(trace: Trace, system: System) -> None:
    width = max(12, *(len(name) for name in system.states))
    typer.echo("time  " + "  ".join(f"{name:>{width}}" for name in system.states) + "  action")
    for time, state in enumerate(trace.states):
        action = trace.actions[time] if time < len(trace.actions) else ""
        typer.echo(f"{time:4d}  " + "  ".join(f"{value:{width}.6g}" for value in state) + f"  {action}")
    for name, value in (trace.unknowns or {}).items():
        numbers = ", ".join(f"{float(x):.6g}" for x in value) if isinstance(value, tuple) else f"{float(value):.6g}"
        typer.echo(f"{name} was {numbers}")


def _draw(trace: Trace, system: System, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for name, values in zip(system.states, trace.states.T, strict=True):
        axes.plot(values, marker=".", label=name)
    axes.set(xlabel="time", title=f"counterexample in {system.name}")
    axes.legend()
    figure.savefig(path)
