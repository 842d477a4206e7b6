from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet import Tree
from moet.model.bins import bin_table
from moet.model.grow import EMPTY, SORTED_ROWS, Grower, GrowOptions

from .tables import leaves_by_walking, make_table, random_problem, raw_table

SEEDS = st.integers(0, 2**32 - 1)
UNLIMITED = 2**31 - 1
CRITERIA = st.sampled_from(["gini", "entropy"])


def grow(table, weight=None, depth=UNLIMITED, **options):
    """Tree and leaf of every row, grown to purity unless told otherwise."""
    leaf = np.full(len(table), -7, dtype=np.int32)
    weight = table.weight if weight is None else weight
    options = {"min_samples_leaf": 0.0, **options}
    tree = Grower(table, bin_table(table), depth).grow(weight, GrowOptions(depth, **options), leaf)
    return tree, leaf


def as_tree(grown):
    """Validated by construction."""
    return Tree(grown.feature, grown.threshold, grown.left, grown.right, grown.value)


def assert_sound(table, weight, tree, leaf):
    """The tree is valid, every row is in its leaf, and nodes hold the class weights of their rows."""
    as_tree(tree)
    assert (leaf == leaves_by_walking(tree, table.X[table.rows])).all()
    counted = weight > 2 * EMPTY * weight.sum()
    mass = np.zeros(tree.class_weight.shape)
    np.add.at(mass, (leaf[counted], table.y[counted]), weight[counted])
    for node in range(len(tree.feature) - 1, -1, -1):
        if tree.feature[node] != -1:
            mass[node] = mass[tree.left[node]] + mass[tree.right[node]]
    np.testing.assert_allclose(tree.class_weight, mass, rtol=1e-9, atol=0)
    assert (mass.sum(axis=1) > 0).all()


