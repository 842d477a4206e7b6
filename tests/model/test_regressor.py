"""Training of mixtures that answer with numbers."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeRegressor

from moet import MoETClassifier, MoETRegressor, RegressionMixture, load, save
from moet.errors import InputError
from moet.model.regression.joint import Cases, Numbers, Space, mixture_error
from moet.model.regression.leaves import Bounds

from .strategies import bits


def folded(n=1500, seed=0):
    """Four planes that meet at the axes, in two outputs."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 2))
    return X, np.column_stack([np.abs(X[:, 0]) + X[:, 1], np.abs(X[:, 1]) - 2 * X[:, 0]])


def test_planes_that_meet_are_found():
    X, U = folded()
    model = MoETRegressor(n_experts=4, max_depth=0, random_state=0).fit(X, U)
    assert model.mixture_.size.leaves == 4
    assert model.score(*folded(seed=1)) > 0.999


def test_trees_cut_where_planes_meet():
    X, U = folded()
    model = MoETRegressor(n_experts=1, max_depth=2, random_state=0).fit(X, U)
    assert model.score(*folded(seed=1)) > 0.999
    assert sorted({abs(t) < 0.1 for t in model.mixture_.trees[0].threshold}) == [True]


@pytest.mark.parametrize("prediction", ["hard", "soft"])
def test_more_experts_fit_better_than_one(prediction):
    X, y = make_friedman1(1500, noise=0.5, random_state=0)
    scores = [
        MoETRegressor(n_experts, 0, prediction=prediction, random_state=0)
        .fit(X[:1000], y[:1000])
        .score(X[1000:], y[1000:])
        for n_experts in (1, 4)
    ]
    assert scores[0] + 0.1 < scores[1]


def test_a_plane_needs_one_law():
    X = np.random.default_rng(0).normal(size=(400, 3))
    y = X @ [1.0, -2.0, 0.5] + np.random.default_rng(1).normal(size=400)
    model = MoETRegressor(4, 2, random_state=0).fit(X, y)
    assert model.mixture_.n_numbers == 4
    plane = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.predict(X), np.clip(plane.predict(X), y.min(), y.max()), atol=0.05)


def test_targets_on_a_bound_are_met_by_laws_beyond_it():
    """A clipped plane: least squares that know nothing of bounds would bend it."""
    x = np.linspace(-3, 3, 600)[:, None]
    u = np.clip(2 * x[:, 0] - 0.5, -1, 1)
    model = MoETRegressor(1, 0, low=-1, high=1, ridge=0.01, random_state=0).fit(x, u)
    assert np.abs(model.predict(x) - u).max() < 0.02
    assert np.abs(LinearRegression().fit(x, u).predict(x) - u).max() > 0.3
    assert model.mixture_.low.tolist() == [-1]
    assert model.mixture_.high.tolist() == [1]


def test_answers_stay_within_the_targets_if_no_bounds_are_given():
    X, U = folded(300)
    model = MoETRegressor(random_state=0).fit(X, U)
    far = model.predict(100 * X)
    assert (far >= U.min(axis=0)).all()
    assert (far <= U.max(axis=0)).all()


@pytest.mark.parametrize("leaf", ["affine", "constant"])
@pytest.mark.parametrize("n_experts", [1, 3])
def test_constant_targets_give_constant_answers(leaf, n_experts):
    X, _ = folded(200)
    U = np.column_stack([np.full(200, 7.0), np.full(200, -0.1)])
    model = MoETRegressor(n_experts, 1, leaf=leaf, random_state=0).fit(X, U)
    assert model.predict(X).tolist() == U.tolist()


@pytest.mark.parametrize("bound", [-1.0, 1.0])
def test_outputs_on_a_bound_throughout_stay_there(bound):
    X, U = folded(200)
    U[:, 1] = bound
    model = MoETRegressor(2, 1, low=[-9, -1], high=[9, 1], random_state=0).fit(X, U)
    np.testing.assert_allclose(model.predict(X)[:, 1], bound, atol=1e-9)


