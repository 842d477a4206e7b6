"""Probabilities that come true: what is chosen, and that no answer changes."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet import Mixture, MoETClassifier, Tree, load, save
from moet.errors import CertificateError, ModelError, RareClassWarning
from moet.model.calibration import Trial, best_sharpness, best_shrinkage, calibrated, drawn, folds, shrunk
from moet.model.file import digest
from moet.model.mixture import sharpened
from moet.verify.checker.documents.model import plain_model

from .tables import make_table

STUMP = Tree([0, -1, -1], [0.0, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])


def soft(sharpness=None):
    """Two experts that vote by the sign of x."""
    return Mixture([[0.0], [0.0]], [0.0, 0.0], [STUMP, STUMP], [0, 1], prediction="soft", sharpness=sharpness)


def noisy(n_rows, seed, flipped=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    return X, (X[:, 0] > 0).astype(int) ^ (rng.random(n_rows) < flipped)


def error(model, X, y):
    """Distance between how sure a model is of its answers and how often they are right."""
    return abs(model.predict_proba(X).max(axis=1).mean() - np.mean(model.predict(X) == y))


@pytest.mark.parametrize("settings", [{}, {"prediction": "hard"}, {"training": "boosting", "n_experts": 16}])
@pytest.mark.parametrize("n_rows", [400, 2000])
def test_a_model_of_noisy_labels_is_as_sure_as_it_is_right(settings, n_rows):
    model = MoETClassifier(random_state=0, **settings).fit(*noisy(n_rows, 0))
    assert error(model, *noisy(5000, 1)) < (0.1 if n_rows == 400 else 0.06)


def test_calibration_changes_no_answer():
    X, y = noisy(400, 0)
    for prediction in ("hard", "soft"):
        model = MoETClassifier(random_state=0, prediction=prediction).fit(X, y)
        assert (model.predict(X) == model.classes_[model.mixture_.votes(X).argmax(axis=1)]).all()
        assert (model.predict(X) == model.classes_[model.predict_proba(X).argmax(axis=1)]).all()


rows_of_shares = (
    st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any).map(lambda row: np.array(row) / sum(row))
)


@given(value=rows_of_shares, towards=rows_of_shares, share=st.floats(0, 1))
def test_drawing_probabilities_keeps_the_first_largest(value, towards, share):
    moved = drawn(value[None], towards, np.array([share]))
    assert moved[0].argmax() == value.argmax()
    assert moved.min() >= 0
    np.testing.assert_allclose(moved.sum(), 1)


def test_an_answer_that_stays_may_be_drawn_all_the_way():
    np.testing.assert_allclose(drawn(np.array([[1.0, 0.0]]), np.array([0.7, 0.3]), np.ones(1)), [[0.7, 0.3]])


def test_leaves_of_few_rows_are_drawn_further():
    table = make_table(np.r_[np.linspace(-2, -1, 99), 1.0][:, None], np.r_[np.zeros(70), np.ones(30)].astype(int))
    pure = Tree([0, -1, -1], [0.0, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [1, 0], [1, 0]])
    value = shrunk(Mixture([[0.0]], [0.0], [pure], [0, 1]), table, 1.0).trees[0].value
    np.testing.assert_allclose(value[1], [1 - 0.3 / 100, 0.3 / 100])
    np.testing.assert_allclose(value[2], [0.85, 0.15])


def test_doubt_draws_all_leaves_of_an_answer_alike():
    table = make_table(np.r_[np.linspace(-2, -1, 99), 1.0][:, None], np.r_[np.zeros(70), np.ones(30)].astype(int))
    pure = Tree([0, -1, -1], [0.0, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [1, 0], [1, 0]])
    value = shrunk(Mixture([[0.0]], [0.0], [pure], [0, 1]), table, 0.0, (0.1, 0.0)).trees[0].value
    np.testing.assert_allclose(value[1:], [[0.97, 0.03]] * 2)


def test_doubt_is_chosen_where_large_leaves_are_too_sure():
    X, y = noisy(4000, 0, 0.2)
    table = make_table(X[:, :1], y)
    sure = Mixture([[0.0]], [0.0], [STUMP], [0, 1])
    shrinkage, doubts = best_shrinkage([Trial(sure, table, table)])
    assert any(doubts)  # leaves of 2,000 rows: shrinking by 256 rows is not enough
    assert error(shrunk(sure, table, shrinkage, doubts), X[:, :1], y) < 0.02


@pytest.mark.parametrize("flipped", [0.02, 0.3])
def test_the_sharpness_is_the_one_that_labels_not_seen_recommend(flipped):
    X, y = noisy(4000, 0, flipped)
    table = make_table(X[:, :1], y)
    vote = Mixture([[0.0]], [0.0], [STUMP], [0, 1], prediction="soft")
    sharpness, offset = best_sharpness(vote, [Trial(vote, table, table)])
    assert sharpness is not None
    assert len(sharpness) == 2
    assert offset is None  # every answer has votes of one kind: nothing is left for another number to say
    said = Mixture([[0.0]], [0.0], [STUMP], [0, 1], prediction="soft", sharpness=sharpness)
    assert error(said, X[:, :1], y) < 0.02


def test_answers_that_are_right_less_often_have_a_sharpness_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1))
    y = np.where(rng.random(4000) < np.where(X[:, 0] <= 0, 0.05, 0.4), X[:, 0] <= 0, X[:, 0] > 0)
    table = make_table(X, y.astype(int))
    vote = Mixture([[0.0]], [0.0], [STUMP], [0, 1], prediction="soft")
    said = calibrated(vote, table, [Trial(vote, table, table)])
    assert (said.predict(X) == vote.predict(X)).all()
    np.testing.assert_allclose(said.predict_proba([[-1.0], [1.0]]).max(axis=1), [0.95, 0.6], atol=0.02)


def biased(n_rows, scale):
    """Votes along a line, and labels that are 1 far more often than they say."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.normal(size=(n_rows, 1)), axis=0)
    edges = np.linspace(-2, 2, 41)
    middles = np.r_[edges[0], (edges[1:] + edges[:-1]) / 2, edges[-1]]
    vote = 0.5 + middles / 6
    leaves = [[1 - v, v] for v in vote]
    n = len(edges)  # a chain: node k tests edge k, its left child is a leaf
    tree = Tree(
        [0] * n + [-1] * (n + 1),
        [*edges, *[0.0] * (n + 1)],
        [n + k for k in range(n)] + [-1] * (n + 1),
        [*range(1, n), 2 * n] + [-1] * (n + 1),
        [[0.5, 0.5]] * n + leaves,
    )
    mixture = Mixture([[0.0]], [0.0], [tree], [0, 1], prediction="soft")
    true = 1 / (1 + np.exp(-scale * (vote[np.searchsorted(edges, X[:, 0])] - 0.5) - 0.8))
    return mixture, make_table(X, (rng.random(n_rows) < true).astype(int)), X, true


