"""Compiled kernels of the gate during training: softmax, responsibilities, objectives and their derivatives.

The gate works on standardised features x̃ = (x - mean) / scale with a constant 1 appended, and its parameters
``theta`` (the paper's θ_g) have shape (n_experts, n_features + 1), bias last. The features are laid out once as
``blocks`` (n_blocks, n_features + 1, BLOCK) in float32: a block stays in the processor's first cache, loops over its
rows vectorise, and float32 is exact enough to climb by (sums over blocks are float64). Arrays over rows and experts are
float32 too, laid out (n_experts, n). ``work`` is scratch space of float32, shape (n_experts + 2, BLOCK).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import BORROWING, INTERNAL, OPTIONS
from moet.model.table import Table

BLOCK = 256

NEGLIGIBLE = 1e-4
"""Responsibilities below this count as zero, so that a tree skips the rows it has nothing to do with."""

# Training need not agree bit for bit with other implementations, only with itself: let the compiler fuse and reorder.
_FUSED = {**BORROWING, "fastmath": {"contract"}}
_REORDERED: dict[str, Any] = {"fastmath": {"contract", "reassoc"}}

_ZERO, _ONE = np.float32(0), np.float32(1)
_LOG2_E, _LN2_HIGH, _LN2_LOW = np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4)
_ROUNDER = np.float32(12582912)  # 1.5 · 2^23: adding it leaves the nearest integer in the lowest bits
_LOWEST = np.float32(-50)  # nothing beside 1, and far from subnormal numbers, which are slow
_IMPOSSIBLE, _NEGLIGIBLE = np.float32(1e-12), np.float32(NEGLIGIBLE)
_C2, _C3, _C4, _C5, _C6 = (np.float32(1 / f) for f in (2, 6, 24, 120, 720))
_HALF, _ROOT_HALF_BITS = np.float32(0.5), np.int32(0x3F3504F3)  # the bits are those of sqrt(1/2)
_LOG_OF_ZERO = np.float32(-np.inf)
# the polynomial of Cephes' logf, from the cube on: 1/3, -1/4, 1/5, ... adjusted to the range that is used
_L3, _L4, _L5 = np.float32(3.3333331174e-1), np.float32(-2.4999993993e-1), np.float32(2.0000714765e-1)
_L6, _L7, _L8 = np.float32(-1.6668057665e-1), np.float32(1.4249322787e-1), np.float32(-1.2420140846e-1)
_L9, _L10, _L11 = np.float32(1.1676998740e-1), np.float32(-1.1514610310e-1), np.float32(7.0376836292e-2)


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

    def blind(self, hidden: NDArray[np.bool_]) -> Scaler:
        """The same, with some features hidden from the gate."""
        return Scaler(self.mean, np.where(hidden, 0.0, self.inverse_scale))

    def fold(self, theta: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return gate weights and bias in raw units that give the same logits."""
        weights = theta[:, :-1] * self.inverse_scale
        return weights, theta[:, -1] - weights @ self.mean


@njit(**_FUSED)
def _exp_in_place(values: Any, n: int) -> None:
    """Replace ``n`` non-positive numbers by their exponentials (relative error about 2e-7), vectorised.

    exp(x) = 2^k · exp(r) with k = round(x / ln 2); adding k to the exponent bits of exp(r) multiplies it by 2^k.
    """
    for i in range(n):
        x = values[i] if values[i] > _LOWEST else _LOWEST
        shifted = x * _LOG2_E + _ROUNDER
        k = shifted - _ROUNDER
        r = (x - k * _LN2_HIGH) - k * _LN2_LOW
        p = _C6 * r + _C5
        p = p * r + _C4
        p = p * r + _C3
        p = p * r + _C2
        p = p * r + _ONE
        p = p * r + _ONE
        values[i] = np.int32(np.float32(p).view(np.int32) + (np.float32(shifted).view(np.int32) << 23)).view(np.float32)


