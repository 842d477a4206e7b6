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
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend()
    return figure


_MARKS = {"proved": ("o", "#009e73"), "unknown": ("s", "#999999"), "refuted": ("X", "#d55e00")}


def front_figure(run: Distillation) -> Figure:
    """Draw fidelity against the share of the way to the safe law; what was proved is marked."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    for name in dict.fromkeys(one.name for one in run.candidates[1:]):
        points = ((one.share, one.fidelity) for one in run.candidates if one.name == name)
        way = sorted([(0.0, run.candidates[0].fidelity), *points])
        axes.plot(*zip(*way, strict=True), color="#bbbbbb", zorder=0)
        axes.annotate(name, way[-1], textcoords="offset points", xytext=(4, 4), color="#777777", fontsize="small")
    for verdict, (marker, colour) in _MARKS.items():
        found = [(one.share, one.fidelity) for one in run.candidates if one.verdict == verdict]
        if found:
            axes.scatter(*zip(*found, strict=True), marker=marker, color=colour, label=verdict)
    if run.kept is not None:
        kept = run.candidates[run.kept]
        axes.annotate("kept", (kept.share, kept.fidelity), textcoords="offset points", xytext=(6, -12))
    axes.set(xlabel="share of the way to the safe law", ylabel="fidelity")
    axes.legend()
    return figure
