"""Splits and laws against plain linear algebra."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from moet.model.bins import bin_table
from moet.model.regression.grow import Grower, GrowOptions
from moet.model.regression.leaves import Bounds, fit_laws
from moet.model.table import Table

RIDGE = 0.7


def problem(seed, n=60, n_features=3, n_outputs=2, affine=True):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n, n_features)).astype(float)
    U = np.sin(X[:, :n_outputs]) * X[:, 1:2] + 0.1 * rng.normal(size=(n, n_outputs))
    weight = rng.uniform(0.5, 2, size=n)
    design = np.hstack([X - X.mean(axis=0), np.ones((n, 1))]) if affine else np.ones((n, 1))
    table = Table(X, np.arange(n, dtype=np.int32), np.zeros(n, dtype=np.int32), weight, None, 1)
    return table, design, U, weight


def plain_law(design, U, weight, prior=None):
    """Ridge regression by the normal equations; the constant, last, is free."""
    penalty = np.diag([RIDGE] * (design.shape[1] - 1) + [1e-9 * (1 + RIDGE)])
    prior = np.zeros((U.shape[1], design.shape[1])) if prior is None else prior
    gram = design.T @ (design * weight[:, None]) + penalty
    return np.linalg.solve(gram, design.T @ (U * weight[:, None]) + penalty @ prior.T).T


def plain_loss(design, U, weight):
    law = plain_law(design, U, weight)
    return float((weight[:, None] * (U - design @ law.T) ** 2).sum() + RIDGE * (law[:, :-1] ** 2).sum())


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_split_is_found(seed, affine):
    table, design, U, weight = problem(seed, affine=affine)
    least = 8.0
    tests = Grower(table, bin_table(table), design, U.shape[1]).grow(weight, U, GrowOptions(1, least, RIDGE))

    def loss(k, threshold):
        left = table.X[:, k] <= threshold
        if min(weight[left].sum(), weight[~left].sum()) < least:
            return np.inf
        return sum(plain_loss(design[side], U[side], weight[side]) for side in (left, ~left))

    best = min(loss(k, value + 0.5) for k in range(3) for value in range(5))
    assert abs(loss(tests.feature[0], tests.threshold[0]) - best) < 1e-7 * best
    assert tests.threshold[0] % 1 == 0.5  # half way between the values beside it


def test_leaves_are_split_where_most_is_gained_first():
    table, design, U, weight = problem(0, n=200)
    grower = Grower(table, bin_table(table), design, U.shape[1])
    trees = [grower.grow(weight, U, GrowOptions(31, 5.0, RIDGE, max_leaves=n)) for n in (2, 3, 4, 5)]
    assert [np.count_nonzero(tree.feature == -1) for tree in trees] == [2, 3, 4, 5]
    for small, large in pairwise(trees):
        assert set(small.threshold[small.feature >= 0]) <= set(large.threshold[large.feature >= 0])


def test_rows_without_weight_do_not_matter():
    table, design, U, weight = problem(0, n=200)
    grower = Grower(table, bin_table(table), design, U.shape[1])
    weight[::3] = 0
    before = grower.grow(weight, U, GrowOptions(3, 5.0, RIDGE))
    U[::3] = 1e6
    after = grower.grow(weight, U, GrowOptions(3, 5.0, RIDGE))
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_laws_are_ridge_regressions_that_are_drawn_to_the_prior():
    table, design, U, weight = problem(1)
    prior = np.random.default_rng(0).normal(size=(2, 4))
    leaf = (table.X[:, 0] > 2).astype(np.int32)
    free = Bounds.of(np.full(2, -np.inf), np.full(2, np.inf))
    laws = fit_laws(design, U, weight, leaf, prior, RIDGE, free, 3)
    for side in (0, 1):
        mine = leaf == side
        np.testing.assert_allclose(laws[side], plain_law(design[mine], U[mine], weight[mine], prior), rtol=1e-6)
    np.testing.assert_array_equal(laws[2], prior)  # a leaf without rows


def test_laws_at_bounds_minimise_the_error_that_remains():
    rng = np.random.default_rng(0)
    design = np.column_stack([rng.normal(size=(300, 2)), np.ones(300)])
    U = np.clip(design @ [[2.0], [-1.0], [0.5]] + 0.3 * rng.normal(size=(300, 1)), -1, 1)
    weight = rng.uniform(0.5, 2, size=300)
    bounds = Bounds.of(np.array([-1.0]), np.array([1.0]))
    law = fit_laws(design, U, weight, np.zeros(300, np.int32), np.zeros((1, 3)), 1e-6, bounds, 1)[0, 0]

    def error(law):
        miss = design @ law - U[:, 0]
        met = ((U[:, 0] >= bounds.near_high) & (miss > 0)) | ((U[:, 0] <= bounds.near_low) & (miss < 0))
        return float(weight @ np.where(met, 0, miss) ** 2)

    assert error(law) <= minimize(error, law, method="Nelder-Mead", options={"xatol": 1e-9}).fun * (1 + 1e-6)
    assert error(law) < 0.5 * error(plain_law(design, U, weight)[0])
