"""Trees held beside scikit-learn's: the same splits where every value has a bin, nearly as pure leaves elsewhere.

Features are whole numbers (or float32 numbers), because scikit-learn rounds its inputs to float32. Weights are whole
numbers too: their sums are exact, whereas rounding makes scikit-learn go on splitting pure nodes.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from moet.model.bins import bin_table
from moet.model.grow import SORTED_ROWS, Grower, GrowOptions
from moet.model.growth import TIE

from .tables import leaves_by_walking, make_table, random_problem

SEEDS = st.integers(0, 2**32 - 1)


class PeerTree(NamedTuple):
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray


def grow_both(table, depth, criterion="gini", leaf_fraction=0.0, min_impurity_decrease=0.0):
    """Our tree and scikit-learn's on the same rows."""
    leaf = np.empty(len(table), dtype=np.int32)
    options = GrowOptions(depth, criterion, leaf_fraction * table.weight.sum(), min_impurity_decrease)
    ours = Grower(table, bin_table(table), depth).grow(table.weight, options, leaf)
    fitted = DecisionTreeClassifier(
        criterion=criterion,
        max_depth=depth,
        min_weight_fraction_leaf=leaf_fraction,
        min_impurity_decrease=min_impurity_decrease,
        random_state=0,
    ).fit(table.X[table.rows], table.y, sample_weight=table.weight)
    tree = fitted.tree_
    is_leaf = tree.children_left == -1
    peer = PeerTree(np.where(is_leaf, -1, tree.feature), tree.threshold, tree.children_left, tree.children_right)
    return ours, peer


def impurity(table, rows, criterion="gini"):
    """Total weight of some rows times their impurity."""
    mass = np.bincount(table.y[rows], weights=table.weight[rows], minlength=table.n_classes)
    share = mass[mass > 0] / mass.sum()
    return mass.sum() * (1 - (share**2).sum() if criterion == "gini" else -(share * np.log2(share)).sum())


def leaf_impurity(table, tree):
    leaf = leaves_by_walking(tree, table.X[table.rows])
    return sum(impurity(table, np.flatnonzero(leaf == node)) for node in np.unique(leaf))


def compare_splits(table, ours, peer, criterion):
    """Walk down both trees and count their splits: the same, or a tie between two equally good ones.

    Two features may part the rows of a node in the same way, perhaps with the sides exchanged: that is the same split.
    Where the trees really part ways, both splits must leave the same impurity; what is below is then not compared.
    """
    X = table.X[table.rows]
    counts = Counter()
    stack = [(0, 0, np.arange(len(table)))]
    while stack:
        a, b, rows = stack.pop()
        assert (ours.feature[a] == -1) == (peer.feature[b] == -1)
        if ours.feature[a] == -1:
            continue
        left_a = X[rows, ours.feature[a]] <= ours.threshold[a]
        left_b = X[rows, peer.feature[b]] <= peer.threshold[b]
        if (left_a == left_b).all() or (left_a != left_b).all():
            if ours.feature[a] == peer.feature[b]:
                assert ours.threshold[a] == peer.threshold[b]
            size = "sorted" if len(rows) <= SORTED_ROWS else "histogram"
            counts["same"] += 1
            counts[size] += 1
            children = peer.left[b], peer.right[b]
            if (left_a != left_b).any():
                children = children[::-1]
            stack += [(ours.left[a], children[0], rows[left_a]), (ours.right[a], children[1], rows[~left_a])]
        else:
            after = [
                impurity(table, rows[s], criterion) + impurity(table, rows[~s], criterion) for s in (left_a, left_b)
            ]
            assert after[0] == pytest.approx(after[1], abs=3 * TIE * table.weight[rows].sum())
            counts["tie"] += 1
    return counts


def weighted_table(seed, n, **kwargs):
    """Rows whose weights are large random whole numbers: two different splits hardly ever gain the same."""
    X, y = random_problem(seed, n, **kwargs)
    return make_table(X, y, np.random.default_rng(seed).integers(10**5, 10**6, n))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("depth", [1, 3, 8, 60])