def test_constant_leaves_come_near_those_of_scikit_learn():
    X, y = make_friedman1(1000, random_state=0)
    ours = MoETRegressor(1, 4, leaf="constant", min_samples_leaf=5, ridge=0.0, random_state=0).fit(X, y)
    theirs = DecisionTreeRegressor(max_depth=4, min_samples_leaf=5).fit(X, y)
    assert ours.mixture_.trees[0].slope is None
    assert abs(ours.score(X, y) - theirs.score(X, y)) < 0.03


def test_rows_may_be_repeated_instead_of_weighted():
    X, U = folded(300)
    times = np.random.default_rng(0).integers(0, 4, 300)
    weighted = MoETRegressor(3, 1, random_state=0).fit(X, U, sample_weight=times)
    repeated = MoETRegressor(3, 1, random_state=0).fit(np.repeat(X, times, axis=0), np.repeat(U, times, axis=0))
    shuffled = np.random.default_rng(1).permutation(300)
    moved = MoETRegressor(3, 1, random_state=0).fit(X[shuffled], U[shuffled], sample_weight=times[shuffled])
    assert bits(weighted.mixture_) == bits(repeated.mixture_) == bits(moved.mixture_)


def test_a_seed_fixes_the_model():
    X, U = folded(300)
    first, again = (MoETRegressor(3, 1, random_state=5).fit(X, U).mixture_ for _ in range(2))
    assert bits(first) == bits(again)


def test_ties_between_features_go_to_the_first():
    x = np.random.default_rng(0).uniform(-1, 1, size=(300, 1))
    model = MoETRegressor(1, 1, leaf="constant", random_state=0).fit(np.hstack([x, x, x]), (x[:, 0] > 0).astype(float))
    assert model.mixture_.trees[0].feature.tolist() == [0, -1, -1]


