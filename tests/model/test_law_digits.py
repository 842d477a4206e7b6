import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet import RegressionMixture, RegressionTree, simplify
from moet.errors import InputError
from moet.model.digits import numbers_of, rounded

ROWS = np.random.default_rng(0).normal([0.0, 5.0, -1e3], [1.0, 0.1, 300.0], (2_000, 3))


def laws(seed=0, experts=3, prediction="hard"):
    rng = np.random.default_rng(seed)
    slopes = rng.normal(size=(experts, 2, 3)) / [1.0, 5.0, 1e3]
    trees = [
        RegressionTree.leaf(value, slope) for value, slope in zip(rng.normal(size=(experts, 2)), slopes, strict=True)
    ]
    weights = rng.normal(size=(experts, 3)) / [1.0, 5.0, 1e3]
    return RegressionMixture(
        weights, rng.normal(size=experts), trees, ["a", "b"], [-3, -3], [3, 3], prediction=prediction
    )


def characters(model):
    return sum(len(repr(number)) for number in numbers_of(model))


@pytest.mark.slow
@pytest.mark.parametrize("prediction", ["hard", "soft"])
@given(seed=st.integers(0, 50), tolerance=st.sampled_from([0.0, 0.002, 0.05]))
def test_short_laws_answer_the_same_on_all_but_few_rows(prediction, seed, tolerance):
    model = laws(seed, prediction=prediction)
    short = simplify(model, ROWS, tolerance=tolerance)
    differs = np.abs(short.predict(ROWS) - model.predict(ROWS)) > 0.01 * 6
    assert differs.any(axis=1).mean() <= tolerance
    assert characters(short) < characters(model)


def test_products_are_rounded_alike_whatever_the_units():
    short = simplify(laws(experts=1), ROWS)
    decimals = [max(len(f"{slope:.12f}".rstrip("0").partition(".")[2]) for slope in column)
                for column in short.trees[0].slope[0].T]  # fmt: skip
    assert decimals[0] <= decimals[1] < decimals[2]


def test_significant_digits_of_laws():
    assert rounded(laws(experts=1), 2).trees[0].value.tolist() == [[1.3, 0.95]]
    assert rounded(laws(), 17) == laws().prune()


def test_rows_are_needed_and_a_tolerance_is_a_share():
    with pytest.raises(InputError, match="at least one row"):
        simplify(laws(), ROWS[:0])
    with pytest.raises(InputError, match="share of the rows"):
        simplify(laws(), ROWS, tolerance=1.0)


def test_experts_that_never_answer_and_branches_that_cannot_be_reached_are_pruned():
    inner = [[0.0], [1.0], [0.0], [2.0], [3.0]]
    # x0 <= 1, then on the right x0 <= 0 again, which is never so
    tree = RegressionTree([0, -1, 0, -1, -1], [1.0, 0, 0, 0, 0], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], inner)
    never = RegressionTree.leaf([9.0])
    model = RegressionMixture([[0.0, 0], [0.0, 0]], [1.0, 0.0], [tree, never], ["u"])
    pruned = model.prune()
    assert (pruned.n_experts, pruned.size.leaves) == (1, 2)
    rows = np.random.default_rng(0).normal(0, 2, (500, 2))
    assert np.array_equal(pruned.predict(rows), model.predict(rows))
    assert pruned.prune() == pruned


def test_splits_between_the_same_laws_are_pruned_and_others_are_not():
    slope = np.array([[[0.0]], [[1.0]], [[1.0]]])
    same = RegressionTree([0, -1, -1], [1.0, 0, 0], [1, -1, -1], [2, -1, -1], [[0.0], [2.0], [2.0]], slope)
    other = RegressionTree(
        [0, -1, -1], [1.0, 0, 0], [1, -1, -1], [2, -1, -1], [[0.0], [2.0], [2.0]], slope * [[[1]], [[1]], [[2]]]
    )
    for tree, leaves in ((same, 1), (other, 2)):
        model = RegressionMixture([[0.0]], [0.0], [tree], ["u"])
        assert model.prune().size.leaves == leaves
        assert np.array_equal(model.prune().predict(ROWS[:, :1]), model.predict(ROWS[:, :1]))
