"""How far the float64 logits of a gate may be from its real-number logits.

A logit is ``bias + w_0·x_0 + w_1·x_1 + …`` in float64, added from left to right. With u = 2⁻⁵³, n products and n
additions, each with a relative error of at most u (a product that underflows: an absolute error of at most 2⁻¹⁰⁷⁵), the
standard bound on the error of the sum is

    |error| <= γ·(|bias| + Σ|w_k|·|x_k|) + n·2⁻¹⁰⁷⁴,    γ = (n + 1)u / (1 − (n + 1)u) <= (n + 2)u.

So an expert that float64 arithmetic chooses has a real logit of at least that of each rival less the errors of both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.mixture import Mixture

Floats = NDArray[np.float64]

UNIT = 2.0**-53
"""Largest relative error of one float64 operation, the u of the literature."""

_LARGEST_SIZE = 2.0**1020
_UNDERFLOW = 2.0**-299  # far more than n·2⁻¹⁰⁷⁴, and shorter to write down exactly


class LogitErrors(NamedTuple):
    """|error of the float64 logit j| <= constant_j + Σ_k slope_jk·|x_k|; slopes are zero where the box is bounded."""

    constant: Floats
    slope: Floats


def logit_errors(weights: Floats, bias: Floats, lo: Floats, hi: Floats) -> LogitErrors:
    """Bound the errors of the logits over a box, which may have open sides.

    Expert j may be chosen at x only if logit_j >= logit_k − (error_j + error_k) in exact arithmetic, for all k.

    The bound is itself computed in float64 and yet never below the formula above: the relative error of computing it is
    less than (n + 3)u, and the factor n + 3 in place of n + 1 makes up for that as long as (n + 3)²u <= 1.

    Raises
    ------
    InputError
        If logits may overflow within the sides of the box.
    """
    n_features = weights.shape[1]
    factor = (n_features + 3) * UNIT
    bounded = np.isfinite(lo) & np.isfinite(hi)
    magnitude = np.where(bounded, np.maximum(np.abs(lo), np.abs(hi)), 0.0)
    with np.errstate(over="ignore"):
        size = np.abs(bias) + np.abs(weights) @ magnitude
    if not np.all(size < _LARGEST_SIZE):
        raise InputError(f"the gate's logits may overflow in this domain: they may reach {size.max():.3g}")
    return LogitErrors(factor * size + _UNDERFLOW, np.where(bounded, 0.0, factor * np.abs(weights)))


def gate_errors(weights: Floats, bias: Floats, lo: Floats, hi: Floats) -> Floats:
    """Bound, per expert, the error of its float64 logit over a box; zero for a single expert, which always answers.

    Raises
    ------
    InputError
        If a feature that the gate uses is unbounded: there the error is, too.
    """
    if len(bias) == 1:
        return np.zeros(1)
    errors = logit_errors(weights, bias, lo, hi)
    if np.any(errors.slope):
        unbounded = np.flatnonzero(np.any(errors.slope, axis=0)).tolist()
        raise InputError(f"the gate's rounding error has no bound in this domain: bound the features {unbounded}")
    return errors.constant


def gate_epsilon(mixture: Mixture, lo: Floats, hi: Floats) -> float:
    """Difference of two real logits over a box beyond which float64 arithmetic orders them in the same way."""
    return 2.0 * float(gate_errors(mixture.gate_weights, mixture.gate_bias, lo, hi).max())
