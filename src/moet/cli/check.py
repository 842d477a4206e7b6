"""``moet check``: confirm a proof without trusting who found it."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from moet.cli.output import AsJson, Exit, print_json, print_report
from moet.cli.verdicts import print_claim
from moet.errors import CertificateError, InputError


def check(
    certificate: Annotated[Path, typer.Argument(help="Certificate, as moet verify writes it; or a bundle.")],
    subjects: Annotated[
        list[str] | None,
        typer.Argument(
            help="What it is about: the model file; and the system (a name, or a file of its JSON document). "
            "A bundle holds all that it is about."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a proof with exact arithmetic, and say in words what it proves. Exit codes: 0 accepted, 1 rejected."""
    from moet.verify.checker.certificate import Certificate
    from moet.verify.checking import checked_claim

    start = time.perf_counter()
    reason, claim, kind = None, None, "bundle"
    if _is_zip(certificate):
        confirm = partial(_bundled, certificate, subjects)
    else:
        proof = Certificate.load(certificate)
        kind = proof.kind
        confirm = partial(checked_claim, proof, *_subjects(kind, subjects or []))
    try:
        claim = confirm()
    except CertificateError as error:
        reason = str(error)
    seconds = time.perf_counter() - start
    if as_json:
        accepted = {"accepted": reason is None, "reason": reason, "kind": kind, "claim": claim}
        print_json({**accepted, "seconds": seconds})
    else:
        typer.echo("accepted" if reason is None else f"rejected: {reason}")
        print_claim(claim)
        print_report({"kind": kind, "seconds": f"{seconds:.3g}"})
    if reason is not None:
        raise typer.Exit(Exit.NEGATIVE)


def _is_zip(path: Path) -> bool:
    """Whether this is a bundle, whatever it is called."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(2) == b"PK" or path.suffix == ".zip"


def _bundled(path: Path, subjects: list[str] | None) -> str:
    """What a bundle proves, once all of it is confirmed."""
    from moet.verify.checker.bundle import check_bundle

    if subjects:
        raise InputError("a bundle holds all that it is about; name the bundle alone")
    found = check_bundle(path)
    return "\n\n".join([*found.claims, f"{found.vectors} test vectors are answered as the bundle says."])


def _subjects(kind: str, subjects: list[str]) -> list[Any]:
    """Models are files; a system is one of those shipped, or a file."""
    from moet.verify.checker.subjects import about_system

    if not about_system(kind) or len(subjects) != 2 or Path(subjects[1]).exists():
        return list(subjects)  # the checker reads files itself
    from moet.verify import systems

    return [subjects[0], systems.find(subjects[1])]
