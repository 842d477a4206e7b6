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

from moet.verify.limits import Deadline
from moet.verify.systems.equations import Algebra
from moet.verify.systems.intervals import FUNCTIONS, Interval, Slope
from moet.verify.systems.slopes_kernel import missed
from moet.verify.systems.tape import tape_of

if TYPE_CHECKING:
    from moet.verify.systems.discrete import NonlinearSystem

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

_BATCH = 2**14
"""Boxes that are worked on at once, between two looks at the clock."""

_MOST_GRID = 5
_SAMPLES = 1024
"""A grid has so many variables at most; for more of them there are so many nodes, chosen at random."""


def fitted_matrix(system: NonlinearSystem, low: Floats, high: Floats) -> Floats:
    """Least-squares slopes of one step, one set for all actions, at a grid of Chebyshev nodes of the box."""
    node = np.cos((np.arange(_NODES) + 0.5) * np.pi / _NODES)
    if len(low) <= _MOST_GRID:
        grid = np.array(list(product(node, repeat=len(low))))
    else:
        random = np.random.default_rng(0)
        grid = np.stack([random.permutation(np.resize(node, _SAMPLES)) for _ in low], axis=1)
    half = high / 2 - low / 2
    states = low / 2 + high / 2 + grid * half
    slopes = np.zeros((len(low), len(low)))
    for action in range(len(system.actions)):
        with np.errstate(all="ignore"):
            following = system.successor(states, np.full(len(states), action))
        slopes += _projected(following, grid)
    with np.errstate(all="ignore"):
        matrix = slopes / len(system.actions) / np.where(half > 0, half, np.inf)
    return np.where((np.abs(matrix) >= _NEGLIGIBLE) & np.isfinite(matrix), matrix, 0.0)


def _projected(values: Floats, grid: Floats) -> Floats:
    """Least-squares slopes of values at nodes; 0 for what has no value somewhere."""
    known = np.where(np.all(np.isfinite(values), axis=0), values, 0.0)
    with np.errstate(all="ignore"):
        if grid.shape[1] <= _MOST_GRID:  # the columns of the grid are orthogonal, so each slope is a projection
            return known.T @ grid / (grid**2).sum(axis=0)
        centred = known - known.mean(axis=0)
        fit = np.linalg.lstsq(grid, np.where(np.isfinite(centred), centred, 0.0), rcond=None)[0]
    return np.asarray(fit.T, np.float64)


