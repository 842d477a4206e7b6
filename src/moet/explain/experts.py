"""Which expert owns which region of two features: what is drawn, and the drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.explain.decision_surfaces import Surfaces, paint_surface
from moet.explain.regions import Axis, Regions, add_legend, grid, outline, paint
from moet.explain.style import class_looks, expert_looks, literal, new_figure, note_above
from moet.model.file import as_mixture
from moet.model.text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROOM = 14
"""Steps of the grid between a number and the border of its region; narrower regions have the legend only."""


@dataclass(frozen=True)
class Ownership:
    """The gate and the answers of one mixture on the same grid.

    Attributes
    ----------
    experts : Regions
        Number of the most probable expert.
    answers : Regions
        Class numbers.
    class_names : tuple of str
        By class number.
    places : dict
        Where the number of an expert has most room, as (x, y); without experts that have no room.
    """

    experts: Regions
    answers: Regions
    class_names: tuple[str, ...]
    places: dict[int, tuple[float, float]]


def ownership(model: object, x: Axis, y: Axis, held: ArrayLike) -> Ownership:
    """Ask a mixture over a grid of two features who answers, and what.

    Parameters
    ----------
    model : Mixture, fitted classifier, policy, or path of a model file
        If it is soft, the most probable expert counts as the owner and the answers are those of the vote.
    x, y : Axis
        The features that vary.
    held : array of float, shape (n_features,)
        A state; the other features keep its values.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.explain import Axis, ownership
    >>> owned = ownership(model, Axis(0, "a", -1, 1), Axis(1, "b", -1, 1), held=[0, 0])
    """
    mixture = as_mixture(model)
    states = grid(x, y, held)
    shape = len(y.ticks), len(x.ticks)
    number = {label: k for k, label in enumerate(mixture.classes.tolist())}
    answers = np.array([number[label] for label in mixture.predict(states).tolist()])
    title = "who answers" if mixture.prediction == "hard" else "whose vote counts most"
    experts = Regions(title, x, y, mixture.expert(states).astype(np.int64).reshape(shape))
    return Ownership(
        experts=experts,
        answers=Regions("the answer", x, y, answers.reshape(shape)),
        class_names=tuple(printable(str(label)) for label in mixture.classes.tolist()),
        places=_places(experts),
    )


def _places(experts: Regions) -> dict[int, tuple[float, float]]:
    return {int(k): place for k in np.unique(experts.answers) if (place := _place(experts, int(k)))}


def draw_ownership(owned: Ownership, note: str = "") -> Figure:
    """Draw who answers beside what is answered, with the borders of the experts as dashed lines.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.explain import Axis, draw_ownership, ownership
    >>> figure = draw_ownership(ownership(model, Axis(0, "a", -1, 1), Axis(1, "b", -1, 1), held=[0, 0]))
    """
    figure = new_figure(7.6, 4.1)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    present = np.unique(owned.experts.answers).tolist()
    classes = np.unique(owned.answers.answers).tolist()
    style = expert_looks(max(present) + 1)
    paint(left, owned.experts, style)
    class_style = class_looks(len(owned.class_names))
    paint(right, owned.answers, class_style)
    outline(right, owned.experts, linewidths=0.8, linestyles="dashed")
    for k, place in owned.places.items():
        _write(left, str(k), place)
    left.set_ylabel(owned.experts.y.label)
    add_legend(
        figure,
        [*(style[k] for k in present), *(class_style[c] for c in classes)],
        [*(f"expert {k}" for k in present), *(owned.class_names[c] for c in classes)],
    )
    note_above(figure, note)
    return literal(figure)


def draw_owned_surfaces(panel: Surfaces, note: str = "") -> Figure:
    """Draw who answers beside every output, as colours, with the borders of the experts as dashed lines.

    Examples
    --------
    >>> from moet import RegressionMixture, RegressionTree
    >>> law = RegressionMixture([[0, 0]], [0], [RegressionTree.leaf([0.5], slope=[[1, -2]])], ["force"])
    >>> from moet.explain import Axis, draw_owned_surfaces, surfaces
    >>> figure = draw_owned_surfaces(surfaces(law, Axis(0, "a", -1, 1), Axis(1, "b", -1, 1), held=[0, 0]))
    """
    n_outputs = len(panel.outputs)
    figure = new_figure(3.6 + 4.0 * n_outputs, 4.1)
    left, *others = figure.subplots(1, 1 + n_outputs, sharex=True, sharey=True)
    present = np.unique(panel.experts.answers).tolist()
    style = expert_looks(max(present) + 1)
    paint(left, panel.experts, style)
    for k, place in _places(panel.experts).items():
        _write(left, str(k), place)
    for o, axis in enumerate(others):
        figure.colorbar(paint_surface(axis, panel, o), ax=axis, label=panel.outputs[o])
        axis.set(xlabel=panel.x.label, title="the answer" if n_outputs == 1 else panel.outputs[o])
    left.set_ylabel(panel.y.label)
    add_legend(figure, [style[k] for k in present], [f"expert {k}" for k in present])
    note_above(figure, note)
    return literal(figure)


def _place(experts: Regions, k: int) -> tuple[float, float] | None:
    """The point of an expert's region that is farthest from its border, unless that is next to it."""
    from scipy.ndimage import distance_transform_edt

    inside: NDArray[np.float64] = distance_transform_edt(np.pad(experts.answers == k, 1))[1:-1, 1:-1]
    row, column = np.unravel_index(inside.argmax(), inside.shape)
    if inside[row, column] < _ROOM:
        return None
    return float(experts.x.ticks[column]), float(experts.y.ticks[row])


def _write(axis: Any, text: str, place: tuple[float, float]) -> None:
    box = {"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": "black", "linewidth": 0.7}
    axis.text(*place, text, ha="center", va="center", fontsize=10, bbox=box)
