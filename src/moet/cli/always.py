"""``moet verify --always``: whether every input of a domain is answered with one of some labels, or such numbers."""

from __future__ import annotations

from pathlib import Path

import typer

from moet.cli.output import check_writable, print_json, print_report
from moet.cli.verdicts import (
    answer_text,
    cell,
    domain,
    exit_code,
    label_of,
    name_of,
    print_claim,
    row_of,
    save_certificate,
    verdict_document,
    verdict_report,
)


def answer_always(
    model: Path,
    answers: list[str],
    where: str | None,
    certificate: Path | None,
    timeout: float | None,
    cpu_limit: float | None,
    seed: int,
    as_json: bool,
) -> None:
    """Ask, tell the verdict and end with its exit code."""
    if certificate is not None:
        check_writable(certificate)
    from moet.model.file import as_model, digest
    from moet.verify.arguments import CPU_LIMIT, answers_with_numbers
    from moet.verify.inputs.queries import always
    from moet.verify.result import Refuted

    mixture = as_model(model)
    numbers = answers_with_numbers(mixture)
    permitted = answers if numbers else [label_of(text, mixture) for text in answers]
    seconds = CPU_LIMIT if cpu_limit is None else cpu_limit
    verdict = always(mixture, domain(where, mixture), permitted, timeout=timeout, cpu_limit=seconds, seed=seed)
    saved = save_certificate(verdict, certificate)
    point = None
    if isinstance(verdict, Refuted):
        point = verdict.rows[0] if verdict.rows else row_of(verdict.point, mixture)
    if as_json:
        asked = {"question": "always", "model": str(model), "digest": digest(mixture), "answers": answers}
        answer = verdict.answers[0] if isinstance(verdict, Refuted) else None
        shown = {"where": where, "point": point, "answer": answer, "certificate": saved}
        print_json(verdict_document(verdict) | asked | shown)
        raise typer.Exit(exit_code(verdict))
    if isinstance(verdict, Refuted):
        typer.echo(f"refuted: not always; the answer is {answer_text(verdict.answers[0])} at")
        print_report({name: cell(value) for name, value in (point or {}).items()})
        typer.echo()
    else:
        always_so = " and ".join(answers) if numbers else f"the answer is always {' or '.join(answers)}"
        typer.echo(f"{name_of(verdict)}: {always_so}{f' where {where}' if where else ''}")
    print_claim(verdict.claim)
    print_report({"model": digest(mixture)} | verdict_report(verdict) | ({"certificate": saved} if saved else {}))
    raise typer.Exit(exit_code(verdict))
