import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet.model.bins import bin_table
from moet.model.em import HARD_SHARE, TrainingRows, em_round, hard_share, refit_gate_on_rightness
from moet.model.gate import NEGLIGIBLE, Scaler
from moet.model.grow import GrowOptions
from moet.model.solve import GateStep

from .tables import leaves_by_walking, make_table, random_problem

SEEDS = st.integers(0, 2**32 - 1)


def make_training(X, y, weight=None, max_depth=3, smoothing=0.1, n_classes=None):
    table = make_table(X, y, weight, n_classes)
    return TrainingRows(table, bin_table(table), Scaler.of(table), max_depth, smoothing)


def diagonal_training(n=600, max_depth=0, **kwargs):
    """Two classes on either side of a slanted line: two leaves behind a gate solve it, a small tree does not."""
    X, _ = random_problem(0, n, d=2)
    return make_training(X, (X[:, 0] > X[:, 1] + 0.2).astype(int), max_depth=max_depth, **kwargs)


def random_training(seed, n_experts, n=300, **kwargs):
    """A table, a gate and trees grown on random shares of the rows."""
    rng = np.random.default_rng(seed)
    training = make_training(*random_problem(seed, n), rng.integers(1, 4, n), **kwargs)
    theta = 2 * rng.normal(size=(n_experts, 4))
    share = training.gate_rows.probabilities(theta)
    return training, theta, share, training.grow_experts(share, GrowOptions(3))


def test_every_expert_grows_on_its_share_of_the_rows():
    training, _, share, experts = random_training(0, 3)
    assert experts.leaf.shape == share.shape
    for tree, leaf, h in zip(experts.trees, experts.leaf, share, strict=True):
        assert (leaf == leaves_by_walking(tree, training.table.X[training.table.rows])).all()
        mass = np.zeros(tree.class_weight.shape)
        np.add.at(mass, (leaf, training.table.y), h * training.table.weight)
        is_leaf = tree.feature == -1
        np.testing.assert_allclose(tree.class_weight[is_leaf], mass[is_leaf], rtol=1e-6)


def test_a_starved_expert_learns_from_all_rows():
    training = diagonal_training(max_depth=2)
    share = np.zeros((2, len(training.table)), dtype=np.float32)
    share[0] = 1.0
    experts = training.grow_experts(share, GrowOptions(2))
    assert (experts.leaf[0] == experts.leaf[1]).all()
    assert (experts.trees[0].class_weight == experts.trees[1].class_weight).all()


def test_a_starved_expert_does_not_stop_training():
    training = diagonal_training()
    theta = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -80.0], [0.0, 0.0, -1e6]])
    share = training.gate_rows.probabilities(theta)
    assert share[1:].max() < NEGLIGIBLE
    share[1:] = 0.0
    gate = GateStep("likelihood", 1e-4, 0.3, 0.97)
    for _ in range(3):
        theta, experts, share, log_likelihood = em_round(training, theta, share, GrowOptions(0), gate, 5)
    assert np.isfinite(theta).all()
    assert np.isfinite(share).all()
    assert np.isfinite(log_likelihood)
    assert len(experts.trees) == 3


def test_without_smoothing_the_likelihood_of_a_label_is_its_share_of_the_leaf():
    training, _, share, experts = random_training(0, 2)
    likelihood = experts.label_likelihood(training.table, 0.0)
    y, weight = training.table.y, training.table.weight
    for j in range(2):
        w = share[j] * weight
        for i in range(0, len(y), 7):
            mine = experts.leaf[j] == experts.leaf[j, i]
            assert likelihood[j, i] == pytest.approx(w[mine & (y == y[i])].sum() / w[mine].sum(), rel=1e-5)


def test_smoothing_mixes_the_shares_of_the_table_in():
    training, _, _, experts = random_training(0, 2)
    plain, mixed, prior_only = (experts.label_likelihood(training.table, s) for s in (0.0, 3.0, 1e12))
    prior = training.table.class_shares[training.table.y]
    for j, tree in enumerate(experts.trees):
        mass = tree.class_weight.sum(axis=1)[experts.leaf[j]]
        np.testing.assert_allclose(mixed[j], (mass * plain[j] + 3.0 * prior) / (mass + 3.0), rtol=1e-5)
    np.testing.assert_allclose(prior_only, [prior, prior], rtol=1e-5)


def test_smoothed_likelihoods_are_never_zero():
    """Labels that an expert never saw keep some mass: the logarithm of the mixture stays finite."""
    training = make_training([[0.0], [1.0], [2.0]], [0, 1, 2], max_depth=0)
    experts = training.grow_experts(np.eye(3, dtype=np.float32), GrowOptions(0))
    assert (experts.label_likelihood(training.table, 0.0) == np.eye(3)).all()
    assert (experts.label_likelihood(training.table, 0.1) > 0.01).all()


