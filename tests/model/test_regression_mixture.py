"""Mixtures that answer with numbers: their one meaning, and what they refuse."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from moet import RegressionMixture, RegressionTree, Tree, explain, export, verify
from moet.errors import InputError, ModelError
from moet.explain.regions import Axis
from moet.model.file import as_mixture, as_model
from moet.verify import systems

from .strategies import bits, hard_points, regression_mixtures

SEEDS = st.integers(0, 2**32 - 1)
STUMP = RegressionTree([1, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0.0], [1.0], [-1.0]])
LAW = RegressionTree.leaf([0.25], slope=[[2.0, -1.0]])
PARTS = {
    "gate_weights": [[1.0, 0.0], [-1.0, 0.0]],
    "gate_bias": [0.0, 0.25],
    "trees": [STUMP, LAW],
    "outputs": ["torque"],
    "low": [-1.5],
    "high": [1.5],
}


class Reference:
    """The one meaning of an output, word for word, in plain Python."""

    def __init__(self, mixture):
        self.mixture = mixture

    def logits(self, x):
        logits = []
        for weights, bias in zip(self.mixture.gate_weights.tolist(), self.mixture.gate_bias.tolist(), strict=True):
            logit = bias
            for weight, value in zip(weights, x, strict=True):
                logit = logit + weight * value
            logits.append(logit)
        return logits

    def outputs(self, tree, x):
        node = 0
        while tree.feature[node] != -1:
            node = tree.left[node] if x[tree.feature[node]] <= tree.threshold[node] else tree.right[node]
        outputs = []
        for o, u in enumerate(tree.value[node].tolist()):
            if tree.slope is not None:
                for slope, value in zip(tree.slope[node, o].tolist(), x, strict=True):
                    u = u + slope * value
            low, high = self.mixture.low[o].item(), self.mixture.high[o].item()
            u = low if u < low else u
            outputs.append(high if u > high else u)
        return outputs

    def hard(self, x):
        logits = self.logits(x)
        return self.outputs(self.mixture.trees[logits.index(max(logits))], x)

    def soft(self, x):
        logits = self.logits(x)
        gate = [math.exp(logit - max(logits)) for logit in logits]
        outputs = [self.outputs(tree, x) for tree in self.mixture.trees]
        return [
            math.fsum(g * u[o] for g, u in zip(gate, outputs, strict=True)) / math.fsum(gate)
            for o in range(self.mixture.n_outputs)
        ]


def rows_near_everything_hard(mixture, seed):
    """Rows on thresholds and ties, some of them huge or tiny, where the order of additions decides the last bits."""
    X = hard_points(mixture, seed)
    return X * np.random.default_rng(seed).choice([1e-200, 1e-3, 1.0, 1.0, 1e6], size=(len(X), 1))


@given(regression_mixtures(), SEEDS)
@settings(max_examples=100)
def test_outputs_mean_what_the_design_says_to_the_bit(mixture, seed):
    X = rows_near_everything_hard(mixture, seed)
    reference = Reference(mixture)
    wanted = np.array([reference.hard(x) for x in X.tolist()])
    assert mixture.predict_hard(X).tobytes() == wanted.tobytes()
    soft = np.array([reference.soft(x) for x in X.tolist()])
    np.testing.assert_allclose(mixture.predict_soft(X), soft, rtol=1e-12, atol=1e-12 * np.abs(soft).max())


@given(regression_mixtures(), SEEDS)
@settings(max_examples=50)
def test_one_state_is_answered_like_a_batch(mixture, seed):
    X = hard_points(mixture, seed, n_points=20)
    assert np.array([mixture.act(x) for x in X]).tobytes() == mixture.predict(X).tobytes()


def test_many_features_are_added_from_left_to_right():
    rng = np.random.default_rng(0)
    law = RegressionTree.leaf(rng.normal(size=2), slope=rng.normal(size=(2, 40)))
    mixture = RegressionMixture(np.zeros((1, 40)), [0.0], [law], ["a", "b"])
    X = rng.normal(size=(2000, 40)) * 10.0 ** rng.integers(-8, 8, size=(2000, 40))
    wanted = np.array([Reference(mixture).hard(x) for x in X.tolist()])
    assert mixture.predict(X).tobytes() == wanted.tobytes()
    assert (X @ law.slope[0].T + law.value != wanted).any()  # the rows can tell one order from another


def test_answers_are_clipped():
    mixture = RegressionMixture(**PARTS)
    assert mixture.predict([[1.0, 0.5], [1.0, 0.75], [-0.5, 0.0], [-4.0, 0.0]]).tolist() == [
        [1.0],
        [-1],
        [-0.75],
        [-1.5],
    ]
    assert mixture.expert([[1.0, 0.5], [-0.5, 0.0]]).tolist() == [0, 1]


def test_constant_leaves_keep_the_sign_of_zero_beside_affine_ones():
    mixture = RegressionMixture(
        [[1.0], [-1.0]], [0, 0], [RegressionTree.leaf([-0.0]), RegressionTree.leaf([0], [[1]])], "u"
    )
    assert math.copysign(1, mixture.act([2.0])[0]) == -1


@pytest.mark.parametrize("prediction", ["hard", "soft"])
def test_sums_that_overflow_are_errors_even_if_the_bounds_would_hide_it(prediction):
    law = RegressionTree.leaf([0.0], slope=[[1e200, -1e200]])
    mixture = RegressionMixture([[0.0, 0.0]], [0.0], [law], ["u"], [-1], [1], prediction=prediction)
    for row in ([1e200, 0.0], [1e200, 1e200], [-1e308, 0.0]):
        with pytest.raises(InputError, match="overflows on row 1"):
            mixture.predict([[1.0, 1.0], row])
        with pytest.raises(InputError, match="overflows on row 0"):
            mixture.act(row)


def test_a_gate_that_overflows_is_an_error_where_its_weights_are_used():
    mixture = RegressionMixture([[1e200], [0.0]], [0, 0], [RegressionTree.leaf([1]), RegressionTree.leaf([2])], "u")
    with pytest.raises(InputError, match="overflows"):
        mixture.predict_soft([[1e200]])


@pytest.mark.parametrize("bad", [[[math.nan, 0.0]], [[math.inf, 0.0]], [[1.0]], [1.0, 2.0], [["a", "b"]]])
def test_inputs_must_be_rows_of_finite_numbers(bad):
    with pytest.raises(InputError):
        RegressionMixture(**PARTS).predict(bad)


@pytest.mark.parametrize("bad", [[math.nan, 0.0], [0.0, -math.inf], [1.0], [[1.0, 2.0]]])
@pytest.mark.parametrize("prediction", ["hard", "soft"])
def test_a_state_must_be_finite_numbers(prediction, bad):
    with pytest.raises(InputError):
        RegressionMixture(**PARTS, prediction=prediction).act(bad)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"outputs": []}, "at least one output"),
        ({"outputs": ["a", "b"], "low": None, "high": None}, "tree 0 has 1 columns, the mixture 2 outputs"),
        ({"outputs": [1]}, "outputs must be 1 different strings"),
        ({"low": [2.0]}, "low must not exceed high"),
        ({"low": [math.nan]}, "low must not exceed high"),
        ({"low": [math.inf], "high": [math.inf]}, "low must not exceed high"),
        ({"low": [-1.0, -1.0]}, "one bound per output"),
        ({"trees": [STUMP, Tree.leaf([1.0])]}, "tree 1 is a Tree, not a RegressionTree"),
        ({"trees": [STUMP, RegressionTree.leaf([0.0], [[1.0]])]}, "tree 1 has slopes for 1 features, not 2"),
        ({"prediction": "mean"}, "prediction must be"),
        ({"gate_bias": [0.0, math.nan]}, "gate_bias must be finite"),
    ],
)
def test_parts_must_fit(change, reason):
    with pytest.raises(ModelError, match=reason):
        RegressionMixture(**(PARTS | change))


@pytest.mark.parametrize("slope", [[[math.inf, 0.0]], [[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0], [["a", "b"]]])
def test_slopes_must_fit(slope):
    with pytest.raises(ModelError, match="slope"):
        RegressionTree.leaf([0.0], slope=slope)


def test_values_must_be_finite():
    with pytest.raises(ModelError, match="finite"):
        RegressionTree.leaf([math.nan])


def test_numbers_are_counted():
    assert LAW.n_numbers == 3
    assert STUMP.n_numbers == 2 + 2
    assert RegressionMixture(**PARTS).n_numbers == 3 + 4 + 3
    assert RegressionMixture(**PARTS).size.gate_numbers == 6


def test_equality_sees_every_part():
    changes = [
        {"outputs": ["force"]},
        {"low": [-1.0]},
        {"high": [2.0]},
        {"trees": [STUMP, STUMP]},
        {"prediction": "soft"},
    ]
    mixture = RegressionMixture(**PARTS)
    assert mixture == RegressionMixture(**PARTS, provenance={"seed": 1})
    assert all(mixture != RegressionMixture(**(PARTS | change)) for change in changes)
    assert RegressionTree.leaf([1.0]) != RegressionTree.leaf([1.0], slope=[[0.0]]) != Tree.leaf([1.0])


@given(regression_mixtures())
@settings(max_examples=30)
def test_copies_are_the_same_to_the_bit_and_read_only(mixture):
    for twin in (copy.deepcopy(mixture), pickle.loads(pickle.dumps(mixture))):
        assert bits(twin) == bits(mixture)
        assert not twin.low.flags.writeable
        assert not twin.trees[0].value.flags.writeable


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_regression_tree_of_scikit_learn_is_a_model(n_outputs):
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(300, 3)), rng.normal(size=(300, n_outputs))
    tree = DecisionTreeRegressor(max_depth=6).fit(X, U)
    mixture = as_model(tree)
    on_thresholds = np.full((len(tree.tree_.threshold), 3), tree.tree_.threshold[:, None])
    for rows in (X, rng.normal(size=(5000, 3)), on_thresholds, np.nextafter(on_thresholds, np.inf)):
        assert np.array_equal(mixture.predict(rows), tree.predict(rows).reshape(len(rows), n_outputs))


TAKERS = {
    "rules": lambda tree: "u0 = " in explain.rules(tree),
    "why_law": lambda tree: explain.why_law(tree, [0.0, 0.0]).laws[0].output == "u0",
    "trees": lambda tree: explain.drawn_trees(tree)[0].nodes,
    "surfaces": lambda tree: explain.surfaces(tree, Axis(0, "a", -1, 1), Axis(1, "b", -1, 1), [0, 0]).values.size,
    "trajectory": lambda tree: explain.trajectory(tree, np.zeros((3, 2))).has_numbers,
    "explorer": lambda tree: '"u0"' in explain.explorer(tree),
    "c": lambda tree: "moet_predict" in export.c(tree),
    "python": lambda tree: "def predict" in export.python(tree),
    "dot": lambda tree: "u0 = " in export.dot(tree),
    "smt2": lambda tree: "output0" in export.smt2(tree),
    "range": lambda tree: verify.range(tree).checked,
    "always": lambda tree: verify.always(tree, answers="u0 <= 100"),
    "equivalent": lambda tree: verify.equivalent(tree, tree),
    "closest": lambda tree: verify.closest(tree, [0.0, 0.0], tolerance=0.01).checked,
    "check": lambda tree: verify.check(verify.range(tree).certificate, tree),
}


@pytest.mark.parametrize("taker", TAKERS.values(), ids=TAKERS)
def test_a_regression_tree_of_scikit_learn_is_taken_wherever_a_model_is(taker):
    X = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    assert taker(DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, X[:, 0] * X[:, 1]))


READERS = {
    "as_mixture": as_mixture,
    "safe": lambda model: verify.safe(model, systems.mountaincar(), 1),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_readers_of_labels_say_what_to_do_instead(reader):
    with pytest.raises(
        ModelError, match=r"answers with numbers \(torque\), and this question is about labels; `moet predict`"
    ):
        reader(RegressionMixture(**PARTS))
