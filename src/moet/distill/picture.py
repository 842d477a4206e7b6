"""The course of a distillation as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from moet.distill.outcome import Distillation


def history_figure(run: Distillation) -> Figure:
    """Draw reward and fidelity over the iterations."""
    from matplotlib.figure import Figure

    table = run.frame()
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    for axes, name in zip(figure.subplots(2, 1, sharex=True), ("reward", "fidelity"), strict=True):
        error = table[f"{name}_error"]
        axes.plot(table.index, table[name], color="#0072b2")
        axes.fill_between(table.index, table[name] - error, table[name] + error, color="#0072b2", alpha=0.2, lw=0)
        axes.plot(run.selected, table[name][run.selected], "o", color="#d55e00", label="kept")
        axes.set_ylabel(name)
    axes.set_xlabel("iteration")
    axes.legend()
    return figure
