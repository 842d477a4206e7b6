"""The report as one page: text and tables written here, plots drawn by its scripts from the same figures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from moet.explain.rule_lists import rules
from moet.study.outcome import Measured, Outcome
from moet.study.pareto import FAMILIES, after, front
from moet.study.report.contents import TaskReport, overview
from moet.study.report.sentences import findings, verdict
from moet.study.saturation import Spread
from moet.study.tables import Table
from moet.web.page import assembled

MAX_LINES = 400
"""Lines of a policy that are kept; nobody reads more, and large trees have thousands."""

MAX_TEXT = 4_000_000
"""Characters of policies in a page. Models on fronts come first; beyond this the others go without."""


def report_page(reports: Sequence[TaskReport]) -> str:
    """Write the report of some tasks: one HTML document that needs no server and no network.

    Examples
    --------
    >>> from moet.study import outcomes
    >>> from moet.study.report import report_page, task_reports
    >>> found = outcomes("runs/cartpole-quick")  # doctest: +SKIP
    >>> report_page(task_reports(found))  # doctest: +SKIP
    """
    return assembled(
        "moet.study.report",
        {"families": FAMILIES, "tasks": _contents(reports)},
        verdict=escape(verdict(reports)),
        links="".join(f'<a href="#task-{r.slug}">{escape(r.task)}</a>' for r in reports),
        overview=table_html(overview(reports)),
        sections="".join(map(_section, reports)),
    )


def table_html(table: Table) -> str:
    """The table as HTML."""
    numeric = table.numeric()
    head = "".join(f"<th{_right(n)}>{escape(c.title)}</th>" for c, n in zip(table.columns, numeric, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{_right(n)}>{escape(cell)}</td>" for cell, n in zip(row, numeric, strict=True)) + "</tr>"
        for row in table.shown()
    )
    # a table may be wider than the screen, so it scrolls by itself, with the keyboard too
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.caption)}"><table>'
        f"<caption>{escape(table.caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _right(numeric: bool) -> str:
    return ' class="number"' if numeric else ""


def _section(report: TaskReport) -> str:
    first, *others = findings(report)
    tables = "".join(
        f"<details><summary>{escape(table.caption)}</summary>{table_html(table)}</details>" for table in report.tables()
    )
    return (
        f'<section id="task-{report.slug}" class="task"><h2>{escape(report.task)}</h2>'
        f'<p class="lead">{escape(first)}</p>'
        f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in others)}</ul>"
        f'<div class="fronts"></div><div class="saturation"></div><div class="verification"></div>{tables}</section>'
    )


def _contents(reports: Sequence[TaskReport]) -> list[dict[str, Any]]:
    """Figures for the scripts; policies of models on fronts are written first, while there is room."""
    texts: dict[tuple[str, int], str] = {}
    room = MAX_TEXT
    wanted = [(report, k) for report in reports for k in report.fronts.chosen]
    wanted += [(report, k) for report in reports for k in range(len(report.outcomes)) if k not in report.fronts.chosen]
    for report, k in wanted:
        if room <= 0:
            break
        texts[report.task, k] = _shortened(rules(report.outcomes[k].model))
        room -= len(texts[report.task, k])
    return [_content(report, [texts.get((report.task, k)) for k in range(len(report.outcomes))]) for report in reports]


def _content(report: TaskReport, texts: Sequence[str | None]) -> dict[str, Any]:
    found, levels = report.fronts, report.saturation
    return {
        "slug": report.slug,
        "teacher": report.teacher_reward,
        "models": [_model(outcome, text) for outcome, text in zip(report.outcomes, texts, strict=True)],
        "chosen": found.chosen,
        "before": {"global": found.before, "families": found.families},
        "after": {
            "global": found.after,
            "families": {name: front(report.outcomes, after, members) for name, members in found.families.items()},
        },
        "saturation": None
        if levels is None
        else {
            "depths": levels.depths,
            "reward": {"levels": _levels(levels.reward), "depth": levels.reward_depth},
            "fidelity": {"levels": _levels(levels.fidelity), "depth": levels.fidelity_depth},
        },
    }


def _model(outcome: Outcome, text: str | None) -> dict[str, Any]:
    return {
        "family": FAMILIES.index(outcome.family),
        "name": f"{outcome.family} {outcome.configuration}, seed {outcome.seed}",
        "leaves": outcome.leaves,
        "numbers": outcome.parameters,
        "before": _measured(outcome.before),
        "after": _measured(outcome.after),
        "teacher": outcome.teacher_reward,
        "seconds": outcome.seconds,
        "settings": [[str(name), str(value)] for name, value in outcome.settings.items()],
        "verification": outcome.verification,
        "text": text,
    }


def _measured(measured: Measured) -> dict[str, Any]:
    low, high = measured.interval
    return {
        "reward": measured.reward,
        "low": low,
        "high": high,
        "fidelity": measured.fidelity,
        "episodes": measured.episodes,
    }


def _levels(levels: Sequence[Spread]) -> list[dict[str, Any]]:
    return [{"mean": level.mean, "std": level.std, "runs": level.runs} for level in levels]


def _shortened(text: str) -> str:
    lines = text.split("\n")
    rest = len(lines) - MAX_LINES
    return text if rest <= 0 else "\n".join([*lines[:MAX_LINES], f"… and {rest} more lines"])
