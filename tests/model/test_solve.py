import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet.model.gate import BLOCK, Scaler
from moet.model.solve import FETCHED, GateRows, GateStep, _newton

from .gates import GateProblem
from .tables import raw_table

SEEDS = st.integers(0, 2**32 - 1)
SOLVERS = ["likelihood", "lbfgs", "newton", "gradient", "adam"]


def problem_of_regions(seed=0, n=600, n_experts=3):
    """Experts that are likely to be right in a region each, so that there is a good gate to be found."""
    problem = GateProblem(seed, n, n_experts, 3)
    owner = problem.x[:, :n_experts].argmax(axis=1)
    problem.likelihood = np.where(np.arange(n_experts)[:, None] == owner, np.float32(0.9), np.float32(0.2))
    return problem


def mean_log_likelihood(problem, theta):
    return problem.mixture(theta) / problem.weight.sum()


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_raises_the_likelihood(solver):
    problem = problem_of_regions()
    rate = 0.5 / problem.weight.sum() if solver == "gradient" else 0.1
    step = GateStep(solver, l2=0.0, learning_rate=rate, decay=0.99)
    theta, history = problem.theta, []
    for _ in range(10):
        history.append(mean_log_likelihood(problem, theta))
        theta = step(problem.rows, theta, problem.likelihood, 5)
    assert (np.diff(history) > -1e-6).all()
    assert history[-1] > history[0] + 0.05


@given(SEEDS, st.sampled_from(["lbfgs", "newton"]), st.sampled_from([0.0, 1e-3, 0.1]))
@settings(max_examples=40)
def test_a_step_on_the_papers_bound_raises_it(seed, solver, l2):
    problem = GateProblem(seed, 300, 4, 2, spread=3.0)
    h, _ = problem.rows.responsibilities(problem.theta, problem.likelihood)

    def objective(theta):
        return problem.expected(theta, h) / problem.weight.sum() - 0.5 * l2 * (theta**2).sum()

    after = GateStep(solver, l2, 0.3, 0.97)(problem.rows, problem.theta, problem.likelihood, 5)
    assert objective(after) > objective(problem.theta) - 1e-6


@pytest.mark.parametrize("l2", [0.0, 1e-2])
def test_newton_finds_the_optimum_of_lbfgs_in_a_few_steps(l2):
    problem = problem_of_regions()
    h, _ = problem.rows.responsibilities(problem.theta, problem.likelihood)
    scale = problem.weight.sum()
    theta = problem.theta
    for _ in range(8):
        theta = _newton(problem.rows, theta, h, scale * l2)
    best = problem.rows.maximize_expected(problem.theta, h, l2, steps=500)
    # adding one vector to all experts changes no probability
    np.testing.assert_allclose(theta - theta.mean(axis=0), best - best.mean(axis=0), atol=0.01)
    slope = problem.expected_slope(theta, h) / scale - l2 * theta
    assert np.abs(slope).max() < 1e-5


def test_newton_does_not_drift_along_directions_that_change_nothing():
    """There the curvature is 0 and the gradient is rounding: their ratio is anything."""
    problem = problem_of_regions(n=5000)
    theta = problem.theta
    for _ in range(20):
        theta = GateStep("newton", 0.0, 0.3, 0.97)(problem.rows, theta, problem.likelihood, 5)
    assert np.abs(theta.mean(axis=0)).max() < 1e-6


@pytest.mark.parametrize("solver", ["likelihood", "lbfgs"])
def test_more_steps_climb_higher(solver):
    problem = problem_of_regions()
    h, _ = problem.rows.responsibilities(problem.theta, problem.likelihood)
    step = GateStep(solver, 0.0, 0.3, 0.97)
    ends = [step(problem.rows, problem.theta, problem.likelihood, steps) for steps in (1, 5, 50)]
    thetas = [problem.theta, *ends]
    heights = [problem.mixture(t) if solver == "likelihood" else problem.expected(t, h) for t in thetas]
    assert (np.diff(heights) > 0).all()


def test_likelihood_climbs_higher_than_the_papers_bound_in_one_round():
    problem = problem_of_regions()
    ends = [
        GateStep(solver, 0.0, 0.3, 0.97)(problem.rows, problem.theta, problem.likelihood, 200)
        for solver in ("likelihood", "lbfgs")
    ]
    assert mean_log_likelihood(problem, ends[0]) > mean_log_likelihood(problem, ends[1]) + 0.01


