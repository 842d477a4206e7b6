"""Pareto fronts of a sweep on fresh episodes, all tasks in one picture for a document.

    python benchmarks/fronts.py runs/all-standard docs/figures/fronts.png

`moet report` shows the same with tables, curves and the policies themselves.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from moet.explain.style import save_figure
from moet.study.pareto import FAMILIES, after, front
from moet.study.read import outcomes
from moet.study.report import TaskReport, task_reports

LOOKS = {"VIPER": ("^", "#d55e00"), "MoËT": ("o", "#0072b2"), "MoËT_h": ("s", "#009e73")}


def draw(axes: Axes, report: TaskReport) -> None:
    """Models on the fronts of their families, and the line that is the global front."""
    for family in FAMILIES:
        marker, colour = LOOKS[family]
        points = np.array([after(report.outcomes[k]) for k in report.fronts.families.get(family, [])])
        if len(points):
            axes.scatter(points[:, 1], points[:, 0], marker=marker, s=34, color=colour, alpha=0.75, label=family)
    best = np.array([after(report.outcomes[k]) for k in front(report.outcomes, after, report.fronts.chosen)])
    axes.step(best[:, 1], best[:, 0], where="pre", color="black", linewidth=0.8)
    axes.axhline(report.teacher_reward, color="grey", linestyle=":", linewidth=1)
    axes.set(title=report.task, xlabel="fidelity", ylabel="reward")
    axes.margins(0.15)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="folder or storage of a sweep")
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    reports = [report for report in task_reports(outcomes(options.source)) if not report.task.startswith("gridworld")]
    figure = Figure(figsize=(11, 6.4), layout="constrained")
    panels = figure.subplots(2, -(-len(reports) // 2), squeeze=False).ravel()
    for axes, report in zip(panels, reports, strict=False):
        draw(axes, report)
    for axes in panels[len(reports) :]:
        axes.remove()
    panels[0].legend(loc="lower left")
    save_figure(figure, options.picture)


if __name__ == "__main__":
    main()
