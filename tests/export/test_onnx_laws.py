"""The ONNX model of a mixture that answers with numbers, run by onnxruntime: hard outputs to the bit."""

import json

import numpy as np
import pytest

from moet import RegressionMixture, RegressionTree, export
from moet.model.file import digest

from .samples import run_onnx
from .test_laws import MODELS, random_model, rows

ROUNDING = 1e-12


@pytest.fixture(autouse=True)
def onnx():
    return pytest.importorskip("onnx")


def run(model, X):
    return run_onnx(model, X, ["outputs", "expert"])


def as_soft(model):
    return RegressionMixture(
        model.gate_weights, model.gate_bias, model.trees, model.outputs, model.low, model.high, prediction="soft"
    )


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_hard_outputs_have_the_same_bits(model):
    X = rows(model, 100_000)
    outputs, expert = run(model, X)
    assert outputs.tobytes() == model.predict(X).tobytes()
    assert np.array_equal(expert, model.expert(X))


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_zeros_keep_their_sign(model):
    values = [0.0, -0.0, 1.0, -1.0]
    X = np.random.default_rng(0).choice(values, size=(5_000, model.n_features))
    assert run(model, X)[0].tobytes() == model.predict(X).tobytes()


@pytest.mark.parametrize("model", [as_soft(model) for model in MODELS.values()], ids=MODELS)
def test_soft_outputs_agree_up_to_rounding(model):
    X = rows(model)
    outputs, expert = run(model, X)
    largest = 1 + np.abs(X).sum(axis=1, keepdims=True)  # terms of either sign may cancel
    assert (np.abs(outputs - model.predict(X)) <= ROUNDING * largest).all()
    assert np.array_equal(expert, model.expert(X))


def test_a_sum_that_overflows_is_nan():
    law = RegressionTree.leaf([0.0, 1.0], slope=[[1e200, -1e200], [0.0, 0.0]])
    model = RegressionMixture([[0.0, 0.0]], [0.0], [law], ["u", "v"], [-1, -1], [1, 1])
    X = np.array([[1e200, 0.0], [1e200, 1e200], [1.0, 0.0]])
    np.testing.assert_array_equal(run(model, X)[0], [[np.nan, 1.0], [np.nan, 1.0], [1.0, 1.0]])


def test_a_soft_gate_that_overflows_is_nan():
    trees = [RegressionTree.leaf([1.0]), RegressionTree.leaf([2.0])]
    model = RegressionMixture([[-1e200], [1.0]], [0.0, 0.0], trees, ["u"], prediction="soft")
    np.testing.assert_array_equal(run(model, np.array([[1e200], [0.0]]))[0], [[np.nan], [1.5]])


def test_no_rows_give_no_outputs():
    outputs, expert = run(MODELS["mixed"], np.empty((0, 4)))
    assert (outputs.shape, expert.shape) == ((0, 2), (0,))


def test_the_model_is_valid_plain_and_names_its_outputs(onnx):
    mixture = random_model(5, 3)
    model = export.onnx(mixture)
    onnx.checker.check_model(model, full_check=True)
    operators = {node.op_type for node in model.graph.node}
    assert not operators & {"MatMul", "Gemm", "Einsum", "ReduceSum"}
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert facts == {
        "model": digest(mixture),
        "feature_names": json.dumps(mixture.feature_names),
        "output_names": json.dumps(mixture.outputs),
    }