def published_gradient(problem, theta, l2):
    """Σ_i w_i (h_ij - g_ij) x_i, in plain NumPy."""
    h, _ = problem.rows.responsibilities(theta, problem.likelihood)
    return problem.expected_slope(theta, h) - l2 * problem.weight.sum() * theta


@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_a_gradient_step_is_the_papers(l2):
    problem = problem_of_regions()
    step = GateStep("gradient", l2, learning_rate=0.002, decay=0.9)
    theta = problem.theta
    for epoch in range(4):
        expected = theta + 0.002 * 0.9**epoch * published_gradient(problem, theta, l2)
        theta = step(problem.rows, theta, problem.likelihood, 5)
        np.testing.assert_allclose(theta, expected, atol=1e-5)


@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_an_adam_step_is_kingmas_and_bas(l2):
    problem = problem_of_regions()
    step = GateStep("adam", l2, learning_rate=0.3, decay=0.97)
    theta = problem.theta
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    for epoch in range(1, 6):
        gradient = published_gradient(problem, theta, l2)
        first = 0.9 * first + (1 - 0.9) * gradient
        second = 0.999 * second + (1 - 0.999) * gradient**2
        direction = first / (1 - 0.9**epoch) / (np.sqrt(second / (1 - 0.999**epoch)) + 1e-8)
        expected = theta + 0.3 * 0.97 ** (epoch - 1) * direction
        theta = step(problem.rows, theta, problem.likelihood, 5)
        np.testing.assert_allclose(theta, expected, atol=1e-4)


@pytest.mark.parametrize("solver", ["likelihood", "lbfgs", "newton"])
def test_a_penalty_shrinks_the_gate(solver):
    problem = problem_of_regions()

    def norm(l2):
        theta = problem.theta
        for _ in range(6):
            theta = GateStep(solver, l2, 0.3, 0.97)(problem.rows, theta, problem.likelihood, 50)
        return np.linalg.norm(theta)

    free, light, heavy = norm(0.0), norm(0.01), norm(10.0)
    assert free > 1.2 * light > 12 * heavy


@given(SEEDS, st.sampled_from(SOLVERS), st.integers(1, 5), st.integers(1, 40))
@settings(max_examples=60)
def test_steps_stay_finite_on_tiny_tables(seed, solver, n_experts, n):
    problem = GateProblem(seed, n, n_experts, 2, spread=20.0)
    step = GateStep(solver, 0.0, 0.3, 0.97)
    theta = problem.theta
    for _ in range(3):
        theta = step(problem.rows, theta, problem.likelihood, 5)
    assert theta.shape == problem.theta.shape
    assert np.isfinite(theta).all()


@given(SEEDS, st.sampled_from([1, BLOCK - 1, BLOCK, BLOCK + 1, 700]))
@settings(max_examples=30)
def test_some_of_the_rows_look_the_same_as_among_all(seed, n_taken):
    problem = GateProblem(seed, 800, 3, 2)
    index = np.random.default_rng(seed).choice(800, n_taken, replace=False)
    part = problem.rows.take(index)
    assert (part.table.rows == problem.table.rows[index]).all()
    assert (part.probabilities(problem.theta) == problem.rows.probabilities(problem.theta)[:, index]).all()
    likelihood = np.ascontiguousarray(problem.likelihood[:, index])
    fresh = GateRows(problem.table.take(index), problem.rows.scaler)
    for ours, other in zip(
        part.expected(problem.theta, likelihood), fresh.expected(problem.theta, likelihood), strict=True
    ):
        assert np.array_equal(ours, other)


@pytest.mark.parametrize("n_rows", [1, 255, 256, 257, FETCHED, FETCHED + 300])
def test_rows_stand_in_blocks_as_standardised_columns_and_end_with_zeros(n_rows):
    rng = np.random.default_rng(0)
    table = raw_table(rng.normal(size=(n_rows, 3)) * (1, 100, 0.01), np.zeros(n_rows, dtype=int))
    scaler = Scaler.of(table)
    blocks = GateRows(table, scaler)._blocks
    columns = blocks.transpose(1, 0, 2).reshape(4, -1)
    wanted = ((table.X - scaler.mean) * scaler.inverse_scale).astype(np.float32)
    assert (wanted == columns[:3, :n_rows].T).all()
    assert (columns[3, :n_rows] == 1).all()
    assert not columns[:, n_rows:].any()