def test_an_expert_is_right_where_its_first_largest_class_is_the_label():
    training, _, _, experts = random_training(0, 3)
    right = experts.rightness(training.table)
    assert right.shape == experts.leaf.shape
    for j, tree in enumerate(experts.trees):
        answer = [int(tree.class_weight[leaf].argmax()) for leaf in experts.leaf[j]]
        assert right[j].tolist() == [a == label for a, label in zip(answer, training.table.y, strict=True)]


@given(SEEDS, st.integers(1, 5))
@settings(max_examples=30)
def test_after_a_round_the_responsibilities_of_a_row_sum_to_one(seed, n_experts):
    training, theta, share, _ = random_training(seed, n_experts, n=120)
    gate = GateStep("likelihood", 1e-4, 0.3, 0.97)
    state = em_round(training, theta, share, GrowOptions(3), gate, 5)
    total = state.share.sum(axis=0)
    assert (total <= 1 + 1e-5).all()
    assert (total >= 1 - n_experts * NEGLIGIBLE - 1e-5).all()
    assert (state.share >= 0).all()


@pytest.mark.parametrize(
    ("solver", "rate"), [("likelihood", 0.3), ("lbfgs", 0.3), ("newton", 0.3), ("gradient", 0.002), ("adam", 0.3)]
)
def test_rounds_raise_the_likelihood_on_an_easy_problem(solver, rate):
    training = diagonal_training(smoothing=0.1 if solver == "likelihood" else 0.0)
    gate = GateStep(solver, 0.0, rate, 0.97)
    theta = np.random.default_rng(0).normal(size=(2, 3))
    share = training.gate_rows.probabilities(theta)
    history = []
    for _ in range(15):
        theta, _, share, log_likelihood = em_round(training, theta, share, GrowOptions(0), gate, 15)
        history.append(log_likelihood)
    assert history[-1] > history[0] + 0.2
    assert history[-1] > -0.35


def test_the_best_solver_solves_the_easy_problem_in_five_rounds():
    training = diagonal_training()
    gate = GateStep("likelihood", 1e-4, 0.3, 0.97)
    theta = np.random.default_rng(0).normal(size=(2, 3))
    share = training.gate_rows.probabilities(theta)
    for _ in range(5):
        theta, experts, share, _ = em_round(training, theta, share, GrowOptions(0), gate, 15)
    winner = training.gate_rows.probabilities(theta).argmax(axis=0)
    assert experts.rightness(training.table)[winner, np.arange(len(winner))].mean() > 0.97


@given(SEEDS, st.integers(1, 5))
@settings(max_examples=30)
def test_hard_shares_give_the_winner_nearly_everything(seed, n_experts):
    training, theta, gate, _ = random_training(seed, n_experts, n=120)
    share = hard_share(training, theta)
    winner = gate.argmax(axis=0)
    rows = np.arange(len(winner))
    np.testing.assert_allclose(share[winner, rows], HARD_SHARE + (1 - HARD_SHARE) * gate[winner, rows], rtol=1e-5)
    others = share.copy()
    others[winner, rows] = 0.0
    rest = (1 - HARD_SHARE) * gate
    rest[winner, rows] = 0.0
    np.testing.assert_allclose(others, np.where(rest < NEGLIGIBLE, 0.0, rest), atol=2e-7)


def share_of_rows_sent_right(training, theta, experts):
    winner = training.gate_rows.probabilities(theta).argmax(axis=0)
    right = experts.rightness(training.table)[winner, np.arange(len(winner))]
    return float(training.table.weight @ right / training.table.weight.sum())


def test_the_refitted_gate_sends_rows_to_experts_that_are_right():
    training = diagonal_training()
    x, y = training.table.X[training.table.rows], training.table.y
    experts = training.grow_experts(np.array([y == 0, y == 1]).astype(np.float32), GrowOptions(0))
    theta = np.random.default_rng(3).normal(size=(2, 3))
    before = share_of_rows_sent_right(training, theta, experts)
    after = share_of_rows_sent_right(training, refit_gate_on_rightness(training, theta, experts, 1e-5, 30), experts)
    assert len(x) > 500
    assert before < 0.9
    assert after > 0.98


@pytest.mark.parametrize("n_experts", [2, 3, 4])
def test_refitting_the_gate_hardly_ever_sends_more_rows_wrong(n_experts):
    """It climbs a smooth stand-in for the number of rows sent right, so a small loss is possible."""
    gains = []
    for seed in range(20):
        training, theta, _, experts = random_training(seed, n_experts)
        refitted = refit_gate_on_rightness(training, theta, experts, 1e-5, 15)
        before, after = (share_of_rows_sent_right(training, gate, experts) for gate in (theta, refitted))
        gains.append(after - before)
    assert np.mean(gains) > 0.005
    assert np.mean(np.array(gains) < -0.03) <= 0.05


def test_the_gate_stays_where_it_is_if_all_experts_agree():
    training = diagonal_training(max_depth=2)
    theta = np.random.default_rng(0).normal(size=(2, 3))
    experts = training.grow_experts(np.ones((2, len(training.table)), dtype=np.float32), GrowOptions(2))
    assert refit_gate_on_rightness(training, theta, experts, 1e-5, 15) is theta
