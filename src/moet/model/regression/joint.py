"""Gate and laws improved together by gradients, while the trees' tests stay.

For hard mixtures the objective is the expected error of an expert drawn by the gate, Σ_i w_i Σ_j g_ij e_ij: its
minimum is a sharp gate, and unlike a likelihood it is about errors. For soft ones it is the error of the mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.optimize import minimize

from moet.jit import BORROWING, INLINED
from moet.model.regression.least_squares import FAST, FREE
from moet.model.regression.leaves import Bounds, is_met, law_at
from moet.model.regression.state import Rows, State

Floats = NDArray[np.float64]

GATE_L2 = 1e-6
"""Ridge of the gate: boundaries between experts may be sharp."""


class Cases(NamedTuple):
    """The rows as gate and laws see them, their targets and weights, and the leaf of every expert."""

    standard: Floats
    design: Floats
    target: Floats
    weight: Floats
    leaf: NDArray[np.int32]


class Numbers(NamedTuple):
    """What is improved, or the derivative along each of it."""

    theta: Floats
    laws: Floats


class Space(NamedTuple):
    """Scratch memory of one row: each expert's share, its error, and what it misses in every output."""

    gate: Floats
    error: Floats
    misses: Floats


def improve(
    state: State, rows: Rows, leaf: NDArray[np.int32], prior: Floats, ridge: float, soft: bool, steps: int,
    gate_only: bool = False, watch: Callable[[State], None] | None = None,
) -> State:  # fmt: skip
    """Take up to ``steps`` steps of L-BFGS; ``watch`` is shown the state after each."""
    n_gate = state.theta.size
    scale = float(rows.weight.sum())
    ridges = np.full(state.laws.shape, ridge / scale / state.laws.shape[1])
    ridges[:, :, -1] = FREE / scale
    cases = Cases(rows.standard, rows.design, rows.targets, rows.weight, leaf)
    space = Space(np.empty(len(leaf)), np.empty(len(leaf)), np.empty((len(leaf), state.laws.shape[1])))

    def state_at(point: Floats) -> State:
        theta = point[:n_gate].reshape(state.theta.shape)
        laws = state.laws if gate_only else point[n_gate:].reshape(state.laws.shape)
        return State(theta.copy(), state.tests, laws.copy())

    def objective(point: Floats) -> tuple[float, Floats]:
        at = state_at(point)
        slopes = Numbers(np.zeros_like(at.theta), np.zeros_like(at.laws))
        value = mixture_error(cases, Numbers(at.theta, at.laws), rows.units.bounds, soft, slopes, space)
        away = at.laws - prior
        value = value / scale + GATE_L2 * float((at.theta**2).sum()) + float((ridges * away**2).sum())
        gate_slope = slopes.theta / scale + 2 * GATE_L2 * at.theta
        law_slope = slopes.laws / scale + 2 * ridges * away
        return value, gate_slope.ravel() if gate_only else np.concatenate([gate_slope.ravel(), law_slope.ravel()])

    start = state.theta.ravel() if gate_only else np.concatenate([state.theta.ravel(), state.laws.ravel()])
    callback = None if watch is None else lambda point: watch(state_at(point))
    options = {"maxiter": steps, "ftol": 1e-10, "gtol": 1e-8}
    result = minimize(objective, start, jac=True, method="L-BFGS-B", callback=callback, options=options)
    return state_at(result.x)


@njit(**BORROWING, **FAST)
def mixture_error(cases: Cases, at: Numbers, bounds: Bounds, soft: bool, slopes: Numbers, space: Space) -> float:
    """Σ_i w_i times the error of row i; its derivatives are added to ``slopes``.

    Where a target is on a bound and the answer beyond it, there is no error. Elsewhere answers are not clipped, so that
    a law that is beyond a bound feels how far.
    """
    gate, error = space.gate, space.error
    value = 0.0
    for i in range(len(cases.weight)):
        _share(at.theta, cases.standard[i], gate)
        mean_error = _miss(cases, i, at.laws, bounds, soft, space)
        average = 0.0
        for j in range(len(gate)):
            average += gate[j] * error[j]
        value += cases.weight[i] * (mean_error if soft else average)
        _descend(cases, i, average, space, slopes)
    return value


@njit(**INLINED, **FAST)
def _share(theta: Any, x: Any, gate: Any) -> None:
    """Write what the softmax gate gives every expert."""
    top = -np.inf
    for j in range(len(gate)):
        gate[j] = law_at(theta[j], x)
        top = gate[j] if gate[j] > top else top
    total = 0.0
    for j in range(len(gate)):
        gate[j] = np.exp(gate[j] - top)
        total += gate[j]
    for j in range(len(gate)):
        gate[j] /= total


@njit(**INLINED, **FAST)
def _miss(cases: Cases, i: int, laws: Any, bounds: Bounds, soft: bool, space: Space) -> float:
    """Write what every expert misses in row i, and its error; returns the error of the mean where that is asked."""
    gate, error, misses = space.gate, space.error, space.misses
    n_outputs = cases.target.shape[1]
    for j in range(len(gate)):
        error[j] = 0.0
    mean_error = 0.0
    for o in range(n_outputs):
        u, mean = cases.target[i, o], 0.0
        for j in range(len(gate)):
            misses[j, o] = law_at(laws[cases.leaf[j, i], o], cases.design[i]) - u
            mean += gate[j] * misses[j, o]
        if soft:
            mean = 0.0 if is_met(u, mean, o, bounds) else mean
            mean_error += mean * mean / n_outputs
            for j in range(len(gate)):  # the slope of the error along log g_j, before the mean is taken off
                error[j] += 2.0 * mean * misses[j, o] / n_outputs
                misses[j, o] = mean
        else:
            for j in range(len(gate)):
                miss = misses[j, o]
                misses[j, o] = 0.0 if is_met(u, miss, o, bounds) else miss
                error[j] += misses[j, o] * misses[j, o] / n_outputs
    return mean_error


@njit(**INLINED, **FAST)
def _descend(cases: Cases, i: int, average: float, space: Space, slopes: Numbers) -> None:
    """Add the derivatives of row i's error."""
    x, z, w = cases.standard[i], cases.design[i], cases.weight[i]
    n_outputs = cases.target.shape[1]
    for j in range(len(space.gate)):
        pull = w * space.gate[j] * (space.error[j] - average)
        slope = slopes.theta[j]
        for a in range(len(x)):
            slope[a] += pull * x[a]
        for o in range(n_outputs):
            pull = 2.0 * w * space.gate[j] * space.misses[j, o] / n_outputs
            slope = slopes.laws[cases.leaf[j, i], o]
            for a in range(len(z)):
                slope[a] += pull * z[a]
