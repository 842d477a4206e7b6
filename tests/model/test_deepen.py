"""Deep experts: grown behind a gate that shallow ones have taught, and cut back to what pays."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from moet import MoETClassifier
from moet.model.bins import bin_table
from moet.model.deepen import LEAF_COSTS, SHALLOW, deepened, deepens
from moet.model.em import TrainingRows, hard_share
from moet.model.gate import Scaler
from moet.model.grow import GrowOptions
from moet.model.snapshot import Judge, Snapshot

from .tables import make_table
from .test_recipe import SETTINGS

DEEP = replace(SETTINGS, max_depth=10)
OPTIONS = GrowOptions(10)


def spiral(n, seed):
    """Rows that one tree needs many leaves for, with some wrong labels."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    y = (np.sin(2 * np.hypot(*X.T) + np.arctan2(X[:, 1], X[:, 0])) > 0).astype(int)
    return X, np.where(rng.random(n) < 0.1, 1 - y, y)


@pytest.fixture(scope="module")
def stage():
    table, held_out = (make_table(*spiral(2000, seed)) for seed in (0, 1))
    scaler = Scaler.of(table)
    return TrainingRows(table, bin_table(table), scaler, DEEP.max_depth, 0.0), Judge(held_out, scaler, DEEP)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"max_depth": SHALLOW}, False),
        ({"prediction": "soft"}, False),
        ({"hard_iter": 0}, False),
        ({"ccp_alpha": 0.01}, False),
    ],
)
def test_only_deep_hard_mixtures_whose_leaves_have_no_price_yet_are_deepened(changed, expected):
    assert deepens(replace(DEEP, **changed)) == expected


@pytest.mark.parametrize("seed", range(3))
def test_a_deepened_mixture_is_never_worse_than_one_tree_on_the_rows_of_the_judge(stage, seed):
    training, judge = stage
    theta = np.random.default_rng(seed).normal(size=(4, 3))
    score, best = deepened(training, judge, theta, [OPTIONS])
    assert score == judge.score(best)
    alone = np.zeros((1, 3))
    trees = training.grow_experts(hard_share(training, alone), OPTIONS).trees
    for cost in LEAF_COSTS:
        assert score >= judge.score(Snapshot(alone, trees, OPTIONS, hard=True, leaf_cost=cost))


def test_experts_that_get_no_row_are_left_out(stage):
    training, judge = stage
    theta = np.zeros((3, 3))
    theta[1, -1] = 1.0
    _, best = deepened(training, judge, theta, [OPTIONS])
    assert len(best.theta) == len(best.trees) == 1


def test_dearer_leaves_are_fewer_and_cheap_ones_lose_no_right_answer(stage):
    training, _ = stage
    X, y = training.table.X[training.table.rows], training.table.y
    theta = np.zeros((1, 3))
    whole = Snapshot(theta, training.grow_experts(hard_share(training, theta), OPTIONS).trees, OPTIONS, hard=True)
    sizes = []
    for cost in (*LEAF_COSTS, 1e-9):
        cut = whole._replace(leaf_cost=cost).freeze(training.scaler, DEEP)
        sizes.append(cut.size.leaves)
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] <= len(whole.trees[0].feature)
    assert np.sum(cut.predict(X) == y) == np.sum(whole.freeze(training.scaler, DEEP).predict(X) == y)
    assert cut.size.leaves == cut.prune().size.leaves  # what decides nothing pays nothing


@pytest.mark.parametrize("depth", [5, 8, 12, None])
def test_a_deep_mixture_is_ahead_of_a_tree_of_as_many_leaves_where_boundaries_are_oblique(depth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = (np.sin(X @ [1.0, 2.0, -1.0, 0.5]) > 0) + (X @ [1.0, -1.0, 1.0, 1.0] > 0).astype(int)
    model = MoETClassifier(8, depth, prediction="hard", random_state=0).fit(X[:4000], y[:4000]).mixture_.prune()
    assert 1 <= len(model.trees) <= 8
    tree = DecisionTreeClassifier(max_leaf_nodes=model.size.leaves, random_state=0).fit(X[:4000], y[:4000])
    assert np.mean(model.predict(X[4000:]) == y[4000:]) > tree.score(X[4000:], y[4000:])
