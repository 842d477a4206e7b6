"""Pictures of proofs: proven boxes over time or over two states, simulated runs, limits, obstacles and goals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.explain.proof import Mark, ProofPicture, Segment
from moet.explain.style import broken, literal, new_figure, note_above
from moet.explain.trajectories import MOST_FEATURES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from moet.verify.systems.conditions import HalfSpace

Floats = NDArray[np.float64]

TUBE, RUN, FIRST = "#9ecae1", "#333333", "#08519c"
_PAINT: dict[str, dict[str, Any]] = {
    "safe": {"facecolor": "#fbe3d6", "edgecolor": "#d55e00", "hatch": "//"},
    "avoid": {"facecolor": "#fbe3d6", "edgecolor": "#d55e00", "hatch": "xx"},
    "goal": {"facecolor": "#c7e9c0", "edgecolor": "#009e73", "hatch": ""},
}
_LABEL = {"safe": "not allowed", "avoid": "to be avoided", "goal": "goal"}
_MARGIN = 0.08
_NEAR = 3.0
"""Limits that are further away than this many times the width of everything else are not shown."""


def draw_proof(picture: ProofPicture, states: Sequence[str] | None = None, note: str = "") -> Figure:
    """Draw states over time, one panel each; or one state over another.

    Parameters
    ----------
    picture : ProofPicture
    states : sequence of str, optional
        States to show over time, the first eight by default; ``["x:y"]`` draws y over x.
    note : str
        Title.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> from moet.verify import safe, systems
    >>> tank = systems.AffineSystem(
    ...     "tank", states=["level"], actions=["drain", "fill"], matrix=[["0.9"]], offsets=[["0"], ["0.5"]],
    ...     initial={"level": (1, 2)}, safe=["0.5 <= level <= 4"],
    ... )
    >>> leaves = [Tree.leaf([0, 1]), Tree.leaf([1, 0])]
    >>> valve = Mixture([[-1], [0]], [2, 0], leaves, ["drain", "fill"], feature_names=["level"])
    >>> from moet.explain import draw_proof, proof_picture
    >>> picture = proof_picture(safe(valve, tank, steps=None).certificate, valve, tank, runs=5)
    >>> figure = draw_proof(picture)
    """
    if states is not None and len(states) == 1 and ":" in states[0]:
        across, up = states[0].split(":", 1)
        figure = _draw_plane(picture, picture.column(across), picture.column(up))
    else:
        figure = _draw_time(picture, list(picture.states[:MOST_FEATURES] if states is None else states))
    note_above(figure, note)
    return literal(figure)


def _draw_time(picture: ProofPicture, names: list[str]) -> Figure:
    if not names:
        raise InputError("name at least one state to draw")
    columns = [picture.column(name) for name in names]
    figure = new_figure(7.6, 1.1 + 1.35 * len(columns))
    axes: Any = figure.subplots(len(columns), 1, sharex=True, squeeze=False)[:, 0]
    for axis, k in zip(axes, columns, strict=True):
        low, high = _extent(picture, k)
        for mark in picture.marks:
            _band(axis, mark, k, picture.end, (low, high))
        _tube_over_time(axis, picture.segments, k)
        axis.plot(picture.times, picture.runs[:, :, k].T, color=RUN, linewidth=0.4, alpha=0.6)
        axis.set_ylim(low, high)
        axis.set_ylabel(broken(picture.states[k]), fontsize=8)
        axis.tick_params(labelsize=8)
    axes[-1].set_xlim(0, picture.end)
    axes[-1].set_xlabel(picture.unit + (" (the last boxes hold for ever)" if picture.endless else ""))
    figure.align_ylabels()
    _legend(figure, picture)
    return figure


def _tube_over_time(axis: Any, segments: Sequence[Segment], k: int) -> None:
    from matplotlib.collections import PolyCollection

    width = max(segment.stop for segment in segments) / 400
    boxes = [
        [(a, s.low[k]), (b, s.low[k]), (b, s.high[k]), (a, s.high[k])]
        for s in segments
        for a, b in [(s.start, max(s.stop, s.start + width))]
    ]
    axis.add_collection(PolyCollection(boxes, facecolor=TUBE, edgecolor="none"))


def _band(axis: Any, mark: Mark, k: int, end: float, shown: tuple[float, float]) -> None:
    """The values of one state that a mark is about: a goal's own, and those beyond a limit."""
    low, high = _sides(mark.conditions, k)
    if mark.kind == "avoid" or not (np.isfinite(low) or np.isfinite(high)):
        return
    stop = min(mark.stop, end)
    start = mark.start if stop > mark.start else stop - end / 100
    spans = [(low, high)] if mark.kind == "goal" else [(shown[0], low), (high, shown[1])]
    for bottom, top in spans:
        a, b = max(bottom, shown[0]), min(top, shown[1])
        if a < b:
            axis.fill_between([start, stop], a, b, linewidth=0.8, zorder=0, **_PAINT[mark.kind])


