"""Small classifiers that learn the answers of large ones."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from moet import Box, MoETClassifier, explain, load, save, verify
from moet.distill import DistilledClassifier
from moet.distill.distilled_classifier import default_teacher
from moet.distill.made_rows import neighbours, recombined
from moet.errors import InputError
from moet.model.large import CAREFUL_VOTES, VOTES
from moet.verify import Proved

FOREST = RandomForestClassifier(20, min_samples_leaf=5)
STUDENT = MoETClassifier(n_experts=2, max_depth=2, prediction="hard")


@parametrize_with_checks([DistilledClassifier(STUDENT, LogisticRegression(), n_made=50)])
def test_it_is_a_classifier_of_scikit_learn(estimator, check):
    check(estimator)


def noisy_table(n=300, seed=0):
    """Rows of twenty small integers, noisy labels that depend on all of them, and the likelier label."""
    rng = np.random.default_rng(seed)
    X = rng.integers(3, size=(n, 20)).astype(float)
    chance = 1 / (1 + np.exp(X @ np.linspace(-1, 1, 20)))
    return X, (rng.random(n) < chance).astype(int), (chance > 0.5).astype(int)


def test_the_student_is_better_than_one_that_learns_from_the_labels():
    X, noisy, _ = noisy_table(500)
    fresh, _, truth = noisy_table(4000, seed=1)
    student = MoETClassifier(n_experts=4, max_depth=2, prediction="hard", random_state=0)
    alone = student.fit(X, noisy).score(fresh, truth)
    distilled = DistilledClassifier(student, n_made=5000, random_state=0).fit(X, noisy)
    assert distilled.score(fresh, truth) > alone + 0.02


def test_a_fitted_model_of_any_library_can_be_the_teacher():
    X, noisy, _ = noisy_table(300)
    forest = clone(FOREST).set_params(random_state=0).fit(X, noisy)
    distilled = DistilledClassifier(STUDENT, FrozenEstimator(forest), n_made=2000, random_state=0).fit(X, 1 - noisy)
    assert distilled.teacher_.estimator is forest
    assert np.mean(distilled.predict(X) == forest.predict(X)) > 0.8


def test_a_pipeline_sees_the_table_as_it_is():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], 200), "shape": rng.choice(["u", "v"], 200)})
    y = ((X["colour"] == "red") == (X["shape"] == "u")).to_numpy()
    both = [make_pipeline(OneHotEncoder(), model) for model in (DecisionTreeClassifier(max_depth=2), FOREST)]
    distilled = DistilledClassifier(*both, n_made=300, random_state=0).fit(X, y)
    assert distilled.score(X, y) == 1.0
    assert distilled.student_[-1].random_state == distilled.teacher_[-1].random_state is not None


def test_its_mixture_is_saved_shown_and_proved(tmp_path):
    X, noisy, _ = noisy_table(300)
    X = pd.DataFrame(X, columns=[f"x{k}" for k in range(20)])
    distilled = DistilledClassifier(STUDENT, FOREST, n_made=500, random_state=0).fit(X, noisy)
    save(distilled, tmp_path / "m.moet.json")
    assert load(tmp_path / "m.moet.json") == distilled.mixture_
    assert "expert 1" in explain.rules(distilled)
    assert isinstance(verify.equivalent(distilled, distilled.mixture_, Box.from_bounds([0] * 20, [2] * 20)), Proved)
    assert np.array_equal(distilled.predict_proba(X), distilled.mixture_.predict_proba_hard(X))


def test_a_seed_fixes_the_model_and_a_state_of_its_own_is_kept():
    X, noisy, _ = noisy_table(200)
    student = DecisionTreeClassifier(max_depth=3, random_state=5)
    models = [DistilledClassifier(student, FOREST, n_made=200, random_state=seed).fit(X, noisy) for seed in (0, 0, 1)]
    first, same, other = (model.student_.tree_.weighted_n_node_samples for model in models)
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    assert models[0].student_.random_state == 5


def test_settings_of_the_student_can_be_searched():
    X, noisy, _ = noisy_table(200)
    search = GridSearchCV(
        DistilledClassifier(DecisionTreeClassifier(), LogisticRegression(), n_made=100, random_state=0),
        {"student__max_depth": [1, 4]},
        cv=2,
    )
    depth = search.fit(X, noisy).best_params_["student__max_depth"]
    assert search.best_estimator_.student_.get_depth() == depth


def test_default_parts_go_by_the_size_of_the_table():
    X, y = make_classification(120, random_state=0)
    distilled = DistilledClassifier(n_made=100, random_state=0).fit(X, y)
    assert distilled.mixture_.prediction == "hard"
    assert distilled.teacher_.n_experts == CAREFUL_VOTES["n_experts"]
    assert default_teacher(50_000).n_experts == VOTES["n_experts"]


@given(seed=st.integers(0, 2**32), n_rows=st.integers(0, 40))
def test_every_value_of_a_made_row_is_from_its_column(seed, n_rows):
    X = np.arange(12.0).reshape(4, 3)
    made = recombined(X, n_rows, np.random.default_rng(seed))
    assert made.shape == (n_rows, 3)
    assert all(np.isin(made[:, k], X[:, k]).all() for k in range(3))


@given(seed=st.integers(0, 2**32))
def test_a_made_row_has_one_category_and_its_rank(seed):
    codes = np.array([0, 1, 2, 1])
    X = pd.DataFrame({f"size={v}": (codes == k).astype(float) for k, v in enumerate("SML")} | {"size": codes})
    X["price"] = pd.Categorical(["low", "high", "low", "high"])
    made = recombined(X, 30, np.random.default_rng(seed))
    assert list(made) == list(X)
    assert made["price"].dtype == X["price"].dtype
    assert np.array_equal(made.iloc[:, :3].to_numpy().argmax(axis=1), made["size"])
    assert (made.iloc[:, :3].sum(axis=1) == 1).all()


def test_some_attributes_are_exchanged_and_most_are_not():
    X = np.tile(np.arange(1000.0)[:, None], 20)
    made = recombined(X, 2000, np.random.default_rng(0))
    own = np.median(made, axis=1, keepdims=True)  # most attributes of a row are from one row
    assert 0.25 < np.mean(made != own) < 0.35


def test_rows_of_a_small_table_exchange_with_rows_alike():
    """Two clusters far apart, by numbers as by categories: no made row is partly of one and partly of the other."""
    rng = np.random.default_rng(0)
    side = np.repeat([0, 1], 40)
    X = pd.DataFrame({"a": rng.normal(size=80) + 50 * side, "b": rng.normal(size=80) * 1e6 + 5e7 * side, "c": side})
    X["kind"], X["kind=red"] = np.where(side, "blue", "red"), 1 - side
    near = neighbours(X)
    assert near.shape == (80, 10)
    assert np.array_equal(side[near], np.repeat(side[:, None], 10, axis=1))
    assert not np.any(near == np.arange(80)[:, None])
    made = recombined(X, 500, rng, near)
    own = made["c"].to_numpy()
    assert np.array_equal(own, made["a"] > 25)
    assert np.array_equal(own, made["b"] > 2.5e7)
    assert np.array_equal(own == 0, made["kind=red"] == 1)
    assert len(set(zip(made["a"], made["b"], strict=True))) > 200
    far = recombined(X, 500, rng)
    assert np.any((far["a"] > 25) != (far["b"] > 2.5e7))


def test_only_rows_of_small_tables_have_neighbours():
    assert neighbours(np.zeros((5001, 1))) is None
    assert neighbours(np.zeros((1, 1))) is None
    assert neighbours(np.array([[0.0, np.nan], [1.0, np.nan], [5.0, 2.0]])).tolist() == [[1, 2], [0, 2], [1, 0]]
    words = np.array([["x", 1], ["y", 2], ["x", 3]], dtype=object)
    assert neighbours(words).shape == (3, 2)


def test_a_negative_number_of_rows_is_refused():
    with pytest.raises(InputError, match="n_made must not be negative, got -1"):
        DistilledClassifier(n_made=-1).fit([[0.0], [1.0]], [0, 1])
