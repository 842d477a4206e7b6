"""``moet check``: confirm a proof without trusting who found it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from moet.cli.output import AsJson, Exit, print_json, print_report
from moet.errors import CertificateError


def check(
    certificate: Annotated[Path, typer.Argument(help="Certificate, as moet verify writes it.")],
    subjects: Annotated[
        list[str],
        typer.Argument(
            help="What it is about: the model file; and the system (a name, or a file of its JSON document)."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Check a proof with exact arithmetic. Exit codes: 0 accepted, 1 rejected."""
    from moet.verify.checker.certificate import Certificate
    from moet.verify.checking import check as confirm

    start = time.perf_counter()
    reason: str | None = None
    proof = Certificate.load(certificate)
    try:
        confirm(proof, *_subjects(proof.kind, subjects))
    except CertificateError as error:
        reason = str(error)
    seconds = time.perf_counter() - start
    if as_json:
        accepted = {"accepted": reason is None, "reason": reason, "kind": proof.kind, "claim": proof.claim}
        print_json({**accepted, "seconds": seconds})
    else:
        typer.echo("accepted" if reason is None else f"rejected: {reason}")
        claim = {name: str(value) for name, value in proof.claim.items() if isinstance(value, str | int | float)}
        print_report({"kind": proof.kind, **claim, "seconds": f"{seconds:.3g}"})
    if reason is not None:
        raise typer.Exit(Exit.NEGATIVE)


def _subjects(kind: str, subjects: list[str]) -> list[Any]:
    """Models are files; a system is one of those shipped, or a file."""
    from moet.verify.checking import about_system

    if not about_system(kind) or len(subjects) != 2 or Path(subjects[1]).exists():
        return list(subjects)  # the checker reads files itself
    from moet.verify import systems

    return [subjects[0], systems.find(subjects[1])]