def test_groups_are_held_out_together():
    """Rows of a group tell each other's targets: only whole groups held out show that nothing was learned."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), 20)
    X = rng.normal(size=(30, 2))[group] + 1e-6 * rng.normal(size=(600, 2))
    y = rng.normal(size=30)[group]
    free = MoETRegressor(8, 3, random_state=0).fit(X, y)
    honest = MoETRegressor(8, 3, random_state=0).fit(X, y, groups=group)
    assert min(free.errors_) < 0.5
    assert min(honest.errors_) > 0.5


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_targets_must_be_finite(bad):
    X, U = folded(100)
    U[3, 1] = bad
    with pytest.raises(ValueError, match="Input y contains"):
        MoETRegressor().fit(X, U)


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        ({"low": 0.0}, "targets are beyond the bounds"),
        ({"high": [10.0]}, r"high must be one number or one per output \(2\)"),
        ({"low": 10.0, "high": -10.0}, "low must not exceed high"),
        ({"low": np.nan}, "low must not exceed high"),
    ],
)
def test_bounds_must_hold_the_targets(bounds, reason):
    X, U = folded(100)
    with pytest.raises(ValueError, match=reason):
        MoETRegressor(**bounds).fit(X, U)


sums_overflow = pytest.mark.filterwarnings("ignore:.* encountered in reduce")  # scikit-learn's, where it looks for NaN


def test_targets_say_which_estimator_takes_them():
    X = np.arange(6.0)[:, None]
    with pytest.raises(ValueError, match=r"targets are labels.* take a MoETClassifier"):
        MoETRegressor().fit(X, list("ababab"))
    with pytest.raises(ValueError, match=r"targets are labels.* take a MoETClassifier"):
        MoETRegressor().fit(X, pd.Series(["good", "bad"] * 3))
    with pytest.raises(ValueError, match=r"targets are numbers.* take a MoETRegressor"):
        MoETClassifier().fit(X, X[:, 0] / 4)


@sums_overflow
def test_targets_must_have_a_range_that_is_a_number():
    X, U = folded(100)
    with pytest.raises(ValueError, match="express them in larger units"):
        MoETRegressor().fit(X, np.sign(U) * 1.5e308)


def test_slopes_must_be_numbers():
    X, U = folded(100)
    with pytest.raises(InputError, match="express features and targets in other units"):
        MoETRegressor(random_state=0).fit(X * 1e-200, U * 1e150)


@sums_overflow
def test_features_may_have_a_range_that_is_no_number():
    X, U = folded(100)
    X[:, 0] = np.where(X[:, 0] > 0, 1.7e308, -1.7e308)
    assert np.isfinite(MoETRegressor(2, 1, random_state=0).fit(X, U).predict(X)).all()


def test_weights_must_not_all_be_zero():
    X, U = folded(100)
    with pytest.raises(ValueError, match="zero"):
        MoETRegressor().fit(X, U, sample_weight=np.zeros(100))


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("leaf", ["affine", "constant"])
def test_units_do_not_matter(leaf, scale):
    X, U = folded(300)
    model = MoETRegressor(2, 1, leaf=leaf, random_state=0)
    plain = model.fit(X, U).score(X, U)
    assert abs(model.fit(X * scale, U).score(X * scale, U) - plain) < 0.1
    outputs = model.fit(X, U * scale).predict(X) / scale
    assert abs(r2_score(U, outputs) - plain) < 0.1


def test_few_rows_are_enough():
    for n in (1, 2, 3):
        X, U = folded(n)
        assert np.isfinite(MoETRegressor(3, 2, random_state=0).fit(X, U).predict(X)).all()


def test_names_of_columns_become_those_of_the_model():
    X, U = folded(100)
    features, outputs = pd.DataFrame(X, columns=["angle", "speed"]), pd.DataFrame(U, columns=["main", "side"])
    mixture = MoETRegressor(random_state=0).fit(features, outputs).mixture_
    assert mixture.feature_names == ("angle", "speed")
    assert mixture.outputs == ("main", "side")


def test_a_fitted_model_is_saved_and_pickled(tmp_path):
    X, U = folded(200)
    model = MoETRegressor(random_state=0).fit(X, U[:, 0])
    save(model, tmp_path / "m.moet.json")
    loaded = load(tmp_path / "m.moet.json")
    assert isinstance(loaded, RegressionMixture)
    assert loaded.predict(X)[:, 0].tobytes() == model.predict(X).tobytes()
    assert pickle.loads(pickle.dumps(model)).predict(X).tobytes() == model.predict(X).tobytes()


@pytest.mark.parametrize("soft", [False, True])
def test_the_slopes_of_the_joint_objective_are_right(soft):
    rng = np.random.default_rng(0)
    n, width, n_experts, n_laws, n_outputs = 60, 4, 3, 5, 2
    z = np.column_stack([rng.normal(size=(n, width - 1)), np.ones(n)])
    target = np.clip(rng.normal(size=(n, n_outputs)), -1, 1)
    leaf = rng.integers(0, n_laws, size=(n_experts, n)).astype(np.int32)
    theta, laws = rng.normal(size=(n_experts, width)), rng.normal(size=(n_laws, n_outputs, width))
    cases = Cases(z, z, target, np.linspace(0.5, 2, n), leaf)
    bounds = Bounds.of(np.full(n_outputs, -1.0), np.full(n_outputs, 1.0))
    space = Space(np.empty(n_experts), np.empty(n_experts), np.empty((n_experts, n_outputs)))

    def slopes_of(theta, laws):
        slopes = Numbers(np.zeros_like(theta), np.zeros_like(laws))
        return mixture_error(cases, Numbers(theta, laws), bounds, soft, slopes, space), slopes

    def value(theta, laws):
        return slopes_of(theta, laws)[0]

    slopes = slopes_of(theta, laws)[1]
    for array, slope in zip((theta, laws), slopes, strict=True):
        for at in np.ndindex(array.shape):
            step = np.zeros_like(array)
            step[at] = 1e-6
            up, down = ((value(*(a + s * step if a is array else a for a in (theta, laws)))) for s in (1, -1))
            assert abs((up - down) / 2e-6 - slope[at]) < 1e-5


def test_the_joint_phase_lowers_the_error():
    X, y = make_friedman1(1000, random_state=0)
    without, with_it = (MoETRegressor(4, 0, prediction="soft", joint_iter=n, random_state=0) for n in (0, 100))
    assert min(with_it.fit(X, y).errors_) < 0.9 * min(without.fit(X, y).errors_)
