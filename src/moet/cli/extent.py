"""``moet verify --range``: between which numbers the outputs of a model are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from moet.cli.output import check_writable, print_json, print_report
from moet.cli.verdicts import (
    domain,
    exit_code,
    finite,
    print_claim,
    row_of,
    save_certificate,
    verdict_document,
    verdict_report,
)

if TYPE_CHECKING:
    from moet.model.base import BaseMixture
    from moet.verify.result import Range


def answer_range(
    model: Path,
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
    from moet.verify.arguments import CPU_LIMIT
    from moet.verify.outputs.extent import range as range_of
    from moet.verify.result import Range

    mixture = as_model(model)
    seconds = CPU_LIMIT if cpu_limit is None else cpu_limit
    verdict = range_of(mixture, domain(where, mixture), timeout=timeout, cpu_limit=seconds, seed=seed)
    saved = save_certificate(verdict, certificate)
    found = verdict if isinstance(verdict, Range) else None
    if as_json:
        about = {"question": "range", "model": str(model), "digest": digest(mixture), "where": where}
        outputs = None if found is None else _document(found, mixture)
        print_json({**verdict_document(verdict), **about, "outputs": outputs, "certificate": saved})
        raise typer.Exit(exit_code(verdict))
    if found is None:
        typer.echo("unknown")
    else:
        _print(found, mixture, where)
    print_report({"model": digest(mixture)} | verdict_report(verdict) | ({"certificate": saved} if saved else {}))
    raise typer.Exit(exit_code(verdict))


def _document(found: Range, mixture: BaseMixture) -> dict[str, Any]:
    return {
        name: {
            "low": finite(found.low[o]),
            "high": finite(found.high[o]),
            "least": found.least[o],
            "largest": found.largest[o],
            "least_at": row_of(found.least_at[o], mixture),
            "largest_at": row_of(found.largest_at[o], mixture),
        }
        for o, name in enumerate(found.outputs)
    }


def _print(found: Range, mixture: BaseMixture, where: str | None) -> None:
    for o, name in enumerate(found.outputs):
        between = f"{name} is between {found.low[o]:.17g} and {found.high[o]:.17g}"
        typer.echo(f"proved: {between}{f' where {where}' if where else ''}")
        for value, point in ((found.least[o], found.least_at[o]), (found.largest[o], found.largest_at[o])):
            row = (row_of(point, mixture) or {}).items()
            at = ", ".join(f"{name}={x:.17g}" if isinstance(x, float) else f"{name}={x}" for name, x in row)
            typer.echo(f"  {value:.17g} at {at}")
    print_claim(found.claim)