def residual_ranges(
    system: NonlinearSystem, matrix: Floats, lows: Floats, highs: Floats, deadline: Deadline | None = None
) -> tuple[Floats, Floats]:
    """Bound step(x) − matrix·x from below and above over boxes, without disturbance.

    Parameters
    ----------
    system : NonlinearSystem
    matrix : array of float, shape (n_states, n_states)
    lows, highs : array of float, shape (n_boxes, n_states)
    deadline : Deadline, optional
        When it has passed, Stopped is raised.

    Returns
    -------
    low, high : array of float, shape (n_boxes, n_actions, n_states)
        Infinite where the step may have no value.
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
        bound, middle, blame = _residuals(system, matrix, group % n_actions, bottom, top, deadline)
        for k in range(n_states):
            np.minimum.at(seen.low[k], group, middle.high[k])
            np.maximum.at(seen.high[k], group, middle.low[k])
        with np.errstate(all="ignore"):
            slack = (_PRECISION * np.maximum(seen.high - seen.low, 0) + noise)[:, group]
            too_wide = (bound.low < seen.low[:, group] - slack) | (bound.high > seen.high[:, group] + slack)
        split = np.any(too_wide, axis=0) & _can_be_cut(bottom, top, blame)
        n_pieces += np.count_nonzero(split)
        if n_pieces > _MAX_PIECES * n_groups:
            split[:] = False
        for k in range(n_states):
            np.minimum.at(known.low[k], group[~split], bound.low[k, ~split])
            np.maximum.at(known.high[k], group[~split], bound.high[k, ~split])
        if not split.any():
            with np.errstate(all="ignore"):
                generous = _GENEROSITY * (known.high - known.low) + noise
                low, high = known.low - generous, known.high + generous
            low, high = np.where(np.isfinite(low), low, -np.inf), np.where(np.isfinite(high), high, np.inf)
            shape = (n_boxes, n_actions, n_states)
            return low.T.reshape(shape), high.T.reshape(shape)
        bottom, top = _halves(bottom[:, split], top[:, split], blame[:, split].argmax(axis=0))
        group = np.tile(group[split], 2)


def _can_be_cut(bottom: Floats, top: Floats, blame: Floats) -> NDArray[np.bool_]:
    """Whether the middle of the variable to cut lies between its ends."""
    variable, boxes = blame.argmax(axis=0), np.arange(bottom.shape[1])
    low, high = bottom[variable, boxes], top[variable, boxes]
    middle = low / 2 + high / 2
    return (low < middle) & (middle < high)


def _halves(bottom: Floats, top: Floats, variable: Ints) -> tuple[Floats, Floats]:
    """Both halves of every box, cut along one variable each."""
    boxes = np.arange(bottom.shape[1])
    lower_top, upper_bottom = top.copy(), bottom.copy()
    lower_top[variable, boxes] = upper_bottom[variable, boxes] = bottom[variable, boxes] / 2 + top[variable, boxes] / 2
    return np.hstack([bottom, upper_bottom]), np.hstack([lower_top, top])


def _residuals(
    system: NonlinearSystem, matrix: Floats, actions: Ints, bottom: Floats, top: Floats, deadline: Deadline | None
) -> tuple[Interval, Interval, Floats]:
    """What the matrix misses on each box and at its middle, and how much each variable is to blame for the width."""
    bounds, middles, blames = np.empty((2, *bottom.shape)), np.empty((2, *bottom.shape)), np.empty(bottom.shape)
    for first in range(0, bottom.shape[1], _BATCH):
        if deadline is not None:
            deadline.look()
        some = slice(first, first + _BATCH)
        sides = np.ascontiguousarray(bottom[:, some]), np.ascontiguousarray(top[:, some])
        found = np.empty((2, *sides[0].shape)), np.empty((2, *sides[0].shape))
        blames[:, some] = missed(tape_of(system), np.ascontiguousarray(matrix), actions[some], *sides, *found)
        bounds[..., some], middles[..., some] = found
    return Interval(*bounds), Interval(*middles), blames


def next_boxes(system: NonlinearSystem, actions: Ints, bottom: Floats, top: Floats) -> tuple[Floats, Floats]:
    """Boxes that one step without disturbance leads to from boxes (one column each)."""
    box = _stack([state.value for state in _next(system, actions, bottom, top)], bottom.shape)
    return box.low, box.high


def steepest(system: NonlinearSystem, bottom: Floats, top: Floats) -> Floats:
    """Bounds of the absolute values of all partial derivatives of a step on boxes (one column each), by any action.

    The result has shape (n_states, n_states, n_boxes): derivatives of the first by the second. Infinite where a step
    may jump or have no value.
    """
    n_boxes = bottom.shape[1]
    most = np.zeros((len(bottom), len(bottom), n_boxes))
    for action in range(len(system.actions)):
        for k, state in enumerate(_next(system, np.full(n_boxes, action), bottom, top)):
            slopes = np.maximum(np.abs(state.gradient.low), np.abs(state.gradient.high))
            most[k] = np.maximum(most[k], np.where(np.isfinite(slopes), slopes, np.inf))
    return most


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
    with np.errstate(all="ignore"):
        return system.next_values(Slope.variables(bottom, top), inputs, algebra)


def _stack(rows: list[Interval], shape: tuple[int, ...]) -> Interval:
    low, high = np.empty(shape), np.empty(shape)
    for k, row in enumerate(rows):
        low[k], high[k] = row.low, row.high
    return Interval(low, high)