@pytest.mark.parametrize("n_values", [40, None])
def test_rows_are_in_their_leaves_and_leaves_hold_their_class_weights(n_values):
    """Whole numbers as weights: the sums are exact. Nodes of every size are split, also beside rows of weight 0."""
    X, y = random_problem(0, 6000, n_values=n_values, noise=0.4)
    table = make_table(X, y)
    weight = np.random.default_rng(0).integers(0, 5, len(table)).astype(float)
    tree, leaf = grow(table, weight)
    assert_sound(table, weight, tree, leaf)
    mass = np.zeros(tree.class_weight.shape)
    np.add.at(mass, (leaf, table.y), weight)
    is_leaf = tree.feature == -1
    mass = mass[is_leaf]
    assert (tree.class_weight[is_leaf] == mass).all()
    assert (tree.value[is_leaf] == mass / mass.sum(axis=1, keepdims=True)).all()

    rows_below = np.bincount(leaf[weight > 0], minlength=len(tree.feature))
    for node in np.flatnonzero(~is_leaf)[::-1]:
        rows_below[node] = rows_below[tree.left[node]] + rows_below[tree.right[node]]
    sizes = Counter(n > SORTED_ROWS for n in rows_below[~is_leaf].tolist())
    assert min(sizes[True], sizes[False]) >= 5


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_a_row_that_makes_the_table_large_changes_nothing_but_the_kernel(criterion):
    X, y = random_problem(1, SORTED_ROWS + 1, n_values=None, noise=0.3)
    weight = np.random.default_rng(1).random(SORTED_ROWS + 1)
    weight[-1] = 0.0
    large, small = raw_table(X, y, weight), raw_table(X[:-1], y[:-1], weight[:-1])
    options = {"depth": 6, "min_samples_leaf": 2.0, "criterion": criterion}
    (grown, leaf), (expected, expected_leaf) = grow(large, **options), grow(small, **options)
    assert len(expected.feature) > 31
    for ours, theirs in zip(grown, expected, strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert (leaf[:-1] == expected_leaf).all()


@given(
    seed=SEEDS,
    n=st.integers(1, 1500),
    d=st.integers(1, 4),
    n_classes=st.integers(1, 5),
    n_values=st.sampled_from([1, 2, 7, 100, 255, 400, None]),
    magnitudes=st.floats(0, 15),
    zeros=st.sampled_from([0.0, 0.1, 0.9]),
    depth=st.sampled_from([0, 1, 4, UNLIMITED]),
    criterion=CRITERIA,
    min_samples_leaf=st.sampled_from([0.0, 1e-9, 1.0, 20.0]),
)
@settings(max_examples=200)
def test_extremely_uneven_weights_corrupt_nothing(
    seed, n, d, n_classes, n_values, magnitudes, zeros, depth, criterion, min_samples_leaf
):
    rng = np.random.default_rng(seed)
    X, y = random_problem(seed, n, d=d, n_classes=n_classes, n_values=n_values, noise=rng.random())
    table = make_table(X, y, n_classes=n_classes)
    weight = 10.0 ** rng.uniform(-magnitudes, magnitudes, len(table))
    weight[rng.random(len(table)) < zeros] = 0.0
    weight[rng.integers(len(table))] = 1.0
    before = weight.copy()
    tree, leaf = grow(table, weight, depth, criterion=criterion, min_samples_leaf=min_samples_leaf)
    assert (weight == before).all()
    assert_sound(table, weight, tree, leaf)
    assert as_tree(tree).depth <= depth
    if len(tree.feature) > 1:
        assert tree.class_weight.sum(axis=1).min() >= min_samples_leaf * (1 - 1e-6)


def test_a_row_of_negligible_weight_does_not_shape_the_tree_but_has_a_leaf():
    table = make_table([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 0])
    weight = np.array([1.0, 1.0, 1.0, 1.0])
    weight[table.X[table.rows, 0] == 3.0] = 1e-14
    tree, leaf = grow(table, weight)
    assert len(tree.feature) == 3
    assert tree.threshold[0] == 1.5
    assert_sound(table, weight, tree, leaf)


@given(SEEDS, st.integers(2, 1500), st.sampled_from([3, 60, None]), CRITERIA)
@settings(max_examples=60)
def test_the_order_of_rows_does_not_matter(seed, n, n_values, criterion):
    """Not even for ties, which the first feature and the lowest threshold win: weights are whole, so sums are exact."""
    rng = np.random.default_rng(seed)
    X, y = random_problem(seed, n, n_values=n_values)
    table = make_table(X, y, rng.integers(1, 4, n))
    order = rng.permutation(len(table))
    tree, leaf = grow(table, depth=6, criterion=criterion)
    shuffled, shuffled_leaf = grow(table.take(order), depth=6, criterion=criterion)
    assert as_tree(tree) == as_tree(shuffled)
    assert (tree.class_weight == shuffled.class_weight).all()
    assert (leaf[order] == shuffled_leaf).all()


@pytest.mark.parametrize("copies", [1, 50, 500])
def test_the_first_feature_and_the_lowest_threshold_win_ties(copies):
    """In nodes of every size, and although rounding makes one of the equals look better: 0.1 is no binary fraction."""
    column = np.tile([0.0, 1.0, 2.0, 3.0], copies)
    X = np.column_stack([np.zeros(4 * copies), column, column, 3 - column])
    table = raw_table(X, np.tile([0, 1, 1, 0], copies), np.full(4 * copies, 0.1))
    tree, _ = grow(table, depth=1)
    assert tree.feature[0] == 1
    assert tree.threshold[0] == 0.5


@given(SEEDS, st.integers(2, 600), st.sampled_from([3, 60, 250]), CRITERIA)
@settings(max_examples=60)
def test_weights_are_repetitions(seed, n, n_values, criterion):
    """On rows that are really repeated, not merged as a canonical table would."""
    rng = np.random.default_rng(seed)
    X, y = random_problem(seed, n, n_values=n_values)
    counts = rng.integers(1, 4, n)
    weighted, repeated = raw_table(X, y, counts), raw_table(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    tree, _ = grow(weighted, depth=5, criterion=criterion, min_samples_leaf=2.0)
    other, _ = grow(repeated, depth=5, criterion=criterion, min_samples_leaf=2.0)
    leaf, other_leaf = leaves_by_walking(tree, X), leaves_by_walking(other, X)
    # the numbers of the nodes may differ, for the smaller child by rows comes first
    assert (tree.class_weight[leaf] == other.class_weight[other_leaf]).all()
    splits, other_splits = (Counter(zip(t.feature, t.threshold, strict=True)) for t in (tree, other))
    assert splits == other_splits


@pytest.mark.parametrize("factor", [2.0**-60, 2.0**60])
def test_the_unit_of_weight_does_not_matter(factor):
    X, y = random_problem(0, 2000)
    table = make_table(X, y, np.random.default_rng(0).random(2000))
    tree, _ = grow(table, min_samples_leaf=0.5, min_impurity_decrease=1e-4)
    scaled, _ = grow(table, table.weight * factor, min_samples_leaf=0.5 * factor, min_impurity_decrease=1e-4)
    assert len(tree.feature) > 20
    assert as_tree(scaled) == as_tree(tree)
    assert (scaled.class_weight == tree.class_weight * factor).all()


def test_depth_zero_is_one_leaf():
    X, y = random_problem(0, 500)
    table = make_table(X, y)
    tree, leaf = grow(table, depth=0)
    assert as_tree(tree) == Tree.leaf(np.bincount(y) / 500)
    assert (leaf == 0).all()


@pytest.mark.parametrize("depth", [0, 3, UNLIMITED])
def test_one_row_is_one_leaf(depth):
    tree, leaf = grow(make_table([[1.0, 2.0]], [1], n_classes=3), depth=depth)
    assert as_tree(tree) == Tree.leaf([0, 1, 0])
    assert leaf.tolist() == [0]


@pytest.mark.parametrize("n", [2, 100, 2000])
def test_rows_that_no_feature_tells_apart_share_a_leaf(n):
    tree, leaf = grow(raw_table(np.tile([3.0, -1.0], (n, 1)), np.arange(n) % 2))
    assert as_tree(tree) == Tree.leaf([0.5, 0.5])
    assert (leaf == 0).all()


@pytest.mark.parametrize("n", [20, 300, 3000])
def test_constant_features_are_never_tested(n):
    X, y = random_problem(0, n, d=1)
    table = make_table(np.column_stack([np.full(n, 5.0), X, np.zeros(n)]), y)
    tree, _ = grow(table)
    assert set(tree.feature.tolist()) == {-1, 1}


@pytest.mark.parametrize("n", [20, 300, 3000])
def test_an_unlimited_tree_is_pure_wherever_rows_differ(n):
    X, y = random_problem(0, n, noise=0.5)
    table = make_table(X, y)
    tree, leaf = grow(table)
    assert (tree.value.argmax(axis=1)[leaf] == table.y).all()
    assert (tree.value[tree.feature == -1].max(axis=1) == 1.0).all()


def test_a_node_that_no_single_split_improves_is_split_all_the_same():
    """As in scikit-learn: the exclusive or needs two splits of which the first gains nothing."""
    table = make_table([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    tree, _ = grow(table)
    assert as_tree(tree).n_leaves == 4
    stopped, _ = grow(table, min_impurity_decrease=1e-6)
    assert as_tree(stopped).n_leaves == 1


@pytest.mark.parametrize(
    ("low", "high"),
    [(1.0, np.nextafter(1.0, 2.0)), (-5e-324, 0.0), (0.0, 5e-324), (-1.7e308, 1.7e308), (1e308, 1.7e308)],
)
@pytest.mark.parametrize("copies", [1, 20, 600])
def test_neighbouring_and_huge_numbers_are_told_apart(low, high, copies):
    y = np.repeat([0, 1], copies)
    tree, leaf = grow(raw_table(np.repeat([low, high], copies)[:, None], y))
    assert low <= tree.threshold[0] < high
    assert (tree.value.argmax(axis=1)[leaf] == y).all()


def test_a_grower_can_be_used_again_and_again():
    """Its scratch memory holds nothing of earlier trees, and earlier trees do not change."""
    X, y = random_problem(0, 3000)
    table = make_table(X, y)
    grower = Grower(table, bin_table(table), 8)
    rng = np.random.default_rng(0)
    weights = [rng.random(len(table)), np.ones(len(table)), (rng.random(len(table)) < 0.01).astype(float)]
    leaf = np.empty((3, len(table)), dtype=np.int32)
    grown = [grower.grow(weight, GrowOptions(8), leaf[j]) for j, weight in enumerate(weights)]
    for weight, tree, leaves in zip(weights, grown, leaf, strict=True):
        fresh, fresh_leaf = grow(table, weight, 8, min_samples_leaf=1.0)
        assert as_tree(tree) == as_tree(fresh)
        assert (leaves == fresh_leaf).all()


def test_a_tree_is_no_deeper_than_its_grower():
    X, y = random_problem(0, 1000)
    table = make_table(X, y)
    leaf = np.empty(len(table), dtype=np.int32)
    assert as_tree(Grower(table, bin_table(table), 2).grow(table.weight, GrowOptions(5), leaf)).depth == 2
