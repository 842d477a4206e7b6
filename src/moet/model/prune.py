"""Removing what cannot matter to the answer of a mixture."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from moet.model.base import BaseMixture
from moet.model.mixture import Mixture
from moet.model.tree import LEAF, BaseTree, SomeTree, Tree, subtree

_SEVERAL = -1
"""Stands for "more than one class" where a class index is expected."""


AnyMixture = TypeVar("AnyMixture", bound=BaseMixture)


def prune_mixture(mixture: AnyMixture) -> AnyMixture:
    """Return a mixture of the same kind with the same answer for every input and nothing that cannot matter.

    Of a hard mixture are removed experts whose logit is nowhere the first largest, branches that earlier tests on their
    path make unreachable, splits both of whose branches answer with the same class, and all experts but one if all
    answer alike. What remains of the gate is unchanged to the bit, and pruning again changes nothing.

    An expert goes only with a proof in exact arithmetic. The gate is computed in floating point, so an expert that
    comes within rounding of the largest logit could win there by rounding alone; on such inputs, and on no others,
    the pruned mixture may answer otherwise. Class probabilities of merged leaves do change.

    In a soft mixture every expert and every probability has its part in the vote: only unreachable branches go, and
    splits with the same probabilities on both sides, so that all probabilities stay the same to the bit. Of a mixture
    that answers with numbers, splits between leaves of the very same law go.
    """
    if mixture.prediction == "soft":
        trees = [_merged(tree, _same_answers(tree)) for tree in mixture.trees]
        return mixture.rebuilt(mixture.gate_weights, mixture.gate_bias, trees)
    kept = possible_experts(mixture.gate_weights, mixture.gate_bias)
    trees = [
        prune_tree(tree) if isinstance(tree, Tree) else _merged(tree, _same_answers(tree))
        for tree in (mixture.trees[j] for j in kept)
    ]
    if all(_alike(tree, trees[0]) for tree in trees[1:]):
        kept, trees = kept[:1], trees[:1]
    return mixture.rebuilt(mixture.gate_weights[kept], mixture.gate_bias[kept], trees)


def _alike(first: BaseTree, second: BaseTree) -> bool:
    """Whether two pruned trees have the same tests and the same answers in their leaves."""
    tests = ("feature", "threshold", "left", "right")
    if not all(np.array_equal(getattr(first, name), getattr(second, name)) for name in tests):
        return False
    leaves = first.feature == LEAF
    if isinstance(first, Tree):
        return np.array_equal(first.value[leaves].argmax(axis=1), second.value[leaves].argmax(axis=1))
    return np.array_equal(_numbers(first)[leaves], _numbers(second)[leaves])


def idle_leaves(mixture: Mixture) -> int:
    """How many leaves could go without changing any answer."""
    return mixture.size.leaves - prune_mixture(mixture).size.leaves


def prune_tree(tree: Tree) -> Tree:
    """Return a tree that gives the same class everywhere, without unreachable branches and splits that do not matter.

    A merged leaf has the probabilities of the split it replaces if they speak for the same class, else those of the
    leaf on its left.
    """
    return _merged(tree, tree.value.argmax(axis=1))


def _same_answers(tree: BaseTree) -> NDArray[np.int64]:
    """A number per node; only nodes with the very same probabilities, or law, have the same."""
    bits = np.ascontiguousarray(_numbers(tree) + 0.0).view(np.int64)  # + 0.0 makes -0.0 and 0.0 the same
    return np.unique(bits, axis=0, return_inverse=True)[1].astype(np.int64).ravel()


def _numbers(tree: BaseTree) -> NDArray[np.float64]:
    """Per node its probabilities, or its law."""
    slope = getattr(tree, "slope", None)
    return tree.value if slope is None else np.hstack([tree.value, slope.reshape(tree.n_nodes, -1)])


def _merged(tree: SomeTree, answer: NDArray[np.int64]) -> SomeTree:
    """The tree without unreachable branches, and without splits between leaves that give the same answer."""
    left_open, right_open = _open_branches(tree)
    left, right, answer = tree.left.copy(), tree.right.copy(), answer.copy()
    stand_in, source = np.arange(tree.n_nodes), np.arange(tree.n_nodes)
    # children come after their parent, so backwards every branch is pruned before the split above it is judged
    for node in np.flatnonzero(tree.feature != LEAF)[::-1]:
        low, high = stand_in[left[node]], stand_in[right[node]]
        if not (left_open[node] and right_open[node]):
            stand_in[node] = low if left_open[node] else high
        elif answer[low] == answer[high] != _SEVERAL:
            if answer[node] != answer[low]:
                source[node], answer[node] = source[low], answer[low]
            left[node] = right[node] = LEAF
        else:
            left[node], right[node], answer[node] = low, high, _SEVERAL
    return subtree(tree, stand_in[0], left, right, source)


def _open_branches(tree: BaseTree) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For every node, whether some finite input goes left there, and whether some goes right."""
    left_open = np.zeros(tree.n_nodes, dtype=bool)
    right_open = np.zeros(tree.n_nodes, dtype=bool)
    everything = (-np.inf, float(np.finfo(np.float64).max))
    # for the nodes that can be reached: feature -> (low, high), which stands for low < x <= high
    boxes: dict[int, dict[int, tuple[float, float]]] = {0: {}}
    nodes = zip(tree.feature.tolist(), tree.threshold.tolist(), tree.left.tolist(), tree.right.tolist(), strict=True)
    for node, (feature, threshold, left, right) in enumerate(nodes):
        box = boxes.pop(node, None)
        if box is None or feature == LEAF:
            continue
        low, high = box.get(feature, everything)
        if low < threshold:
            left_open[node] = True
            boxes[left] = box | {feature: (low, min(high, threshold))}
        if threshold < high:
            right_open[node] = True
            boxes[right] = box | {feature: (max(low, threshold), high)}
    return left_open, right_open


