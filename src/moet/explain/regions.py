"""Decision regions over two features: what is drawn, and the drawing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Answer = Callable[[NDArray[np.float64]], NDArray[np.int64]]
"""From rows of features to class numbers."""

RESOLUTION = 400

# light to dark, so that the order survives printing in grey; distinct also without colour vision (Okabe and Ito)
_COLOURS = ("#f5e9b8", "#56b4e9", "#d55e00", "#009e73", "#cc79a7", "#0072b2", "#999999", "#000000")
_HATCHES = ("", "//", "..", "\\\\", "xx", "--", "++", "oo")


@dataclass(frozen=True)
class Axis:
    """One of the two features that vary.

    Attributes
    ----------
    feature : int
        Its position.
    label : str
        Its name, with unit.
    low, high : float
        Range shown.
    """

    feature: int
    label: str
    low: float
    high: float


@dataclass(frozen=True)
class Regions:
    """Answers of one policy on a grid over two features.

    Attributes
    ----------
    title : str
        Whose answers.
    x, y : Axis
        The features that vary, horizontally and vertically.
    answers : array of int, shape (RESOLUTION, RESOLUTION)
        Class numbers, a row per value of ``y``.
    """

    title: str
    x: Axis
    y: Axis
    answers: NDArray[np.int64]


def decision_regions(policies: Mapping[str, Answer], x: Axis, y: Axis, held: Sequence[float]) -> list[Regions]:
    """Ask each policy over a grid of two features.

    Parameters
    ----------
    policies : mapping
        From title to policy.
    x, y : Axis
        The features that vary.
    held : sequence of float
        A state; the other features keep its values.
    """
    across, up = np.meshgrid(np.linspace(x.low, x.high, RESOLUTION), np.linspace(y.low, y.high, RESOLUTION))
    states = np.tile(np.asarray(held, dtype=np.float64), (RESOLUTION * RESOLUTION, 1))
    states[:, x.feature] = across.ravel()
    states[:, y.feature] = up.ravel()
    return [Regions(title, x, y, np.asarray(ask(states)).reshape(across.shape)) for title, ask in policies.items()]


def draw_regions(panels: Sequence[Regions], class_names: Sequence[str], note: str = "") -> Figure:
    """Draw decision regions side by side.

    Parameters
    ----------
    panels : sequence of Regions
        One per policy, over the same two features.
    class_names : sequence of str
        By class number.
    note : str
        What the reader should know, such as the values that the other features are held at.

    Returns
    -------
    matplotlib.figure.Figure
        To be saved with ``figure.savefig("regions.png")``, or ``.svg``.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    figure = Figure(figsize=(4.2 * len(panels), 4.4), dpi=150, layout="constrained")
    axes: Any = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    levels = np.arange(len(class_names) + 1) - 0.5
    colours, hatches = ([style[k % len(style)] for k in range(len(class_names))] for style in (_COLOURS, _HATCHES))
    for axis, panel in zip(axes, panels, strict=True):
        across = np.linspace(panel.x.low, panel.x.high, RESOLUTION)
        up = np.linspace(panel.y.low, panel.y.high, RESOLUTION)
        axis.contourf(across, up, panel.answers, levels=levels, colors=colours, hatches=hatches)
        axis.set_title(panel.title)
        axis.set_xlabel(panel.x.label)
    axes[0].set_ylabel(panels[0].y.label)
    shown = sorted({int(answer) for panel in panels for answer in np.unique(panel.answers)})
    patches = [Patch(facecolor=colours[k], hatch=hatches[k], edgecolor="black", label=class_names[k]) for k in shown]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches), frameon=False)
    if note:
        figure.suptitle(note, fontsize="small")
    return figure
