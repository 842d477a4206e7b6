"""Numbers that a person can copy: gates, thresholds and votes with as few digits as keep the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.model.base import BaseMixture
from moet.model.file import as_model
from moet.model.mixture import Mixture
from moet.model.prune import prune_mixture
from moet.model.regression.digits import changed, short_laws
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.tree import RegressionTree
from moet.model.short_gate import evenly, on_grid, reach_of, shortest_gate
from moet.model.tree import LEAF, Tree

Floats = NDArray[np.float64]

TOLERANCE = 0.002
"""Share of the rows whose answer may change, by default."""

EXACT = 17
"""So many significant digits tell every float64 from every other."""

MOST_ROWS = 20_000
"""More rows than these say nothing new about a threshold; an even choice of them is taken."""

_NEAR = 0.1
"""How far a threshold may move where no row says anything, in typical sizes of its feature."""
_DECIMALS = (2, 3, 4, 6, 9)
"""Of the votes of a soft mixture, from coarse to fine."""


@overload
def simplify(model: RegressionMixture, X: ArrayLike, *, tolerance: float = ...) -> RegressionMixture: ...
@overload
def simplify(model: Any, X: ArrayLike, *, tolerance: float = ...) -> Mixture: ...
def simplify(model: Any, X: ArrayLike, *, tolerance: float = TOLERANCE) -> Any:
    """Give a model as few digits as keep its answers on some rows, and remove what then decides nothing.

    Parameters
    ----------
    model : Mixture, RegressionMixture, fitted estimator, policy, or path of a model file
        What to simplify. It keeps its prediction mode.
    X : array of shape (n_rows, n_features)
        Rows that the model was not fitted to, such as states that a policy met in play.
    tolerance : float
        Share of these rows whose answer may change; of an answer in numbers, by more than 1 % of the range of one.

    Returns
    -------
    Mixture or RegressionMixture
        The model itself, pruned, if none of fewer digits is within the tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> from moet import Mixture, Tree, simplify
    >>> trees = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    >>> mixture = Mixture([[0.0, 0.0], [0.3337, 0.9991]], [0.0, -0.3329], trees, ["left", "right"], ["x", "y"])
    >>> short = simplify(mixture, np.random.default_rng(0).normal(size=(1000, 2)))
    >>> short.gate_weights.tolist(), short.gate_bias.tolist()
    ([[0.0, 0.0], [1.0, 3.0]], [1.0, 0.0])
    """
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance is a share of the rows, at least 0 and less than 1, got {tolerance}")
    mixture = as_model(model)
    rows = np.ascontiguousarray(X, dtype=np.float64)
    if len(rows) == 0:
        raise InputError("to simplify a model takes at least one row of inputs to keep its answers on")
    rows = np.ascontiguousarray(rows[evenly(len(rows), MOST_ROWS)])
    if isinstance(mixture, RegressionMixture):
        return short_laws(mixture, rows, tolerance)
    pruned = prune_mixture(mixture)
    simplified = _simplified_hard if mixture.prediction == "hard" else _simplified_soft
    return simplified(pruned, rows, mixture.predict(rows), tolerance)


@overload
def rounded(model: RegressionMixture, digits: int) -> RegressionMixture: ...
@overload
def rounded(model: Any, digits: int) -> Mixture: ...
def rounded(model: Any, digits: int) -> Any:
    """Round every number of gate, thresholds and laws to significant digits, whatever that changes.

    Parameters
    ----------
    model : Mixture, RegressionMixture, fitted estimator, policy, or path of a model file
    digits : int
        From 1 to 17; with 17 the numbers stay as they are.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> from moet.model.digits import rounded
    >>> mixture = Mixture([[0.0], [1 / 3]], [0.0, 20.04], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["a", "b"])
    >>> rounded(mixture, 2).gate_weights.tolist()
    [[0.0], [0.33]]
    """
    if not 1 <= digits <= EXACT:
        raise InputError(f"digits must be from 1 to {EXACT}, got {digits}")
    mixture = as_model(model)
    if isinstance(mixture, RegressionMixture):
        return prune_mixture(changed(mixture, lambda numbers: _significant(numbers, digits)))
    trees = [Tree(t.feature, _significant(t.threshold, digits), t.left, t.right, t.value) for t in mixture.trees]
    gate = _significant(mixture.gate_weights, digits), _significant(mixture.gate_bias, digits)
    return prune_mixture(mixture.rebuilt(*gate, trees))


def _significant(values: Floats, digits: int) -> Floats:
    return np.array([float(f"{value:.{digits}g}") for value in values.ravel().tolist()]).reshape(values.shape)


def _simplified_hard(mixture: Mixture, X: Floats, answers: NDArray[Any], tolerance: float) -> Mixture:
    """Half of the tolerance is the gate's, half the thresholds'; if together they take more, with less of it."""
    for share in (tolerance / 2, tolerance / 8, 0.0):
        found = _with_short_thresholds(_with_short_gate(mixture, X, share), X, share)
        if np.mean(found.predict(X) != answers) <= tolerance:
            return found
    return mixture


def _with_short_gate(mixture: Mixture, X: Floats, tolerance: float) -> Mixture:
    if mixture.n_experts == 1:  # whose gate nobody asks
        return mixture.rebuilt(np.zeros_like(mixture.gate_weights), np.zeros(1), mixture.trees)
    gate = shortest_gate(mixture, X, tolerance)
    return mixture if gate is None else prune_mixture(mixture.rebuilt(*gate, mixture.trees))


def _with_short_thresholds(mixture: Mixture, X: Floats, tolerance: float) -> Mixture:
    owner = mixture.expert(X)
    trees = [_short_tree(tree, X[owner == j], reach_of(X), tolerance) for j, tree in enumerate(mixture.trees)]
    return prune_mixture(mixture.rebuilt(mixture.gate_weights, mixture.gate_bias, trees))


def _simplified_soft(mixture: Mixture, X: Floats, answers: NDArray[Any], tolerance: float) -> Mixture:
    """A vote knows no scale: gate, thresholds and votes are rounded together, from coarse to fine."""
    reach = reach_of(X)
    scores = np.column_stack([mixture.gate_bias, mixture.gate_weights])
    scores = scores - scores[0]
    for decimals in _DECIMALS:
        power = np.clip(np.floor(-decimals - np.log10(np.append(1.0, reach))), -300, 300)
        gate = on_grid(scores, power)
        share = tolerance / 2 * 10.0 ** (_DECIMALS[0] - decimals)
        trees = [_with_short_votes(_short_tree(tree, X, reach, share), decimals) for tree in mixture.trees]
        found = prune_mixture(mixture.rebuilt(gate[:, 1:], gate[:, 0], trees))
        if np.mean(found.predict(X) != answers) <= tolerance:
            return found
    return mixture


def _short_tree(tree: Tree, X: Floats, reach: Floats, tolerance: float) -> Tree:
    """Thresholds with few digits, so that at most that share of the rows ends in another leaf."""
    threshold = tree.threshold.copy()
    share = tolerance / max(tree.depth, 1)
    reaching: dict[int, NDArray[np.int64]] = {0: np.arange(len(X))}
    for node in range(tree.n_nodes):
        k, rows = int(tree.feature[node]), reaching.pop(node)
        if k == LEAF:
            continue
        values = X[rows, k]
        may_cross = int(share * len(rows))
        threshold[node] = _short_threshold(float(threshold[node]), values, may_cross, _NEAR * float(reach[k]))
        left = values <= threshold[node]
        reaching[int(tree.left[node])], reaching[int(tree.right[node])] = rows[left], rows[~left]
    return Tree(tree.feature, threshold, tree.left, tree.right, tree.value)


def _short_threshold(threshold: float, values: Floats, may_cross: int, near: float) -> float:
    """The shortest decimal that sends all but ``may_cross`` of the values to the side they are on."""
    low, high = threshold - near, threshold + near
    below, above = np.sort(values[values <= threshold]), np.sort(values[values > threshold])
    if len(below) > may_cross:
        low = max(low, float(below[-1 - may_cross]))
    if len(above) > may_cross:
        high = min(high, float(above[may_cross]))
    for decimals in range(-9, 18):
        short = round(threshold, decimals) + 0.0
        if low <= short < high:
            return short
    return threshold


def _with_short_votes(tree: Tree, decimals: int) -> Tree:
    return Tree(tree.feature, tree.threshold, tree.left, tree.right, short_shares(tree.value, decimals))


def short_shares(value: Floats, decimals: int) -> Floats:
    """Rows of probabilities with so many decimals; what rounding down leaves over goes to the largest remainders."""
    units = value / value.sum(axis=1, keepdims=True) * 10**decimals
    whole = np.floor(units)
    missing = np.rint(10**decimals - whole.sum(axis=1)).astype(np.int64)
    rank = np.argsort(np.argsort(whole - units, axis=1, kind="stable"), axis=1)
    return (whole + (rank < missing[:, None])) / 10**decimals


def numbers_of(mixture: BaseMixture) -> Sequence[float]:
    """Every number of gate, thresholds and laws that takes part in an answer."""
    gate = [*mixture.gate_weights.ravel(), *mixture.gate_bias] if mixture.n_experts > 1 else []
    laws = [law for tree in mixture.trees if isinstance(tree, RegressionTree) for law in tree.laws]
    return [float(number) for number in [*gate, *(t for tree in mixture.trees for t in tree.threshold), *laws]]