def possible_experts(gate_weights: NDArray[np.float64], gate_bias: NDArray[np.float64]) -> list[int]:
    """Experts that win somewhere, and those that could not be proved to win nowhere."""
    kept = list(range(len(gate_bias)))
    while True:
        before = kept
        for j in before:
            rivals = [k for k in kept if k != j]
            if _never_wins(j, rivals, gate_weights, gate_bias):
                kept = rivals
        if kept == before:
            return kept


def _never_wins(j: int, rivals: list[int], weights: NDArray[np.float64], bias: NDArray[np.float64]) -> bool:
    parallel = [k for k in rivals if np.array_equal(weights[k], weights[j])]
    if any((bias[k], -k) > (bias[j], -j) for k in parallel):
        return True
    rivals = [k for k in rivals if k not in parallel]
    # a single rival that is not parallel is beaten somewhere
    return len(rivals) > 1 and _is_dominated(j, _closest_rivals(j, rivals, weights, bias), weights, bias)


def _closest_rivals(j: int, rivals: list[int], weights: NDArray[np.float64], bias: NDArray[np.float64]) -> list[int]:
    """Rivals that between them beat expert j everywhere, if any do.

    A linear program: maximise the lead t of expert j, t <= (w_j - w_k)·x + b_j - b_k for all rivals k and t <= 1. It is
    scaled first (the features, the rivals, and all biases), which does not change the sign of the lead.
    """
    from scipy.optimize import linprog  # half a second, which most models need not wait for

    n_features = weights.shape[1]
    with np.errstate(all="ignore"):
        slope = weights[j] - weights[rivals]
        slope /= np.where(np.any(slope, axis=0), np.abs(slope).max(axis=0), 1.0)
        norm = np.linalg.norm(slope, axis=1)
        slope, lead = slope / norm[:, None], (bias[j] - bias[rivals]) / norm
        lead /= np.abs(lead).max() or 1.0
    if not (np.all(np.isfinite(slope)) and np.all(np.isfinite(lead))):
        return []
    solution = linprog(
        c=np.append(np.zeros(n_features), -1.0),
        A_ub=np.column_stack([-slope, np.ones(len(rivals))]),
        b_ub=lead,
        bounds=[(None, None)] * n_features + [(None, 1.0)],
    )
    if solution.status != 0:
        return []
    return [k for k, marginal in zip(rivals, solution.ineqlin.marginals, strict=True) if marginal < -1e-9]


def _is_dominated(j: int, rivals: list[int], weights: NDArray[np.float64], bias: NDArray[np.float64]) -> bool:
    """Whether an average of the rivals' logits is exactly that of expert j plus something positive.

    Then their maximum is larger than expert j's logit everywhere (Farkas' lemma). The linear program says which rivals
    to average; the proof is its own, in rational numbers.
    """
    gaps = [[Fraction(a) - Fraction(b) for a, b in zip(weights[k], weights[j], strict=True)] for k in rivals]
    shares = _shares_that_cancel(gaps)
    return (
        shares is not None
        and min(shares) >= 0
        and sum(s * (Fraction(bias[k]) - Fraction(bias[j])) for s, k in zip(shares, rivals, strict=True)) > 0
    )


def _shares_that_cancel(vectors: list[list[Fraction]]) -> list[Fraction] | None:
    """Solve Σ share_k · vector_k = 0, Σ share_k = 1 by Gauss-Jordan elimination; None unless just one solution."""
    n = len(vectors)
    system = [[*row, Fraction(0)] for row in zip(*vectors, strict=True)] + [[Fraction(1)] * (n + 1)]
    for column in range(n):
        pivot = next((i for i in range(column, len(system)) if system[i][column]), None)
        if pivot is None:
            return None
        system[column], system[pivot] = system[pivot], system[column]
        system[column] = [entry / system[column][column] for entry in system[column]]
        for i, row in enumerate(system):
            if i != column and row[column]:
                system[i] = [a - row[column] * b for a, b in zip(row, system[column], strict=True)]
    if any(row[n] for row in system[n:]):
        return None
    return [row[n] for row in system[:n]]
