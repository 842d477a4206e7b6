"""The Python function: it imports nothing and answers as the model does, to the bit."""

import ast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet import Mixture, export
from moet.errors import ExportError
from moet.export.parts import MAX_NESTING
from moet.model.file import digest
from tests.model.strategies import hard_points, mixtures
from tests.random_models import tying_mixture

from .samples import HOSTILE, chain, inputs, published_policy


def hard(mixture):
    return Mixture(mixture.gate_weights, mixture.gate_bias, mixture.trees, mixture.classes, mixture.feature_names)


def predict_of(text):
    """The function, defined where nothing but the builtins it needs exists."""
    names = {"__builtins__": {f.__name__: f for f in (any, float, len, max, ValueError)}}
    exec(compile(text, "predict.py", "exec"), names)
    return names["predict"]


@given(mixture=mixtures().map(hard), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_same_answers(mixture, seed):
    predict = predict_of(export.python(mixture))
    X = hard_points(mixture, seed, 50)
    assert [predict(x) for x in X] == mixture.predict_hard(X).tolist()


@pytest.mark.parametrize(("n_experts", "depth"), [(1, 6), (2, 0), (3, 2), (8, 3)])
def test_zero_differences(n_experts, depth):
    mixture = tying_mixture(2 * n_experts + 1, n_experts, depth)
    predict = predict_of(export.python(mixture))
    X = inputs(mixture, 100_000)
    assert [predict(x) for x in X.tolist()] == mixture.predict_hard(X).tolist()


def test_wide_models_and_float32_states():
    mixture = tying_mixture(0, 2, 1, n_features=3_000)
    predict = predict_of(export.python(mixture))
    X = np.random.default_rng(0).normal(size=(50, 3_000)).astype(np.float32)
    assert [predict(x) for x in X] == mixture.predict_hard(X).tolist()


def test_hostile_names():
    n = len(HOSTILE)
    mixture = tying_mixture(4, 3, 3, n, n)
    mixture = Mixture(mixture.gate_weights, mixture.gate_bias, mixture.trees, HOSTILE, HOSTILE)
    text = export.python(mixture)
    assert text.isascii()
    predict = predict_of(text)
    X = inputs(mixture, 300)
    assert [predict(x) for x in X] == mixture.predict_hard(X).tolist()


def test_one_function_that_names_the_model():
    text = export.python(published_policy())
    assert [type(statement) for statement in ast.parse(text).body] == [ast.FunctionDef]
    assert f"# model {digest(published_policy())}\n" in text
    assert "# x[3]  'pole_velocity'\n" in text


@pytest.mark.parametrize("x", [[1, 2, 3], [1, 2, 3, 4, 5], [0, 0, 0, np.nan], [np.inf, 0, 0, 0]])
def test_bad_states_are_errors(x):
    with pytest.raises(ValueError, match="expected 4 finite numbers"):
        predict_of(export.python(published_policy()))(x)


def test_the_deepest_tree():
    predict = predict_of(export.python(chain(MAX_NESTING)))
    X = np.arange(-1, 2 * MAX_NESTING + 3, 0.5)[:, None]
    assert [predict(x) for x in X] == chain(MAX_NESTING).predict_hard(X).tolist()
    with pytest.raises(ExportError, match="too deep"):
        export.python(chain(MAX_NESTING + 1))


def test_soft_models_are_refused():
    mixture = tying_mixture(0, 2, 1)
    with pytest.raises(ExportError, match="Python source"):
        export.python(Mixture(mixture.gate_weights, mixture.gate_bias, mixture.trees, mixture.classes, None, "soft"))
