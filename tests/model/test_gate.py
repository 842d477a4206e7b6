import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet import Mixture, Tree
from moet.model.gate import BLOCK, NEGLIGIBLE, Scaler, _exp_in_place, _write_logarithms, mixture_objective
from moet.model.solve import GateRows

from .gates import GateProblem, slope
from .tables import make_table, random_problem

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.sampled_from([1, 2, 50, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17])
SHAPES = {"seed": SEEDS, "n": SIZES, "n_experts": st.integers(1, 5), "d": st.integers(1, 4)}


def test_exponentials_are_exact_to_seven_digits():
    x = -np.concatenate([np.linspace(0, 50, 100_001), 10.0 ** np.linspace(-37, 1.69, 10_001)]).astype(np.float32)
    got = x.copy()
    for start in range(0, len(x), BLOCK):
        block = got[start : start + BLOCK]
        _exp_in_place(block, len(block))
    assert np.abs(got / np.exp(x.astype(np.float64)) - 1).max() < 3e-7
    assert got[0] == 1.0


def test_exponentials_of_very_negative_numbers_are_tiny_but_not_zero():
    values = np.full(BLOCK, -1e4, dtype=np.float32)
    values[0] = -1e38
    _exp_in_place(values, 2)
    assert values[:2] == pytest.approx(np.exp(-50.0), rel=1e-5)
    assert (values[2:] == -1e4).all()


def test_logarithms_are_right_to_the_last_digit():
    spread = np.linspace(-87, 88, 100_001)
    x = np.concatenate([np.exp(spread), 1 + spread / 1e4, 1 + spread / 1e8]).astype(np.float32)
    got = np.empty_like(x)
    for start in range(0, len(x), BLOCK):
        block = x[start : start + BLOCK]
        _write_logarithms(block, len(block), got[start : start + BLOCK])
    right = np.log(x.astype(np.float64))
    assert (np.abs(got - right) <= np.spacing(np.abs(right).astype(np.float32))).all()


def test_the_logarithm_of_nothing_is_minus_infinity():
    got = np.ones(3, dtype=np.float32)
    _write_logarithms(np.zeros(3, dtype=np.float32), 2, got)
    assert got.tolist() == [-np.inf, -np.inf, 1.0]


@given(**SHAPES, spread=st.sampled_from([0.0, 1.0, 10.0]))
@settings(max_examples=60)
def test_gate_probabilities_are_the_softmax_of_the_logits(seed, n, n_experts, d, spread):
    problem = GateProblem(seed, n, n_experts, d, spread)
    gate = problem.rows.probabilities(problem.theta)
    np.testing.assert_allclose(gate, np.exp(problem.log_gate(problem.theta)), rtol=1e-4, atol=1e-21)
    np.testing.assert_allclose(gate.sum(axis=0), 1.0, rtol=1e-6)


@given(**SHAPES)
@settings(max_examples=60)
def test_the_mixture_objective_is_the_weighted_log_likelihood(seed, n, n_experts, d):
    problem = GateProblem(seed, n, n_experts, d)
    gradient, work = np.empty_like(problem.theta), np.empty((n_experts + 2, BLOCK), dtype=np.float32)
    blocks, theta = problem.rows._blocks, problem.theta
    value = mixture_objective(blocks, problem.weight, theta, problem.likelihood, gradient, work)
    assert value == pytest.approx(problem.mixture(problem.theta), abs=1e-6 * problem.scale)
    np.testing.assert_allclose(gradient, slope(problem.mixture, problem.theta), atol=1e-5 * problem.scale)


@given(**SHAPES, kept=st.sampled_from([1.0, 0.9]))
@settings(max_examples=60)
def test_the_expected_objective_is_the_gates_part_of_the_papers_bound(seed, n, n_experts, d, kept):
    """Also where the responsibilities of a row sum to less than 1, negligible ones having been dropped."""
    problem = GateProblem(seed, n, n_experts, d)
    h = (kept * problem.responsibility(np.zeros_like(problem.theta))).astype(np.float32)
    value, gradient = problem.rows.expected(problem.theta, h)
    assert value == pytest.approx(problem.expected(problem.theta, h), abs=1e-6 * problem.scale)
    np.testing.assert_allclose(gradient, problem.expected_slope(problem.theta, h), atol=2e-6 * problem.scale)


@pytest.mark.parametrize(("n_experts", "d"), [(1, 1), (2, 1), (3, 2), (4, 3)])
def test_the_curvature_is_minus_the_second_derivative(n_experts, d):
    problem = GateProblem(n_experts, 2 * BLOCK + 5, n_experts, d)
    h = problem.responsibility(problem.theta)
    np.testing.assert_allclose(
        slope(lambda theta: problem.expected(theta, h), problem.theta),
        problem.expected_slope(problem.theta, h),
        atol=1e-4,
    )
    second = slope(lambda theta: problem.expected_slope(theta, h), problem.theta)
    curvature = problem.rows.curvature(problem.theta)
    np.testing.assert_allclose(curvature, -second, atol=1e-5 * problem.weight.sum())
    flat = curvature.reshape(problem.theta.size, -1)
    np.testing.assert_allclose(flat, flat.T, atol=1e-5 * problem.weight.sum())


