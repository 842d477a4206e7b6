import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from moet import Mixture, Tree
from moet.errors import InputError, ModelError
from moet.model.prediction_kernels import leaves_of_rows

from .strategies import bits, hard_points, mixtures

SEEDS = st.integers(0, 2**32 - 1)
STUMP = Tree([1, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [1, 0], [0, 1]])
PARTS = {
    "gate_weights": [[1.0, 0.0], [-1.0, 0.0]],
    "gate_bias": [0.0, 0.25],
    "trees": [STUMP, Tree.leaf([0.4, 0.6])],
    "classes": ["left", "right"],
}
ROWS = np.array([[1.0, 0.5], [1.0, 0.75], [-1.0, 0.0], [0.125, 0.0]])
ANSWERS = ["left", "right", "right", "left"]


class Reference:
    """The one meaning of a prediction, word for word, in plain Python."""

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

    def expert(self, x):
        logits = self.logits(x)
        return logits.index(max(logits))

    def leaf(self, tree, x):
        node = 0
        while tree.feature[node] != -1:
            node = tree.left[node] if x[tree.feature[node]] <= tree.threshold[node] else tree.right[node]
        return tree.value[node].tolist()

    def hard(self, x):
        probabilities = self.leaf(self.mixture.trees[self.expert(x)], x)
        return self.mixture.classes[probabilities.index(max(probabilities))]

    def soft(self, x):
        logits = self.logits(x)
        gate = [math.exp(logit - max(logits)) for logit in logits]
        leaves = [self.leaf(tree, x) for tree in self.mixture.trees]
        return [
            math.fsum(g * leaf[c] for g, leaf in zip(gate, leaves, strict=True)) / math.fsum(gate)
            for c in range(len(self.mixture.classes))
        ]


@given(mixtures(), SEEDS)
@settings(max_examples=100)
def test_predictions_mean_what_the_design_says(mixture, seed):
    X = hard_points(mixture, seed)
    reference = Reference(mixture)
    states = X.tolist()
    assert mixture.expert(X).tolist() == [reference.expert(x) for x in states]
    assert mixture.predict_hard(X).tolist() == [reference.hard(x) for x in states]
    np.testing.assert_allclose(mixture.predict_proba_soft(X), [reference.soft(x) for x in states], rtol=0, atol=1e-12)


@given(mixtures(), SEEDS)
@settings(max_examples=100)
def test_a_batch_is_its_rows_to_the_bit(mixture, seed):
    X = hard_points(mixture, seed)
    assert [mixture.act(x) for x in X] == mixture.predict(X).tolist()
    one_by_one = np.concatenate([mixture.predict_proba_soft(x[None, :]) for x in X])
    assert one_by_one.tobytes() == mixture.predict_proba_soft(X).tobytes()


@given(mixtures(), SEEDS)
@settings(max_examples=50)
def test_hard_is_soft_where_the_gate_is_saturated(mixture, seed):
    X = hard_points(mixture, seed)
    logits = np.sort([Reference(mixture).logits(x) for x in X.tolist()], axis=1)
    if mixture.n_experts > 1:
        X = X[logits[:, -1] - logits[:, -2] > 1e-9 * (1 + np.abs(logits[:, -1]))]
    assume(len(X))
    saturated = Mixture(
        mixture.gate_weights * 2.0**60, mixture.gate_bias * 2.0**60, mixture.trees, mixture.classes, prediction="soft"
    )
    assert np.array_equal(saturated.predict(X), mixture.predict_hard(X))
    assert np.array_equal(saturated.predict_proba(X), mixture.predict_proba_hard(X))


def test_prediction_chooses_between_the_two_meanings():
    confident, doubtful = Tree.leaf([1, 0]), Tree.leaf([0.4, 0.6])
    parts = {"gate_weights": [[0.0], [0.0]], "gate_bias": [0.0, 0.1], "trees": [confident, doubtful], "classes": [7, 9]}
    hard, soft = Mixture(**parts, prediction="hard"), Mixture(**parts, prediction="soft")
    assert hard.predict([[1.0]]).tolist() == [9] == [hard.act([1.0])]
    assert soft.predict([[1.0]]).tolist() == [7] == [soft.act([1.0])]
    assert soft.predict_hard([[1.0]]).tolist() == [9]
    assert hard.predict_soft([[1.0]]).tolist() == [7]


def test_ties_go_to_the_first():
    tie = Mixture([[0.0], [0.0]], [1.0, 1.0], [Tree.leaf([0.5, 0.5]), Tree.leaf([0, 1])], ["a", "b"])
    assert tie.expert([[3.0]]).tolist() == [0]
    assert tie.act([3.0]) == "a"


