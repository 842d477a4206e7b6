"""Tables that leave little to learn, and input that cannot be learned from."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from moet import MoETClassifier

from .tables import random_problem

SEEDS = st.integers(0, 2**32 - 1)
X, Y = random_problem(0, 200)
QUICK = {"n_init": 4, "max_iter": 3, "hard_iter": 3, "random_state": 0}
BOTH = pytest.mark.parametrize("prediction", ["soft", "hard"])
SOLVERS = ["likelihood", "lbfgs", "newton", "gradient", "adam"]


def fit(X, y, sample_weight=None, **settings):
    """Fit, and check what every model must satisfy on its own rows."""
    model = MoETClassifier(**{**QUICK, **settings}).fit(X, y, sample_weight=sample_weight)
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-9)
    assert (model.predict(X) == model.classes_[proba.argmax(axis=1)]).all()
    assert np.isfinite(model.mixture_.gate_weights).all()
    assert np.isfinite(model.mixture_.gate_bias).all()
    assert np.isfinite(model.log_likelihoods_).all()
    return model


@pytest.mark.filterwarnings("ignore:.* classes, but")
@given(
    seed=SEEDS,
    n=st.integers(1, 40),
    d=st.integers(1, 3),
    n_classes=st.integers(1, 5),
    n_values=st.sampled_from([1, 2, 5, None]),
    scale=st.sampled_from([1e-300, 1e-150, 1.0, 1e150, 1e300]),
    magnitudes=st.sampled_from([0, 3, 30]),
    n_experts=st.integers(1, 6),
    max_depth=st.sampled_from([0, 2, None]),
    prediction=st.sampled_from(["soft", "hard"]),
    gate_solver=st.sampled_from(SOLVERS),
    init=st.sampled_from(["race", "random", "kmeans", "linear"]),
    min_samples_leaf=st.sampled_from([None, 0, 3]),
)
@settings(max_examples=150)
def test_any_small_table_is_learned_without_a_hitch(
    seed, n, d, n_classes, n_values, scale, magnitudes, **hyperparameters
):
    rng = np.random.default_rng(seed)
    X, y = random_problem(seed, n, d=d, n_classes=n_classes, n_values=n_values, noise=rng.random())
    fit(X * scale, y, 10.0 ** rng.uniform(-magnitudes, magnitudes, n), **hyperparameters)


@BOTH
def test_one_class_is_always_predicted(prediction):
    model = fit(X, np.full(len(X), "only"), prediction=prediction)
    assert (model.predict(X) == "only").all()
    assert (model.predict_proba(X) == 1.0).all()


@BOTH
@pytest.mark.parametrize("max_depth", [0, 3, None])
def test_one_row_is_learned(prediction, max_depth):
    model = fit([[1.0, 2.0]], [7], prediction=prediction, max_depth=max_depth)
    assert model.predict([[1.0, 2.0], [-100.0, 5.0]]).tolist() == [7, 7]


@BOTH
def test_constant_features_leave_the_shares_of_the_classes(prediction):
    model = fit(np.ones((10, 2)), [0] * 3 + [1] * 7, prediction=prediction)
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 2))), [[0.3, 0.7]], rtol=1e-6)
    assert all(tree.depth == 0 for tree in model.mixture_.trees)


@BOTH
def test_equal_rows_with_different_labels_share_their_probability(prediction):
    points = np.repeat([[0.0], [1.0], [2.0]], 4, axis=0)
    model = fit(points, [0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1], n_experts=2, max_depth=2, prediction=prediction)
    assert model.predict([[0.0], [1.0], [2.0]]).tolist() == [0, 1, 1]
    assert model.score(points, [0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1]) == pytest.approx(11 / 12)


@BOTH
def test_more_experts_than_rows_are_no_problem(prediction):
    model = fit(X[:3], [0, 1, 2], n_experts=20, prediction=prediction)
    assert model.mixture_.n_experts == 20
    assert model.score(X[:3], [0, 1, 2]) > 0.5


def test_rows_of_weight_zero_are_not_there():
    weight = (np.arange(len(X)) % 3 > 0).astype(float)
    wild = np.where(weight[:, None] > 0, X, 1e100)
    seen, without = fit(wild, Y, weight), fit(X[weight > 0], Y[weight > 0])
    assert (seen.mixture_.gate_weights == without.mixture_.gate_weights).all()
    assert seen.mixture_.trees == without.mixture_.trees


def test_a_class_of_weight_zero_keeps_its_column_and_is_never_predicted():
    model = fit(X, Y, (Y != 1).astype(float))
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.predict_proba(X)[:, 1] == 0).all()


@BOTH
def test_classes_of_a_single_row_are_no_problem(prediction):
    y = Y.copy()
    y[:5] = np.arange(10, 15)
    model = fit(X, y, prediction=prediction)
    assert model.classes_.tolist() == [0, 1, 2, 10, 11, 12, 13, 14]


def test_single_rows_of_a_class_survive_a_large_table():
    """They cannot be held out: all of them train."""
    x, y = random_problem(1, 1200)
    y[0] = 3
    model = fit(x, y, n_experts=1, max_depth=None, min_samples_leaf=0)
    assert model.predict(x[:1]).tolist() == [3]


def test_a_hundred_classes_are_no_problem():
    x = np.random.default_rng(0).normal(size=(400, 2))
    y = np.arange(400) % 100
    model = fit(x, y, max_depth=5, min_samples_leaf=1)
    assert model.predict_proba(x).shape == (400, 100)
    assert model.score(x, y) > 0.05


@BOTH
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_the_unit_of_the_features_hardly_matters(prediction, scale):
    assert fit(X * scale, Y, prediction=prediction).score(X * scale, Y) > 0.8


def test_features_of_very_different_units_work_together():
    units = np.array([1e-150, 1.0, 1e150])
    plain, mixed = fit(X, Y), fit(X * units, Y)
    assert mixed.score(X * units, Y) == pytest.approx(plain.score(X, Y), abs=0.05)


def test_one_wild_value_does_not_spoil_the_rest():
    wild = X.copy()
    wild[0, 0] = 1e200
    assert fit(wild, Y, max_depth=5).score(wild, Y) > 0.8


@pytest.mark.parametrize("weight", [1e10, 1e100, 1e300])
@BOTH
def test_one_row_may_outweigh_all_others(prediction, weight):
    weights = np.ones(len(X))
    weights[0] = weight
    assert fit(X, Y, weights, prediction=prediction).predict(X[:1]) == Y[:1]


def test_a_small_and_far_away_cluster_is_found():
    """An expert that starves is no reason to stop."""
    far = np.concatenate([X, np.full((3, 3), 1e6) + X[:3]])
    y = np.concatenate([Y, [3, 3, 3]])
    assert (fit(far, y, n_experts=8, min_samples_leaf=1, max_depth=5).predict(far[-3:]) == 3).all()


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.where(X[3, 1] == X, np.nan, X), Y, "NaN"),
        (np.where(X[3, 1] == X, np.inf, X), Y, "infinity"),
        (np.full((200, 2), "text"), Y, "could not convert string"),
        (pd.DataFrame({"a": pd.date_range("2026-01-01", periods=200)}), Y, "holds dates"),
        (X, X[:, 0], "Unknown label type: continuous"),
        (X, np.where(Y == 0, np.nan, Y), "NaN"),
        (X, Y[:-1], "inconsistent numbers of samples"),
        (X[:0], Y[:0], "0 sample"),
        (X[:, :0], Y, "0 feature"),
        (X[:, 0], Y, "Expected 2D array"),
        (X[None], Y, "dim 3"),
        (X + 1j, Y, "Complex data not supported"),
        (X, np.column_stack([Y, Y]), "1d array|y should be|multioutput"),
    ],
)
def test_input_that_cannot_be_learned_gives_the_usual_errors(x, y, message):
    with pytest.raises(ValueError, match=message):
        MoETClassifier().fit(x, y)


def test_sparse_input_gives_the_usual_error():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        MoETClassifier().fit(csr_array(X), Y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(200), "zero"),
        (np.where(Y == 0, -1.0, 1.0), "[Nn]egative"),
        (np.full(200, np.nan), "NaN"),
        (np.ones(199), "shape"),
    ],
)
def test_weights_that_make_no_sense_give_an_error(weight, message):
    with pytest.raises(ValueError, match=message):
        MoETClassifier().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("x", [X[:, :2], np.column_stack([X, X])])
def test_predicting_with_other_features_gives_the_usual_error(x):
    with pytest.raises(ValueError, match="features, but MoETClassifier is expecting 3 features"):
        MoETClassifier(**QUICK).fit(X, Y).predict(x)


@pytest.mark.parametrize(
    "parameter",
    [
        {"n_experts": 0},
        {"n_experts": 2.5},
        {"max_depth": -1},
        {"prediction": "firm"},
        {"criterion": "mse"},
        {"gate_solver": "sgd"},
        {"init": "zeros"},
        {"n_init": 0},
        {"max_iter": -1},
        {"validation_fraction": 1.0},
        {"learning_rate": 0.0},
        {"min_samples_leaf": -1},
        {"class_weight": "heavy"},
        {"callback": 3},
    ],
)
def test_parameters_are_checked(parameter):
    with pytest.raises(ValueError, match=f"The '{next(iter(parameter))}' parameter of MoETClassifier must be"):
        MoETClassifier(**parameter).fit(X, Y)
