"""Means, intervals and paired tests over splits of one table, whose training rows overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

TEST_SHARE, TRAIN_SHARE = 0.15, 0.85
"""Share of rows a model is tested on, and of those it was fitted and tuned on."""


class Mean(NamedTuple):
    """A mean over splits and half the width of its 95 % interval (not a number for a single split)."""

    value: float
    half_width: float


def corrected_error(values: Sequence[float]) -> float:
    """Standard error of a mean over random splits, by Nadeau and Bengio's correction.

    Splits of one table share most of their training rows, so their results vary less than those on fresh tables would:
    the variance of the mean is taken as s²·(1/k + test/train) instead of s²/k.
    """
    return float(np.std(values, ddof=1) * np.sqrt(1.0 / len(values) + TEST_SHARE / TRAIN_SHARE))


def mean_with_interval(values: Sequence[float]) -> Mean:
    """Mean and corrected 95 % interval."""
    if len(values) < 2:
        return Mean(float(np.mean(values)), float("nan"))
    return Mean(float(np.mean(values)), corrected_error(values) * float(stats.t.ppf(0.975, len(values) - 1)))


def paired_p_value(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided corrected resampled t-test of equal means, split by split; 1 if all differences are 0."""
    difference = [x - y for x, y in zip(a, b, strict=True)]
    if len(difference) < 2:
        return float("nan")
    mean, error = float(np.mean(difference)), corrected_error(difference)
    if error == 0.0:
        return float(mean == 0.0)
    return float(2.0 * stats.t.sf(abs(mean) / error, len(difference) - 1))
