import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

import moet
from moet import Mixture, MoETClassifier
from moet.model import recipe

from .strategies import bits
from .tables import leaves_by_walking, random_problem

PUBLISHED = {
    "init": "random",
    "n_init": 1,
    "gate_solver": "adam",
    "gate_l2": 0,
    "min_samples_leaf": 1,
    "tol": 0,
    "hard_iter": 0,
}
QUICK = {"n_init": 2, "max_iter": 2, "hard_iter": 2, "random_state": 0}
X, Y = random_problem(0, 300)
LARGE_X, LARGE_Y = random_problem(1, 1500)


def majority(y):
    return np.bincount(y).max() / len(y)


@pytest.mark.parametrize("n", [150, 1400])
@pytest.mark.parametrize("settings", [{}, {"prediction": "hard", "max_depth": None, "min_samples_leaf": 2}, PUBLISHED])
def test_weights_are_repetitions(n, settings):
    """Bit for bit; the larger table holds rows out for validation."""
    x, y = LARGE_X[:n], LARGE_Y[:n]
    counts = np.random.default_rng(0).integers(0, 4, n)
    model = MoETClassifier(random_state=0, **settings)
    weighted = clone(model).fit(x, y, sample_weight=counts).mixture_
    repeated = clone(model).fit(np.repeat(x, counts, axis=0), np.repeat(y, counts)).mixture_
    assert bits(weighted) == bits(repeated)


@pytest.mark.parametrize("n", [150, 1400])
def test_the_order_of_rows_does_not_matter(n):
    order = np.random.default_rng(0).permutation(n)
    model = MoETClassifier(random_state=0)
    first = clone(model).fit(LARGE_X[:n], LARGE_Y[:n]).mixture_
    assert bits(clone(model).fit(LARGE_X[:n][order], LARGE_Y[:n][order]).mixture_) == bits(first)


def test_the_unit_of_the_weights_does_not_matter():
    weight = np.random.default_rng(0).random(len(Y))
    model = MoETClassifier(random_state=0)
    assert bits(clone(model).fit(X, Y, weight).mixture_) == bits(clone(model).fit(X, Y, 1024 * weight).mixture_)


@pytest.mark.parametrize("x", [X, LARGE_X])
def test_the_same_seed_gives_the_identical_model(x):
    y = Y if x is X else LARGE_Y
    first, again = (MoETClassifier(random_state=3).fit(x, y).mixture_ for _ in range(2))
    generator = MoETClassifier(random_state=np.random.RandomState(3)).fit(x, y).mixture_
    other = MoETClassifier(random_state=4).fit(x, y).mixture_
    assert bits(first) == bits(again) == bits(generator)
    assert bits(first) != bits(other)


def test_fitting_again_forgets_the_first_fit():
    model = MoETClassifier(random_state=0)
    model.fit(X[:, :2], Y % 2)
    assert bits(model.fit(X, Y).mixture_) == bits(MoETClassifier(random_state=0).fit(X, Y).mixture_)


@pytest.mark.parametrize("prediction", ["soft", "hard"])
def test_the_model_predicts_what_its_mixture_predicts(prediction):
    model = MoETClassifier(prediction=prediction, random_state=0).fit(X, Y)
    mixture = model.mixture_
    assert isinstance(mixture, Mixture)
    assert mixture.prediction == prediction
    expected = mixture.predict_hard(X) if prediction == "hard" else mixture.predict_soft(X)
    proba = mixture.predict_proba_hard(X) if prediction == "hard" else mixture.predict_proba_soft(X)
    assert (model.predict(X) == expected).all()
    assert (mixture.predict(X) == expected).all()
    assert (model.predict_proba(X) == proba).all()
    assert (mixture.predict_proba(X) == proba).all()
    other = "soft" if prediction == "hard" else "hard"
    assert (model.set_params(prediction=other).predict_proba(X) == proba).all()  # what was fitted, not what comes next
    assert model.score(X, Y) > 0.8


def test_a_saved_model_predicts_the_same(tmp_path):
    model = MoETClassifier(prediction="hard", random_state=0).fit(X, np.array(["a", "b", "c"])[Y])
    moet.save(model, tmp_path / "model.moet.json")
    loaded = moet.load(tmp_path / "model.moet.json")
    assert bits(loaded) == bits(model.mixture_)
    assert (loaded.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize(
    "labels", [["no", "yes"], [False, True], [-5, 7], [0.0, 2.0], np.array(["no", "yes"], dtype=object)]
)
def test_labels_of_any_kind_come_back(labels):
    y = np.asarray(labels)[(Y > 0).astype(int)]
    model = MoETClassifier(**QUICK).fit(X, y)
    assert model.classes_.tolist() == list(labels)
    assert model.mixture_.classes.tolist() == list(labels)
    assert set(model.predict(X)) == set(labels)
    assert np.mean(model.predict(X) == y) > majority((Y > 0).astype(int))


def test_labels_do_not_shape_the_model():
    numbers = MoETClassifier(**QUICK).fit(X, Y).mixture_
    names = MoETClassifier(**QUICK).fit(X, np.array(["x", "y", "z"])[Y]).mixture_
    assert (numbers.gate_weights == names.gate_weights).all()
    assert list(numbers.trees) == list(names.trees)


def test_a_data_frame_gives_its_names_to_the_mixture():
    frame = pd.DataFrame(X, columns=["angle", "speed", "height"])
    model = MoETClassifier(**QUICK).fit(frame, pd.Series(Y).map({0: "l", 1: "m", 2: "r"}))
    assert model.feature_names_in_.tolist() == ["angle", "speed", "height"]
    assert model.mixture_.feature_names == ("angle", "speed", "height")
    assert bits(model.mixture_)[:2] == bits(MoETClassifier(**QUICK).fit(X, Y).mixture_)[:2]
    assert (model.predict(frame) == model.mixture_.predict(X)).all()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["speed", "angle", "height"]])