def test_an_answer_that_is_right_where_votes_are_nearly_equal_is_raised():
    vote, table, X, true = biased(20_000, 8.0)
    said = calibrated(vote, table, [Trial(vote, table, table)])
    assert said.offset[0] < 0 < said.offset[1]
    assert (said.predict(X) == vote.predict(X)).all()
    assert (said.classes[said.predict_proba(X).argmax(axis=1)] == vote.predict(X)).all()
    likely = np.where(vote.predict(X) == 1, np.maximum(true, 0.5), np.minimum(true, 0.5))  # answers stay the likeliest
    np.testing.assert_allclose(said.predict_proba(X)[:, 1], likely, atol=0.05)


@given(
    votes=st.lists(rows_of_shares, min_size=1, max_size=5),
    sharpness=st.floats(1e-3, 1e3),
    offset=st.lists(st.floats(-50, 50), min_size=3, max_size=3),
)
def test_an_offset_changes_no_answer_and_keeps_the_order_of_the_others(votes, sharpness, offset):
    votes = np.array(votes)
    said = sharpened(votes, sharpness, offset)
    assert (said.argmax(axis=1) == votes.argmax(axis=1)).all()
    np.testing.assert_allclose(said.sum(axis=1), 1)
    for vote, one in zip(votes, said, strict=True):
        others = np.flatnonzero(np.arange(3) != vote.argmax())
        assert (np.diff(one[others[np.argsort(vote[others], kind="stable")]]) >= 0).all()


def test_an_answer_that_was_never_given_has_the_sharpness_of_all():
    X, y = noisy(400, 0, 0.2)
    table = make_table(X[:, :1], y)
    always = Mixture([[0.0]], [0.0], [Tree.leaf([0.3, 0.7])], [0, 1], prediction="soft")
    never, given = best_sharpness(always, [Trial(always, table, table)]).sharpness
    assert never == pytest.approx(given, rel=0.01)


