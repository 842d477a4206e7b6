"""Laws that a person can copy: as few digits as keep the answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from moet.model.prune import prune_mixture
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.tree import RegressionTree
from moet.model.short_gate import on_grid, reach_of
from moet.model.tree import LEAF

Floats = NDArray[np.float64]

SAME = 0.01
"""Two answers are the same if no number of them differs by more than this share of its range."""

_DECIMALS = (1, 2, 3, 4, 5, 6, 8, 10, 12)
"""Of a product of a number and its feature, in units of the range, from coarse to fine."""


def short_laws(mixture: RegressionMixture, X: Floats, tolerance: float) -> RegressionMixture:
    """As few digits as keep the answers (:data:`SAME`) on all but a share ``tolerance`` of the rows."""
    pruned = prune_mixture(mixture)
    answers = mixture.predict(X)
    ranges = _ranges(mixture, answers)
    for decimals in _DECIMALS:
        short = prune_mixture(_on_grids(pruned, X, ranges, decimals))
        differs = np.abs(short.predict(X) - answers) > SAME * ranges
        if differs.any(axis=1).mean() <= tolerance:
            return short
    return pruned


def changed(mixture: RegressionMixture, change: Callable[[Floats], Floats]) -> RegressionMixture:
    """The same structure with every number changed."""
    trees = [
        replace(
            tree,
            threshold=change(tree.threshold),
            value=change(tree.value),
            slope=None if tree.slope is None else change(tree.slope),
        )
        for tree in mixture.trees
    ]
    return mixture.rebuilt(change(mixture.gate_weights), change(mixture.gate_bias), trees)


def _ranges(mixture: RegressionMixture, answers: Floats) -> Floats:
    """Of every output: between its bounds, or what it answers; 1 of one that never changes."""
    with np.errstate(over="ignore"):
        bounds = mixture.high - mixture.low
    ranges = np.where(np.isfinite(bounds), bounds, np.ptp(answers, axis=0))
    return np.where(ranges > 0, ranges, 1.0)


def _on_grids(mixture: RegressionMixture, X: Floats, ranges: Floats, decimals: int) -> RegressionMixture:
    """Every number on a grid so fine that no product of it is off by more than ``decimals`` say."""
    reach = reach_of(X)
    gate = np.column_stack([mixture.gate_bias, mixture.gate_weights])
    gate = gate - gate[0]
    if mixture.n_experts > 1:
        products = np.abs(gate) * np.append(1.0, reach)
        unit = float(products.max()) if mixture.prediction == "hard" else 1.0
        gate = _rounded(gate, unit / np.append(1.0, reach), decimals)
    trees = [_tree_on_grids(tree, reach, ranges, decimals) for tree in mixture.trees]
    return mixture.rebuilt(gate[:, 1:], gate[:, 0], trees)


def _tree_on_grids(tree: RegressionTree, reach: Floats, ranges: Floats, decimals: int) -> RegressionTree:
    inner = np.flatnonzero(tree.feature != LEAF)
    threshold = tree.threshold.copy()
    threshold[inner] = _rounded(threshold[inner][None], reach[tree.feature[inner]], decimals)[0]
    slope = tree.slope
    if slope is not None:
        flat = slope.reshape(len(slope), -1)
        slope = _rounded(flat, (ranges[:, None] / reach).ravel(), decimals).reshape(slope.shape)
    return replace(tree, threshold=threshold, value=_rounded(tree.value, ranges, decimals), slope=slope)


def _rounded(values: Floats, unit: Floats, decimals: int) -> Floats:
    """Columns rounded to the power of ten below their unit times 10 ** -decimals."""
    if values.size == 0:
        return values
    return on_grid(values, np.clip(np.floor(np.log10(unit) - decimals), -300, 300))
