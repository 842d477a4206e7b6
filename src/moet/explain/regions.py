"""Decision regions over two features: what is drawn, and the drawing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.explain.style import Look, class_looks, literal, new_figure, note_above

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Answer = Callable[[NDArray[np.float64]], NDArray[np.int64]]
"""From rows of features to class numbers, or to labels."""

RESOLUTION = 400

_INK = (0.0, 0.0, 0.0, 0.45)
"""Of hatches: dark enough to be seen, light enough to see what is under it."""


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

    Examples
    --------
    >>> from moet.explain import Axis
    >>> Axis(2, "angle [rad]", -0.2, 0.2).ticks[0]
    np.float64(-0.2)
    """

    feature: int
    label: str
    low: float
    high: float

    @property
    def ticks(self) -> NDArray[np.float64]:
        """Values at which models are asked."""
        return np.linspace(self.low, self.high, RESOLUTION)


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


def decision_regions(policies: Mapping[str, Answer], x: Axis, y: Axis, held: ArrayLike) -> list[Regions]:
    """Ask each policy over a grid of two features.

    Parameters
    ----------
    policies : mapping
        From title to policy.
    x, y : Axis
        The features that vary.
    held : array of float, shape (n_features,)
        A state; the other features keep its values.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.explain import Axis, decision_regions
    >>> panel, = decision_regions({"line": model.predict}, Axis(0, "a", -1, 1), Axis(1, "b", -1, 1), held=[0, 0])
    >>> panel.answers.shape
    (400, 400)
    """
    states = grid(x, y, held)
    shape = RESOLUTION, RESOLUTION
    return [Regions(title, x, y, np.asarray(ask(states)).reshape(shape)) for title, ask in policies.items()]


def grid(x: Axis, y: Axis, held: ArrayLike) -> NDArray[np.float64]:
    """States over two features, row by row from the lowest ``y`` up."""
    states = np.tile(np.asarray(held, dtype=np.float64), (RESOLUTION * RESOLUTION, 1))
    states[:, x.feature] = np.tile(x.ticks, RESOLUTION)
    states[:, y.feature] = np.repeat(y.ticks, RESOLUTION)
    return states


def draw_regions(panels: Sequence[Regions], class_names: Sequence[str], note: str = "") -> Figure:
    """Draw decision regions side by side.

    Parameters
    ----------
    panels : sequence of Regions
        One per policy, over the same two features.
    class_names : sequence of str
        By class number; if policies answer with labels, these labels.
    note : str
        What the reader should know, such as the values that the other features are held at.

    Returns
    -------
    matplotlib.figure.Figure
        To be saved with ``figure.savefig("regions.png")``, or ``.svg``.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.explain import Axis, decision_regions, draw_regions
    >>> panels = decision_regions({"line": model.predict}, Axis(0, "a", -1, 1), Axis(1, "b", -1, 1), held=[0, 0])
    >>> figure = draw_regions(panels, ["up", "down"])
    >>> len(figure.axes)
    1
    """
    panels = [_numbered(panel, class_names) for panel in panels]
    figure = new_figure(max(3.4 * len(panels), 4.2), 3.9)
    axes: Any = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    style = class_looks(len(class_names))
    for axis, panel in zip(axes, panels, strict=True):
        paint(axis, panel, style)
    axes[0].set_ylabel(panels[0].y.label)
    shown = sorted({int(answer) for panel in panels for answer in np.unique(panel.answers)})
    add_legend(figure, [style[k] for k in shown], [class_names[k] for k in shown])
    note_above(figure, note)
    return literal(figure)


def _numbered(panel: Regions, class_names: Sequence[str]) -> Regions:
    """The panel with labels, if it has such, as numbers of classes."""
    if np.issubdtype(panel.answers.dtype, np.integer):
        return panel
    labels, places = np.unique(panel.answers, return_inverse=True)
    if unnamed := [label for label in labels.tolist() if label not in class_names]:
        raise InputError(f"class_names must have every answer of {panel.title!r}; {unnamed[0]!r} is missing")
    numbers = np.array([list(class_names).index(label) for label in labels.tolist()])
    return replace(panel, answers=numbers[places].reshape(panel.answers.shape))


def paint(axis: Any, panel: Regions, style: Sequence[Look]) -> None:
    """Fill ``axis`` with the regions of one panel: colour, hatch and outline of each number."""
    from matplotlib.colors import ListedColormap

    x, y = panel.x, panel.y
    halves = [(side.high - side.low) / (RESOLUTION - 1) / 2 for side in (x, y)]
    axis.imshow(
        panel.answers,
        origin="lower",
        extent=(x.low - halves[0], x.high + halves[0], y.low - halves[1], y.high + halves[1]),
        aspect="auto",
        interpolation="nearest",
        cmap=ListedColormap([look.colour for look in style]),
        vmin=-0.5,
        vmax=len(style) - 0.5,
    )
    for k in np.unique(panel.answers):
        if style[k].hatch:
            inside = (panel.answers == k).astype(np.float64)
            filled = axis.contourf(x.ticks, y.ticks, inside, levels=[0.5, 1.5], colors="none", hatches=[style[k].hatch])
            filled.set_edgecolor(_INK)
            filled.set_linewidth(0)
    outline(axis, panel, linewidths=0.7)
    axis.set(xlim=(x.low, x.high), ylim=(y.low, y.high), title=panel.title, xlabel=x.label)


def outline(axis: Any, panel: Regions, **style: Any) -> None:
    """Draw the borders between the regions of one panel."""
    # One number at a time: contours of all of them at once would run through 1 on the way from 0 to 2.
    for k in np.unique(panel.answers)[1:]:
        inside = (panel.answers == k).astype(np.float64)
        axis.contour(panel.x.ticks, panel.y.ticks, inside, levels=[0.5], colors="black", **style)


def add_legend(figure: Figure, style: Sequence[Look], names: Sequence[str]) -> None:
    """Name looks below all panels."""
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor=look.colour, hatch=look.hatch, edgecolor=_INK, label=name)
        for look, name in zip(style, names, strict=True)
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=min(len(patches), 6), frameon=False)
