"""What nonlinear equations add to an affine map on a box, bounded by intervals that are rounded outward.

The matrix of the map is a fit at Chebyshev nodes, which is close to the best one: the error of a cubic is a quarter of
what the tangent leaves. What the fit misses is bounded on ever smaller pieces of the box, in mean value form: f(X)
lies in f(m) + f'(X)·(X − m) for the midpoint m of X. All boxes and actions are worked on at once.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from moet.verify.systems.equations import Algebra
from moet.verify.systems.intervals import FUNCTIONS, Interval, Slope

if TYPE_CHECKING:
    from moet.verify.systems.system import NonlinearSystem

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_NODES = 4
"""Chebyshev nodes per variable of the fit."""

_NEGLIGIBLE = 1e-13
"""Coefficients of the fit below this are noise."""

_PRECISION = 0.03
"""Splitting stops when the range of what the fit misses is known this well, relative to what it surely is."""

_NOISE = 1e-13
"""What is missed below this, relative to the states, is not worth splitting for."""

_GENEROSITY = 0.05
"""What is added to the ranges found, relative to their width, so that a checker with other intervals confirms them."""

_MAX_PIECES = 2000


def fitted_matrix(system: NonlinearSystem, low: Floats, high: Floats) -> Floats:
    """Least-squares slopes of one step, one set for all actions, at a grid of Chebyshev nodes of the box."""
    node = np.cos((np.arange(_NODES) + 0.5) * np.pi / _NODES)
    grid = np.array(list(product(node, repeat=len(low))))
    half = (high - low) / 2
    states = (low + high) / 2 + grid * half
    slopes = np.zeros((len(low), len(low)))
    for action in range(len(system.actions)):
        following = system.successor(states, np.full(len(states), action))
        # the columns of the grid are orthogonal, so each slope is a projection
        slopes += following.T @ grid / (grid**2).sum(axis=0)
    matrix = slopes / len(system.actions) / np.where(half > 0, half, np.inf)
    return np.where(np.abs(matrix) < _NEGLIGIBLE, 0.0, matrix)


def residual_ranges(system: NonlinearSystem, matrix: Floats, lows: Floats, highs: Floats) -> tuple[Floats, Floats]:
    """Bound step(x) − matrix·x from below and above over boxes, without disturbance.

    Parameters
    ----------
    system : NonlinearSystem
    matrix : array of float, shape (n_states, n_states)
    lows, highs : array of float, shape (n_boxes, n_states)

    Returns
    -------
    low, high : array of float, shape (n_boxes, n_actions, n_states)
    """
    n_boxes, n_states = lows.shape
    n_actions = len(system.actions)
    n_groups = n_boxes * n_actions
    group = np.arange(n_groups)
    bottom, top = (np.repeat(side, n_actions, axis=0).T.copy() for side in (lows, highs))
    noise = _NOISE * (1 + np.maximum(np.abs(bottom), np.abs(top)))
    known = Interval(np.full((n_states, n_groups), np.inf), np.full((n_states, n_groups), -np.inf))
    seen = Interval(known.low.copy(), known.high.copy())
    n_pieces = n_groups
    while True:
        bound, middle, blame = _residual(system, matrix, group % n_actions, bottom, top)
        for k in range(n_states):
            np.minimum.at(seen.low[k], group, middle.high[k])
            np.maximum.at(seen.high[k], group, middle.low[k])
        slack = (_PRECISION * np.maximum(seen.high - seen.low, 0) + noise)[:, group]
        too_wide = (bound.low < seen.low[:, group] - slack) | (bound.high > seen.high[:, group] + slack)
        split = np.any(too_wide, axis=0)
        n_pieces += np.count_nonzero(split)
        if n_pieces > _MAX_PIECES * n_groups:
            split[:] = False
        for k in range(n_states):
            np.minimum.at(known.low[k], group[~split], bound.low[k, ~split])
            np.maximum.at(known.high[k], group[~split], bound.high[k, ~split])
        if not split.any():
            generous = _GENEROSITY * (known.high - known.low) + noise
            shape = (n_boxes, n_actions, n_states)
            return (known.low - generous).T.reshape(shape), (known.high + generous).T.reshape(shape)
        bottom, top = _halves(bottom[:, split], top[:, split], blame[:, split].argmax(axis=0))
        group = np.tile(group[split], 2)


def _halves(bottom: Floats, top: Floats, variable: Ints) -> tuple[Floats, Floats]:
    """Both halves of every box, cut along one variable each."""
    boxes = np.arange(bottom.shape[1])
    lower_top, upper_bottom = top.copy(), bottom.copy()
    lower_top[variable, boxes] = upper_bottom[variable, boxes] = (bottom[variable, boxes] + top[variable, boxes]) / 2
    return np.hstack([bottom, upper_bottom]), np.hstack([lower_top, top])


def _residual(
    system: NonlinearSystem, matrix: Floats, actions: Ints, bottom: Floats, top: Floats
) -> tuple[Interval, Interval, Floats]:
    """What the matrix misses on each box and at its middle, and how much each variable is to blame for the width."""
    box = _next(system, actions, bottom, top)
    middle = (bottom + top) / 2
    centre = _next(system, actions, middle, middle)
    deviation = Interval(bottom, top) - Interval(middle, middle)
    bounds, values = [], []
    blame = np.zeros_like(bottom)
    for k, row in enumerate(matrix):
        change = (box[k].gradient - Interval(row[:, None], row[:, None])) * deviation
        value, natural = centre[k].value, box[k].value
        for j in np.flatnonzero(row).tolist():
            coefficient = Interval(row[j], row[j])
            value = value - coefficient * Interval(middle[j], middle[j])
            natural = natural - coefficient * Interval(bottom[j], top[j])
        mean_value = value
        for j in range(len(row)):
            mean_value = mean_value + Interval(change.low[j], change.high[j])
        bounds.append(mean_value.meet(natural))
        values.append(value)
        blame = np.maximum(blame, np.where(top > bottom, change.high - change.low, 0))
    return _stack(bounds, middle.shape), _stack(values, middle.shape), blame


def next_boxes(system: NonlinearSystem, actions: Ints, bottom: Floats, top: Floats) -> tuple[Floats, Floats]:
    """Boxes that one step without disturbance leads to from boxes (one column each)."""
    box = _stack([state.value for state in _next(system, actions, bottom, top)], bottom.shape)
    return box.low, box.high


def _next(system: NonlinearSystem, actions: Ints, bottom: Floats, top: Floats) -> list[Slope]:
    """Next states with their derivatives."""
    n_states = len(bottom)
    zero = np.zeros((n_states, 1))
    inputs = {}
    for name, values in system.inputs.items():
        exact = [Interval.exactly(value) for value in values]
        low, high = np.array([value.low for value in exact]), np.array([value.high for value in exact])
        inputs[name] = Slope(Interval(low[actions], high[actions]), Interval(zero, zero))
    algebra = Algebra(lambda value: Slope.constant(value, n_states), FUNCTIONS)
    with np.errstate(over="ignore", invalid="ignore"):
        return system.next_values(Slope.variables(bottom, top), inputs, algebra)


def _stack(rows: list[Interval], shape: tuple[int, ...]) -> Interval:
    low, high = np.empty(shape), np.empty(shape)
    for k, row in enumerate(rows):
        low[k], high[k] = row.low, row.high
    return Interval(low, high)
