"""``moet bench``: tables of the paper that need no sweep, and plants of others, one subcommand each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moet.cli.listing import Listing
from moet.cli.output import AsJson, check_writable, print_json, say

bench = typer.Typer(
    cls=Listing,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Repeat a table of the paper, or the plants of others, as Markdown or with --json.",
)


@bench.command()
def gridworld(
    sizes: Annotated[
        list[int] | None, typer.Option("--size", min=2, max=12, help="Grid to solve; may be given again (5 … 10).")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Distillations of each student on each grid.")] = 3,
    as_json: AsJson = False,
) -> None:
    """How large trees and mixtures must be to be right in every cell of a grid (the paper's Table 1)."""
    from moet.study.paper_table import PUBLISHED, gridworld_table
    from moet.study.tables import to_markdown

    table = gridworld_table(sizes or tuple(PUBLISHED), seeds, verbose=1)
    if as_json:
        titles = [column.title for column in table.columns]
        print_json({"caption": table.caption, "rows": [dict(zip(titles, row, strict=True)) for row in table.rows]})
    else:
        typer.echo(to_markdown(table), nl=False)


@bench.command()
def supervised(
    data: Annotated[
        Path | None, typer.Option(help="Folder of CSV files; by default $MOET_DATA, else OpenML is asked.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=0, help="Number of splits; 0 only shows what --checkpoint holds.")] = 10,
    datasets: Annotated[str, typer.Option(help="Names separated by commas; all by default.")] = "",
    models: Annotated[str, typer.Option(help="Names separated by commas; all that are installed by default.")] = "",
    checkpoint: Annotated[
        Path | None, typer.Option(help="File of finished results, one JSON object per line; goes on from it.")
    ] = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Instead, tune a MoËT_h per data set and prove a property of it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare MoËT with other verifiable models on the data sets of the paper; prints Markdown."""
    if prove:
        from moet.study.supervised.datasets import SOURCES, load
        from moet.study.supervised.properties import report

        reports = {name: report(load(name, data)) for name in _names(datasets) or SOURCES}
        if as_json:
            print_json({"properties": reports})
        else:
            typer.echo("\n".join(f"- {text}" for text in reports.values()))
        return
    from moet.study.supervised.comparison import benchmark
    from moet.study.supervised.tables import markdown

    if checkpoint is not None:
        check_writable(checkpoint)
    rows = benchmark(
        data, datasets=_names(datasets), models=_names(models), seeds=seeds, checkpoint=checkpoint, say=say
    )
    if as_json:
        print_json({"rows": rows})
    else:
        typer.echo(markdown(rows), nl=False)


@bench.command()
def archcomp(
    instances: Annotated[list[str] | None, typer.Argument(help="Names of instances; all by default.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Simulated runs of each controller and network.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the simulated runs.")] = 0,
    check: Annotated[
        bool, typer.Option("--check", help="Read every certificate again from its file and check it there.")
    ] = False,
    keep: Annotated[Path | None, typer.Option(help="Folder for certificates, plants and controllers.")] = None,
    cpu_limit: Annotated[float, typer.Option(min=0, help="Seconds of CPU time for each proof.")] = 600,
    as_json: AsJson = False,
) -> None:
    """Plants of the ARCH competition and others with small controllers: simulated, proved and checked.

    Published networks are simulated beside them if $MOET_ARCHCOMP names their folder.
    """
    from dataclasses import asdict

    from moet.study.archcomp.runner import results, table
    from moet.study.tables import to_markdown

    rows = []
    for row in results(instances or (), runs=runs, seed=seed, keep=keep, check=check, cpu_limit=cpu_limit):
        rows.append(row)
        say(f"{row.name}: {row.verdict}{', ' + row.reason if row.reason else ''}")
    if as_json:
        print_json({"rows": [asdict(row) for row in rows]})
    else:
        typer.echo(to_markdown(table(rows)), nl=False)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
