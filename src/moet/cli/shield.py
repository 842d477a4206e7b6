"""``moet shield``: a proved policy guards any other agent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moet.cli.output import AsJson, Exit, check_writable, print_json, print_report, write_text
from moet.cli.verdicts import print_claim
from moet.errors import CertificateError, InputError

if TYPE_CHECKING:
    from moet.shield import ControlShield, GoalShield, Shield
    from moet.verify.checker.certificate import Certificate
    from moet.verify.systems import System

    AnyShield = Shield | GoalShield | ControlShield


def shield(
    certificate: Annotated[
        Path, typer.Argument(help="Proof that the policy is safe for ever, or gets to its goal, by moet verify.")
    ],
    policy: Annotated[Path, typer.Argument(help="Model file of the policy.")],
    system: Annotated[str, typer.Argument(help="System that it acts on: its name, such as cartpole, or its file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write the certificate of the shield to.")
    ] = None,
    header: Annotated[Path | None, typer.Option("--c", help="File to write the shield to as a C header.")] = None,
    name: Annotated[str, typer.Option(help="Beginning of all names in the header.")] = "shield",
    self_test: Annotated[
        bool, typer.Option("--self-test", help="Add a function to the header that tries the compiled shield.")
    ] = False,
    ahead: Annotated[
        int | None, typer.Option(min=1, help="Steps that it looks ahead, at most: 10, or as far as a goal.")
    ] = None,
    within: Annotated[
        int | None, typer.Option(min=1, help="Steps in which the goal is reached, at least those of the proof.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a shield of a proof, and have every number of it checked. Exit codes: 0 accepted, 1 refused.

    The shield lets an agent do what it wants as long as the proved policy can still hold the system, or get it to its
    goal in time; `moet check` confirms its certificate.
    """
    if self_test and header is None:
        raise InputError("--self-test is part of a header; name one with --c shield.h")
    for path in (output, header):
        if path is not None:
            check_writable(path)
    from moet.shield import ControlShield
    from moet.verify import systems
    from moet.verify.checker.certificate import Certificate

    proof = Certificate.load(certificate)
    try:
        made = _made(proof, policy, systems.find(system), ahead, within)
    except CertificateError as error:
        if as_json:
            print_json({"accepted": False, "reason": str(error)})
        else:
            typer.echo(f"refused: {error}")
        raise typer.Exit(Exit.NEGATIVE) from None
    if output is not None:
        made.certificate.save(output)
    if header is not None:
        write_text(header, _in_c(made, name, self_test))
    written = {kind: str(path) for kind, path in (("certificate", output), ("header", header)) if path is not None}
    if as_json:
        found = {"accepted": True, "claim": made.claim}
        print_json({**found, **({} if isinstance(made, ControlShield) else {"steps": made.steps}), **written})
        return
    typer.echo("accepted")
    print_claim(made.claim)
    ahead_of = {} if isinstance(made, ControlShield) else {"looks ahead": f"{made.steps} steps"}
    print_report({**ahead_of, **written})


def _made(certificate: Certificate, policy: Path, plant: System, ahead: int | None, within: int | None) -> AnyShield:
    """The shield that a proof makes."""
    from moet.shield import ControlShield, GoalShield, Shield

    if ahead is not None and (plant.controls or certificate.kind.endswith("shield")):
        why = "controls are decided about without looking ahead" if plant.controls else "this is a shield already"
        raise InputError(f"--ahead is for a proof that is made into a shield, and {why}; leave it out")
    far = {} if ahead is None else {"steps": ahead}
    if not plant.controls and certificate.kind in ("arrival", "goal_shield"):
        return GoalShield(certificate, policy, plant, within=within, **far)
    if within is not None:
        raise InputError(f"--within is about goals, and the proof is of kind {certificate.kind!r}; leave it out")
    if plant.controls:
        return ControlShield(certificate, policy, plant)
    return Shield(certificate, policy, plant, **far)


def _in_c(made: AnyShield, name: str, self_test: bool) -> str:
    from moet.shield.c_header import c
    from moet.shield.control_header import control_c
    from moet.shield.controls import ControlShield

    if isinstance(made, ControlShield):
        return control_c(made, name=name, self_test=self_test)
    return c(made, name=name, self_test=self_test)
