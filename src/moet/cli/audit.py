"""``moet audit``: one page about a model of a table, for a person who signs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moet.cli.choices import Seed
from moet.cli.inputs import columns_of
from moet.cli.output import AsJson, check_writable, print_json, say, write_text
from moet.cli.verdicts import CpuLimit, label_of, name_of
from moet.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from moet import Mixture


def audit(
    model: Annotated[Path, typer.Argument(help="Model file of a table.")],
    data: Annotated[
        Path, typer.Option(help="Table to measure on: comma-separated values with a header, Parquet or Arrow.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Page to write, such as audit.html.")],
    target: Annotated[
        str | None,
        typer.Option(help="Column of true labels; found by itself if one other column holds nothing but classes."),
    ] = None,
    answer: Annotated[
        str | None, typer.Option(help="The answer that monotony is asked about; the first class by default.")
    ] = None,
    columns: Annotated[str, typer.Option(help='Columns to ask about, such as "Sex, Age"; all by default.')] = "",
    rows: Annotated[int, typer.Option(min=1, help="Rows whose robustness is certified.")] = 200,
    cpu_limit: CpuLimit = 10.0,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Write what is proved and refuted about a model, how robust, accurate and even-handed it is, on one page.

    The page is one file that loads nothing; certificates are attached to it.
    """
    check_writable(output)
    from moet.cli.data import labels as labels_of
    from moet.model.file import as_mixture
    from moet.model.words import read_rows
    from moet.study.audit import audit as ask
    from moet.study.audit import audit_page

    mixture = as_mixture(model)
    if mixture.schema is None:
        raise InputError(f"{model} has no schema: make it again with `moet fit`")
    table = read_rows(data, mixture.schema)
    target = target or _label_column(table, mixture)
    truth = None if target is None else labels_of(table, target)
    found = ask(
        mixture,
        table,
        truth,
        answer=None if answer is None else label_of(answer, mixture),
        columns=columns_of(columns, mixture) or None,
        rows=rows,
        cpu_limit=cpu_limit,
        seed=seed,
        verbose=not as_json,
    )
    write_text(output, audit_page(found, model.name))
    say(f"wrote {output}")
    if as_json:
        claims = [{"claim": finding.question, "verdict": name_of(finding.verdict)} for finding in found.findings]
        curve = [{"radius": radius, "kept": one.share} for radius, one in found.curve]
        print_json({"model": str(model), "claims": claims, "robustness": curve, "accuracy": found.accuracy})
        return
    for finding in found.findings:
        typer.echo(f"{name_of(finding.verdict):<8} {finding.question}")


def _label_column(table: pd.DataFrame, mixture: Mixture) -> str | None:
    """The one column that the model does not read and that holds its classes alone; None if there is no such column."""
    assert mixture.schema is not None
    known, classes = {column.name for column in mixture.schema.columns}, set(map(str, mixture.classes.tolist()))
    found = [name for name in table.columns if name not in known and set(table[name].astype(str)) <= classes]
    if len(found) != 1:
        return None
    say(f"true labels are taken from column {found[0]!r}")
    return str(found[0])
