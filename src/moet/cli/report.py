"""``moet report``: what sweeps found, as a page and as tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.output import AsJson, check_writable, print_json, say, write_text
from moet.errors import InputError, StudyError

if TYPE_CHECKING:
    from moet.study.outcome import Outcome
    from moet.study.report import TaskReport
    from moet.study.tables import Table


def report(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE...", help="Folders with results of sweeps, at any depth, or URLs of storages."),
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="HTML page to write.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Folder to write one CSV file per table to.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Markdown file to write all tables to.")] = None,
    latex: Annotated[Path | None, typer.Option(help="LaTeX file to write all tables to.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write what sweeps found: Pareto fronts before and after re-evaluation, saturation of trees, tables.

    The page is one file that loads nothing. Sentences about every task go to stdout.
    """
    for path in (output, markdown, latex):
        if path is not None:
            check_writable(path)
    if csv is not None and not (csv if csv.exists() else csv.parent).is_dir():
        raise InputError(f"cannot write tables to {csv}: it is no folder, or there is no folder {csv.parent}")
    found = _outcomes(sources)
    from moet.study.report import findings, overview, report_page, task_reports, verdict
    from moet.study.tables import to_latex, to_markdown

    reports = task_reports(found)
    tables = [overview(reports), *(table for report in reports for table in report.tables())]
    if output is not None:
        write_text(output, report_page(reports))
    for path, writer in ((markdown, to_markdown), (latex, to_latex)):
        if path is not None:
            write_text(path, "\n".join(map(writer, tables)))
    if csv is not None:
        _write_csv(csv, tables, found)
    for written in (output, markdown, latex, csv):
        if written is not None:
            say(f"wrote {written}")
    if as_json:
        print_json({"verdict": verdict(reports), "tasks": [_document(report, findings) for report in reports]})
        return
    typer.echo(verdict(reports))
    for task in reports:
        typer.echo(f"\n{task.task}\n" + "\n".join(f"  {sentence}" for sentence in findings(task)))


def _outcomes(sources: list[str]) -> list[Outcome]:
    """Outcomes of all sources; of the studies found below a folder, those that have any."""
    from moet.study.read import outcomes
    from moet.study.storage import FILE_NAME

    found: list[Outcome] = []
    read: set[str] = set()
    for source in sources:
        folder = Path(source)
        place = source if "://" in source else str(folder.resolve())
        if place in read:
            continue
        read.add(place)
        if not folder.is_dir() or (folder / FILE_NAME).exists():
            found += outcomes(source)
            continue
        below = sorted(folder.rglob(FILE_NAME))
        if not below:
            raise StudyError(f"there is no {FILE_NAME} in or below {folder}; `moet sweep` makes one")
        for path in below:
            try:
                found += outcomes(path)
            except StudyError as error:
                say(f"left out: {error}")
    if not found:
        raise StudyError(f"there is no finished trial in {', '.join(sources)}")
    return found


def _write_csv(folder: Path, tables: list[Table], found: list[Outcome]) -> None:
    from moet.study.report import all_outcomes
    from moet.study.tables import to_csv

    folder.mkdir(exist_ok=True)
    for table in [*tables, all_outcomes(found)]:
        write_text(folder / f"{table.name}.csv", to_csv(table))


def _document(report: TaskReport, findings: Callable[[TaskReport], list[str]]) -> dict[str, Any]:
    """A task for programs: models are numbers into its list of models."""
    return {
        "task": report.task,
        "findings": findings(report),
        "teacher_reward": report.teacher_reward,
        "models": [
            {
                "family": o.family,
                "configuration": o.configuration,
                "training": o.training,
                "seed": o.seed,
                "before": asdict(o.before),
                "after": asdict(o.after),
                "leaves": o.leaves,
                "parameters": o.parameters,
            }
            for o in report.outcomes
        ],
        "fronts": asdict(report.fronts),
        "saturation": None
        if report.saturation is None
        else asdict(report.saturation) | {"depth": report.saturation.depth},
    }
