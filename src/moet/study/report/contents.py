"""The parts of a report: per task its fronts, its saturation, and the tables made of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from moet.study.outcome import Measured, Outcome
from moet.study.pareto import FAMILIES, Fronts, fronts
from moet.study.saturation import Saturation, find_saturation
from moet.study.tables import Cell, Column, Table

_MODEL = (Column("Model"), Column("Configuration"), Column("Training"), Column("Seed"))
_MEASURED = (Column("Reward", 2), Column("95 % from", 2), Column("95 % to", 2), Column("Fidelity", 4))
_SIZE = (Column("Leaves"), Column("Numbers"))
_COVERING = (*FAMILIES, "mixtures")


@dataclass(frozen=True)
class TaskReport:
    """All that is said about one task.

    Attributes
    ----------
    task : str
    outcomes : tuple of Outcome
        Its finished runs.

    Examples
    --------
    >>> from moet.study import outcomes
    >>> from moet.study.report import task_reports
    >>> report, *others = task_reports(outcomes("runs/cartpole-quick"))  # doctest: +SKIP
    >>> report.task, len(report.outcomes)  # doctest: +SKIP
    """

    task: str
    outcomes: tuple[Outcome, ...]

    @cached_property
    def fronts(self) -> Fronts:
        """The best models."""
        return fronts(self.outcomes)

    @cached_property
    def saturation(self) -> Saturation | None:
        """What VIPER's trees reach by depth."""
        return find_saturation(self.outcomes)

    @property
    def slug(self) -> str:
        """The task's name in ASCII, for file names and addresses."""
        return re.sub(r"[^A-Za-z0-9]+", "-", self.task).strip("-") or "task"

    @property
    def teacher_reward(self) -> float:
        """Mean reward of the teacher on the fresh episodes, over the runs."""
        return sum(outcome.teacher_reward for outcome in self.outcomes) / len(self.outcomes)

    def tables(self) -> list[Table]:
        """All tables of the task; those without rows are left out."""
        tables = [
            self._front_table(
                "front-before", "global Pareto front before re-evaluation", self.fronts.before, lambda o: o.before
            ),
            self._reevaluated(),
            self._front_table(
                "front-after", "global Pareto front after re-evaluation", self.fronts.after, lambda o: o.after
            ),
            self._front_table(
                "front-size",
                "global Pareto front before re-evaluation if size counts too",
                sorted(self.fronts.with_size, key=lambda k: self.outcomes[k].parameters),
                lambda o: o.before,
            ),
            self._saturation_table(),
            self._verification(),
        ]
        return [table for table in tables if table.rows]

    def _table(self, name: str, caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> Table:
        return Table(f"{self.slug}-{name}", f"{self.task}: {caption}", columns, rows)

    def _front_table(
        self, name: str, caption: str, members: Sequence[int], measured: Callable[[Outcome], Measured]
    ) -> Table:
        chosen = [self.outcomes[k] for k in members]
        rows = [(*_named(o), *_figures(measured(o)), *_sizes(o)) for o in chosen]
        return self._table(name, caption, (*_MODEL, *_MEASURED, *_SIZE), rows)

    def _reevaluated(self) -> Table:
        """What became of the models on the global front, as the paper shows it."""
        columns = (*_MODEL, *_MEASURED, Column("Change of reward", 2), Column("Change of fidelity", 4), Column("Still"))
        rows = [
            (
                *_named(o),
                *_figures(o.after),
                o.after.reward - o.before.reward,
                o.after.fidelity - o.before.fidelity,
                "on the front" if k in self.fronts.after else "dominated",
            )
            for k in self.fronts.before
            for o in [self.outcomes[k]]
        ]
        return self._table("reevaluated", "models of the global front before, on fresh episodes", columns, rows)

    def _saturation_table(self) -> Table:
        columns = (
            Column("Depth"),
            Column("Runs"),
            Column("Reward", 2),
            Column("Deviation of reward", 2),
            Column("Fidelity", 4),
            Column("Deviation of fidelity", 4),
        )
        found = self.saturation
        levels = zip(found.depths, found.reward, found.fidelity, strict=True) if found else ()
        rows = [(depth, r.runs, r.mean, r.std, f.mean, f.std) for depth, r, f in levels]
        return self._table("saturation", "VIPER trees by depth, mean and standard deviation over runs", columns, rows)

    def _verification(self) -> Table:
        columns = (*_MODEL, *_SIZE, Column("Question"), Column("Verdict"), Column("Seconds", 3))
        asked = [(o, o.verification) for o in self.outcomes if o.verification is not None]
        rows = [
            (
                *_named(o),
                *_sizes(o),
                str(answer["question"]),
                str(answer["verdict"]),
                float(answer["seconds"]),
            )
            for o, answer in asked
        ]
        return self._table("verification", "verification", columns, rows)


def task_reports(outcomes: Sequence[Outcome]) -> list[TaskReport]:
    """One report per task, in the order in which the tasks appear; their outcomes in a fixed order.

    Outcomes of another teacher, or measured on another number of episodes, are another report: they cannot be compared.

    Examples
    --------
    >>> from moet.study import outcomes
    >>> from moet.study.report import task_reports
    >>> found = outcomes("runs/cartpole-quick")  # doctest: +SKIP
    >>> task_reports(found)  # doctest: +SKIP
    """
    groups: dict[tuple[str, str, int], list[Outcome]] = {}
    for outcome in outcomes:
        key = outcome.task, str(outcome.settings.get("teacher", "")), outcome.after.episodes
        groups.setdefault(key, []).append(outcome)
    reports = []
    for (task, teacher, episodes), members in groups.items():
        alone = sum(key[0] == task for key in groups) == 1
        title = task if alone else f"{task} ({episodes} episodes, teacher {teacher[:8]})"
        reports.append(TaskReport(title, tuple(sorted(members, key=_order))))
    return reports


def overview(reports: Sequence[TaskReport]) -> Table:
    """One row per task: who is on the front, how much is covered, and where trees saturate.

    Examples
    --------
    >>> from moet.study import outcomes
    >>> from moet.study.report import overview, task_reports
    >>> found = outcomes("runs/cartpole-quick")  # doctest: +SKIP
    >>> overview(task_reports(found))  # doctest: +SKIP
    """
    columns = (
        Column("Task"),
        Column("Runs"),
        Column("Teacher", 2),
        *(Column(f"{family}: on the front") for family in FAMILIES),
        *(Column(f"{name}: coverage", 4) for name in _COVERING),
        Column("VIPER saturates at depth"),
    )
    rows = [
        (
            report.task,
            len(report.outcomes),
            report.teacher_reward,
            *(sum(report.outcomes[k].family == family for k in report.fronts.after) for family in FAMILIES),
            *(report.fronts.coverage.get(name) for name in _COVERING),
            _saturates(report.saturation),
        )
        for report in reports
    ]
    return Table("overview", "All tasks, on fresh episodes", columns, rows)


def all_outcomes(outcomes: Sequence[Outcome]) -> Table:
    """Every run, for one's own evaluation.

    Examples
    --------
    >>> from moet.study import outcomes
    >>> from moet.study.report import all_outcomes
    >>> found = outcomes("runs/cartpole-quick")  # doctest: +SKIP
    >>> all_outcomes(found)  # doctest: +SKIP
    """
    columns = (
        Column("Task"),
        *_MODEL,
        *(Column(f"{column.title} {when}", column.digits) for when in ("before", "after") for column in _MEASURED),
        Column("Teacher", 2),
        *_SIZE,
        Column("Seconds", 1),
    )
    rows = [
        (o.task, *_named(o), *_figures(o.before), *_figures(o.after), o.teacher_reward, *_sizes(o), o.seconds)
        for o in outcomes
    ]
    return Table("outcomes", "All runs", columns, rows)


def _saturates(found: Saturation | None) -> Cell:
    if found is None:
        return None
    return f"> {found.depths[-1]}" if found.depth is None else found.depth


def _named(outcome: Outcome) -> tuple[Cell, ...]:
    return outcome.family, outcome.configuration, outcome.training, outcome.seed


def _sizes(outcome: Outcome) -> tuple[Cell, ...]:
    return outcome.leaves, outcome.parameters


def _figures(measured: Measured) -> tuple[Cell, ...]:
    return measured.reward, *measured.interval, measured.fidelity


def _order(outcome: Outcome) -> tuple[int, int, int, int, str]:
    return FAMILIES.index(outcome.family), outcome.experts, outcome.depth, outcome.seed, repr(outcome.settings)
