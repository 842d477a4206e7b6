"""What float64 rounding means for claims about exact arithmetic: how often it may make a model answer otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from moet.model.base import BaseMixture
from moet.verify.inputs.agreement import Grouped
from moet.verify.rounding import LARGEST_SIZE, UNIT, gate_epsilon, largest_sizes, may_overflow

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOST_DOUBTFUL = 0.01
"""Where rounding may decide otherwise in more than this share of a domain, what holds exactly is no answer."""

_UNDERFLOW = 2.0**-1000
_ROUNDED_UP = 1.0 + 1e-9
"""Makes up for the rounding of a bound."""


def float_band(mixtures: Iterable[BaseMixture], lo: Floats, hi: Floats) -> float:
    """Difference of logits beyond which float64 and exact arithmetic order them alike; infinite in open domains."""
    several = [mixture for mixture in mixtures if mixture.n_experts > 1]
    if not (np.all(np.isfinite(lo)) and np.all(np.isfinite(hi))):
        return math.inf if several else 0.0
    if any(may_overflow(mixture.gate_weights, mixture.gate_bias, lo, hi) for mixture in several):
        return math.inf
    return max((gate_epsilon(mixture, lo, hi) for mixture in several), default=0.0)


def doubtful_share(sides: Sequence[Grouped], X: Floats) -> float:
    """Share of the inputs ``X`` to which rounding may make one of the models give another group than it should."""
    return float(np.mean(np.any([_is_doubtful(side, X) for side in sides], axis=0)))


def most_doubtful(mixtures: Sequence[BaseMixture], lo: Floats, hi: Floats) -> float:
    """Bound the share of a bounded box in which rounding may make one of the gates choose another expert.

    Two logits are that close between two parallel planes. Along the feature by which their difference changes most over
    the box, these are ``2·error / slope`` apart, whatever the other features are; all pairs may add up.
    """
    return min(1.0, _ROUNDED_UP * sum(_most_doubtful(mixture, lo, hi) for mixture in mixtures if mixture.n_experts > 1))


def _most_doubtful(mixture: BaseMixture, lo: Floats, hi: Floats) -> float:
    weights, bias, _ = _different_experts(mixture)
    size = largest_sizes(weights, bias, lo, hi)
    if len(bias) == 1 or not size.max() < LARGEST_SIZE:
        return float(len(bias) > 1)
    error = (len(lo) + 3) * UNIT * size + _UNDERFLOW
    e, k = np.triu_indices(len(bias), 1)
    with np.errstate(all="ignore"):
        change = np.max(np.nan_to_num(np.abs(weights[e] - weights[k]) * (hi - lo), posinf=np.inf), axis=1)
        return float(np.sum(np.minimum(1.0, 2.0 * (error[e] + error[k]) / change)))


def percent(share: float) -> str:
    """A share in words; the smallest ones matter, too."""
    return f"{100.0 * share:.3g} %"


def caveat_of(share: float, most: float = 0.0) -> tuple[str, ...]:
    """What to say of a share of doubtful inputs, if anything; ``most`` is a bound on it, if there is one."""
    if share:
        return (
            f"exact arithmetic only: at about {percent(share)} of the inputs the logits are so close that float64 "
            "rounding may choose another expert, and the deployed answer may be another",
        )
    if most > MOST_DOUBTFUL:
        return (
            "exact arithmetic only: float64 rounding may choose another expert where logits are close, which is no "
            f"more than {percent(most)} of the inputs; no random input that was tried is one of them",
        )
    return ()


def too_doubtful(share: float) -> str:
    """Why models that agree in exact arithmetic are not called equivalent."""
    return (
        f"in exact arithmetic the models agree, but at about {percent(share)} of the inputs their logits are so close "
        "that float64 rounding may choose another expert: the deployed models may differ there. Scale the features, or "
        "make the numbers of the gate smaller"
    )


def doubtful_gates(mixture: BaseMixture, X: Floats) -> float:
    """Share of the inputs ``X`` at which rounding may make a gate choose another expert than it should."""
    return float(np.mean(np.any(_close_experts(mixture, X)[0], axis=1)))


def _is_doubtful(side: Grouped, X: Floats) -> Bools:
    close, best, trees = _close_experts(side.mixture, X)
    doubtful = np.zeros(len(X), dtype=bool)
    rows = np.flatnonzero(np.any(close, axis=1))
    if len(rows):
        groups = np.stack([side.groups_of_tree(tree, X[rows]) for tree in trees], axis=1)
        other = groups != np.take_along_axis(groups, best[rows], axis=1)
        doubtful[rows] = np.any(close[rows] & other, axis=1)
    return doubtful


def _close_experts(mixture: BaseMixture, X: Floats) -> tuple[Bools, NDArray[np.int64], list[int]]:
    """For every input and expert whether it may win by rounding; the one that wins; and which experts these are."""
    weights, bias, trees = _different_experts(mixture)
    with np.errstate(over="ignore", invalid="ignore"):
        logits = bias + X @ weights.T
        size = np.abs(bias) + np.abs(X) @ np.abs(weights).T
        error = 2.0 * (X.shape[1] + 3) * UNIT * size + _UNDERFLOW  # twice: the logits here are rounded as well
        best = logits.argmax(axis=1)[:, None]
        gap = np.take_along_axis(logits, best, axis=1) - logits
        close = ~(gap > error + np.take_along_axis(error, best, axis=1)) | ~(size < LARGEST_SIZE)
    np.put_along_axis(close, best, False, axis=1)
    return close, best, trees


def _different_experts(mixture: BaseMixture) -> tuple[Floats, Floats, list[int]]:
    """Gate and experts less those with the gate of an earlier one: ties of equal numbers are no matter of rounding."""
    gate = np.column_stack([mixture.gate_weights, mixture.gate_bias])
    first = sorted(np.unique(gate, axis=0, return_index=True)[1].tolist())
    return mixture.gate_weights[first], mixture.gate_bias[first], first
