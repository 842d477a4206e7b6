"""How far the float64 logits of a gate may be from its real-number logits.

A logit is ``bias + w_0·x_0 + w_1·x_1 + …`` in float64, added from left to right. With u = 2⁻⁵³, n products and n
additions, each with a relative error of at most u (a product that underflows: an absolute error of at most 2⁻¹⁰⁷⁵), the
standard bound on the error of the sum is

    |error| <= γ·(|bias| + Σ|w_k|·|x_k|) + n·2⁻¹⁰⁷⁴,    γ = (n + 1)u / (1 − (n + 1)u) <= (n + 2)u.

So an expert that float64 arithmetic chooses has a real logit of at least that of each rival less the errors of both.
The bound holds for denormal and for huge numbers alike, as long as |bias| + Σ|w_k|·|x_k| is below 2¹⁰²³: then neither
the logit nor a sum on the way to it overflows. Where it may, there is no bound, and nothing is claimed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.base import BaseMixture

Floats = NDArray[np.float64]

UNIT = 2.0**-53
"""Largest relative error of one float64 operation, the u of the literature."""

LARGEST_SIZE = 2.0**1020
"""|bias| + Σ|w_k|·|x_k| below this, computed in float64, surely does not overflow."""

_UNDERFLOW = 2.0**-299  # far more than n·2⁻¹⁰⁷⁴, and shorter to write down exactly


FURTHEST = 1e150
"""Largest coordinate that questions may name. Claims about open sides cover at least the inputs up to it."""


class LogitErrors(NamedTuple):
    """|error of the float64 logit j| <= constant_j + Σ_k slope_jk·|x_k|.

    Slopes are zero where the box is bounded, and where the weight is.
    """

    constant: Floats
    slope: Floats


def logit_errors(weights: Floats, bias: Floats, lo: Floats, hi: Floats) -> LogitErrors:
    """Bound the errors of the logits over a box, which may have open sides.

    Expert j may be chosen at x only if logit_j >= logit_k − (error_j + error_k) in exact arithmetic, for all k.

    The bound is itself computed in float64 and yet never below the formula above: the relative error of computing it is
    less than (n + 3)u, and the factor n + 3 in place of n + 1 makes up for that as long as (n + 3)²u <= 1. A slope that
    underflows is rounded up, for it may be multiplied by an x of 1e308.

    Raises
    ------
    InputError
        If logits may overflow within the sides of the box.
    """
    factor = (weights.shape[1] + 3) * UNIT
    size = largest_sizes(weights, bias, lo, hi)
    bounded = bool(np.isfinite(lo).all() and np.isfinite(hi).all())
    if (len(bias) > 1 and size.max() >= LARGEST_SIZE) if bounded else may_overflow(weights, bias, lo, hi):
        raise InputError(OVERFLOW)
    constant = factor * size + _UNDERFLOW
    if bounded:
        return LogitErrors(constant, np.zeros_like(weights))
    flat = (np.isfinite(lo) & np.isfinite(hi)) | (weights == 0.0)
    return LogitErrors(constant, np.where(flat, 0.0, np.nextafter(factor * np.abs(weights), np.inf)))


OVERFLOW = (
    "the gate's logits may overflow in this domain: their terms exceed the range of float64; ask about a smaller "
    "domain, or scale the features"
)
"""What to say where nothing can be said."""


def largest_sizes(weights: Floats, bias: Floats, lo: Floats, hi: Floats, far: float = 0.0) -> Floats:
    """Bound |bias| + Σ|w_k|·|x_k| per expert over a box, |x_k| being ``far`` where it is open; infinite on overflow."""
    bounded = np.isfinite(lo) & np.isfinite(hi)
    magnitude = np.where(bounded, np.maximum(np.abs(lo), np.abs(hi)), far)
    with np.errstate(over="ignore"):
        size: Floats = np.abs(bias) + np.abs(weights) @ magnitude
    return size


def may_overflow(weights: Floats, bias: Floats, lo: Floats, hi: Floats) -> bool:
    """Whether logits may overflow in a box, at inputs up to ``FURTHEST`` in size where it is open.

    The logit of a single expert does not matter: it always answers.
    """
    return len(bias) > 1 and bool(np.any(largest_sizes(weights, bias, lo, hi, FURTHEST) >= LARGEST_SIZE))


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


def gate_epsilon(mixture: BaseMixture, lo: Floats, hi: Floats) -> float:
    """Difference of two real logits over a box beyond which float64 arithmetic orders them in the same way."""
    return 2.0 * float(gate_errors(mixture.gate_weights, mixture.gate_bias, lo, hi).max())
