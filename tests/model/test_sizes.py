import numpy as np
import pytest
from sklearn.datasets import load_iris

from moet import MoETClassifier
from moet.model import procedure
from moet.model.sizes import SIZES, Tried, candidate_sizes, choose_size, front_lines, smallest_within, stalled


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
