"""The gate as a table: what is shown, and its drawing as a heat map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.explain.style import broken, literal, new_figure, note_above
from moet.explain.text import number, with_units
from moet.model.file import as_model
from moet.model.text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIGITS = 3
_WIDE = 13
"""Most columns that stand side by side: a dozen features and the constant."""


@dataclass(frozen=True)
class GateTable:
    """Numbers of the gate, a row per expert.

    Attributes
    ----------
    columns : tuple of str
        The features, and last the constant.
    values : array of float, shape (n_experts, n_features + 1)
        As they are; or, scaled, what one standard deviation of a feature adds to the score of an expert, and last the
        score of the mean input, all of it less the mean over the experts, for only differences count.
    scaled : bool
    """

    columns: tuple[str, ...]
    values: NDArray[np.float64]
    scaled: bool

    @property
    def shades(self) -> NDArray[np.float64]:
        """From -1 to 1: values by the largest of all if scaled, else by that of the column, for units differ."""
        largest = np.abs(self.values).max(axis=None if self.scaled else 0, keepdims=True)
        return self.values / np.where(largest == 0, 1.0, largest)


def gate_table(model: object, rows: ArrayLike | None = None, *, units: Mapping[str, str] | None = None) -> GateTable:
    """Take the weights of the gate.

    Parameters
    ----------
    model : mixture, fitted estimator, policy, or path of a model file
    rows : array of float, shape (n, n_features), optional
        Inputs such as the model meets. With them the weights of different features become comparable.
    units : mapping, optional
        Units by feature name.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.explain import gate_table
    >>> gate_table(model).columns
    ('x0', 'x1', 'constant')
    """
    mixture = as_model(model)
    if mixture.n_experts == 1:
        raise InputError("a single decision tree has no gate to draw")
    weights, bias = mixture.gate_weights, mixture.gate_bias
    if rows is None:
        per_unit = {name: unit and f"per {unit}" for name, unit in (units or {}).items()}
        columns = (*with_units(mixture.feature_names, per_unit), "constant")
        return GateTable(columns, np.column_stack([weights, bias]), scaled=False)
    mixture.expert(rows)  # which checks them
    data = np.asarray(rows, dtype=np.float64)
    if not len(data):
        raise InputError("the spread of the features needs at least one row")
    values = np.column_stack([weights * data.std(axis=0), bias + weights @ data.mean(axis=0)])
    names = [printable(name) for name in mixture.feature_names]
    return GateTable((*names, "mean input"), values - values.mean(axis=0), scaled=True)


def draw_gate(table: GateTable, note: str = "") -> Figure:
    """Draw the gate as a heat map with its numbers; negative cells are hatched, so that grey tells the sign too.

    A row is an expert; of more than a dozen features a row is a feature, and the picture grows downwards.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.explain import draw_gate, gate_table
    >>> figure = draw_gate(gate_table(model))
    >>> len(figure.axes) > 0
    True
    """
    upright = len(table.columns) > _WIDE
    values, shades = (part.T if upright else part for part in (table.values, table.shades))
    experts = [f"expert {j}" for j in range(len(table.values))]
    columns = [name if upright else broken(name) for name in table.columns]
    figure, axis = _canvas(columns, experts, upright)
    axis.imshow(shades, cmap="RdBu_r", vmin=-1.4, vmax=1.4, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if value < 0:
            _hatch(axis, row, column)
        blank = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
        text = number(value, DIGITS).replace("-", "−")
        axis.text(column, row, text, ha="center", va="center", fontsize=9, bbox=blank)
    (axis.axhline if upright else axis.axvline)(len(columns) - 1.5, color="black", linewidth=1.2)
    if table.scaled:
        meaning = "added to an expert's score by one standard deviation,\nless the mean of the experts"
    else:
        meaning = f"gate weights (shaded by {'row' if upright else 'column'})"
    note_above(figure, "\n".join(filter(None, [note, meaning])))
    return literal(figure)


def _canvas(columns: list[str], experts: list[str], upright: bool) -> tuple[Figure, Any]:
    """An empty picture with names at its sides."""
    if upright:
        name = 0.075 * max(map(len, columns))
        figure = new_figure(1.0 + name + 1.05 * len(experts), 1.5 + 0.24 * len(columns))
    else:
        figure = new_figure(1.6 + 1.05 * len(columns), 1.5 + 0.36 * len(experts))
    axis: Any = figure.subplots()
    across, down = (experts, columns) if upright else (columns, experts)
    axis.set_xticks(range(len(across)), across, fontsize=9)
    axis.set_yticks(range(len(down)), down, fontsize=9 if upright else None)
    axis.tick_params(length=0)
    return figure, axis


def _hatch(axis: Any, row: int, column: int) -> None:
    from matplotlib.patches import Rectangle

    corner = column - 0.5, row - 0.5
    axis.add_patch(Rectangle(corner, 1, 1, fill=False, hatch="//", edgecolor=(0, 0, 0, 0.3), linewidth=0))
