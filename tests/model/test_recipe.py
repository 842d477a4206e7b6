"""The steps of training: race, EM phase, hard phase, judge, and what each leaves behind."""

from dataclasses import replace

import numpy as np
import pytest

from moet.model import recipe
from moet.model.bins import bin_table
from moet.model.em import TrainingRows
from moet.model.gate import Scaler
from moet.model.grow import GrowOptions
from moet.model.init import initial_gates
from moet.model.recipe import Run, em_phase, hard_phase, most_rounds, sliced_starts, starting_gates, train
from moet.model.settings import Settings
from moet.model.snapshot import Judge, Snapshot

from .tables import make_table, random_problem

SETTINGS = Settings(
    n_experts=3,
    max_depth=2,
    prediction="hard",
    criterion="gini",
    min_samples_leaf=None,
    min_impurity_decrease=0.0,
    ccp_alpha=0.0,
    init="race",
    n_init=6,
    gate_solver="likelihood",
    gate_l2=1e-4,
    learning_rate=0.3,
    learning_rate_decay=0.97,
    max_samples=1.0,
    max_features=1.0,
    max_iter=3,
    tol=0.0,
    hard_iter=3,
    validation_fraction=0.2,
)


def noisy_table(n=1200, seed=0):
    """A curved boundary with some labels wrong, so that nothing is ever perfect."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)
    return make_table(X, np.where(rng.random(n) < 0.1, 1 - y, y))


@pytest.fixture
def stage():
    """The rows of a training, a judge on other rows, and the log of a watcher."""
    table = noisy_table()
    scaler = Scaler.of(table)
    training = TrainingRows(table, bin_table(table), scaler, SETTINGS.max_depth, recipe.SMOOTHING)
    seen = []
    return training, Judge(noisy_table(seed=1), scaler, SETTINGS), lambda *args: seen.append(args), seen


def start(training, settings=SETTINGS):
    return initial_gates("random", 1, training.gate_rows, settings.n_experts, np.random.default_rng(0))[0]


@pytest.mark.parametrize(("max_depth", "survivors"), [(2, 2), (0, 4)])
def test_a_race_returns_the_best_starts_first(stage, max_depth, survivors):
    training, judge, _, _ = stage
    settings = replace(SETTINGS, max_depth=max_depth)
    gates = starting_gates(training, settings, judge, np.random.default_rng(0))
    assert len(gates) == survivors
    scores = []
    for theta in initial_gates("race", 6, training.gate_rows, 3, np.random.default_rng(0)):
        theta, experts = recipe.race(training, theta, settings)
        scores.append((judge.score(Snapshot(theta, experts.trees, GrowOptions(max_depth))), theta))
    scores.sort(key=lambda entry: -entry[0])
    for gate, (_, expected) in zip(gates, scores, strict=False):
        np.testing.assert_array_equal(gate, expected)


def test_a_single_start_does_not_race(stage):
    training, judge, _, _ = stage
    settings = replace(SETTINGS, init="random", n_init=1)
    gates = starting_gates(training, settings, judge, np.random.default_rng(0))
    np.testing.assert_array_equal(gates, [start(training)])


def test_em_runs_all_rounds_and_leaves_the_gate_of_its_best_one(stage):
    training, judge, watch, seen = stage
    run = Run(start(training), training, SETTINGS, judge, watch)
    em_phase(run)
    assert len(run.log_likelihoods) == len(seen) == SETTINGS.max_iter
    assert [log_likelihood for log_likelihood, _ in seen] == run.log_likelihoods
    np.testing.assert_array_equal(run.theta, run.best.theta)
    assert run.score == judge.score(run.best)
    assert not run.best.hard


def test_em_stops_when_the_likelihood_does(stage):
    training, judge, watch, _ = stage
    run = Run(start(training), training, replace(SETTINGS, tol=10.0), judge, watch)
    em_phase(run)
    assert run.converged
    assert len(run.log_likelihoods) == 2


def test_the_hard_phase_betters_a_run_and_remembers_how_trees_grew(stage):
    training, judge, watch, _ = stage
    run = Run(start(training), training, replace(SETTINGS, max_iter=1), judge, watch)
    em_phase(run)
    before = run.score
    run.leaf_choices = recipe.MIN_SAMPLES_LEAF_CHOICES
    hard_phase(run, SETTINGS.hard_iter)
    assert run.score > before
    assert run.best.hard
    assert run.best.options.min_samples_leaf in recipe.MIN_SAMPLES_LEAF_CHOICES
    assert len(run.log_likelihoods) == 1 + SETTINGS.hard_iter


def test_no_hard_phase_if_not_asked_for(stage):
    training, judge, watch, seen = stage
    run = Run(start(training), training, SETTINGS, judge, watch)
    hard_phase(run, 0)
    assert run.best is None
    assert not seen


def test_phases_end_when_the_score_is_perfect():
    X, _ = random_problem(0, 1500)
    X = X[np.abs(X[:, 0]) > 0.1]
    table = make_table(X, (X[:, 0] > 0).astype(int))
    rounds = []
    trained = train(table, SETTINGS, np.random.default_rng(0), lambda *args: rounds.append(args))
    assert trained.score == 1.0
    assert len(rounds) < most_rounds(SETTINGS)


@pytest.mark.parametrize("max_depth", [0, 2])
def test_most_rounds_is_how_many_there_are_without_an_early_end(max_depth):
    settings = replace(SETTINGS, max_depth=max_depth)
    rounds = []
    train(noisy_table(), settings, np.random.default_rng(0), lambda *args: rounds.append(args))
    assert len(rounds) == most_rounds(settings)


@pytest.mark.parametrize(("hard_iter", "max_iter"), [(8, 1), (1, 8), (0, 3)])
def test_the_chosen_trees_are_regrown_on_all_rows(monkeypatch, hard_iter, max_iter):
    """Whichever phase they are from, unless there is no hard phase, as in the published procedure."""
    sizes = []

    class Spy(TrainingRows):
        def __init__(self, table, *args):
            sizes.append(len(table))
            super().__init__(table, *args)

    monkeypatch.setattr(recipe, "TrainingRows", Spy)
    settings = replace(SETTINGS, prediction="soft", max_iter=max_iter, hard_iter=hard_iter)
    trained = train(noisy_table(2000), settings, np.random.default_rng(0), lambda *args: None)
    assert sizes == [pytest.approx(1600, abs=2), recipe.RACE_ROWS] + [2000] * (hard_iter > 0)
    assert trained.mixture.n_experts == SETTINGS.n_experts


def test_a_sliced_start_is_the_feature_whose_slices_answer_best(stage):
    """Slices of the first feature tell the two waves of the label apart; those of the others do not."""
    _, _, watch, _ = stage
    X = np.random.default_rng(0).uniform(-1, 1, size=(3000, 3))
    y = (np.sin(6 * X[:, 0]) + 0.2 * X[:, 2] > 0).astype(int)
    table = make_table(X, y)
    scaler = Scaler.of(table)
    training = TrainingRows(table, bin_table(table), scaler, 1, recipe.SMOOTHING)
    settings = replace(SETTINGS, max_depth=1)
    judge = Judge(table, scaler, settings)
    (gate,) = sliced_starts(training, settings, judge)
    assert (gate[1:, 0] > 0).all()
    assert not gate[:, 1:3].any()
    run = Run(gate, training, settings, judge, watch)
    hard_phase(run, SETTINGS.hard_iter)
    assert run.score > 0.85
    assert sliced_starts(training, replace(settings, hard_iter=0), judge) == []


@pytest.mark.parametrize("prediction", ["hard", "soft"])
def test_a_judge_measures_weighted_accuracy_in_the_mode_that_will_be_used(stage, prediction):
    training, _, watch, _ = stage
    settings = replace(SETTINGS, prediction=prediction)
    X, y = random_problem(2, 400)
    weight = np.random.default_rng(0).integers(1, 4, size=400).astype(float)
    table = make_table(X, y, weight)
    judge = Judge(table, training.scaler, settings)
    run = Run(start(training), training, settings, judge, watch)
    em_phase(run)
    mixture = run.best.freeze(training.scaler, settings)
    right = mixture.predict(table.X[table.rows]) == table.y
    assert run.score == pytest.approx(np.average(right, weights=table.weight))


@pytest.mark.parametrize("hard_iter", [0, 3])
def test_of_many_rows_some_are_drawn_for_the_rounds_and_all_grow_the_last_trees(monkeypatch, hard_iter):
    monkeypatch.setattr(recipe, "MOST_IN_ROUNDS", 500)
    used = []
    grow = TrainingRows.grow_experts

    def watched(self, *arguments):
        used.append(len(self.table))
        return grow(self, *arguments)

    monkeypatch.setattr(TrainingRows, "grow_experts", watched)
    train(noisy_table(2000), replace(SETTINGS, hard_iter=hard_iter), np.random.default_rng(0), lambda *_: None)
    assert (max(used[:-1]) == 500) == (hard_iter > 0)
    assert (used[-1] == 2000) == (hard_iter > 0)
