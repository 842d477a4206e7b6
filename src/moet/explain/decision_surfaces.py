"""Outputs of models that answer with numbers, over two features: what is drawn, and the drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError, ModelError
from moet.explain.regions import RESOLUTION, Axis, Regions, grid, outline
from moet.explain.style import literal, new_figure, note_above
from moet.explain.text import with_units
from moet.model.file import as_model
from moet.model.regression.mixture import RegressionMixture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = "cividis"
"""From dark to light, whatever colours the reader sees."""


@dataclass(frozen=True)
class Surfaces:
    """Outputs of one model on a grid over two features.

    Attributes
    ----------
    title : str
        Whose outputs.
    x, y : Axis
        The features that vary, horizontally and vertically.
    outputs : tuple of str
        Names, with units.
    values : array of float, shape (n_outputs, RESOLUTION, RESOLUTION)
        A row per value of ``y``; NaN where the model overflows.
    experts : Regions
        The most probable expert.
    """

    title: str
    x: Axis
    y: Axis
    outputs: tuple[str, ...]
    values: NDArray[np.float64]
    experts: Regions


def surfaces(
    model: object, x: Axis, y: Axis, held: ArrayLike, *, title: str = "", units: Mapping[str, str] | None = None
) -> Surfaces:
    """Ask a model that answers with numbers over a grid of two features.

    Parameters
    ----------
    model : RegressionMixture, fitted regressor, policy, or path of a model file
    x, y : Axis
        The features that vary.
    held : array of float, shape (n_features,)
        A state; the other features keep its values.
    title : str
        Whose outputs these are.
    units : mapping, optional
        Units by name of an output.

    Examples
    --------
    >>> from moet import RegressionMixture, RegressionTree
    >>> law = RegressionMixture([[0, 0]], [0], [RegressionTree.leaf([0.5], slope=[[1, -2]])], ["force"])
    >>> from moet.explain import Axis, surfaces
    >>> panel = surfaces(law, Axis(0, "a", -1, 1), Axis(1, "b", -1, 1), held=[0, 0])
    """
    mixture = as_model(model)
    if not isinstance(mixture, RegressionMixture):
        raise ModelError("this model answers with labels: draw its decision_regions")
    states = grid(x, y, held)
    shape = RESOLUTION, RESOLUTION
    experts = Regions("who answers", x, y, mixture.expert(states).astype(np.int64).reshape(shape))
    values = _outputs(mixture, states).T.reshape(-1, *shape)
    own = {name: unit for name, unit in (units or {}).items() if name in mixture.outputs}
    return Surfaces(title, x, y, tuple(with_units(mixture.outputs, own)), values, experts)


def _outputs(mixture: RegressionMixture, states: NDArray[np.float64]) -> NDArray[np.float64]:
    """Outputs of all rows, NaN where a sum overflows."""
    try:
        return mixture.predict(states)
    except InputError:
        values = np.full((len(states), mixture.n_outputs), np.nan)
        for i, state in enumerate(states):
            try:
                values[i] = mixture.predict(state[None])[0]
            except InputError:
                continue
        return values


def draw_surfaces(panels: Sequence[Surfaces], note: str = "") -> Figure:
    """Draw outputs as colours: a row per model, a column per output with a scale of its own, experts' borders dashed.

    Parameters
    ----------
    panels : sequence of Surfaces
        One per model, over the same two features and with the same outputs.
    note : str
        What the reader should know, such as the values that the other features are held at.

    Examples
    --------
    >>> from moet import RegressionMixture, RegressionTree
    >>> law = RegressionMixture([[0, 0]], [0], [RegressionTree.leaf([0.5], slope=[[1, -2]])], ["force"])
    >>> from moet.explain import Axis, draw_surfaces, surfaces
    >>> figure = draw_surfaces([surfaces(law, Axis(0, "a", -1, 1), Axis(1, "b", -1, 1), held=[0, 0])])
    """
    n_outputs = len(panels[0].outputs)
    figure = new_figure(max(3.9 * n_outputs, 4.6), 0.5 + 3.4 * len(panels))
    axes: Any = figure.subplots(len(panels), n_outputs, sharex=True, sharey=True, squeeze=False)
    for o in range(n_outputs):
        span = _span([panel.values[o] for panel in panels])
        for row, panel in zip(axes, panels, strict=True):
            image = paint_surface(row[o], panel, o, span)
            row[o].set_title("\n".join(filter(None, [panel.title, panel.outputs[o] * (n_outputs > 1)])))
        figure.colorbar(image, ax=axes[:, o].tolist(), label=panels[0].outputs[o])
        axes[-1, o].set_xlabel(panels[0].x.label)
    for row in axes:
        row[0].set_ylabel(panels[0].y.label)
    note_above(figure, note)
    return literal(figure)


def paint_surface(axis: Any, panel: Surfaces, output: int, span: tuple[float, float] | None = None) -> Any:
    """Fill ``axis`` with one output, and draw the borders between experts."""
    x, y = panel.x, panel.y
    low, high = span or _span([panel.values[output]])
    image = axis.imshow(  # NaN is left white
        panel.values[output],
        origin="lower",
        extent=(x.low, x.high, y.low, y.high),
        aspect="auto",
        interpolation="nearest",
        cmap=COLOURS,
        vmin=low,
        vmax=high,
    )
    outline(axis, panel.experts, linewidths=0.8, linestyles="dashed")
    axis.set(xlim=(x.low, x.high), ylim=(y.low, y.high))
    return image


def _span(values: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """Least and largest of all values; a little around them if there is only one."""
    finite = np.concatenate([v[np.isfinite(v)] for v in values])
    if not len(finite):
        raise InputError("the model has no answer in this map: its sums overflow; draw a smaller range with --where")
    low, high = float(finite.min()), float(finite.max())
    margin = 0.0 if low < high else max(1.0, abs(low)) / 10
    return low - margin, high + margin
