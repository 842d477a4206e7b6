"""Gate and laws improved together by gradients, while the trees' tests stay.

For hard mixtures the objective is the expected error of an expert drawn by the gate, Σ_i w_i Σ_j g_ij e_ij: its
minimum is a sharp gate, and unlike a likelihood it is about errors. For soft ones it is the error of the mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.optimize import minimize

from moet.jit import BORROWING
from moet.model.regression.least_squares import FAST, FREE
from moet.model.regression.leaves import law_at
from moet.model.regression.state import Rows, State

Floats = NDArray[np.float64]

GATE_L2 = 1e-6
"""Ridge of the gate: boundaries between experts may be sharp."""


def improve(
    state: State, rows: Rows, leaf: NDArray[np.int32], prior: Floats, ridge: float, soft: bool, steps: int,
    gate_only: bool = False, watch: Callable[[State], None] | None = None,
) -> State:  # fmt: skip
    """Take up to ``steps`` steps of L-BFGS; ``watch`` is shown the state after each."""
    n_gate = state.theta.size
    scale = float(rows.weight.sum())
    ridges = np.full(state.laws.shape, ridge / scale / state.laws.shape[1])
    ridges[:, :, -1] = FREE / scale

    def state_at(point: Floats) -> State:
        theta = point[:n_gate].reshape(state.theta.shape)
        laws = state.laws if gate_only else point[n_gate:].reshape(state.laws.shape)
        return State(theta.copy(), state.tests, laws.copy())

    def objective(point: Floats) -> tuple[float, Floats]:
        at = state_at(point)
        slopes = np.zeros_like(at.theta), np.zeros_like(at.laws)
        value = mixture_error(
            rows.standard, rows.design, rows.targets, rows.weight, at.theta, at.laws, leaf, *rows.units.bounds, soft,
            *slopes, np.empty((2, len(leaf))), np.empty((len(leaf), state.laws.shape[1])),
        )  # fmt: skip
        away = at.laws - prior
        value = value / scale + GATE_L2 * float((at.theta**2).sum()) + float((ridges * away**2).sum())
        gate_slope = slopes[0] / scale + 2 * GATE_L2 * at.theta
        law_slope = slopes[1] / scale + 2 * ridges * away
        return value, gate_slope.ravel() if gate_only else np.concatenate([gate_slope.ravel(), law_slope.ravel()])

    start = state.theta.ravel() if gate_only else np.concatenate([state.theta.ravel(), state.laws.ravel()])
    callback = None if watch is None else lambda point: watch(state_at(point))
    options = {"maxiter": steps, "ftol": 1e-10, "gtol": 1e-8}
    result = minimize(objective, start, jac=True, method="L-BFGS-B", callback=callback, options=options)
    return state_at(result.x)


@njit(**BORROWING, **FAST)
def mixture_error(
    standard: Any, design: Any, target: Any, weight: Any, theta: Any, laws: Any, leaf: Any, low: Any, high: Any,
    near_low: Any, near_high: Any, soft: bool, theta_slope: Any, law_slope: Any, experts: Any, misses: Any,
) -> float:  # fmt: skip
    """Σ_i w_i times the error of row i, and its derivatives; the last two arrays are scratch space.

    Where a target is on a bound and the answer beyond it, there is no error. Elsewhere answers are not clipped, so that
    a law that is beyond a bound feels how far.
    """
    n_experts, n_outputs = len(theta), target.shape[1]
    gate, error = experts[0], experts[1]
    value = 0.0
    for i in range(len(weight)):
        z, x, w = design[i], standard[i], weight[i]
        top = -np.inf
        for j in range(n_experts):
            gate[j] = law_at(theta[j], x)
            top = gate[j] if gate[j] > top else top
        total = 0.0
        for j in range(n_experts):
            gate[j] = np.exp(gate[j] - top)
            total += gate[j]
        for j in range(n_experts):
            gate[j] /= total
            error[j] = 0.0
        mean_error = 0.0
        for o in range(n_outputs):
            u, mean = target[i, o], 0.0
            for j in range(n_experts):
                misses[j, o] = law_at(laws[leaf[j, i], o], z) - u
                mean += gate[j] * misses[j, o]
            if soft:
                met = (u >= near_high[o] and mean > 0.0) or (u <= near_low[o] and mean < 0.0)
                mean = 0.0 if met else mean
                mean_error += mean * mean / n_outputs
                for j in range(n_experts):  # the slope of the error along log g_j, before the mean is taken off
                    error[j] += 2.0 * mean * misses[j, o] / n_outputs
                    misses[j, o] = mean
            else:
                for j in range(n_experts):
                    miss = misses[j, o]
                    met = (u >= near_high[o] and miss > 0.0) or (u <= near_low[o] and miss < 0.0)
                    misses[j, o] = 0.0 if met else miss
                    error[j] += misses[j, o] * misses[j, o] / n_outputs
        average = 0.0
        for j in range(n_experts):
            average += gate[j] * error[j]
        value += w * (mean_error if soft else average)
        for j in range(n_experts):
            pull = w * gate[j] * (error[j] - average)
            slope = theta_slope[j]
            for a in range(len(x)):
                slope[a] += pull * x[a]
            for o in range(n_outputs):
                pull = 2.0 * w * gate[j] * misses[j, o] / n_outputs
                slope = law_slope[leaf[j, i], o]
                for a in range(len(z)):
                    slope[a] += pull * z[a]
    return value