def test_other_layouts_and_types_of_the_same_numbers_give_the_same_model():
    small = X.astype(np.float32)
    expected = bits(MoETClassifier(**QUICK).fit(small.astype(np.float64), Y).mixture_)
    read_only = small.astype(np.float64)
    read_only.flags.writeable = False
    for same in (small, np.asfortranarray(small.astype(np.float64)), read_only, small.tolist()):
        assert bits(MoETClassifier(**QUICK).fit(same, Y).mixture_) == expected


@pytest.mark.filterwarnings("ignore:.* classes, but")
@pytest.mark.filterwarnings("ignore:of .* none is answered so")  # one leaf answers with one class
def test_it_works_in_a_pipeline_and_a_grid_search():
    pipeline = make_pipeline(MinMaxScaler(), MoETClassifier(**QUICK))
    grid = {"moetclassifier__n_experts": [1, 3], "moetclassifier__max_depth": [0, 2]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert search.best_params_ != {"moetclassifier__n_experts": 1, "moetclassifier__max_depth": 0}
    assert search.score(X, Y) > majority(Y) + 0.1


def test_one_expert_is_a_plain_tree():
    x, y = random_problem(2, 400, n_values=60)
    weight = np.random.default_rng(0).integers(10**5, 10**6, 400)
    model = MoETClassifier(n_experts=1, max_depth=4, min_samples_leaf=1, n_init=1, hard_iter=0, random_state=0)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(x, y, weight)
    np.testing.assert_allclose(model.fit(x, y, weight).mixture_.votes(x), tree.predict_proba(x), rtol=1e-9)


@pytest.mark.parametrize("gate_solver", ["likelihood", "lbfgs", "newton", "gradient", "adam"])
@pytest.mark.parametrize("init", ["race", "random", "kmeans", "linear"])
@pytest.mark.parametrize("prediction", ["soft", "hard"])
def test_every_way_to_train_beats_the_majority(gate_solver, init, prediction):
    model = MoETClassifier(3, 2, gate_solver=gate_solver, init=init, prediction=prediction, n_init=2, random_state=0)
    assert model.fit(X, Y).score(X, Y) > majority(Y) + 0.1
    assert np.isfinite(model.log_likelihoods_).all()


@pytest.mark.parametrize("max_iter", [1, 50])
def test_the_published_procedure_runs_as_many_epochs_as_it_is_told(max_iter):
    model = MoETClassifier(random_state=0, max_iter=max_iter, **PUBLISHED).fit(LARGE_X, LARGE_Y)
    assert model.n_iter_ == len(model.log_likelihoods_) == max_iter
    assert not model.converged_
    assert model.score(LARGE_X, LARGE_Y) > majority(LARGE_Y) + 0.1


def test_em_stops_when_the_likelihood_changes_by_less_than_tol():
    settings = {"n_init": 1, "hard_iter": 0, "max_iter": 30, "random_state": 0}
    loose = MoETClassifier(tol=1e3, **settings).fit(X, Y)
    assert loose.converged_
    assert loose.n_iter_ == len(loose.log_likelihoods_) < 5
    assert MoETClassifier(tol=0, **settings).fit(X, Y).n_iter_ == 30


@pytest.mark.parametrize("prediction", ["soft", "hard"])
def test_the_hard_phase_can_be_switched_off(prediction):
    settings = {"n_init": 1, "max_iter": 3, "tol": 0, "prediction": prediction, "random_state": 0}
    assert MoETClassifier(hard_iter=0, **settings).fit(X, Y).n_iter_ == 3
    assert MoETClassifier(hard_iter=2, **settings).fit(X, Y).n_iter_ > 3


def test_a_callback_sees_every_round():
    seen = []
    model = MoETClassifier(callback=lambda *round: seen.append(round), random_state=0)
    model.fit(pd.DataFrame(X, columns=list("abc")), np.array(["l", "m", "r"])[Y])
    epochs, log_likelihoods, mixtures = zip(*seen, strict=True)
    assert list(epochs) == list(range(1, len(seen) + 1))
    assert len(seen) >= model.n_iter_ > 0
    assert set(model.log_likelihoods_) <= set(log_likelihoods)
    assert all(mixture.classes.tolist() == ["l", "m", "r"] for mixture in mixtures)
    assert all(mixture.feature_names == ("a", "b", "c") for mixture in mixtures)


def test_without_a_hard_phase_the_model_is_one_that_the_callback_saw():
    seen = []
    model = MoETClassifier(hard_iter=0, callback=lambda *round: seen.append(round), random_state=0).fit(X, Y)
    assert [bits(mixture) for _, _, mixture in seen].count(bits(model.mixture_)) > 0
    assert bits(model.mixture_) == bits(MoETClassifier(hard_iter=0, random_state=0).fit(X, Y).mixture_)


def test_verbose_writes_to_stderr_only(capfd):
    MoETClassifier(**QUICK).fit(X, Y)
    silent = capfd.readouterr()
    MoETClassifier(verbose=1, **QUICK).fit(X, Y)
    shown = capfd.readouterr()
    assert (silent.out, silent.err, shown.out) == ("", "", "")
    assert "moet fit" in shown.err


def test_max_depth_zero_is_one_leaf_per_expert_and_none_is_no_limit():
    flat = MoETClassifier(5, 0, random_state=0).fit(X, Y)
    assert [tree.n_leaves for tree in flat.mixture_.trees] == [1] * 5
    assert flat.score(X, Y) > majority(Y) + 0.1
    full = MoETClassifier(1, None, min_samples_leaf=0, n_init=1, random_state=0).fit(X, Y)
    assert full.mixture_.trees[0].depth > 5
    assert full.score(X, Y) == 1.0


@pytest.mark.filterwarnings("ignore:of .* none is answered so")
def test_pruning_by_cost_complexity_shrinks_the_trees():
    leaves = [
        MoETClassifier(2, 6, ccp_alpha=alpha, random_state=0).fit(X, Y).mixture_.size.leaves for alpha in (0, 0.01, 10)
    ]
    assert leaves[0] > leaves[1] > leaves[2] == 2


@pytest.mark.parametrize("least", [1, 7.5, 40])
def test_leaves_are_at_least_as_heavy_as_told(least):
    weight = np.random.default_rng(0).random(len(Y)) * 2
    model = MoETClassifier(1, None, min_samples_leaf=least, n_init=1, hard_iter=0, random_state=0).fit(X, Y, weight)
    tree = model.mixture_.trees[0]
    mass = np.bincount(leaves_by_walking(tree, X), weights=weight, minlength=tree.n_nodes)[tree.feature == -1]
    assert len(mass) > 1
    assert mass.min() >= least * (1 - 1e-9)


@pytest.mark.filterwarnings("ignore:of .* none is answered so")
def test_min_impurity_decrease_stops_useless_splits():
    assert MoETClassifier(2, 6, min_impurity_decrease=0.9, random_state=0).fit(X, Y).mixture_.size.leaves == 2


def test_class_weights_multiply_the_weights_of_rows():
    weight = np.random.default_rng(0).integers(1, 5, len(Y))
    by_class = MoETClassifier(class_weight={0: 1, 1: 3, 2: 0.5}, **QUICK).fit(X, Y, weight)
    by_row = MoETClassifier(**QUICK).fit(X, Y, weight * np.array([1, 3, 0.5])[Y])
    assert bits(by_class.mixture_) == bits(by_row.mixture_)


def test_balanced_classes_find_a_rare_one():
    y = (LARGE_X[:, 0] + np.random.default_rng(0).normal(size=1500) > 2.3).astype(int)
    assert 0.02 < y.mean() < 0.1
    found = [
        MoETClassifier(class_weight=weight, random_state=0).fit(LARGE_X, y).predict(LARGE_X)[y == 1].mean()
        for weight in (None, "balanced")
    ]
    assert found[1] > found[0] + 0.1


@pytest.mark.parametrize("n", [300, 1500])
def test_rows_that_judge_a_model_did_not_train_it(n, monkeypatch):
    """Except in a small table, which has none to spare, and after the judgement, when trees are regrown on all rows."""
    judged, trained = [], []

    class Judge(recipe.Judge):
        def __init__(self, table, *args):
            judged.append(table)
            super().__init__(table, *args)

    class TrainingRows(recipe.TrainingRows):
        def __init__(self, table, *args):
            trained.append(table)
            super().__init__(table, *args)

    monkeypatch.setattr(recipe, "Judge", Judge)
    monkeypatch.setattr(recipe, "TrainingRows", TrainingRows)
    x, y = np.repeat(LARGE_X[:n], 2, axis=0), np.repeat(LARGE_Y[:n], 2)
    MoETClassifier(validation_fraction=0.2, **QUICK).fit(x, y)
    if n == 1500 and len(trained[-1]) == n:
        trained.pop()
    judge_rows, train_rows = (
        {(*t.X[row], label) for t in tables for row, label in zip(t.rows, t.y, strict=True)}
        for tables in (judged, trained)
    )
    assert len(judge_rows | train_rows) == n
    if n == 300:
        assert judge_rows == train_rows
    else:
        assert not judge_rows & train_rows
        assert len(judge_rows) == pytest.approx(0.2 * n, abs=3)


def test_an_unfitted_model_says_so():
    with pytest.raises(NotFittedError):
        MoETClassifier().predict(X)