def _draw_plane(picture: ProofPicture, across: int, up: int) -> Figure:
    from matplotlib.collections import PolyCollection

    figure = new_figure(6.4, 5.6)
    axis: Any = figure.subplots()
    x, y = _extent(picture, across), _extent(picture, up)
    for mark in picture.marks:
        for polygon in _polygons(mark, across, up, x, y):
            axis.fill(*polygon.T, linewidth=0.8, zorder=0, **_PAINT[mark.kind])
    corners = [_rectangle(s, across, up) for s in picture.segments]
    axis.add_collection(PolyCollection(corners[::-1], facecolor=TUBE, edgecolor="#6baed6", linewidth=0.3))
    axis.plot(picture.runs[:, :, across].T, picture.runs[:, :, up].T, color=RUN, linewidth=0.4, alpha=0.6)
    first = np.array([*corners[0], corners[0][0]])
    axis.plot(*first.T, color=FIRST, linewidth=1.4)
    axis.set(xlim=x, ylim=y, xlabel=picture.states[across], ylabel=picture.states[up])
    _legend(figure, picture)
    return figure


def _rectangle(s: Segment, i: int, j: int) -> list[tuple[float, float]]:
    return [(s.low[i], s.low[j]), (s.high[i], s.low[j]), (s.high[i], s.high[j]), (s.low[i], s.high[j])]


def _polygons(
    mark: Mark, across: int, up: int, x: tuple[float, float], y: tuple[float, float]
) -> list[NDArray[np.float64]]:
    """What to paint: the set itself or, of limits, what is beyond each; from conditions on these two states only."""
    frame = np.array([(x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1])])
    rows = [
        (float(half.coefficients[across]), float(half.coefficients[up]), float(half.bound))
        for half in mark.conditions
        if not any(a for k, a in enumerate(half.coefficients) if k not in (across, up))
        and (half.coefficients[across] or half.coefficients[up])
    ]
    if not rows:
        return []
    if mark.kind == "safe":
        cut = [_clip(frame, (-a, -b, -bound)) for a, b, bound in rows]
    else:
        polygon = frame
        for row in rows:
            polygon = _clip(polygon, row)
        cut = [polygon]
    return [polygon for polygon in cut if len(polygon) > 2]


def _clip(polygon: Floats, row: tuple[float, float, float]) -> Floats:
    """The part of a convex polygon with a·x + b·y <= bound (Sutherland and Hodgman)."""
    a, b, bound = row
    kept: list[Floats] = []
    for p, q in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        before, after = a * p[0] + b * p[1] - bound, a * q[0] + b * q[1] - bound
        if before <= 0:
            kept.append(p)
        if before * after < 0:
            kept.append(p + (q - p) * (before / (before - after)))
    return np.array(kept).reshape(-1, 2)


def _sides(conditions: Sequence[HalfSpace], k: int) -> tuple[float, float]:
    """Least and largest value of a state under the conditions that are about it alone."""
    low, high = -np.inf, np.inf
    for half in conditions:
        factor = float(half.coefficients[k])
        if factor and sum(map(bool, half.coefficients)) == 1:
            side = float(half.bound) / factor
            low, high = (low, min(high, side)) if factor > 0 else (max(low, side), high)
    return low, high


def _extent(picture: ProofPicture, k: int) -> tuple[float, float]:
    """What to show of a state: boxes, runs, and sides of marks that are not far away."""
    ends = np.concatenate([[s.low[k] for s in picture.segments], [s.high[k] for s in picture.segments]])
    ends = np.concatenate([ends[np.isfinite(ends)], picture.runs[:, :, k].ravel()])
    low, high = float(ends.min()), float(ends.max())
    width, (least, most) = high - low or 1.0, (low, high)
    for mark in picture.marks:
        for side in _sides(mark.conditions, k):
            if low - _NEAR * width <= side <= high + _NEAR * width:
                least, most = min(least, side), max(most, side)
    room = _MARGIN * (most - least or 1.0)
    return least - room, most + room


def _legend(figure: Figure, picture: ProofPicture) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    kinds = dict.fromkeys(mark.kind for mark in picture.marks)
    handles: list[Any] = [Patch(facecolor=TUBE, label="proved"), Line2D([], [], color=RUN, label="simulated runs")]
    handles += [Patch(label=_LABEL[kind], linewidth=0.8, **_PAINT[kind]) for kind in kinds]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8, frameon=False)