@njit(**_FUSED)
def _write_logarithms(values: Any, n: int, out: Any) -> None:
    """Write the natural logarithms of ``n`` normal numbers into ``out`` (error about one unit in the last place).

    log(x) = k·ln 2 + log(1 + f) with x = 2^k·(1 + f) and 1 + f between sqrt(1/2) and sqrt(2): both are read from the
    bits. The C library's logarithm does not vectorise, and took a third of the time of an objective with two experts.
    """
    for i in range(n):
        bits = np.float32(values[i]).view(np.int32)
        exponent = np.int32(np.int32(bits - _ROOT_HALF_BITS) >> 23)
        f = np.int32(bits - (exponent << 23)).view(np.float32) - _ONE
        k = np.float32(exponent)
        square = f * f
        p = _L11 * f + _L10
        p = p * f + _L9
        p = p * f + _L8
        p = p * f + _L7
        p = p * f + _L6
        p = p * f + _L5
        p = p * f + _L4
        p = p * f + _L3
        p = p * f * square + k * _LN2_LOW - _HALF * square
        logarithm = (f + p) + k * _LN2_HIGH
        out[i] = logarithm if values[i] > _ZERO else _LOG_OF_ZERO


@njit(**INTERNAL, **_REORDERED)
def _block_gate(columns: Any, n: int, theta: Any, work: Any) -> None:
    """Fill ``work``: g_j for the ``n`` rows of a block, then ``top`` and ``total``.

    log g_j = logit_j - top - log total.
    """
    n_experts, width = theta.shape
    top, total = work[n_experts], work[n_experts + 1]
    for j in range(n_experts):
        logit = work[j]
        bias = np.float32(theta[j, width - 1])
        for i in range(n):
            logit[i] = bias
        for k in range(0, width - 2, 2):  # two features at a time save half the memory traffic
            column, next_column = columns[k], columns[k + 1]
            slope, next_slope = np.float32(theta[j, k]), np.float32(theta[j, k + 1])
            for i in range(n):
                logit[i] = (logit[i] + slope * column[i]) + next_slope * next_column[i]
        if width % 2 == 0:
            column = columns[width - 2]
            slope = np.float32(theta[j, width - 2])
            for i in range(n):
                logit[i] += slope * column[i]
    logit = work[0]
    for i in range(n):
        top[i] = logit[i]
        total[i] = _ZERO
    for j in range(1, n_experts):
        logit = work[j]
        for i in range(n):
            top[i] = logit[i] if logit[i] > top[i] else top[i]  # max(), with its NaN rules, does not vectorise
    for j in range(n_experts):
        g = work[j]
        for i in range(n):
            g[i] -= top[i]
        _exp_in_place(g, n)
        for i in range(n):
            total[i] += g[i]
    for j in range(n_experts):
        g = work[j]
        for i in range(n):
            g[i] /= total[i]


@njit(**INTERNAL, **_REORDERED)
def _add_gradient(residual: Any, columns: Any, n: int, gradient: Any) -> None:
    for j in range(gradient.shape[0]):
        r = residual[j]
        for k in range(gradient.shape[1]):
            column = columns[k]
            total = _ZERO
            for i in range(n):
                total += r[i] * column[i]
            gradient[j, k] += total


