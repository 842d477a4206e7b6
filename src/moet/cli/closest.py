"""``moet closest``: the nearest input with another answer."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from moet.cli.choices import Seed
from moet.cli.inputs import At, read_input
from moet.cli.output import AsJson, Exit, check_writable, print_json, print_report
from moet.cli.verdicts import (
    CertificateFile,
    CpuLimit,
    Timeout,
    Where,
    answer_text,
    cell,
    domain,
    finite,
    label_of,
    print_claim,
    row_of,
    save_certificate,
    verdict_document,
    verdict_report,
)

if TYPE_CHECKING:
    from moet.verify.result import Closest


def closest(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    at: At,
    norm: Annotated[
        Literal["linf", "l1"], typer.Option(help="How to measure: the largest change (linf), or their sum (l1).")
    ] = "linf",
    answer: Annotated[
        str | None,
        typer.Option(help='The answer to look for; by default any other. Of numbers a condition: "torque >= 1".'),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(min=0.0, help="Of numbers: look for an output that changes by more than this.")
    ] = None,
    where: Where = None,
    certificate: CertificateFile = None,
    timeout: Timeout = None,
    cpu_limit: CpuLimit = 60.0,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Find the nearest input with another answer, and prove that none is nearer.

    Exit code 0: found, or proved that there is none, 3: undecided.
    """
    if certificate is not None:
        check_writable(certificate)
    from moet.model.file import as_model
    from moet.verify.arguments import answers_with_numbers
    from moet.verify.inputs.nearest import closest as find_closest
    from moet.verify.result import Unknown

    mixture = as_model(model)
    x = read_input(at, mixture)
    wanted = answer if answer is None or answers_with_numbers(mixture) else label_of(answer, mixture)
    limits: dict[str, Any] = {"timeout": timeout, "cpu_limit": cpu_limit, "seed": seed}
    found = find_closest(mixture, x, norm, domain(where, mixture), wanted, tolerance=tolerance, **limits)
    if isinstance(found, Unknown):
        if as_json:
            print_json(
                {**verdict_document(found), "question": "closest", "model": str(model), "at": row_of(x, mixture)}
            )
        else:
            typer.echo("unknown")
            print_report(verdict_report(found))
        raise typer.Exit(Exit.UNDECIDED)
    saved = save_certificate(found, certificate)
    rows = row_of(x, mixture), row_of(found.point, mixture)
    if as_json:
        asked = {"question": "closest", "model": str(model), "norm": norm, "where": where, "certificate": saved}
        print_json(_document(found, *rows) | asked)
        return
    what = f"the answer {answer}" if answer is not None else "another answer"
    what = what if tolerance is None else f"an output that is off by more than {tolerance:g}"
    _tell(found, *rows, what, norm, {"certificate": saved} if saved else {})


def _document(found: Closest, at: dict[str, Any] | None, point: dict[str, Any] | None) -> dict[str, Any]:
    return {
        **verdict_document(found),
        "at": at,
        "distance": finite(found.distance),
        "exact_distance": None if found.exact_distance is None else str(found.exact_distance),
        "point": point,
        "point_distance": finite(found.point_distance),
        "answer": found.answer,
    }


def _tell(
    found: Closest,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    what: str,
    norm: str,
    saved: dict[str, str],
) -> None:
    report = verdict_report(found) | saved
    if before is None or after is None or math.isinf(found.distance):
        typer.echo(f"proved: there is no input with {what}")
        print_claim(found.claim)
        print_report(report)
        return
    typer.echo(f"proved: the nearest input with {what} is at {norm} distance {found.distance:.17g}")
    report = {"answer": answer_text(found.answer)} | report
    print_report({name: _change(before[name], after[name]) for name in before} | report)
    print_claim(found.claim)


def _change(before: Any, after: Any) -> str:
    if not isinstance(before, int | float) or not isinstance(after, int | float):
        return cell(before) if before == after else f"{cell(before)} -> {cell(after)}"
    return f"{before:.6g}" if before == after else f"{before:.6g} -> {after:.17g} ({after - before:+.6g})"
