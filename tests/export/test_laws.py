"""Models that answer with numbers in other languages: the same bits."""

import ctypes
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moet import RegressionMixture, RegressionTree, export
from moet.errors import ExportError, InputError
from tests.processes import run

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
BUILDS = {
    "plain": ["-O0"],
    "fused": ["-O3", "-march=native", "-ffp-contract=fast"],
    "haswell": ["-std=gnu11", "-O2", "-march=haswell"],
}

WRAPPER = """
void run(const double *x, long n, double *u, int *expert);

void run(const double *x, long n, double *u, int *expert)
{
    for (long i = 0; i < n; i++) {
        law_predict(x + i * LAW_FEATURES, u + i * LAW_OUTPUTS);
        expert[i] = law_expert(x + i * LAW_FEATURES);
    }
}
"""


def random_model(seed, n_experts, n_features=4, n_outputs=2, affine=True, bounded=True):
    """Trees of up to three tests; some leaves constant, values and slopes with zeros of either sign."""
    rng = np.random.default_rng(seed)

    def numbers(*shape):
        return np.where(rng.random(shape) < 0.2, rng.choice([0.0, -0.0], size=shape), rng.normal(size=shape))

    trees = []
    for j in range(n_experts):
        slope = numbers(5, n_outputs, n_features) if affine and j % 3 != 2 else None
        tests = rng.integers(0, n_features, size=2)
        feature, threshold = [tests[0], -1, tests[1], -1, -1], [rng.normal(), 0, rng.normal(), 0, 0]
        trees.append(
            RegressionTree(feature, threshold, [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], numbers(5, n_outputs), slope)
        )
    low, high = (np.full(n_outputs, side) if bounded else None for side in (-1.5, 1.25))
    weights = rng.normal(size=(n_experts, n_features))
    names = ['angle */ "x"', *(f"x{k}" for k in range(1, n_features))]
    return RegressionMixture(
        weights, rng.normal(size=n_experts), trees, [f"u {o}" for o in range(n_outputs)], low, high, names
    )


MODELS = {
    "one law": RegressionMixture([[0.0, 0.0]], [0.0], [RegressionTree.leaf([-0.0], [[0.1, -3.0]])], ["u"]),
    "one constant": RegressionMixture([[0.0]], [0.0], [RegressionTree.leaf([-0.0, 2.5])], ["u", "v"]),
    "one tree": random_model(0, 1),
    "constants": random_model(1, 3, affine=False),
    "mixed": random_model(2, 3),
    "unbounded": random_model(3, 4, n_features=17, n_outputs=3, bounded=False),
}


def rows(model, n=20_000):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, model.n_features)) * 10.0 ** rng.integers(-6, 6, size=(n, 1))


def compiled(model, folder, compiler, options):
    (folder / "law.h").write_text(export.c(model, name="law"))
    (folder / "law.c").write_text('#include "law.h"\n' + WRAPPER)
    command = [compiler, *STRICT, *options, "-shared", "-fPIC", "-o", str(folder / "law.so"), str(folder / "law.c")]
    run(command, check=True)
    return ctypes.CDLL(str(folder / "law.so"))


def answers(library, model, X):
    outputs, expert = np.empty((len(X), model.n_outputs)), np.empty(len(X), dtype=np.int32)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (X, outputs, expert)]
    library.run(pointers[0], ctypes.c_long(len(X)), *pointers[1:])
    return outputs, expert


@pytest.mark.processes
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("options", BUILDS.values(), ids=BUILDS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_c_gives_the_same_bits_even_where_multiply_add_is_fused(tmp_path, compiler, options, model):
    X = rows(model)
    outputs, expert = answers(compiled(model, tmp_path, compiler, options), model, X)
    assert outputs.tobytes() == model.predict(X).tobytes()
    assert expert.tolist() == model.expert(X).tolist()


@pytest.mark.processes
@pytest.mark.parametrize("compiler", COMPILERS)
def test_c_says_nan_where_a_sum_overflows(tmp_path, compiler):
    law = RegressionTree.leaf([0.0, 1.0], slope=[[1e200, -1e200], [0.0, 0.0]])
    model = RegressionMixture([[0.0, 0.0]], [0.0], [law], ["u", "v"], [-1, -1], [1, 1])
    X = np.array([[1e200, 0.0], [1e200, 1e200], [1.0, 0.0]])
    outputs, _ = answers(compiled(model, tmp_path, compiler, ["-O2"]), model, X)
    np.testing.assert_array_equal(outputs, [[np.nan, 1.0], [np.nan, 1.0], [1.0, 1.0]])


def python_predict(model):
    scope = {}
    exec(export.python(model), scope)
    return scope["predict"]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_python_source_gives_the_same_bits(model):
    X = rows(model, 2000)
    assert np.array([python_predict(model)(x) for x in X]).tobytes() == model.predict(X).tobytes()


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_python_source_of_any_model(seed, n_experts):
    model = random_model(seed, n_experts)
    predict = python_predict(model)
    X = rows(model, 50)
    assert np.array([predict(x) for x in X]).tobytes() == model.predict(X).tobytes()


def test_python_source_refuses_what_the_model_refuses():
    model = RegressionMixture([[0.0]], [0.0], [RegressionTree.leaf([0.0], [[1e200]])], ["u"], [-1], [1])
    predict = python_predict(model)
    with pytest.raises(InputError):
        model.act([1e200])
    with pytest.raises(ValueError, match="overflows"):
        predict([1e200])
    for bad in ([np.nan], [np.inf], [1.0, 2.0]):
        with pytest.raises(ValueError, match="expected 1 finite numbers"):
            predict(bad)


@pytest.mark.parametrize("write", [export.c, export.python])
def test_soft_models_are_refused(write):
    soft = random_model(0, 2)
    soft = RegressionMixture(soft.gate_weights, soft.gate_bias, soft.trees, soft.outputs, prediction="soft")
    with pytest.raises(ExportError, match="soft mixture cannot be exported"):
        write(soft)


@pytest.mark.parametrize("options", [{"style": "ifs"}, {"precision": "float32"}])
def test_other_styles_of_c_are_refused(options):
    with pytest.raises(ExportError, match='style="tables" and precision="float64"'):
        export.c(MODELS["one tree"], **options)
