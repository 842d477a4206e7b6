"""``moet compare``: whether two models give the same answers, and where not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.choices import Seed
from moet.cli.output import AsJson, check_writable, print_json, print_report
from moet.cli.verdicts import (
    CertificateFile,
    CpuLimit,
    Timeout,
    Where,
    answer_text,
    cell,
    domain,
    exit_code,
    label_of,
    print_claim,
    row_of,
    save_certificate,
    verdict_document,
    verdict_report,
)

if TYPE_CHECKING:
    from moet.model.base import BaseMixture
    from moet.verify.findings import Differences
    from moet.verify.result import Refuted


def compare(
    first: Annotated[Path, typer.Argument(help="Model file.")],
    second: Annotated[Path, typer.Argument(help="Model file of a model with the same features.")],
    where: Where = None,
    classes: Annotated[list[str] | None, typer.Option(help="Compare by this class only; may be given again.")] = None,
    tolerance: Annotated[
        float | None, typer.Option(min=0.0, help="Of numbers: by how much an output may be off; 0 by default.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Regions with different answers to find.")] = 5,
    certificate: CertificateFile = None,
    timeout: Timeout = None,
    cpu_limit: CpuLimit = 60.0,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Prove that two models give the same answer everywhere, or show where they differ.

    The models are compared in exact arithmetic. Exit code 0: proved, 1: they differ, 3: undecided.
    """
    if certificate is not None:
        check_writable(certificate)
    from moet.model.file import as_model
    from moet.verify.arguments import answers_with_numbers
    from moet.verify.inputs.difference_regions import differences
    from moet.verify.inputs.queries import equivalent
    from moet.verify.result import Proved, Refuted

    a, b = as_model(first), as_model(second)
    numbers = answers_with_numbers(a) or answers_with_numbers(b)
    wanted = None if not classes else [label_of(text, a, b) for text in classes]
    box = domain(where, a)
    limits: dict[str, Any] = {"timeout": timeout, "cpu_limit": cpu_limit, "seed": seed}
    verdict = equivalent(a, b, box, wanted, tolerance=tolerance, **limits)
    found = None
    if isinstance(verdict, Refuted) and (numbers or a.prediction == b.prediction == "hard"):
        found = differences(a, b, box, limit, wanted, tolerance=tolerance, **limits)
    saved = save_certificate(verdict, certificate)
    if as_json:
        asked = {"question": "equivalent", "models": [str(first), str(second)], "where": where, "classes": wanted}
        refuted = verdict if isinstance(verdict, Refuted) else None
        answered = {
            "tolerance": tolerance,
            "point": row_of(refuted.point, a) if refuted is not None else None,
            "answers": list(refuted.answers) if refuted is not None else None,
            "differences": None if found is None else _document(found, a),
            "certificate": saved,
        }
        print_json(verdict_document(verdict) | asked | answered)
        raise typer.Exit(exit_code(verdict))
    if isinstance(verdict, Refuted):
        _tell_differences(verdict, found, a)
    else:
        typer.echo("proved: the models are equivalent" if isinstance(verdict, Proved) else "unknown")
    print_claim(verdict.claim)
    report = ({} if found is None else _report(found)) | verdict_report(verdict)
    print_report(report | ({"certificate": saved} if saved else {}))
    raise typer.Exit(exit_code(verdict))


def _tell_differences(refuted: Refuted, found: Differences | None, model: BaseMixture) -> None:
    from moet.model.text import printable

    typer.echo("refuted: the models differ")
    points = [(refuted.point, refuted.answers)] if found is None else zip(found.points, found.answers, strict=True)
    for point, answers in points:
        row = row_of(point, model) or {}
        at = ", ".join(f"{printable(name)}={_cell(value)}" for name, value in row.items())
        typer.echo(f"  {_told(answers[0])} / {_told(answers[1])} at {at}")


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else cell(value)


def _told(answer: Any) -> str:
    return answer_text(answer) if isinstance(answer, dict) else json.dumps(answer)


def _document(found: Differences, mixture: BaseMixture) -> dict[str, Any]:
    return {
        "points": [row_of(point, mixture) for point in found.points],
        "answers": [list(pair) for pair in found.answers],
        "complete": found.complete,
        "unseen": found.unseen,
        "share": found.share,
        "share_interval": None if found.share_interval is None else list(found.share_interval),
        "confidence": found.confidence,
    }


def _report(found: Differences) -> dict[str, str]:
    report = {"found": f"{len(found)} region(s), {'all there are' if found.complete else 'there may be more'}"}
    if found.share is not None and found.share_interval is not None:
        low, high = found.share_interval
        certain = "exactly" if found.confidence == 1.0 else f"{found.confidence:.0%}: {low:.6g} to {high:.6g}"
        report["share of the volume"] = f"{found.share:.6g} ({certain})"
    return report
