"""Ways to improve the gate while the trees are fixed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from moet.model.gate import (
    BLOCK,
    Scaler,
    expected_curvature,
    expected_objective,
    gate_probabilities,
    to_responsibilities,
)
from moet.model.lbfgs import maximize_likelihood
from moet.model.table import Table

GateSolver = Literal["likelihood", "lbfgs", "newton", "gradient", "adam"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


FETCHED = 64 * BLOCK
"""Rows that are standardised at a time."""


class GateRows:
    """Rows as the gate sees them: weights, labels, and standardised features in blocks."""

    def __init__(self, table: Table, scaler: Scaler, blocks: Singles | None = None) -> None:
        self.table = table
        self.scaler = scaler
        self._blocks = _standardised_blocks(table, scaler) if blocks is None else blocks

    def take(self, index: NDArray[np.intp]) -> GateRows:
        """Return some of the rows."""
        width = self._blocks.shape[1]
        blocks = _in_blocks((self._blocks[:, k].ravel()[index] for k in range(width)), width, len(index))
        return GateRows(self.table.take(index), self.scaler, blocks)

    def probabilities(self, theta: Floats) -> Singles:
        """g_j(x_i), shape (n_experts, n)."""
        out = np.empty((len(theta), len(self.table)), dtype=np.float32)
        gate_probabilities(self._blocks, theta, out, np.empty((len(theta) + 2, BLOCK), dtype=np.float32))
        return out

    def responsibilities(self, theta: Floats, likelihood: Singles) -> tuple[Singles, float]:
        """h_ij, and the mean log-likelihood of the rows."""
        out = self.probabilities(theta)
        total = to_responsibilities(likelihood, self.table.weight, out, np.empty(BLOCK, dtype=np.float32))
        return out, float(total / self.table.weight.sum())

    def expected(self, theta: Floats, responsibility: Singles) -> tuple[float, Floats]:
        """Σ w h log g and its gradient."""
        value, gradient = expected_objective(self._blocks, self.table.weight, theta, responsibility)
        return value, gradient

    def maximize_likelihood(
        self, theta: Floats, likelihood: Singles, l2: float, steps: int, scale: float | None = None
    ) -> Floats:
        """Take L-BFGS steps on Σ w log Σ_j g_j P_j divided by ``scale``, by default the weight of the rows."""
        scale = float(self.table.weight.sum()) if scale is None else scale
        return maximize_likelihood(self._blocks, self.table.weight, theta, likelihood, scale, l2, steps)

    def maximize_expected(self, theta: Floats, responsibility: Singles, l2: float, steps: int) -> Floats:
        """Take L-BFGS steps on the mean of :meth:`expected`."""
        scale = float(self.table.weight.sum())

        def negative(flat: Floats) -> tuple[float, Floats]:
            value, gradient = self.expected(flat.reshape(theta.shape), responsibility)
            return -value / scale + 0.5 * l2 * float(flat @ flat), l2 * flat - gradient.ravel() / scale

        options = {"maxiter": steps, "gtol": 1e-7}
        result = minimize(negative, theta.ravel(), jac=True, method="L-BFGS-B", options=options)
        return result.x.reshape(theta.shape)

    def curvature(self, theta: Floats) -> Floats:
        """Negative Hessian of :meth:`expected`."""
        out: Floats = expected_curvature(self._blocks, self.table.weight, theta)
        return out


def _standardised_blocks(table: Table, scaler: Scaler) -> Singles:
    """The standardised features and the constant 1, as the kernels of the gate want them; ends with zeros.

    Rows are fetched whole, some blocks at a time: column by column every value would be fetched from far away.
    """
    n_rows, n_features = len(table), table.X.shape[1]
    blocks = np.zeros((-(-n_rows // BLOCK), n_features + 1, BLOCK), dtype=np.float32)
    for start in range(0, n_rows, FETCHED):
        rows = (table.X[table.rows[start : start + FETCHED]] - scaler.mean) * scaler.inverse_scale
        first, whole = start // BLOCK, len(rows) // BLOCK
        blocks[first : first + whole, :-1] = rows[: whole * BLOCK].reshape(whole, BLOCK, n_features).transpose(0, 2, 1)
        if whole * BLOCK < len(rows):
            blocks[first + whole, :-1, : len(rows) % BLOCK] = rows[whole * BLOCK :].T
    blocks[:, -1] = 1.0
    blocks[n_rows // BLOCK :, -1, n_rows % BLOCK :] = 0.0
    return blocks


def _in_blocks(columns: Iterable[NDArray[np.floating]], n_columns: int, n_rows: int) -> Singles:
    """Lay out columns block by block; the last block ends with zeros."""
    blocks = np.zeros((-(-n_rows // BLOCK), n_columns, BLOCK), dtype=np.float32)
    whole = n_rows // BLOCK
    for k, column in enumerate(columns):
        blocks[:whole, k] = column[: whole * BLOCK].reshape(whole, BLOCK)
        blocks[whole:, k, : n_rows % BLOCK] = column[whole * BLOCK :]
    return blocks


@dataclass
class GateStep:
    """Improves the gate once per round of EM; remembers Adam's moments and the decaying learning rate.

    ``"likelihood"`` maximises the mixture's log-likelihood itself; all others work on the paper's Σ h log g with the
    responsibilities h at the start of the step. ``"gradient"`` and ``"adam"`` take one step along the gradient of the
    *sum* over rows, as the paper's Algorithm 1 does.
    """

    solver: GateSolver
    l2: float
    learning_rate: float
    decay: float
    _moments: tuple[Floats, Floats] | None = None
    _taken: int = field(default=0)

    def __call__(self, rows: GateRows, theta: Floats, likelihood: Singles, steps: int) -> Floats:
        """Return improved parameters. ``steps`` bounds the iterations of "likelihood" and "lbfgs"."""
        if self.solver == "likelihood":
            return rows.maximize_likelihood(theta, likelihood, self.l2, steps)
        responsibility, _ = rows.responsibilities(theta, likelihood)
        if self.solver == "lbfgs":
            return rows.maximize_expected(theta, responsibility, self.l2, steps)
        scale = rows.table.weight.sum()
        if self.solver == "newton":
            return _newton(rows, theta, responsibility, scale * self.l2)
        gradient = rows.expected(theta, responsibility)[1] - scale * self.l2 * theta
        rate = self.learning_rate * self.decay**self._taken
        self._taken += 1
        return theta + rate * (gradient if self.solver == "gradient" else self._adam_direction(gradient))

    def _adam_direction(self, gradient: Floats) -> Floats:
        first, second = self._moments or (np.zeros_like(gradient), np.zeros_like(gradient))
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        self._moments = first, second
        corrected = second / (1 - 0.999**self._taken)
        return first / (1 - 0.9**self._taken) / (np.sqrt(corrected) + 1e-8)


def _newton(rows: GateRows, theta: Floats, responsibility: Singles, l2: float) -> Floats:
    """One Newton step on Σ h log g - l2/2 · |theta|², halved until the objective does not fall."""

    def objective(t: Floats) -> tuple[float, Floats]:
        value, gradient = rows.expected(t, responsibility)
        return value - 0.5 * l2 * float((t * t).sum()), gradient - l2 * t

    # adding one vector to all experts changes no probability: stay where the penalty is least, and without drift
    theta = theta - theta.mean(axis=0)
    value, gradient = objective(theta)
    curvature = rows.curvature(theta).reshape(theta.size, theta.size)
    # for the same reason the curvature is singular without a little ridge
    ridge = l2 + 1e-8 * max(1.0, float(np.trace(curvature)) / theta.size)
    direction = np.linalg.solve(curvature + ridge * np.eye(theta.size), gradient.ravel()).reshape(theta.shape)
    direction -= direction.mean(axis=0)
    step = 1.0
    while step > 1e-4:
        if objective(theta + step * direction)[0] >= value:
            return theta + step * direction
        step /= 2
    return theta