@given(**SHAPES)
@settings(max_examples=60)
def test_responsibilities_are_the_papers_without_the_negligible_ones(seed, n, n_experts, d):
    problem = GateProblem(seed, n, n_experts, d, spread=4.0)
    h, log_likelihood = problem.rows.responsibilities(problem.theta, problem.likelihood)
    exact = problem.responsibility(problem.theta)
    assert ((h == 0) | (h >= np.float32(NEGLIGIBLE))).all()
    decided = np.abs(exact / NEGLIGIBLE - 1) > 1e-3
    np.testing.assert_allclose(h[decided], np.where(exact >= NEGLIGIBLE, exact, 0)[decided], rtol=1e-4)
    assert log_likelihood == pytest.approx(problem.mixture(problem.theta) / problem.weight.sum(), rel=1e-4, abs=1e-5)


def test_the_gate_decides_about_labels_that_no_expert_gives_any_mass():
    problem = GateProblem(0, 300, 3, 2)
    impossible = np.arange(len(problem.table)) % 2 == 0
    problem.likelihood[:, impossible] = 0.0
    h, log_likelihood = problem.rows.responsibilities(problem.theta, problem.likelihood)
    gate = problem.rows.probabilities(problem.theta)
    np.testing.assert_array_equal(h[:, impossible], np.where(gate >= NEGLIGIBLE, gate, 0)[:, impossible])
    assert np.isfinite(log_likelihood)
    joint = (gate * problem.likelihood).sum(axis=0)
    expected = (problem.weight * np.log(np.where(impossible, 1e-12, joint))).sum() / problem.weight.sum()
    assert log_likelihood == pytest.approx(expected, rel=1e-6)


def test_an_expert_that_alone_gives_mass_takes_the_row_however_small_its_gate():
    table = make_table([[-1.0], [1.0]], [0, 1])
    rows = GateRows(table, Scaler.of(table))
    likelihood = np.array([[1.0, 1.0], [0.0, 0.0]], dtype=np.float32)
    h, _ = rows.responsibilities(np.array([[0.0, -600.0], [0.0, 0.0]]), likelihood)
    np.testing.assert_allclose(h, [[1, 1], [0, 0]])


@given(SEEDS, st.integers(2, 300))
@settings(max_examples=50)
def test_the_scaler_measures_weighted_mean_and_deviation(seed, n):
    rng = np.random.default_rng(seed)
    X, y = random_problem(seed, n)
    X = (X + np.array([0.0, 5.0, -1e4])) * 10.0 ** rng.integers(-100, 100, 3)
    table = make_table(X, y, rng.exponential(size=n) + 1e-3)
    scaler = Scaler.of(table)
    rows = table.X[table.rows]
    mean = np.average(rows, axis=0, weights=table.weight)
    deviation = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=table.weight))
    np.testing.assert_allclose((scaler.mean - mean) / np.abs(rows).max(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose(scaler.inverse_scale * deviation, 1.0, rtol=1e-7)


def test_weights_are_repetitions_for_the_scaler():
    X, y = random_problem(0, 50)
    counts = np.arange(1, 51)
    repeated = Scaler.of(make_table(np.repeat(X, counts, axis=0), np.repeat(y, counts)))
    weighted = Scaler.of(make_table(X, y, counts))
    assert (repeated.mean == weighted.mean).all()
    assert (repeated.inverse_scale == weighted.inverse_scale).all()


def test_a_constant_feature_does_not_reach_the_gate():
    table = make_table([[7.0, 0.1], [7.0, 0.2], [7.0, 0.4]], [0, 1, 0])
    scaler = Scaler.of(table)
    assert scaler.mean[0] == 7.0
    assert scaler.inverse_scale[0] == 0.0
    weights, bias = scaler.fold(np.ones((2, 3)))
    assert (weights[:, 0] == 0).all()
    assert np.isfinite(bias).all()


def test_a_feature_whose_range_overflows_does_not_reach_the_gate():
    table = make_table([[1.7e308, 1.7e308], [-1.7e308, 1.5e308], [0.0, 1.6e308]], [0, 1, 0])
    scaler = Scaler.of(table)
    assert scaler.mean == pytest.approx([0.0, 1.6e308])
    assert scaler.inverse_scale[0] == 0.0
    assert scaler.inverse_scale[1] == pytest.approx(1 / (0.1e308 * np.sqrt(2 / 3)))
    assert np.isfinite(GateRows(table, scaler).probabilities(np.ones((2, 3)))).all()


@pytest.mark.parametrize("unit", [1e-200, 1e-150, 1e-9, 1.0, 1e150, 1e200, 1e300])
def test_the_unit_of_a_feature_does_not_matter(unit):
    X, y = random_problem(0, 100, d=1)
    table, scaled = make_table(X, y), make_table(X * unit, y)
    plain, measured = Scaler.of(table), Scaler.of(scaled)
    np.testing.assert_allclose(measured.mean, plain.mean * unit, rtol=1e-12)
    np.testing.assert_allclose(measured.inverse_scale * unit, plain.inverse_scale, rtol=1e-12)


@given(**SHAPES)
@settings(max_examples=50)
def test_a_folded_gate_gives_the_same_probabilities_on_raw_features(seed, n, n_experts, d):
    problem = GateProblem(seed, n, n_experts, d)
    weights, bias = problem.rows.scaler.fold(problem.theta)
    # an expert that answers its own number shows the gate
    trees = [Tree.leaf(np.eye(n_experts)[j]) for j in range(n_experts)]
    mixture = Mixture(weights, bias, trees, list(range(n_experts)))
    raw = mixture.predict_proba_soft(problem.table.X[problem.table.rows])
    np.testing.assert_allclose(raw.T, problem.rows.probabilities(problem.theta), atol=1e-5)
