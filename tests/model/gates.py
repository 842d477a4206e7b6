"""The gate's formulas in plain NumPy and float64, beside which the compiled kernels are held."""

import numpy as np

from moet.model.gate import Scaler
from moet.model.solve import GateRows

from .tables import make_table, random_problem


class GateProblem:
    """A table, a gate and likelihoods, and every formula of the kernels in plain NumPy."""

    def __init__(self, seed, n, n_experts, d, spread=1.0):
        rng = np.random.default_rng(seed)
        X, y = random_problem(seed, n, d=d)
        self.table = make_table(X * 10.0 ** rng.integers(-3, 4, d), y, rng.exponential(size=n) + 0.01)
        self.rows = GateRows(self.table, Scaler.of(self.table))
        self.theta = spread * rng.normal(size=(n_experts, d + 1))
        self.likelihood = (rng.random((n_experts, len(self.table))) + 1e-3).astype(np.float32)
        self.weight = self.table.weight
        scaled = (self.table.X[self.table.rows] - self.rows.scaler.mean) * self.rows.scaler.inverse_scale
        self.x = np.column_stack([scaled, np.ones(len(self.table))])
        self.scale = float((self.weight @ np.abs(self.x)).max() * max(1.0, np.abs(self.theta).max()))

    def log_gate(self, theta):
        logits = theta @ self.x.T
        logits -= logits.max(axis=0)
        return logits - np.log(np.exp(logits).sum(axis=0))

    def mixture(self, theta):
        return (self.weight * np.log((np.exp(self.log_gate(theta)) * self.likelihood).sum(axis=0))).sum()

    def responsibility(self, theta):
        joint = np.exp(self.log_gate(theta)) * self.likelihood
        return joint / joint.sum(axis=0)

    def expected(self, theta, responsibility):
        return (self.weight * responsibility * self.log_gate(theta)).sum()

    def expected_slope(self, theta, responsibility):
        gate = np.exp(self.log_gate(theta))
        return (self.weight * (responsibility - responsibility.sum(axis=0) * gate)) @ self.x


def slope(function, theta, step=1e-5):
    """Gradient by central differences."""
    out = np.zeros((*theta.shape, *np.shape(function(theta))))
    for at in np.ndindex(theta.shape):
        shift = np.zeros_like(theta)
        shift[at] = step
        out[at] = (function(theta + shift) - function(theta - shift)) / (2 * step)
    return out