def test_votes_that_come_true_stay_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 1))
    table = make_table(X, rng.random(40_000) < np.where(X[:, 0] <= 0, 0.1, 0.8))
    assert best_sharpness(soft(), [Trial(soft(), table, table)]) == (None, None)
    alone = Mixture([[0.0]], [0.0], [STUMP], [0, 1])
    assert best_shrinkage([Trial(alone, table, table)]) == (0, (0, 0))
    assert calibrated(alone, table, []) is alone


def test_folds_keep_groups_together_and_ask_every_row_once():
    X, y = noisy(300, 0)
    table = make_table(X, y, group=np.arange(300) // 10)
    asked = [part.rows for _, part in folds(table)]
    assert sorted(np.concatenate(asked)) == list(range(300))
    for taught, part in folds(table):
        assert not set(taught.groups.name) & set(part.groups.name)
    assert list(folds(make_table(X[:50], y[:50]))) == []


@pytest.mark.parametrize(("sharpness", "offset"), [(7.5, None), ((7.5, 7.5), None), (7.5, (0.0, 0.0))])
def test_sharpness_and_offset_are_kept_in_files_and_in_what_the_checker_reads(tmp_path, sharpness, offset):
    sharp = replace(soft(sharpness), offset=offset)
    save(sharp, tmp_path / "sharp.moet.json")
    loaded = load(tmp_path / "sharp.moet.json")
    assert loaded == sharp != soft()
    assert digest(loaded) == digest(sharp) == plain_model(sharp).digest != digest(soft())
    assert plain_model(tmp_path / "sharp.moet.json").digest == digest(sharp)
    assert sharp.prune().sharpness == loaded.sharpness == sharpness
    assert sharp.prune().offset == loaded.offset == offset
    assert (digest(sharp) == digest(soft(sharpness))) == (offset is None)
    X = np.array([[-1.0], [1.0]])
    assert (sharp.predict(X) == soft().predict(X)).all()
    np.testing.assert_allclose(sharp.predict_proba(X)[:, 1], 1 / (1 + np.exp(-7.5 * np.array([-0.8, 0.6]))))


@pytest.mark.parametrize("wrong", [0, -1.0, float("nan"), float("inf"), True, "3", [1.0], [1.0, 0.0], (1.0, True), []])
def test_a_sharpness_that_is_no_positive_number_is_refused(wrong):
    with pytest.raises(ModelError, match="positive number"):
        soft(wrong)


@pytest.mark.parametrize("wrong", [1.0, [1.0], [1.0, float("inf")], [1.0, True], ["1", 2.0], "12"])
def test_an_offset_that_is_no_number_for_each_class_is_refused(wrong):
    with pytest.raises(ModelError, match="finite number for each class"):
        replace(soft(2.0), offset=wrong)


def test_an_offset_without_sharpness_is_refused_by_library_and_checker(tmp_path):
    with pytest.raises(ModelError, match="sharpness, too"):
        replace(soft(), offset=(0.0, 1.0))
    save(replace(soft(2.0), offset=(0.0, 1.0)), tmp_path / "m.moet.json")
    document = json.loads((tmp_path / "m.moet.json").read_text())
    with pytest.raises(CertificateError, match="belongs to a sharpness"):
        plain_model({name: part for name, part in document.items() if name != "sharpness"})


def test_a_hard_mixture_has_no_sharpness():
    with pytest.raises(ModelError, match="soft mixture"):
        Mixture([[0.0]], [0.0], [STUMP], [0, 1], sharpness=2.0)


def test_a_class_without_rows_is_said_to_be_impossible():
    X, y = noisy(400, 0)
    model = MoETClassifier(random_state=0).fit(np.r_[X, X[:1]], np.r_[y, 2], np.r_[np.ones(400), 0.0])
    assert model.classes_.tolist() == [0, 1, 2]
    assert not model.predict_proba(X)[:, 2].any()


def test_a_class_that_is_never_found_is_told_with_what_to_set():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 3))
    y = np.where(X[:, 0] + rng.normal(size=30_000) > 4.3, "fraud", "fine")
    assert 20 < np.sum(y == "fraud") < 60
    with pytest.warns(RareClassWarning, match=r"'fraud' \(0.\d\d% of all rows\) none .* class_weight='balanced'"):
        MoETClassifier(random_state=0).fit(X, y)
    assert (
        np.mean(MoETClassifier(random_state=0, class_weight="balanced").fit(X, y).predict(X[y == "fraud"]) == "fraud")
        > 0.5
    )