@njit(**BORROWING, **_REORDERED)
def mixture_objective(blocks: Any, weight: Any, theta: Any, likelihood: Any, gradient: Any, work: Any) -> float:
    """Σ_i w_i log Σ_j g_ij P_ij; ``likelihood`` is P_ij = P(y_i|x_i, θ_j), positive for some j. Fills ``gradient``."""
    n_experts, width = theta.shape
    value = 0.0
    for j in range(n_experts):
        for k in range(width):
            gradient[j, k] = 0.0
    top, total = work[n_experts], work[n_experts + 1]
    for start in range(0, len(weight), BLOCK):
        n = BLOCK if start + BLOCK < len(weight) else len(weight) - start
        columns = blocks[start // BLOCK]
        _block_gate(columns, n, theta, work)
        w = weight[start : start + n]
        for i in range(n):
            total[i] = _ZERO
        for j in range(n_experts):
            g = work[j]
            p = likelihood[j, start : start + n]
            for i in range(n):
                total[i] += g[i] * p[i]
        _write_logarithms(total, n, top)
        for i in range(n):
            value += np.float32(w[i]) * top[i]
            total[i] = _ONE / total[i]
        for j in range(n_experts):
            g = work[j]
            p = likelihood[j, start : start + n]
            for i in range(n):
                g[i] *= np.float32(w[i]) * (p[i] * total[i] - _ONE)
        _add_gradient(work, columns, n, gradient)
    return value


@njit(**OPTIONS, **_REORDERED)
def expected_objective(blocks: Any, weight: Any, theta: Any, responsibility: Any) -> Any:
    """Σ_ij w_i h_ij log g_ij (the gate's part of the paper's L̂) and its gradient, for fixed h."""
    n_experts = theta.shape[0]
    gradient = np.zeros(theta.shape)
    chosen = np.zeros(theta.shape)
    value = 0.0
    gate = np.empty((n_experts + 2, BLOCK), np.float32)
    wanted = np.empty((n_experts, BLOCK), np.float32)
    top, total = gate[n_experts], gate[n_experts + 1]
    for start in range(0, len(weight), BLOCK):
        n = min(BLOCK, len(weight) - start)
        block = slice(start, start + n)
        columns = blocks[start // BLOCK]
        _block_gate(columns, n, theta, gate)
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


@njit(**OPTIONS, **_REORDERED)
def expected_curvature(blocks: Any, weight: Any, theta: Any) -> Any:
    """Negative Hessian of :func:`expected_objective`, shape (n_experts, width, n_experts, width)."""
    n_experts, width = theta.shape
    out = np.zeros((n_experts, width, n_experts, width))
    gate = np.empty((n_experts + 2, BLOCK), np.float32)
    factor = np.empty(BLOCK, np.float32)
    for start in range(0, len(weight), BLOCK):
        n = min(BLOCK, len(weight) - start)
        block = slice(start, start + n)
        columns = blocks[start // BLOCK]
        _block_gate(columns, n, theta, gate)
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


@njit(**BORROWING, **_REORDERED)
def gate_probabilities(blocks: Any, theta: Any, out: Any, work: Any) -> None:
    """Write g_j(x_i) into ``out`` (n_experts, n)."""
    for start in range(0, out.shape[1], BLOCK):
        n = BLOCK if start + BLOCK < out.shape[1] else out.shape[1] - start
        _block_gate(blocks[start // BLOCK], n, theta, work)
        for j in range(theta.shape[0]):
            g = work[j]
            target = out[j, start : start + n]
            for i in range(n):
                target[i] = g[i]


@njit(**BORROWING, **_REORDERED)
def to_responsibilities(likelihood: Any, weight: Any, out: Any, total: Any) -> float:
    """Turn g_ij in ``out`` into h_ij = g_ij P_ij / Σ_l g_il P_il, negligible ones into 0.

    Where no expert gives the label any mass (0/0), the gate alone decides. Returns Σ_i w_i log Σ_j g_ij P_ij, with the
    logarithm bounded below so that one impossible row does not hide all others. ``total`` is scratch space for a block.
    """
    n_experts, n_rows = out.shape
    value = 0.0
    for start in range(0, n_rows, BLOCK):
        n = BLOCK if start + BLOCK < n_rows else n_rows - start
        w = weight[start : start + n]
        for i in range(n):
            total[i] = _ZERO
        for j in range(n_experts):
            g = out[j, start : start + n]
            p = likelihood[j, start : start + n]
            for i in range(n):
                total[i] += g[i] * p[i]
        for i in range(n):
            value += w[i] * np.log(total[i] if total[i] > _IMPOSSIBLE else _IMPOSSIBLE)
        for j in range(n_experts):
            g = out[j, start : start + n]
            p = likelihood[j, start : start + n]
            for i in range(n):
                h = g[i] * p[i] / total[i] if total[i] > _ZERO else g[i]
                g[i] = h if h >= _NEGLIGIBLE else _ZERO
    return value
