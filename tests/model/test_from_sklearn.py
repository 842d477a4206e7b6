import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from moet import Mixture
from moet.errors import ModelError
from moet.model.from_sklearn import float64_thresholds

FLOAT32 = np.finfo(np.float32)


def around(thresholds):
    """Float64 numbers at and beside thresholds: one step of float64, one of float32, and the middles between."""
    single = thresholds.astype(np.float32)
    steps = [single, np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-np.inf))]
    neighbours = [thresholds, *(step.astype(np.float64) for step in steps)]
    points = np.concatenate(neighbours + [(a + b) / 2 for a in neighbours for b in neighbours])
    return np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)])


def hard_rows(tree, X, seed=0):
    """Rows of X with, one at a time, every tested feature moved to and around each of its thresholds."""
    rng = np.random.default_rng(seed)
    rows = [X]
    for feature, threshold in zip(tree.tree_.feature, tree.tree_.threshold, strict=True):
        if feature >= 0:
            values = around(np.array([threshold]))
            moved = X[rng.integers(len(X), size=len(values))]
            moved[:, feature] = values
            rows.append(moved)
    return np.concatenate(rows)


def tasks():
    rng = np.random.default_rng(0)
    for load in (load_iris, load_wine, load_breast_cancer):
        yield load.__name__, *load(return_X_y=True)
    X, y = load_wine(return_X_y=True)
    yield "string labels", X, np.array(["red", "white", "rosé"])[y]
    yield "boolean labels", X, y == 1
    yield "labels that are no positions", X, y * 10 - 5
    yield "more digits than float32 has", 1e6 + rng.normal(size=(300, 2)), rng.integers(3, size=300)
    yield "tiny", rng.normal(size=(300, 2)) * 1e-40, rng.integers(2, size=300)
    yield "both signs of zero", rng.choice([0.0, -0.0, 1e-45, -1e-45, 1.0], size=(300, 2)), rng.integers(2, size=300)
    yield "one class", X, np.zeros(len(X), int)


@pytest.mark.parametrize(("X", "y"), [pytest.param(X, y, id=name) for name, X, y in tasks()])
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_a_tree_and_its_mixture_answer_alike(kind, X, y):
    tree = kind(random_state=0, max_depth=6).fit(X, y)
    mixture = Mixture.from_sklearn(tree)
    rows = hard_rows(tree, X)
    assert np.array_equal(mixture.predict(rows), tree.predict(rows))
    assert np.array_equal(mixture.predict_proba(rows), tree.predict_proba(rows))
    assert mixture.predict(rows).dtype == y.dtype


def test_weighted_ties_fall_as_in_scikit_learn():
    X = np.zeros((3, 1))
    tree = DecisionTreeClassifier().fit(X, [1, 1, 0], sample_weight=[0.1, 0.2, 0.3])
    assert Mixture.from_sklearn(tree).predict(X).tolist() == tree.predict(X).tolist()


@pytest.mark.parametrize(
    "threshold",
    [0.0, -0.0, 0.1, -0.1, 1e-50, -1e-50, 1.0, -1.0, 1 + 2**-24, 1 + 2**-23, 2.0**100, float(FLOAT32.max) * 0.75],
)
def test_moved_thresholds_separate_what_float32_would(threshold):
    points = around(np.array([threshold]))
    moved = float64_thresholds(np.array([threshold]))
    assert np.array_equal(points <= moved, points.astype(np.float32) <= np.float64(threshold))


def test_thresholds_move_by_less_than_a_float32_step():
    thresholds = np.random.default_rng(0).normal(size=1000)
    moved = float64_thresholds(thresholds)
    assert np.all(np.abs(moved - thresholds) < np.spacing(np.abs(thresholds).astype(np.float32)))


def test_a_tree_fitted_on_missing_values_serves_for_the_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    missing = rng.random(200) < 0.3
    y = np.where(missing, 1, X[:, 1] > 0).astype(int)
    tree = DecisionTreeClassifier(random_state=0).fit(np.where(missing[:, None] & [True, False], np.nan, X), y)
    assert np.isinf(tree.tree_.threshold).any()
    assert np.array_equal(Mixture.from_sklearn(tree).predict(X), tree.predict(X))


def test_names_and_shape_come_along():
    table = pd.DataFrame({"angle": [0.0, 1.0], "speed": [3.0, 4.0]})
    mixture = Mixture.from_sklearn(DecisionTreeClassifier().fit(table, ["a", "b"]))
    assert mixture.feature_names == ("angle", "speed")
    assert mixture.predict(table).tolist() == ["a", "b"]
    assert mixture.size == (1, 2, 3, 1, 0)
    assert Mixture.from_sklearn(DecisionTreeClassifier().fit(table.to_numpy(), [0, 1])).feature_names == ("x0", "x1")


def test_only_fitted_classification_trees_with_one_output_will_do():
    X, y = [[0.0], [1.0]], [0, 1]
    with pytest.raises(NotFittedError):
        Mixture.from_sklearn(DecisionTreeClassifier())
    with pytest.raises(ModelError, match="expected a fitted DecisionTreeClassifier, got DecisionTreeRegressor"):
        Mixture.from_sklearn(DecisionTreeRegressor().fit(X, y))
    with pytest.raises(ModelError, match="2 outputs"):
        Mixture.from_sklearn(DecisionTreeClassifier().fit(X, [[0, 1], [1, 0]]))
