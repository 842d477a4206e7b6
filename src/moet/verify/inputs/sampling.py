"""Random inputs: the cheapest way to find a counterexample, and a way to estimate volumes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from moet.model.base import BaseMixture
from moet.model.tree import LEAF
from moet.verify.rounding import FURTHEST

Floats = NDArray[np.float64]


def sample_box(lo: Floats, hi: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Uniform inputs from a bounded box."""
    return np.minimum(lo + (hi - lo) * rng.random((n, len(lo))), hi)


def sample_inputs(mixtures: Iterable[BaseMixture], lo: Floats, hi: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Inputs from a box that may have open sides: uniform over the finite part in which the models test something."""
    return sample_box(*tested_box(mixtures, lo, hi), n, rng)


def tested_box(mixtures: Iterable[BaseMixture], lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
    """The finite part, of a box that may have open sides, in which the models test something."""
    low, high = np.full(len(lo), np.inf), np.full(len(lo), -np.inf)
    for mixture in mixtures:
        for tree in mixture.trees:
            inner = tree.feature != LEAF
            np.minimum.at(low, tree.feature[inner], tree.threshold[inner])
            np.maximum.at(high, tree.feature[inner], tree.threshold[inner])
    untested = low > high
    low, high = np.where(untested, 0.0, low), np.where(untested, 0.0, high)
    # beyond, sums and differences might overflow
    low, high = np.clip(low, -FURTHEST, FURTHEST), np.clip(high, -FURTHEST, FURTHEST)
    margin = 1.0 + (high - low)
    low, high = np.maximum(low - margin, lo), np.minimum(high + margin, hi)
    # all tests beyond a side: stay near that side
    low, high = np.where(low > hi, hi - 1.0, low), np.where(high < lo, lo + 1.0, high)
    bounded = np.isfinite(lo) & np.isfinite(hi)
    return np.where(bounded, lo, np.maximum(low, lo)), np.where(bounded, hi, np.minimum(high, hi))