@pytest.mark.parametrize(("leaf_fraction", "min_impurity_decrease"), [(0, 0), (0.01, 0), (0, 1e-3)])
def test_every_split_is_the_exact_one(criterion, depth, leaf_fraction, min_impurity_decrease):
    table = weighted_table(depth, 3000, n_values=200)
    ours, peer = grow_both(table, depth, criterion, leaf_fraction, min_impurity_decrease)
    counts = compare_splits(table, ours, peer, criterion)
    assert counts["tie"] == 0
    assert counts["same"] == (ours.feature != -1).sum() == (peer.feature != -1).sum() > 0


def test_every_way_to_search_a_split_is_exact():
    table = weighted_table(0, 8000, n_values=255, noise=0.3)
    counts = compare_splits(table, *grow_both(table, 30), "gini")
    assert min(counts[size] for size in ("sorted", "histogram")) > 10


@given(
    seed=SEEDS,
    n=st.integers(1, 700),
    d=st.integers(1, 4),
    n_classes=st.integers(1, 4),
    n_values=st.integers(2, 250),
    depth=st.integers(1, 12),
    criterion=st.sampled_from(["gini", "entropy"]),
    leaf_fraction=st.sampled_from([0.0, 0.003, 0.05, 0.5]),
)
@settings(max_examples=150)
def test_trees_equal_scikit_learns(seed, n, d, n_classes, n_values, depth, criterion, leaf_fraction):
    table = weighted_table(seed, n, d=d, n_classes=n_classes, n_values=n_values)
    ours, peer = grow_both(table, depth, criterion, leaf_fraction)
    counts = compare_splits(table, ours, peer, criterion)
    if counts["tie"] == 0:
        assert counts["same"] == (ours.feature != -1).sum()


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_without_weights_only_ties_are_broken_differently(criterion):
    X, y = random_problem(1, 3000, n_values=200)
    table = make_table(X, y)
    counts = compare_splits(table, *grow_both(table, 12, criterion), criterion)
    assert counts["same"] > 300
    assert counts["tie"] < 0.1 * counts["same"]


def continuous_table(seed, n):
    """More distinct values than bins; features are skewed in every third table, weights in every second."""
    d, n_classes = ((2, 2), (4, 3), (8, 4))[seed % 3]
    X, y = random_problem(seed, n, d=d, n_classes=n_classes)
    X = np.exp(2 * X) if seed % 3 == 1 else X
    weight = np.random.default_rng(seed).exponential(size=n) ** 2 if seed % 2 else np.ones(n)
    return make_table(X.astype(np.float32), y, weight)


@pytest.mark.parametrize("n", [2000, 8000])
def test_with_many_values_the_leaves_are_as_pure_as_exact_ones(n):
    """A slightly different split high up moves a single tree by up to some percent, up or down: hence the average."""
    excess = []
    for seed in range(12):
        table = continuous_table(seed, n)
        for depth in (3, 4, 5, 6):
            ours, peer = (leaf_impurity(table, tree) for tree in grow_both(table, depth))
            excess.append(ours / peer - 1)
    assert np.mean(excess) < 0.005
    assert max(excess) < 0.1


def test_with_many_values_a_split_gains_nearly_what_the_exact_one_gains():
    lost = []
    for seed in range(30):
        table = continuous_table(seed, 3000)
        everything = impurity(table, np.arange(len(table)))
        ours, peer = (everything - leaf_impurity(table, tree) for tree in grow_both(table, 1))
        lost.append(1 - ours / peer)
    assert min(lost) > -1e-9
    assert np.mean(lost) < 0.002
    assert max(lost) < 0.03


def test_a_threshold_between_quantile_bins_is_the_exact_one():
    """Only the rows next to the label's border matter, and the border lies within a bin."""
    x = np.random.default_rng(0).random((10_000, 1))
    table = make_table(x.astype(np.float32), (x[:, 0] > 0.30303).astype(int))
    ours, peer = grow_both(table, 1)
    assert ours.threshold[0] == peer.threshold[0]
    assert leaf_impurity(table, ours) == 0
