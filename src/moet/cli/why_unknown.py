"""``moet why-unknown``: what kept a proof from being found, and what to try next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.next_steps import next_steps, report
from moet.cli.output import AsJson, print_json, print_report
from moet.cli.verdicts import exit_code, name_of

if TYPE_CHECKING:
    from moet.verify.loops.near_miss import NearMiss
    from moet.verify.systems.system import System


def why_unknown(
    model: Annotated[Path, typer.Argument(help="Model file of a hard mixture.")],
    system: Annotated[str, typer.Option(help="System that it acts on: its name, such as cartpole, or its file.")],
    steps: Annotated[int | None, typer.Option(min=0, help="Stay safe so many steps; for ever by default.")] = None,
    cpu_limit: Annotated[float, typer.Option(min=0.0, help="Seconds of CPU time for the question.")] = 60.0,
    as_json: AsJson = False,
) -> None:
    """Say why a policy is not proved safe: which set outgrew what, the run closest to a limit, and what to try.

    Exit codes: 0 it is proved, 1 refuted, 3 unknown.
    """
    from moet.model.file import as_mixture
    from moet.verify import systems
    from moet.verify.loops.near_miss import nearest_miss
    from moet.verify.loops.questions import safe

    subject, mixture = systems.find(system), as_mixture(model)
    verdict = safe(mixture, subject, steps, cpu_limit=cpu_limit, verbose=not as_json)
    miss = nearest_miss(mixture, subject, steps)
    todo = next_steps(name_of(verdict), model, mixture.provenance, system, steps)
    reason = getattr(verdict, "reason", None)
    if as_json:
        print_json({"verdict": name_of(verdict), "reason": reason, "closest": _document(miss, subject), "try": todo})
        raise typer.Exit(exit_code(verdict))
    typer.echo(name_of(verdict) + ("" if reason is None else f": {reason}"))
    print_report({"closest run": _told(miss, subject)} | report(todo))
    raise typer.Exit(exit_code(verdict))


def _told(miss: NearMiss, system: System) -> str:
    where = ", ".join(f"{name} {value:.4g}" for name, value in zip(system.states, miss.trace.states[-1], strict=True))
    what = "breaks" if miss.room < 0 else "comes closest to"
    return f"{what} {_condition(miss, system)} at time {miss.time}, by {abs(miss.room):.3g}, where {where}"


def _condition(miss: NearMiss, system: System) -> str:
    """The limit in question, turned so that its first state has a positive factor."""
    terms = [(a, name) for a, name in zip(miss.condition.coefficients, system.states, strict=True) if a]
    sign, relation = (-1, ">=") if terms[0][0] < 0 else (1, "<=")
    sides = " + ".join(name if sign * a == 1 else f"{float(sign * a):g}*{name}" for a, name in terms)
    return f"{sides} {relation} {float(sign * miss.condition.bound):g}"


def _document(miss: NearMiss, system: System) -> dict[str, Any]:
    return {
        "condition": _condition(miss, system),
        "time": miss.time,
        "room": miss.room,
        "states": miss.trace.states.tolist(),
        "actions": list(miss.trace.actions),
    }
