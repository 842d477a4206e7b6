"""The compiled L-BFGS beside SciPy's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from .gates import GateProblem


def objective(problem, theta, l2):
    """Value in plain NumPy and float64."""
    return problem.mixture(theta) / problem.weight.sum() - 0.5 * l2 * (theta**2).sum()


@pytest.mark.parametrize("l2", [1e-4, 1e-3, 1e-1])
def test_it_reaches_the_summit_that_scipy_reaches(l2):
    problem = GateProblem(0, 800, 3, 3)
    theta = problem.rows.maximize_likelihood(problem.theta, problem.likelihood, l2, steps=300)
    best = minimize(
        lambda flat: -objective(problem, flat.reshape(theta.shape), l2),
        problem.theta.ravel(),
        method="L-BFGS-B",
        options={"maxiter": 500},
    )
    assert objective(problem, theta, l2) == pytest.approx(-best.fun, abs=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from([1, 2, 30, 700]), st.sampled_from([1e-7, 1e-2]))
@settings(max_examples=60)
def test_every_further_step_climbs(seed, n_experts, n, l2):
    problem = GateProblem(seed, n, n_experts, 2, spread=3.0)
    climbed = [
        problem.rows.maximize_likelihood(problem.theta, problem.likelihood, l2, steps) for steps in (0, 1, 3, 12)
    ]
    values = [objective(problem, theta, l2) for theta in climbed]
    assert (np.diff(values) > -1e-5).all()


def test_no_step_leaves_the_gate_as_it_was_and_a_step_does_not_write_to_it():
    problem = GateProblem(1, 200, 3, 2)
    before = problem.theta.copy()
    same = problem.rows.maximize_likelihood(problem.theta, problem.likelihood, l2=0.0, steps=0)
    moved = problem.rows.maximize_likelihood(problem.theta, problem.likelihood, l2=0.0, steps=5)
    np.testing.assert_array_equal(same, before)
    np.testing.assert_array_equal(problem.theta, before)
    assert np.abs(moved - before).max() > 0.01


def test_only_the_balance_between_rows_and_penalty_depends_on_the_scale():
    problem = GateProblem(2, 400, 3, 2)
    maximize = problem.rows.maximize_likelihood
    plain = maximize(problem.theta, problem.likelihood, l2=1e-2, steps=200)
    scaled = maximize(problem.theta, problem.likelihood, l2=1e-3, steps=200, scale=10 * float(problem.weight.sum()))
    np.testing.assert_allclose(plain, scaled, atol=2e-2)
