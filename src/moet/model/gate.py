"""Compiled kernels of the gate during training: softmax, responsibilities, objectives and their derivatives.

The gate works on standardised features x̃ = (x - mean) / scale with a constant 1 appended, and its parameters
``theta`` (the paper's θ_g) have shape (n_experts, n_features + 1), bias last. The features are laid out once as
``blocks`` (n_blocks, n_features + 1, BLOCK) in float32: a block stays in the processor's first cache, loops over its
rows vectorise, and float32 is exact enough to climb by (sums over blocks are float64). Arrays over rows and experts are
float32 too, laid out (n_experts, n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import OPTIONS
from moet.model.table import Table

BLOCK = 256

NEGLIGIBLE = 1e-4
"""Responsibilities below this count as zero, so that a tree skips the rows it has nothing to do with."""

# Training need not agree bit for bit with other implementations, only with itself: let the compiler fuse and reorder.
_FUSED = {**OPTIONS, "fastmath": {"contract"}}
_REORDERED = {**OPTIONS, "fastmath": {"contract", "reassoc"}}

_ZERO, _ONE = np.float32(0), np.float32(1)
_LOG2_E, _LN2_HIGH, _LN2_LOW = np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4)
_ROUNDER = np.float32(12582912)  # 1.5 · 2^23: adding it leaves the nearest integer in the lowest bits
_LOWEST = np.float32(-50)  # nothing beside 1, and far from subnormal numbers, which are slow
_IMPOSSIBLE, _NEGLIGIBLE = np.float32(1e-12), np.float32(NEGLIGIBLE)
_C2, _C3, _C4, _C5, _C6 = (np.float32(1 / f) for f in (2, 6, 24, 120, 720))


@dataclass(frozen=True)
class Scaler:
    """Weighted mean and inverse standard deviation of every feature.

    The inverse is 0, such that the gate does not see it, for a feature that is constant or whose range overflows.
    """

    mean: NDArray[np.float64]
    inverse_scale: NDArray[np.float64]

    @classmethod
    def of(cls, table: Table) -> Scaler:
        """Measure a table."""
        share = table.weight / table.weight.sum()
        n_features = table.X.shape[1]
        mean = np.empty(n_features)
        inverse_scale = np.zeros(n_features)
        for k in range(n_features):
            column = table.X[table.rows, k]
            low, high = float(column.min()), float(column.max())
            if 0.0 < high - low < np.inf:
                # a power of two brings huge and tiny columns into a range where squares neither overflow nor vanish
                unit = 2.0 ** (np.frexp(max(-low, high))[1] - 1)
                column = column / unit
                mean[k] = share @ column * unit
                deviation = np.sqrt(share @ (column - mean[k] / unit) ** 2) * unit
                # rows of hardly any weight may be far out: keep them within the range of float32
                deviation = max(deviation, 1e-12 * (high - low))
                inverse_scale[k] = 1.0 / deviation if deviation > 1e-300 else 0.0
            else:
                mean[k] = low if low == high else 0.0
        return cls(mean, inverse_scale)

    def fold(self, theta: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return gate weights and bias in raw units that give the same logits."""
        weights = theta[:, :-1] * self.inverse_scale
        return weights, theta[:, -1] - weights @ self.mean


@njit(**_FUSED)
def _exp_in_place(values: Any, n: int) -> None:
    """Replace ``n`` non-positive numbers by their exponentials (relative error about 2e-7), vectorised.

    exp(x) = 2^k · exp(r) with k = round(x / ln 2); adding k to the exponent bits of exp(r) multiplies it by 2^k.
    """
    shifted = np.empty(BLOCK, np.float32)
    shifted_bits = shifted.view(np.int32)
    bits = values.view(np.int32)
    for i in range(n):
        x = max(values[i], _LOWEST)
        t = x * _LOG2_E + _ROUNDER
        shifted[i] = t
        k = t - _ROUNDER
        r = (x - k * _LN2_HIGH) - k * _LN2_LOW
        p = _C6 * r + _C5
        p = p * r + _C4
        p = p * r + _C3
        p = p * r + _C2
        p = p * r + _ONE
        values[i] = p * r + _ONE
    for i in range(n):
        bits[i] += shifted_bits[i] << 23


