"""A run over time: what the policy saw, who answered and what: as arrays, and drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.explain.style import broken, expert_looks, literal, new_figure, note_above
from moet.explain.text import feature_index, with_units
from moet.model.file import Model, as_model
from moet.model.regression.mixture import RegressionMixture
from moet.model.text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_FEATURES = 8


@dataclass(frozen=True)
class Trajectory:
    """What a policy saw and did, step by step.

    Attributes
    ----------
    states : array of float, shape (n_steps, n_shown)
        The features that are shown.
    features : tuple of str
        Their names, with units.
    answers : array, shape (n_steps,) or (n_steps, n_outputs)
        Class numbers; or numbers, a column per output.
    class_names : tuple of str
        Names of the classes, or of the outputs, with units.
    experts : array of int, shape (n_steps,)
        The most probable expert, which answers alone if the policy is hard.
    n_experts : int
        Experts of the model, also those that never answer here.
    """

    states: NDArray[np.float64]
    features: tuple[str, ...]
    answers: NDArray[Any]
    class_names: tuple[str, ...]
    experts: NDArray[np.int32]
    n_experts: int

    @property
    def has_numbers(self) -> bool:
        """Whether the answers are numbers."""
        return self.answers.ndim == 2

    def bands(self) -> Iterator[tuple[int, int, int]]:
        """Spans of one expert, as (expert, first step, step after the last)."""
        switches = np.flatnonzero(np.diff(self.experts)) + 1
        edges = [0, *switches.tolist(), len(self.experts)]
        for start, stop in pairwise(edges):
            yield int(self.experts[start]), start, stop


def trajectory(
    model: object,
    states: ArrayLike,
    *,
    features: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
) -> Trajectory:
    """Ask a model what it did in the states of a run.

    Parameters
    ----------
    model : mixture, fitted estimator, policy, or path of a model file
    states : array of float, shape (n_steps, n_features)
        What the model saw, in the order in which it did.
    features : sequence of str, optional
        What to show of them; the first eight by default.
    units : mapping, optional
        Units by name of a feature or an output.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.explain import trajectory
    >>> run = trajectory(model, [[1, 1], [0, 1], [-2, 0]])
    """
    mixture = as_model(model)
    rows = np.asarray(states, dtype=np.float64)
    experts = mixture.expert(rows)
    if not len(rows):
        raise InputError("a run needs at least one state")
    names = mixture.feature_names
    columns = [feature_index(name, names) for name in (names[:MOST_FEATURES] if features is None else features)]
    known = {name: unit for name, unit in (units or {}).items() if name in names}
    labelled = with_units(names, known)
    answers, answer_names = _answers(mixture, rows, units or {})
    return Trajectory(
        states=rows[:, columns],
        features=tuple(labelled[k] for k in columns),
        answers=answers,
        class_names=answer_names,
        experts=experts,
        n_experts=mixture.n_experts,
    )


def _answers(
    mixture: Model, rows: NDArray[np.float64], units: Mapping[str, str]
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Answers to all rows, and what they are called."""
    if isinstance(mixture, RegressionMixture):
        known = {name: unit for name, unit in units.items() if name in mixture.outputs}
        return mixture.predict(rows), tuple(with_units(mixture.outputs, known))
    labels = mixture.classes.tolist()
    number = {label: k for k, label in enumerate(labels)}
    answers = np.array([number[label] for label in mixture.predict(rows).tolist()])
    return answers, tuple(printable(str(label)) for label in labels)


def draw_trajectory(run: Trajectory, note: str = "") -> Figure:
    """Draw features, answers and experts over the steps of a run; experts also as coloured bands behind all of it.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.explain import draw_trajectory, trajectory
    >>> figure = draw_trajectory(trajectory(model, [[1, 1], [0, 1], [-2, 0]]))
    """
    with_experts = run.n_experts > 1
    n_features = len(run.features)
    present = np.unique(run.experts)
    of_answers = [1.0] * len(run.class_names) if run.has_numbers else [0.22 * len(run.class_names) + 0.1]
    heights = [1.0] * n_features + of_answers + [0.22 * len(present) + 0.1] * with_experts
    figure = new_figure(7.6, 1.0 + 1.05 * sum(heights))
    axes: Any = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    steps = np.arange(len(run.states))
    for axis, values, name in zip(axes, run.states.T, run.features, strict=False):
        axis.plot(steps, values, color="black", linewidth=1.2)
        axis.set_ylabel(broken(name), fontsize=8)
    if run.has_numbers:
        for axis, values, name in zip(axes[n_features:], run.answers.T, run.class_names, strict=False):
            axis.plot(steps, values, color="black", linewidth=1.2, drawstyle="steps-post")
            axis.set_ylabel(broken(name), fontsize=8, weight="bold")
    else:
        _levels(axes[n_features], steps, run.answers, run.class_names, "answer")
    if with_experts:
        _levels(axes[-1], steps, np.searchsorted(present, run.experts), [str(j) for j in present], "expert")
        for axis in axes:
            _paint_bands(axis, run)
    for axis in axes:
        axis.tick_params(labelsize=8)
        axis.margins(x=0)
    axes[-1].set_xlabel("step")
    figure.align_ylabels()
    note_above(figure, note)
    return literal(figure)


def _paint_bands(axis: Any, run: Trajectory) -> None:
    """Colour the background by expert; each expert at once, for a policy may switch at every step."""
    style = expert_looks(run.n_experts)
    for expert in np.unique(run.experts).tolist():
        spans = [(start - 0.5, stop - start) for owner, start, stop in run.bands() if owner == expert]
        height = axis.get_xaxis_transform()  # steps across, the whole panel up
        axis.broken_barh(spans, (0, 1), transform=height, facecolors=style[expert].colour, linewidth=0, zorder=0)


def _levels(axis: Any, steps: NDArray[np.int64], numbers: NDArray[Any], names: Sequence[str], label: str) -> None:
    """One line per name, with a mark at each step that has it."""
    axis.plot(steps, numbers, linestyle="none", marker="|", markersize=8, markeredgewidth=1.0, color="black")
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_ylabel(label, fontsize=8)
    axis.grid(axis="y", linewidth=0.4, color="0.7")
