import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet.model.gate import Scaler
from moet.model.init import (
    RACE,
    STARTS,
    initial_gates,
    kmeans_gate,
    labelled_kmeans_gate,
    linear_gate,
    random_gate,
    sliced_gates,
    wide_gate,
)
from moet.model.solve import GateRows

from .tables import make_table, random_problem

ALL = [random_gate, wide_gate, kmeans_gate, labelled_kmeans_gate, linear_gate]
SEEDS = st.integers(0, 2**32 - 1)


def gate_rows(X, y, weight=None, n_classes=None):
    table = make_table(X, y, weight, n_classes)
    return GateRows(table, Scaler.of(table))


def blobs(n_per_blob=50, centres=((0, 0), (10, 0), (0, 10), (10, 10))):
    """Well separated clusters, one class each."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(centre, 0.5, (n_per_blob, 2)) for centre in centres])
    return X, np.repeat(np.arange(len(centres)), n_per_blob)


def experts_of(rows, theta):
    return rows.probabilities(theta).argmax(axis=0)


@pytest.mark.parametrize("start", ALL)
@pytest.mark.parametrize("n_experts", [1, 2, 7])
def test_starts_have_a_row_per_expert_and_a_column_per_feature_and_bias(start, n_experts):
    rows = gate_rows(*random_problem(0, 200, d=3))
    theta = start(rows, n_experts, np.random.default_rng(0))
    assert theta.shape == (n_experts, 4)
    assert theta.dtype == np.float64
    assert np.isfinite(theta).all()


@pytest.mark.parametrize("start", ALL)
def test_a_start_depends_on_the_seed_alone(start):
    X, y = random_problem(0, 200)
    first, again, other = (start(gate_rows(X, y), 3, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize("start", ALL)
def test_weights_are_repetitions(start):
    X, y = random_problem(0, 100, n_values=4)
    counts = np.random.default_rng(0).integers(0, 4, 100)
    weighted, repeated = gate_rows(X, y, counts), gate_rows(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(*(start(rows, 4, np.random.default_rng(0)) for rows in (weighted, repeated)))


@given(
    seed=SEEDS,
    start=st.sampled_from(ALL),
    n=st.integers(1, 4),
    n_classes=st.integers(1, 3),
    n_experts=st.integers(1, 6),
    n_values=st.integers(1, 2),
)
@settings(max_examples=100)
def test_more_experts_than_distinct_points_are_no_problem(seed, start, n, n_classes, n_experts, n_values):
    rows = gate_rows(*random_problem(seed, n, d=2, n_classes=n_classes, n_values=n_values), n_classes=n_classes)
    theta = start(rows, n_experts, np.random.default_rng(seed))
    assert theta.shape == (n_experts, 3)
    assert np.isfinite(theta).all()


def test_random_starts_are_normal_and_wide_ones_wider():
    rows = gate_rows(*random_problem(0, 50, d=3))
    drawn = random_gate(rows, 5000, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(0.0, abs=0.05)
    assert drawn.std() == pytest.approx(1.0, abs=0.05)
    assert wide_gate(rows, 5000, np.random.default_rng(0)).std() > 2


@pytest.mark.parametrize("start", [kmeans_gate, labelled_kmeans_gate])
def test_kmeans_gives_every_cluster_an_expert(start):
    rows = gate_rows(*blobs())
    expert = experts_of(rows, start(rows, 4, np.random.default_rng(0)))
    assert len({(e, label) for e, label in zip(expert, rows.table.y, strict=True)}) == 4
    assert set(expert) == {0, 1, 2, 3}


def test_kmeans_follows_the_weights():
    """A cluster of no weight far out does not hide that the heavy rows are two clusters."""
    X, y = blobs(centres=((0, 0), (3, 0), (200, 0)))
    rows = gate_rows(X, y, np.where(y == 2, 1e-12, 1.0))
    expert = experts_of(rows, kmeans_gate(rows, 2, np.random.default_rng(0)))
    assert set(expert[rows.table.y == 0]).isdisjoint(expert[rows.table.y == 1])


def test_clusters_of_x_and_y_part_the_classes_where_clusters_of_x_part_something_else():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 500)
    X = np.column_stack([rng.normal(size=1000) + y, rng.choice([-1.0, 1.0], 1000) + 0.1 * rng.normal(size=1000)])
    rows = gate_rows(X, y)

    def best_agreement(start):
        experts = [experts_of(rows, start(rows, 2, np.random.default_rng(seed))) for seed in range(10)]
        return max(max(np.mean(expert == rows.table.y), np.mean(expert != rows.table.y)) for expert in experts)

    # the best line between the classes is right for Φ(0.5) = 69 % of the rows
    assert best_agreement(labelled_kmeans_gate) > 0.65
    assert best_agreement(kmeans_gate) < 0.6


@pytest.mark.parametrize("n_experts", [2, 4])
def test_a_linear_start_separates_what_a_line_separates(n_experts):
    X, _ = random_problem(0, 500, d=4)
    y = (X @ [1.0, -2.0, 0.5, 1.0] > 0.3).astype(int)
    rows = gate_rows(X, y)
    theta = linear_gate(rows, n_experts, np.random.default_rng(0))
    # expert j starts with class j modulo 2
    assert np.mean(experts_of(rows, theta) % 2 == rows.table.y) > 0.9


def test_a_race_takes_its_starts_in_turn():
    rows = gate_rows(*random_problem(0, 200))
    gates = initial_gates("race", 6, rows, 3, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    for r, theta in enumerate(gates):
        assert (theta == RACE[r % 4](rows, 3, rng)).all()
    assert len(gates) == 6


@pytest.mark.parametrize(
    ("init", "start"), [("random", random_gate), ("kmeans", labelled_kmeans_gate), ("linear", linear_gate)]
)
def test_other_inits_repeat_one_kind_of_start(init, start):
    rows = gate_rows(*random_problem(0, 200))
    gates = initial_gates(init, 2, rows, 3, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    assert STARTS[init] == (start,)
    assert len(gates) == 2
    assert all((theta == start(rows, 3, rng)).all() for theta in gates)
    assert (gates[0] != gates[1]).any()


@pytest.mark.parametrize("n_experts", [1, 2, 5])
def test_slices_share_the_weight_of_one_feature_evenly(n_experts):
    rng = np.random.default_rng(0)
    table = make_table(rng.normal(size=(2000, 3)), rng.integers(0, 2, 2000), rng.integers(1, 5, 2000))
    rows = GateRows(table, Scaler.of(table))
    gates = sliced_gates(rows, n_experts)
    assert len(gates) == 3
    for k, gate in enumerate(gates):
        expert = rows.probabilities(gate).argmax(axis=0)
        assert (np.diff(expert[np.argsort(table.X[table.rows, k])]) >= 0).all()
        shares = np.bincount(expert, weights=table.weight, minlength=n_experts) / table.weight.sum()
        np.testing.assert_allclose(shares, 1 / n_experts, atol=0.01)


def test_a_feature_of_too_few_values_is_not_sliced():
    table = make_table(np.column_stack([np.arange(100) % 2, np.zeros(100), np.arange(100)]), np.arange(100) % 3)
    rows = GateRows(table, Scaler.of(table))
    assert len(sliced_gates(rows, 2)) == 2
    assert len(sliced_gates(rows, 3)) == 1


@pytest.mark.parametrize(("n_features", "n_gates"), [(109, 109), (400, 30), (900, 16)])
def test_of_many_features_only_the_purest_are_sliced_so_that_time_is_linear_in_them(n_features, n_gates):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, n_features))
    table = make_table(X, (np.abs(X[:, 70]) > 0.7).astype(int))
    gates = sliced_gates(GateRows(table, Scaler.of(table)), 4)
    assert len(gates) == n_gates
    assert any(gate[1, 70] for gate in gates)
