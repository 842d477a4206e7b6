"""A mixture for states in float32: thresholds without a change of answers, and what a gate in float32 may change."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import ExportError
from moet.model.mixture import Mixture
from moet.model.tree import LEAF, Tree


def with_float32_thresholds(mixture: Mixture) -> Mixture:
    """Return a mixture of float32 thresholds with the same answer for every float32 state.

    A float32 number is at most t exactly if it is at most the largest float32 number that is at most t.
    """
    trees = [
        Tree(tree.feature, _rounded_down(tree, mixture.feature_names), tree.left, tree.right, tree.value)
        for tree in mixture.trees
    ]
    return Mixture(mixture.gate_weights, mixture.gate_bias, trees, mixture.classes, mixture.feature_names)


def _rounded_down(tree: Tree, names: tuple[str, ...]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        nearest = tree.threshold.astype(np.float32)
    below = np.where(nearest > tree.threshold, np.nextafter(nearest, np.float32(-np.inf)), nearest)
    for node in np.flatnonzero((tree.feature != LEAF) & np.isinf(below)):
        test = f"{names[tree.feature[node]]} <= {float(tree.threshold[node])}"
        raise ExportError(f"{test} is false for every float32 number; export with precision='float64'")
    return below.astype(np.float64)


def with_float32_gate(mixture: Mixture) -> Mixture:
    """Return the mixture with every number of its gate rounded to float32."""
    with np.errstate(over="ignore"):
        weights, bias = mixture.gate_weights.astype(np.float32), mixture.gate_bias.astype(np.float32)
    if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
        raise ExportError("the gate has a number beyond the range of float32; export with precision='float32'")
    return Mixture(weights, bias, mixture.trees, mixture.classes, mixture.feature_names)


class Band(NamedTuple):
    """Width of the band around the gate's boundaries: constant + Σ_k slope_k·|x_k|."""

    constant: Fraction
    slopes: list[Fraction]


def gate_band(mixture: Mixture) -> Band:
    """How near two scores must be for a gate in float32 to choose otherwise than the model's, in float64.

    With n features, a term of a score in float32 is rounded at most n + 2 times, with a relative error of at most
    u = 2⁻²⁴ each: its weight, the product, and n sums. Together that is γ = (n + 2)u / (1 − (n + 2)u) relative to
    |bias| + Σ|w_k|·|x_k|; fused multiply-adds leave some out. Underflow adds at most 2⁻¹⁴⁹ per number and product,
    doubled here for the sums behind it. The float64 score has the same error with u = 2⁻⁵³. Two scores are compared,
    so the band is twice as wide. Overflow is not covered.
    """
    count = mixture.n_features + 2
    relative = 2 * sum(count * u / (1 - count * u) for u in (Fraction(1, 2**24), Fraction(1, 2**53)))
    underflow = Fraction(2 * 2, 2**149)
    sizes = [Fraction(size) for size in np.abs(mixture.gate_weights).max(axis=0).tolist()]
    return Band(
        constant=relative * Fraction(float(np.abs(mixture.gate_bias).max())) + underflow * count,
        slopes=[relative * size + underflow if size else Fraction(0) for size in sizes],
    )
