"""Boosted experts: derivatives, the map from votes to probabilities, the linear start, and the classifier around it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from moet import MoETClassifier
from moet.model.boosting import Voters, boost, freeze, joint_fit, likelihood, linear_start, standardised
from moet.model.gate import Scaler
from moet.model.solve import GateRows

from .tables import make_table
from .test_recipe import SETTINGS

BOOSTING = replace(SETTINGS, prediction="soft", n_experts=5, max_iter=10, min_samples_leaf=5.0)
NOTHING = Voters([], [], np.empty((0, 300), dtype=np.int32))


def problem(n_classes=3, n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    noise = rng.normal(scale=0.3, size=n)
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + noise, np.linspace(-1, 1, n_classes + 1)[1:-1])
    return X, y


def stage(n_classes=3, settings=BOOSTING):
    table = make_table(*problem(n_classes))
    rows = GateRows(table, Scaler.of(table))
    theta = np.random.default_rng(1).normal(size=(settings.n_experts, 5))
    return rows, theta, boost(rows, theta, NOTHING, settings, np.random.default_rng(0))


def test_likelihood_has_the_derivatives_it_says():
    rows, theta, voters = stage(settings=replace(BOOSTING, n_experts=2))
    table, X = rows.table, standardised(rows)
    share = table.weight / table.weight.sum()
    splits = np.cumsum([len(votes) for votes in voters.votes])[:-1]

    def value(parameters):
        votes = np.split(parameters[theta.size :].reshape(-1, 3), splits)
        return likelihood(table, X, share, parameters[: theta.size].reshape(theta.shape), voters._replace(votes=votes))

    point = np.concatenate([theta.ravel(), np.concatenate(voters.votes).ravel()])
    _, along_theta, along_votes = value(point)
    numeric = approx_fprime(point, lambda p: value(p)[0], 1e-7)
    np.testing.assert_allclose(np.concatenate([along_theta.ravel(), along_votes.ravel()]), numeric, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_of_the_mixture_are_an_affine_image_of_its_score_and_probabilities_its_softmax(n_classes):
    rows, theta, voters = stage(n_classes)
    table = rows.table
    gate = np.exp(standardised(rows) @ theta.T)
    gate /= gate.sum(axis=1, keepdims=True)
    score = sum(
        gate[:, [j]] * (votes - votes.mean(axis=1, keepdims=True))[voters.leaf[j]]
        for j, votes in enumerate(voters.votes)
    )
    mixture = freeze(rows.scaler, theta, voters)
    shares = mixture.votes(table.X[table.rows])
    scale = np.abs(score).max() / np.abs(shares - 1 / n_classes).max()
    np.testing.assert_allclose(1 / n_classes + score / scale, shares, atol=1e-9)
    np.testing.assert_allclose(mixture.predict_proba(table.X[table.rows]), softmax(score, axis=1), atol=1e-9)


def test_joint_fit_raises_the_likelihood_round_by_round():
    rows, theta, voters = stage()
    seen = []
    joint_fit(rows, theta, voters, BOOSTING, lambda value, model: seen.append(value))
    assert len(seen) == 1 + BOOSTING.max_iter
    assert seen[-1] > seen[0] + 0.05


def test_a_linear_start_votes_like_logistic_regression():
    X, y = problem(n_classes=2)
    table = make_table(X, y)
    rows = GateRows(table, Scaler.of(table))
    settings = replace(BOOSTING, n_experts=2, init="linear", gate_l2=1e-3)
    theta, first = linear_start(rows, settings)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    reference = LogisticRegression(C=2 / (1e-3 * len(y))).fit(standard, y)  # the ridge counts both classes' halves
    assert np.mean(freeze(rows.scaler, theta, first).predict(X) == reference.predict(standard)) > 0.98


@pytest.mark.parametrize("init", ["race", "linear"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_experts_that_follow_each_other_answer_better_than_the_first_alone(init, n_classes):
    X, y = problem(n_classes, n=2000)
    X_new, y_new = problem(n_classes, n=2000, seed=1)
    scores = [
        MoETClassifier(n, 3, training="boosting", init=init, gate_l2=1e-2, random_state=0).fit(X, y).score(X_new, y_new)
        for n in (n_classes, n_classes + 24)
    ]
    assert scores[1] > scores[0] + 0.03


def test_each_tree_is_grown_on_its_own_draw_of_rows_and_features():
    _, _, voters = stage(settings=replace(BOOSTING, max_samples=0.5, max_features=0.5, n_experts=20))
    tested = [set(tree.feature[tree.feature >= 0]) for tree in voters.trees]
    assert max(map(len, tested)) == 2
    assert set.union(*tested) == {0, 1, 2, 3}


def test_a_leaf_learns_from_the_rows_that_were_drawn():
    voters = stage(settings=replace(BOOSTING, max_samples=1e-9))[2]
    assert all((votes == votes[0]).all() for votes in voters.votes)  # no row was drawn: no step was taken


def test_a_seed_fixes_the_draws():
    X, y = problem()
    fits = [
        MoETClassifier(6, 3, training="boosting", max_samples=0.5, max_features=0.5, random_state=seed).fit(X, y)
        for seed in (0, 0, 1)
    ]
    assert fits[0].mixture_ == fits[1].mixture_
    assert fits[0].mixture_ != fits[2].mixture_


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_weights_are_repetitions(share):
    X, y = problem()
    weight = np.random.default_rng(2).integers(1, 4, len(y))
    classifier = MoETClassifier(4, 3, training="boosting", max_samples=share, max_features=share, random_state=0)
    weighted = classifier.fit(X, y, sample_weight=weight).mixture_
    assert weighted == classifier.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).mixture_


def test_classes_without_weight_and_single_classes_are_no_problem():
    X, y = problem()
    classifier = MoETClassifier(3, 2, training="boosting", random_state=0)
    assert 1 not in classifier.fit(X, y, sample_weight=y != 1).predict(X)
    assert set(classifier.fit(X, np.zeros(len(y))).predict(X)) == {0.0}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"training": "boosting", "prediction": "hard"}, "prediction='soft'"),
        ({"training": "boosting", "ccp_alpha": 0.1}, "ccp_alpha=0"),
        ({"training": "boosting", "init": "linear", "n_experts": 2}, "one expert per class"),
        ({"max_iter": 0}, "at least one round"),
        ({"max_samples": 0.5}, "all rows and features"),
        ({"max_features": 0.5}, "all rows and features"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        MoETClassifier(**parameters).fit(*problem())
