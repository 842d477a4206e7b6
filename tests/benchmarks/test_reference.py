"""The reference must be a fair competitor: correct mathematics, and it learns."""

import numpy as np
import pytest
import reference
from reference import Rows


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3)) * (1, 10, 0.1)
    y = (X[:, 0] > 0).astype(np.int64) + (X[:, 1] > 5)
    return Rows.standardised(X, y)


@pytest.fixture
def gate(rows):
    return np.random.default_rng(1).normal(size=(3, rows.inputs.shape[1]))


def test_responsibilities_sum_to_one_even_where_no_expert_gives_the_label_mass(rows, gate):
    g = reference.gate_probabilities(gate, rows)
    likelihood = np.random.default_rng(2).random(g.shape)
    likelihood[:, 0] = 0.0
    h = reference.responsibilities(g, likelihood)
    np.testing.assert_allclose(h.sum(axis=0), 1.0)
    np.testing.assert_array_equal(h[:, 0], g[:, 0])


def test_gradient_of_the_objective_is_right(rows, gate):
    likelihood = np.random.default_rng(2).random((3, len(rows.y)))
    _, gradient = reference.mixture_objective(gate, rows, likelihood, 1e-2)
    for index in [(0, 0), (1, 2), (2, 3)]:
        step = np.zeros_like(gate)
        step[index] = 1e-6
        up, down = (reference.mixture_objective(gate + s, rows, likelihood, 1e-2)[0] for s in (step, -step))
        assert gradient[index] == pytest.approx((up - down) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("max_depth", [0, 2])
def test_gate_step_raises_the_likelihood(rows, gate, max_depth, skip):
    model, likelihood = reference.em_epoch(rows, gate, np.ones((3, len(rows.y))), max_depth, skip)
    before, _ = reference.mixture_objective(gate, rows, likelihood, 1e-4)
    after, _ = reference.mixture_objective(model.gate, rows, likelihood, 1e-4)
    assert after < before


def test_classes_keep_their_columns_and_experts_without_weight_answer(rows):
    only_class_two = (rows.y == 2).astype(float)
    kept, starved = reference.fit_experts(rows, np.stack([only_class_two, np.zeros(len(rows.y))]), 3, skip=True)
    np.testing.assert_array_equal(kept.value[0], [0, 0, 1])
    np.testing.assert_allclose(starved.value[0], np.bincount(rows.y) / len(rows.y))


def test_published_procedure_learns_a_linear_boundary():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 2))
    y = (X @ (1.0, 2.0) > 0.3).astype(np.int64)
    fit, validation, test = np.split(np.arange(3_000), [1_000, 1_500])
    best = reference.published(X[fit], y[fit], X[validation], y[validation], n_experts=2, max_depth=0, seed=0)
    rows = Rows.standardised(X[test], y[test], like=X[fit])
    assert (best["hard"].predict_hard(rows) == rows.y).mean() > 0.95
    assert (best["soft"].predict_soft(rows) == rows.y).mean() > 0.95


def test_hard_and_soft_agree_when_the_gate_is_saturated(rows, gate):
    model, _ = reference.em_epoch(rows, gate, np.ones((3, len(rows.y))), 2)
    sure = model._replace(gate=1e6 * model.gate)
    np.testing.assert_array_equal(sure.predict_hard(rows), sure.predict_soft(rows))
