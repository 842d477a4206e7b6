"""``moet bench``: the tables of the paper that need no sweep, one subcommand each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moet.cli.output import AsJson, check_writable, print_json, say

bench = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Repeat a table of the paper, as Markdown or with --json."
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
    from moet.study.supervised.benchmark import benchmark
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


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
