"""The ONNX model, run by onnxruntime: hard answers to the bit, soft ones up to rounding."""

import dataclasses
import json
import sys

import numpy as np
import pytest

from moet import Mixture, Tree, export
from moet.errors import ExportError
from moet.model.file import digest
from tests.random_models import tying_mixture

from .samples import HOSTILE, as_soft, chain, inputs, published_policy, run_onnx

ROUNDING = 1e-12

SAMPLES = {
    "one_leaf": tying_mixture(0, 1, 0),
    "one_tree": tying_mixture(1, 1, 6),
    "published": published_policy(),
    "two_trees": tying_mixture(3, 2, 3),
    "tied": tying_mixture(5, 3, 2),
    "large": tying_mixture(7, 8, 6, n_features=8),
    "real": tying_mixture(8, 8, 3, n_features=8),
    "all_equal": Mixture(np.zeros((2, 1)), [1, 1], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], [False, True]),
    "tiny": Mixture([[5e-324], [1e100]], [1.5e-320, -0.0], tying_mixture(9, 2, 2, n_features=1).trees, [1.5, 2, -1]),
}


@pytest.fixture(autouse=True)
def onnx():
    return pytest.importorskip("onnx")


def run(mixture, X):
    """Labels, probabilities and experts as onnxruntime computes them."""
    return run_onnx(mixture, X, ["label", "probabilities", "expert"])


@pytest.mark.parametrize("name", SAMPLES)
def test_zero_differences(name):
    mixture = SAMPLES[name]
    X = inputs(mixture, 100_000)
    label, probabilities, expert = run(mixture, X)
    assert np.array_equal(expert, mixture.expert(X))
    assert np.array_equal(label, mixture.predict_hard(X))
    assert np.array_equal(probabilities, mixture.predict_proba_hard(X))


@pytest.mark.parametrize(
    ("sharpness", "offset"), [(3.0, None), ((0.5, 3.0, 20.0), None), ((0.5, 3.0, 20.0), (0.7, -0.9, -30.0))]
)
def test_probabilities_are_as_sharp_as_the_mixture_says(sharpness, offset):
    mixture = dataclasses.replace(as_soft(SAMPLES["two_trees"]), sharpness=sharpness, offset=offset)
    X = np.random.default_rng(0).normal(size=(2000, mixture.n_features))
    np.testing.assert_allclose(run(mixture, X)[1], mixture.predict_proba(X), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("name", SAMPLES)
def test_soft_answers_differ_only_where_two_classes_tie_up_to_rounding(name):
    mixture = as_soft(SAMPLES[name])
    X = inputs(mixture, 100_000)
    X = X[(np.abs(X) < 1e100).all(axis=1)]  # elsewhere the gate overflows, which the model refuses
    label, probabilities, expert = run(mixture, X)
    wanted = mixture.predict_proba(X)
    assert np.array_equal(expert, mixture.expert(X))
    np.testing.assert_allclose(probabilities, wanted, rtol=0, atol=ROUNDING)
    ranked = np.sort(wanted, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > ROUNDING
    assert np.array_equal(np.array(label)[clear], mixture.predict_soft(X)[clear])


def test_a_gate_that_overflows_chooses_the_same_expert():
    weights = [[1e308, -1e308], [1.0, 1.0], [-1e308, 1e308]]
    mixture = Mixture(weights, [0, 0, 0], [Tree.leaf(row) for row in np.eye(3)], ["a", "b", "c"])
    X = np.array([[x, y] for x in (-10.0, 0.0, 1.0, 10.0) for y in (-10.0, 0.0, 1.0, 10.0)])
    with np.errstate(all="ignore"):
        assert np.isnan((X[:, None, :] * mixture.gate_weights).sum(axis=2)).any()
    label, _, expert = run(mixture, X)
    assert np.array_equal(expert, mixture.expert(X))
    assert np.array_equal(label, mixture.predict_hard(X))


def test_wide_and_deep_models_and_no_rows():
    wide = tying_mixture(6, 4, 1, n_features=300, n_classes=200)
    X = inputs(wide, 1_000)
    assert np.array_equal(run(wide, X)[0], wide.predict_hard(X))
    deep = chain(60)
    X = np.arange(-1, 123, 0.5)[:, None]
    assert np.array_equal(run(deep, X)[0], deep.predict_hard(X))
    assert len(run(deep, np.empty((0, 1)))[0]) == 0


def test_labels_keep_their_types_and_hostile_names():
    mixture = tying_mixture(4, 3, 3, len(HOSTILE), len(HOSTILE))
    mixture = Mixture(mixture.gate_weights, mixture.gate_bias, mixture.trees, HOSTILE, HOSTILE)
    X = inputs(mixture, 300)
    assert run(mixture, X)[0].tolist() == mixture.predict_hard(X).tolist()
    for labels in ([3, -7], [2.5, 1.0], [True, False]):
        label = run(Mixture([[1.0]], [0], [Tree.leaf([0, 1])], labels), np.zeros((1, 1)))[0]
        assert label.dtype == np.array(labels).dtype
        assert label.tolist() == labels[1:]
    with pytest.raises(ExportError, match="not Unicode"):
        export.onnx(Mixture([[1.0]], [0], [Tree.leaf([0, 1])], ["a", "\ud800"]))


def test_the_model_is_valid_and_names_its_model(onnx):
    mixture = tying_mixture(7, 8, 6)
    model = export.onnx(mixture)
    onnx.checker.check_model(model, full_check=True)
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert facts == {"model": digest(mixture), "feature_names": json.dumps(mixture.feature_names)}
    assert model.graph.doc_string.startswith("hard mixture of 8 experts")
    used = {node.domain for node in model.graph.node}
    assert used == {""}
    assert export.onnx(mixture).SerializeToString() == model.SerializeToString()


def test_without_the_package_the_message_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "moet.export.onnx_graph", raising=False)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ExportError, match=r"needs the package onnx: pip install 'moet\[onnx\]'"):
        export.onnx(published_policy())
