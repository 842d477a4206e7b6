import numpy as np
import pytest
from sklearn.datasets import load_iris

from moet import MoETClassifier
from moet.model import procedure
from moet.model.sizes import SIZES, Contest, Tried, candidate_sizes, choose_size, front_lines, smallest_within, stalled
from moet.verify.arguments import is_sum


def tried(*scores, leaves=None):
    return [Tried(2, k, (leaves or range(2, 99))[k], score, 0.0) for k, score in enumerate(scores)]


def test_the_smallest_within_the_tolerance_is_taken():
    assert smallest_within(tried(0.8, 0.94, 0.95, 0.9), 0.02) == 1
    assert smallest_within(tried(0.8, 0.94, 0.95, 0.9), 0.0) == 2
    assert smallest_within(tried(-110, -99, -98, leaves=[4, 8, 6]), 2) == 2


def test_three_sizes_that_bring_nothing_end_the_search():
    assert not stalled(tried(0.5, 0.5, 0.5), 0.01)
    assert stalled(tried(0.5, 0.5, 0.5, 0.505), 0.01)
    assert not stalled(tried(0.5, 0.5, 0.5, 0.52), 0.01)


def test_of_boosted_ones_the_first_is_taken_unless_something_small_does():
    small, first, second = Tried(8, 3, 40, 0.80, 0.01), boosted(9000, 0.871), boosted(8000, 0.874)
    assert smallest_within([small, first, second], 0.005) == 1
    assert smallest_within([small, first, second], 0.002) == 2
    assert smallest_within([small, first, second], 0.1) == 0


def boosted(leaves, score):
    return Tried(512, 5, leaves, score, 0.004, boosted=True)


def test_a_large_soft_model_is_a_sum_of_trees_where_that_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 6))
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3] * X[:, 4]) > 0.7
    found = choose_size(X, y, prediction="soft")
    assert found.front[found.taken].boosted
    assert is_sum(found.estimator.mixture_)


def test_steps_below_the_tolerance_add_up():
    scores = iter([0.80, 0.803, 0.806, 0.809, 0.812, 0.815, 0.818, 0.82, 0.82, 0.82])
    contest = Contest(
        lambda one, _: Tried(one.n_experts, 2, one.n_experts, next(scores), 0.0), "accuracy", 1.0, tolerance
    )
    found = contest.run([MoETClassifier(k, 0) for k in range(2, 12)], *DATA, budget=None, seed=0, verbose=0)
    assert found.front[found.taken].score == 0.818


def tolerance(_):
    return 0.004


DATA = np.arange(40.0)[:, None], np.arange(40) > 20


def test_every_size_has_a_leaf_for_every_class():
    assert candidate_sizes(2) == list(SIZES)
    assert candidate_sizes(50)[0] == (8, 3)
    assert candidate_sizes(10**6) == [SIZES[-1]]


def test_one_line_is_enough_where_one_line_decides():
    X = np.random.default_rng(0).normal(size=(600, 2))
    found = choose_size(X, X @ [1.0, 2.0] > 0.1)
    assert (found.estimator.n_experts, found.estimator.max_depth) == (2, 0)
    assert sum("<- taken" in line for line in front_lines(found.front, found.taken, "accuracy")) == 1


def test_a_table_too_small_to_cut_is_judged_on_its_rows():
    assert choose_size(np.array([[1.0], [2.0]]), np.array(["same", "same"])).front[0].score == 1


def test_more_classes_than_leaves_are_said():
    X = np.arange(20.0)[:, None]
    with pytest.warns(UserWarning, match="10 classes, but n_experts=2 and max_depth=1 leave room for 4 leaves"):
        MoETClassifier(2, 1).fit(X, X[:, 0] // 2)


def test_many_experts_are_taken_only_where_nothing_else_does():
    narrow, wide, wider = Tried(8, 3, 40, 0.80, 0.01), Tried(16, 0, 16, 0.81, 0.01), Tried(32, 0, 32, 0.85, 0.01)
    assert smallest_within([narrow, wide], 0.02) == 0
    assert smallest_within([narrow, wide, wider], 0.02) == 2
    assert smallest_within([narrow, wide, wider], 0.045) == 2
    assert smallest_within([narrow, wide, wider], 0.06) == 0


def test_sizes_are_compared_without_the_folds_of_calibration(monkeypatch):
    crossed = []
    monkeypatch.setattr(procedure, "calibrated", lambda mixture, *_: crossed.append(mixture) or mixture)
    X, y = load_iris(return_X_y=True)
    choose_size(X, y)
    assert len(crossed) == 1  # of the one that is taken
