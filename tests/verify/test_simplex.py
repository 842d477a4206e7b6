import numpy as np
import pytest
from scipy.optimize import linprog

from moet.verify.simplex import BELOW, EMPTY, OPTIMAL, UNSURE, solve


def random_program(rng: np.random.Generator):
    """A polytope in a box, often degenerate, with rows of very different scale."""
    d, m = int(rng.integers(1, 9)), int(rng.integers(0, 60))
    A = rng.normal(size=(m, d)) * 10.0 ** rng.uniform(-3, 3, (m, 1))
    low = -rng.uniform(0.1, 2, d) * 10.0 ** rng.uniform(-2, 2, d)
    high = low + rng.uniform(0, 3, d) * 10.0 ** rng.uniform(-2, 2, d)
    if rng.random() < 0.3:
        A = np.round(A)
    inside = low + (high - low) * rng.random(d)
    slack = rng.uniform(-0.1, 1, m) if rng.random() < 0.5 else rng.integers(0, 2, m)
    return rng.normal(size=d), A, A @ inside + slack * (np.abs(A) @ (high - low)), low, high


def proven(objective, A, b, low, high, solution) -> float:
    """Bound that the multipliers prove, computed here."""
    rest = objective - solution.multipliers @ A[solution.rows]
    return solution.multipliers @ b[solution.rows] + np.maximum(rest * low, rest * high).sum()


@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_highs_and_proves_what_it_says(seed):
    rng = np.random.default_rng(seed)
    unsure = 0
    for _ in range(20):
        c, A, b, low, high = random_program(rng)
        solution = solve(c, A, b, low, high)
        judge = linprog(-c, A if len(b) else None, b if len(b) else None, bounds=list(zip(low, high, strict=True)))
        assert np.all(solution.multipliers >= 0)
        if solution.status == OPTIMAL:
            assert judge.status == 0
            assert solution.bound == pytest.approx(-judge.fun, rel=1e-6, abs=1e-6)
            assert proven(c, A, b, low, high, solution) == pytest.approx(solution.bound, rel=1e-6, abs=1e-6)
            assert np.all(solution.x >= low - 1e-9 * (1 + np.abs(low)))
            assert np.all(solution.x <= high + 1e-9 * (1 + np.abs(high)))
        elif solution.status == EMPTY:
            assert judge.status == 2
            assert proven(0 * c, A, b, low, high, solution) < 0
            assert len(solution.rows) <= len(c) + 1
        else:
            unsure += solution.status == UNSURE
    assert unsure <= 1


def test_stops_as_soon_as_the_bound_is_low_enough():
    square = np.ones(2)
    A, b = np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([0.5, 0.25])
    solution = solve([1.0, 1.0], A, b, -square, square, enough=0.75)
    assert solution.status == BELOW
    assert 0.5 <= solution.bound < 0.75
    assert solve([1.0, 1.0], A, b, -square, square, enough=0.4).status == OPTIMAL


def test_programs_of_many_steps_are_solved_to_the_end():
    """The inverse of the basis is computed afresh every so many steps, whatever the pivots are."""
    rng = np.random.default_rng(0)
    ones = np.ones(10)
    for _ in range(20):
        A, c = rng.normal(size=(300, 10)), rng.normal(size=10)
        b = 0.3 * np.abs(A).sum(axis=1)
        solution = solve(c, A, b, -ones, ones)
        assert solution.status == OPTIMAL
        assert solution.bound == pytest.approx(-linprog(-c, A, b, bounds=[(-1, 1)] * 10).fun)


def test_no_rows_and_fixed_variables():
    solution = solve([1.0, -2.0], np.zeros((0, 2)), [], [3.0, -1.0], [3.0, 1.0])
    assert solution.status == OPTIMAL
    assert solution.bound == 5.0


def test_a_row_that_nothing_satisfies():
    assert solve([1.0], [[0.0]], [-1.0], [0.0], [1.0]).status == EMPTY


def test_a_box_whose_size_overflows_is_unsure_and_nothing_warns():
    assert solve([1.0], np.zeros((0, 1)), [], [-1.7e308], [1.7e308]).status == UNSURE