@pytest.mark.parametrize(
    "as_input",
    [
        np.array,
        np.asfortranarray,
        np.ndarray.tolist,
        pd.DataFrame,
        lambda X: X.astype(np.float32),
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: pd.DataFrame(X, dtype="Float64"),
    ],
    ids=["C", "Fortran", "list", "DataFrame", "float32", "strided", "nullable"],
)
def test_any_table_of_numbers_will_do(as_input):
    mixture = Mixture(**PARTS)
    assert mixture.predict(as_input(ROWS)).tolist() == ANSWERS


def test_read_only_rows_need_no_kernel_of_their_own():
    mixture = Mixture(**PARTS)
    mixture.predict(ROWS)
    compiled = len(leaves_of_rows.signatures)
    frozen = ROWS.copy()
    frozen.flags.writeable = False
    assert mixture.predict(frozen).tolist() == ANSWERS
    assert [mixture.act(x) for x in frozen] == ANSWERS
    assert len(leaves_of_rows.signatures) == compiled


def test_rows_stay_writable():
    rows = ROWS.copy()
    Mixture(**PARTS).predict(rows)
    rows[0] = 0.0


def test_no_rows_no_answers():
    assert Mixture(**PARTS).predict(np.empty((0, 2))).shape == (0,)
    assert Mixture(**PARTS).predict_proba(np.empty((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_only_finite_input_is_answered(number):
    for prediction in ("hard", "soft"):
        mixture = Mixture(**PARTS, prediction=prediction)
        with pytest.raises(InputError, match="finite"):
            mixture.act([0.0, number])
        with pytest.raises(InputError, match="NaN or infinity"):
            mixture.predict([[0.0, 0.0], [0.0, number]])


@pytest.mark.parametrize("rows", [[], [1.0, 2.0], [[1.0]], [[1.0, 2.0, 3.0]], [[[1.0, 2.0]]]])
def test_rows_must_have_the_shape_of_the_model(rows):
    for ask in ("predict_hard", "predict_soft", "predict_proba_soft", "predict_proba_hard", "expert"):
        with pytest.raises(InputError, match="expected rows of 2 features"):
            getattr(Mixture(**PARTS), ask)(rows)


@pytest.mark.parametrize("state", [[], [1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]]])
def test_a_state_must_have_the_shape_of_the_model(state):
    with pytest.raises(InputError, match="a state of this model has 2 numbers"):
        Mixture(**PARTS).act(state)


@pytest.mark.parametrize("row", [["a", 1.0], [None, {}], [10**400, 0]])
def test_input_must_be_numbers(row):
    with pytest.raises(InputError, match="must be an array of numbers"):
        Mixture(**PARTS).predict([row])
    with pytest.raises(InputError, match="must be an array of numbers"):
        Mixture(**PARTS).act(row)


def test_a_gate_beyond_float64_is_not_answered_softly():
    mixture = Mixture([[1e300], [1.0]], [0.0, 0.0], [Tree.leaf([1.0])] * 2, ["a"])
    with pytest.raises(InputError, match="the gate overflows"):
        mixture.predict_proba_soft([[1e300]])


def test_size_counts_the_gate():
    size = Mixture(**PARTS).size
    assert size == (2, 3, 4, 1, 6)
    assert size._fields == ("experts", "leaves", "nodes", "depth", "gate_numbers")
    assert Mixture([[0.0]], [0.0], [Tree.leaf([1.0])], ["a"]).size.gate_numbers == 0


def test_repr_and_defaults():
    mixture = Mixture(**PARTS)
    assert repr(mixture) == "Mixture(2 experts, 3 leaves, depth 1, 2 features, 2 classes, hard)"
    assert mixture.feature_names == ("x0", "x1")
    assert mixture.prediction == "hard"


@pytest.mark.parametrize(
    "other",
    [
        {"gate_weights": [[1.0, 0.0], [-1.0, 1.0]]},
        {"gate_bias": [0.0, 0.5]},
        {"trees": [STUMP, STUMP]},
        {"classes": ["left", "up"]},
        {"feature_names": ["x", "y"]},
        {"prediction": "soft"},
    ],
)
def test_mixtures_are_compared_by_content(other):
    assert Mixture(**PARTS) == Mixture(**PARTS)
    assert Mixture(**PARTS) != Mixture(**PARTS | other)


def test_labels_of_another_type_make_another_mixture():
    assert Mixture(**PARTS | {"classes": [0, 1]}) != Mixture(**PARTS | {"classes": [0.0, 1.0]})
    assert Mixture(**PARTS) != "a mixture"


@pytest.mark.parametrize(
    ("classes", "dtype", "answer"),
    [
        (["left", "right"], np.dtype("<U5"), str),
        (pd.Series(["left", "right"]), np.dtype("<U5"), str),
        ([3, 7], np.int64, int),
        (np.array([3, 7], np.uint8), np.int64, int),
        (np.array([0.5, 7], np.float32), np.float64, float),
        ([False, True], np.bool_, bool),
    ],
)
def test_labels_keep_their_type(classes, dtype, answer):
    mixture = Mixture(**PARTS | {"classes": classes})
    assert mixture.classes.dtype == dtype
    assert mixture.predict(ROWS).dtype == dtype
    assert type(mixture.act(ROWS[0])) is answer
    assert type(Mixture(**PARTS | {"classes": classes, "prediction": "soft"}).act(ROWS[0])) is answer
    assert mixture.classes.tolist() == list(classes)


def test_later_changes_of_the_arguments_do_not_matter():
    weights, bias, classes = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2), np.array(["left", "right"])
    experts, names = [STUMP, Tree.leaf([0.4, 0.6])], ["x", "y"]
    mixture = Mixture(weights, bias, experts, classes, names)
    before = bits(mixture)
    weights[:], bias[:], classes[:], experts[:], names[:] = 9.0, 9.0, "gone", [], []
    assert bits(mixture) == before


def test_a_mixture_is_frozen():
    mixture = Mixture(**PARTS)
    with pytest.raises(AttributeError):
        mixture.prediction = "soft"
    for array in (mixture.gate_weights, mixture.gate_bias, mixture.classes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[-1]


@pytest.mark.parametrize("clone", [copy.deepcopy, copy.copy, lambda mixture: pickle.loads(pickle.dumps(mixture))])
def test_copies_are_equal_and_frozen(clone):
    mixture = Mixture(**PARTS, feature_names=["a", "b"], prediction="soft")
    mixture.predict(ROWS)  # fills the caches, which copies do without
    twin = clone(mixture)
    assert bits(twin) == bits(mixture)
    assert twin.predict(ROWS).tolist() == mixture.predict(ROWS).tolist()
    assert not twin.gate_weights.flags.writeable
    assert not twin.trees[0].value.flags.writeable


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"gate_weights": [["a"], ["b"]]}, "gate_weights must be an array of numbers"),
        ({"gate_bias": [10**400, 0]}, "gate_bias must be an array of numbers"),
        ({"gate_weights": [1.0, 2.0]}, r"gate_weights must have 2 dimension\(s\)"),
        ({"gate_bias": [np.nan, 0.0]}, "gate_bias must be finite"),
        ({"gate_weights": np.empty((2, 0))}, "at least one expert and one feature"),
        ({"gate_bias": [0.0]}, "gate_weights is for 2 experts"),
        ({"trees": [STUMP]}, "there are 1 trees"),
        ({"trees": [STUMP, "oak"]}, "tree 1 is a str, not a Tree"),
        ({"trees": [STUMP, Tree.leaf([1.0])]}, "tree 1 has 1 class columns, the mixture 2 classes"),
        ({"gate_weights": [[1.0], [2.0]]}, "tree 0 tests feature 1, the gate has 1 features"),
        ({"classes": [["left"], ["right", "up"]]}, "classes must be a list of labels"),
        ({"classes": [["left", "right"]]}, "a list with at least one label"),
        ({"classes": []}, "a list with at least one label"),
        ({"classes": ["left", 1]}, "all strings or all numbers"),
        ({"classes": [None, "left"]}, "all strings or all numbers"),
        ({"classes": [0.0, np.inf]}, "classes must be finite"),
        ({"classes": np.array([0, 2**63], np.uint64)}, "classes must fit in 64 bits"),
        ({"classes": ["left", "left"]}, "classes must differ"),
        ({"feature_names": ["x"]}, "feature_names must be 2 different strings"),
        ({"feature_names": ["x", "x"]}, "feature_names must be 2 different strings"),
        ({"feature_names": ["x", ["y"]]}, "feature_names must be 2 different strings"),
        ({"prediction": "firm"}, "prediction must be 'hard' or 'soft', got 'firm'"),
    ],
)
def test_contradictions_are_refused(wrong, message):
    with pytest.raises(ModelError, match=message):
        Mixture(**PARTS | wrong)
