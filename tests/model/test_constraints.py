"""Constraints of training: what comes out is proved to obey them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet import Mixture, MoETClassifier, Tree, verify
from moet.errors import InputError
from moet.model.constraints import columns_of, monotone_value, strongest
from moet.model.tree import LEAF

from .strategies import trees


def loans(n_rows=600, seed=0):
    """A table whose labels depend on everything, and on Duration not monotonically."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "Duration": rng.integers(4, 60, n_rows),
            "Amount": rng.normal(3000, 1000, n_rows).round(),
            "Sex": rng.choice(["female", "male"], n_rows),
            "Housing": rng.choice(["own", "rent", "free"], n_rows),
        }
    )
    score = (
        np.sin(table["Duration"] / 8) - table["Amount"] / 3000 + (table["Sex"] == "male") + (table["Housing"] == "own")
    )
    return table, np.where(score + 0.3 * rng.normal(size=n_rows) > 0, "good", "bad")


def test_a_budget_is_not_filled_with_columns_that_the_gate_does_not_use():
    """A gate that cuts one column into intervals used to get the first columns of the table beside it."""
    trees = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    gate = Mixture([[0, 0, 2, 0], [0, 0, -2, 0.5]], [0, 0], trees, ["no", "yes"])
    columns = {"a": (0, 1), "b": (2,), "c": (3,)}
    assert strongest(gate, np.ones(4), columns, 3) == ["b", "c"]
    assert strongest(gate, np.ones(4), columns, 1) == ["b"]


@pytest.mark.parametrize("size", [{"n_experts": 3, "max_depth": 3}, {"n_experts": 4, "max_depth": 6}])
@pytest.mark.parametrize("n_rows", [600, 1500])
def test_what_is_ignored_is_proved_to_be_ignored(size, n_rows):
    table, risk = loans(n_rows)
    free = MoETClassifier(**size, prediction="hard", random_state=0).fit(table, risk)
    assert not verify.ignores(free, ["Sex"])
    bound = MoETClassifier(**size, prediction="hard", ignore=["Sex", "Housing"], random_state=0).fit(table, risk)
    assert verify.ignores(bound, ["Sex", "Housing"]).checked
    assert bound.mixture_.feature_names == free.mixture_.feature_names
    assert bound.score(table, risk) > 0.6


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [{"n_experts": 3, "max_depth": 3}, {"n_experts": 4, "max_depth": 6}])
@pytest.mark.parametrize("n_rows", [600, 1500])
def test_what_is_monotone_is_proved_to_be_monotone(size, n_rows, sign):
    table, risk = loans(n_rows)
    kept = "good" if sign > 0 else "bad"
    free = MoETClassifier(**size, prediction="hard", random_state=0).fit(table, risk)
    assert not verify.monotone(free, "Duration", answer=kept)
    bound = MoETClassifier(**size, prediction="hard", monotone={"Duration": sign}, random_state=0).fit(table, risk)
    assert verify.monotone(bound, "Duration", answer=kept).checked
    assert verify.monotone(bound.mixture_.prune(), "Duration", answer=kept).checked


def test_a_soft_mixture_is_monotone_in_its_probabilities():
    table, risk = loans(1500)
    bound = MoETClassifier(4, 4, monotone={"Duration": 1}, random_state=0).fit(table, risk)
    said = [bound.predict_proba(table.assign(Duration=months))[:, 1] for months in range(4, 60)]
    assert np.diff(said, axis=0).min() >= -1e-12
    assert np.ptp(said, axis=0).max() > 0.05


@given(
    tree=trees(n_features=3, n_classes=2, max_depth=4),
    signs=st.tuples(*[st.sampled_from([-1, 0, 1])] * 3),
    seed=st.integers(0, 99),
)
def test_a_tree_is_made_monotone_whatever_it_is(tree, signs, seed):
    value = monotone_value(tree, np.array(signs, dtype=np.int8))
    np.testing.assert_allclose(value.sum(axis=1), 1)

    def ask(x):
        node = 0
        while tree.feature[node] != LEAF:
            node = tree.left[node] if x[tree.feature[node]] <= tree.threshold[node] else tree.right[node]
        return value[node, 1]

    rng = np.random.default_rng(seed)
    for _ in range(30):
        x = rng.normal(size=3) * 3
        for k in range(3):
            more = x.copy()
            more[k] += abs(rng.normal()) * 3
            assert signs[k] * (ask(more) - ask(x)) >= 0


def test_a_tree_that_is_monotone_stays_as_it_is():
    model = MoETClassifier(1, 1, prediction="hard", random_state=0).fit(np.arange(50)[:, None], np.arange(50) > 20)
    tree = model.mixture_.trees[0]
    assert (monotone_value(tree, np.ones(1, dtype=np.int8)) == tree.value).all()


@pytest.mark.parametrize("prediction", ["hard", "soft"])
@pytest.mark.parametrize("n_rows", [600, 1500])
def test_the_gate_looks_at_no_more_columns_than_it_may(prediction, n_rows):
    table, risk = loans(n_rows)
    model = MoETClassifier(3, 2, prediction=prediction, gate_columns=2, random_state=0).fit(table, risk)
    columns = columns_of(model.mixture_.schema, None, model.mixture_.n_features)
    seen = [name for name, features in columns.items() if model.mixture_.gate_weights[:, list(features)].any()]
    assert 1 <= len(seen) <= 2


def test_columns_of_arrays_are_numbers_and_encoded_ones_are_known_by_their_names():
    X, y = np.random.default_rng(0).normal(size=(300, 3)), np.arange(300) % 2
    model = MoETClassifier(2, 2, ignore=[1], random_state=0).fit(X, y)
    assert not model.mixture_.gate_weights[:, 1].any()
    assert all(1 not in tree.feature for tree in model.mixture_.trees)
    assert columns_of(None, ["Sex=f", "Sex=m", "Age"], 3) == {"Sex": (0, 1), "Age": (2,)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ignore": ["Sexx"]}, "'Sexx', and the table has: Duration, Amount, Sex, Housing"),
        ({"monotone": {"Housing": 1}}, "categories of 'Housing' have no order"),
        ({"monotone": {"Duration": 2}}, "1 or -1"),
        ({"monotone": {"Duration": 1}, "training": "boosting"}, "training='em'"),
        ({"ignore": ["Duration", "Amount", "Sex", "Housing"]}, "nothing is left"),
    ],
)
def test_constraints_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        MoETClassifier(**settings).fit(*loans(200))


def test_monotone_is_for_two_classes():
    with pytest.raises(InputError, match="two classes"):
        MoETClassifier(monotone={0: 1}).fit(np.arange(30)[:, None], np.arange(30) % 3)