@njit(**OPTIONS)
def write_blocks(X: Any, rows: Any, mean: Any, inverse_scale: Any, blocks: Any) -> None:
    """Fill ``blocks`` with the standardised features of some rows of ``X`` and the constant 1."""
    n_features = X.shape[1]
    for i in range(len(rows)):
        block = blocks[i // BLOCK]
        for k in range(n_features):
            block[k, i % BLOCK] = (X[rows[i], k] - mean[k]) * inverse_scale[k]
        block[n_features, i % BLOCK] = _ONE


@njit(**OPTIONS)
def take_blocks(blocks: Any, index: Any, out: Any) -> None:
    """Fill ``out`` with some rows of ``blocks``."""
    for i in range(len(index)):
        block = blocks[index[i] // BLOCK]
        for k in range(blocks.shape[1]):
            out[i // BLOCK, k, i % BLOCK] = block[k, index[i] % BLOCK]


@njit(**_REORDERED)
def _block_gate(columns: Any, n: int, theta: Any, gate: Any, top: Any, total: Any) -> None:
    """Fill ``gate`` (g_j), ``top`` and ``total`` for the ``n`` rows of a block: log g_j = logit_j - top - log total."""
    n_experts, width = theta.shape
    for j in range(n_experts):
        logit = gate[j]
        for i in range(n):
            logit[i] = theta[j, width - 1]
        for k in range(width - 1):
            column = columns[k]
            slope = theta[j, k]
            for i in range(n):
                logit[i] += slope * column[i]
    logit = gate[0]
    for i in range(n):
        top[i] = logit[i]
        total[i] = _ZERO
    for j in range(1, n_experts):
        logit = gate[j]
        for i in range(n):
            top[i] = max(top[i], logit[i])
    for j in range(n_experts):
        g = gate[j]
        for i in range(n):
            g[i] -= top[i]
        _exp_in_place(g, n)
        for i in range(n):
            total[i] += g[i]
    for j in range(n_experts):
        g = gate[j]
        for i in range(n):
            g[i] /= total[i]


@njit(**_REORDERED)
def _add_gradient(residual: Any, columns: Any, n: int, gradient: Any) -> None:
    for j in range(gradient.shape[0]):
        r = residual[j]
        for k in range(gradient.shape[1]):
            column = columns[k]
            total = _ZERO
            for i in range(n):
                total += r[i] * column[i]
            gradient[j, k] += total


@njit(**_REORDERED)
def mixture_objective(blocks: Any, weight: Any, theta: Any, likelihood: Any) -> Any:
    """Σ_i w_i log Σ_j g_ij P_ij and its gradient; ``likelihood`` is P_ij = P(y_i|x_i, θ_j), positive for some j."""
    n_experts = theta.shape[0]
    value = 0.0
    gradient = np.zeros(theta.shape)
    theta = theta.astype(np.float32)
    gate = np.empty((n_experts, BLOCK), np.float32)
    top = np.empty(BLOCK, np.float32)
    total = np.empty(BLOCK, np.float32)
    for start in range(0, len(weight), BLOCK):
        n = min(BLOCK, len(weight) - start)
        block = slice(start, start + n)
        columns = blocks[start // BLOCK]
        _block_gate(columns, n, theta, gate, top, total)
        w = weight[block].astype(np.float32)
        for i in range(n):
            total[i] = _ZERO
        for j in range(n_experts):
            g = gate[j]
            p = likelihood[j, block]
            for i in range(n):
                total[i] += g[i] * p[i]
        for i in range(n):
            value += w[i] * np.log(total[i])
        for i in range(n):  # apart from the logarithms, which do not vectorise
            total[i] = _ONE / total[i]
        for j in range(n_experts):
            g = gate[j]
            p = likelihood[j, block]
            for i in range(n):
                g[i] *= w[i] * (p[i] * total[i] - _ONE)
        _add_gradient(gate, columns, n, gradient)
    return value, gradient


@njit(**_REORDERED)
def expected_objective(blocks: Any, weight: Any, theta: Any, responsibility: Any) -> Any:
    """Σ_ij w_i h_ij log g_ij (the gate's part of the paper's L̂) and its gradient, for fixed h."""
    n_experts = theta.shape[0]
    gradient = np.zeros(theta.shape)
    chosen = np.zeros(theta.shape)
    value = 0.0
    slopes = theta.astype(np.float32)
    gate = np.empty((n_experts, BLOCK), np.float32)
    wanted = np.empty((n_experts, BLOCK), np.float32)
    top = np.empty(BLOCK, np.float32)
    total = np.empty(BLOCK, np.float32)
    for start in range(0, len(weight), BLOCK):
        n = min(BLOCK, len(weight) - start)
        block = slice(start, start + n)
        columns = blocks[start // BLOCK]
        _block_gate(columns, n, slopes, gate, top, total)
        w = weight[block].astype(np.float32)
        for i in range(n):
            top[i] += np.log(total[i])
            total[i] = _ZERO
        for j in range(n_experts):
            h = responsibility[j, block]
            wh = wanted[j]
            for i in range(n):
                wh[i] = w[i] * h[i]
                total[i] += wh[i]
        for i in range(n):
            value -= total[i] * top[i]
        # not w[i] but total[i]: a row's responsibilities sum to slightly less than 1, the negligible ones being dropped
        for j in range(n_experts):
            g = gate[j]
            wh = wanted[j]
            for i in range(n):
                g[i] = wh[i] - total[i] * g[i]
        _add_gradient(gate, columns, n, gradient)
        _add_gradient(wanted, columns, n, chosen)
    # Σ_ij w_i h_ij logit_ij is linear in theta
    return value + (theta * chosen).sum(), gradient


@njit(**_REORDERED)
def expected_curvature(blocks: Any, weight: Any, theta: Any) -> Any:
    """Negative Hessian of :func:`expected_objective`, shape (n_experts, width, n_experts, width)."""
    n_experts, width = theta.shape
    out = np.zeros((n_experts, width, n_experts, width))
    slopes = theta.astype(np.float32)
    gate = np.empty((n_experts, BLOCK), np.float32)
    top = np.empty(BLOCK, np.float32)
    total = np.empty(BLOCK, np.float32)
    factor = np.empty(BLOCK, np.float32)
    for start in range(0, len(weight), BLOCK):
        n = min(BLOCK, len(weight) - start)
        block = slice(start, start + n)
        columns = blocks[start // BLOCK]
        _block_gate(columns, n, slopes, gate, top, total)
        w = weight[block].astype(np.float32)
        for j in range(n_experts):
            for other in range(j + 1):
                same = _ONE if j == other else _ZERO
                for i in range(n):
                    factor[i] = w[i] * gate[j, i] * (same - gate[other, i])
                for k in range(width):
                    for m in range(width):
                        cell = _ZERO
                        for i in range(n):
                            cell += factor[i] * columns[k, i] * columns[m, i]
                        out[j, k, other, m] += cell
    for j in range(n_experts):
        for other in range(j):
            for k in range(width):
                for m in range(width):
                    out[other, m, j, k] = out[j, k, other, m]
    return out


@njit(**_REORDERED)
def gate_probabilities(blocks: Any, theta: Any, out: Any) -> None:
    """Write g_j(x_i) into ``out`` (n_experts, n)."""
    theta = theta.astype(np.float32)
    gate = np.empty((theta.shape[0], BLOCK), np.float32)
    top = np.empty(BLOCK, np.float32)
    total = np.empty(BLOCK, np.float32)
    for start in range(0, out.shape[1], BLOCK):
        n = min(BLOCK, out.shape[1] - start)
        block = slice(start, start + n)
        _block_gate(blocks[start // BLOCK], n, theta, gate, top, total)
        for j in range(theta.shape[0]):
            g = gate[j]
            target = out[j, block]
            for i in range(n):
                target[i] = g[i]


@njit(**_REORDERED)
def to_responsibilities(likelihood: Any, weight: Any, out: Any) -> float:
    """Turn g_ij in ``out`` into h_ij = g_ij P_ij / Σ_l g_il P_il, negligible ones into 0.

    Where no expert gives the label any mass (0/0), the gate alone decides. Returns Σ_i w_i log Σ_j g_ij P_ij, with the
    logarithm bounded below so that one impossible row does not hide all others.
    """
    n_experts, n_rows = out.shape
    value = 0.0
    total = np.empty(BLOCK, np.float32)
    for start in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - start)
        block = slice(start, start + n)
        w = weight[block]
        for i in range(n):
            total[i] = _ZERO
        for j in range(n_experts):
            g = out[j, block]
            p = likelihood[j, block]
            for i in range(n):
                total[i] += g[i] * p[i]
        for i in range(n):
            value += w[i] * np.log(max(total[i], _IMPOSSIBLE))
        for j in range(n_experts):
            g = out[j, block]
            p = likelihood[j, block]
            for i in range(n):
                h = g[i] * p[i] / total[i] if total[i] > _ZERO else g[i]
                g[i] = h if h >= _NEGLIGIBLE else _ZERO
    return value
