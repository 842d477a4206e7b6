"""``moet recourse``: the cheapest change of a row that gets an answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.choices import Seed
from moet.cli.inputs import columns_of, read_input
from moet.cli.output import AsJson, Exit, check_writable, print_json, print_report
from moet.cli.row_questions import amounts
from moet.cli.verdicts import (
    CertificateFile,
    CpuLimit,
    Timeout,
    Where,
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
from moet.errors import InputError

if TYPE_CHECKING:
    from moet.model.base import BaseMixture
    from moet.verify.result import Recourse


def recourse(
    model: Annotated[Path, typer.Argument(help="Model file of a table.")],
    row: Annotated[str, typer.Option(help='The row: of a file, such as german.csv:17, or "Sex=female, Age=34, ...".')],
    answer: Annotated[str | None, typer.Option(help="The answer wanted; by default any other.")] = None,
    fixed: Annotated[str, typer.Option(help='Columns that cannot change, such as "Sex, Age".')] = "",
    cost: Annotated[
        str | None,
        typer.Option(
            help='"columns" to count those that change, or weights such as "Duration=1, Housing=5"; by default a '
            "change counts as its share of the range, and of a category as 1."
        ),
    ] = None,
    at_most: Annotated[float | None, typer.Option(min=0.0, help="Changes that cost more do not matter.")] = None,
    number: Annotated[
        int, typer.Option(min=1, help="How many changes to find, each by other columns than those before it.")
    ] = 1,
    where: Where = None,
    certificate: CertificateFile = None,
    timeout: Timeout = None,
    cpu_limit: CpuLimit = 60.0,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Find the cheapest possible change of a row that gets an answer, and prove that none is cheaper.

    Exit code 0: found, 1: proved that there is none, 3: undecided.
    """
    if certificate is not None:
        check_writable(certificate)
    from moet.model.file import as_mixture
    from moet.verify.result import Unknown
    from moet.verify.rows.changes import recourse as cheapest

    mixture = as_mixture(model)
    x = read_input(row, mixture)
    found = cheapest(
        mixture,
        x,
        answer=None if answer is None else label_of(answer, mixture),
        fixed=columns_of(fixed, mixture),
        cost=_cost(cost, mixture),
        at_most=at_most,
        n=number,
        domain=domain(where, mixture),
        timeout=timeout,
        cpu_limit=cpu_limit,
        seed=seed,
    )
    saved = save_certificate(found, certificate)
    code = Exit.UNDECIDED if isinstance(found, Unknown) else Exit.OK if found.row is not None else Exit.NEGATIVE
    if as_json:
        document: dict[str, Any] = {"question": "recourse", "model": str(model), "row": row_of(x, mixture)}
        document["certificate"] = saved
        if not isinstance(found, Unknown):
            document |= _document(found) | {"others": [_document(other) for other in found.others]}
        print_json({**verdict_document(found), **document})
        raise typer.Exit(code)
    if isinstance(found, Unknown):
        typer.echo("unknown")
    else:
        _tell(found)
    print_report(verdict_report(found) | ({"certificate": saved} if saved else {}))
    raise typer.Exit(code)


def _document(found: Recourse) -> dict[str, Any]:
    changes = {name: list(change) for name, change in found.changes.items()}
    cost = {"cost": finite(found.cost), "changes": changes, "at_least": finite(found.at_least)}
    return {"becomes": found.row, "answer": found.answer, **cost}


def _tell(found: Recourse) -> None:
    if found.row is None:
        typer.echo("proved: no possible change gets that answer" + _for_less(found))
    elif not found.changes:
        typer.echo(f"nothing has to change: the answer is {found.answer}")
    else:
        typer.echo(f"proved: the cheapest change costs {found.cost:.6g}, and the answer becomes {found.answer}")
        _tell_changes(found)
    for other in found.others:
        typer.echo(f"or, by other columns, for {other.cost:.6g}; the answer becomes {other.answer}")
        _tell_changes(other)
    print_claim(found.claim)


def _tell_changes(found: Recourse) -> None:
    print_report({name: f"{cell(a)} -> {cell(b)}" for name, (a, b) in found.changes.items()})


def _for_less(found: Recourse) -> str:
    limit = finite(found.at_least)
    return "" if limit is None else f" for less than {limit:g}"


def _cost(text: str | None, mixture: BaseMixture) -> Any:
    if text is None or text == "columns":
        return text
    weights = amounts(text, mixture)
    if isinstance(weights, float):
        raise InputError(f'--cost is "columns", or weights by column such as "Duration=1", got {text!r}')
    return weights
