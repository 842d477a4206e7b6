"""A share of benchmarks/readers.py, which asks a million rows; the browser has a test of its own."""

import numpy as np
import pytest
from readers import differing, in_python, random_model, readers, rows_for


@pytest.mark.processes
@pytest.mark.parametrize("seed", range(4))
def test_c_and_onnx_give_the_bits_of_the_model(tmp_path, seed):
    pytest.importorskip("onnxruntime")
    model = random_model(seed)
    X = rows_for(model, 20_000, seed)
    for name, read in readers(model, tmp_path, {"python"}, None).items():
        assert differing(model, read, X) == 0, name


def test_python_source_gives_the_bits_of_the_model():
    model = random_model(1)
    assert differing(model, in_python(model), rows_for(model, 5_000, 1)) == 0


def test_a_bit_that_differs_is_counted():
    model = random_model(0)
    X = rows_for(model, 100, 0)
    assert differing(model, lambda X: np.nextafter(model.predict(X), np.inf), X) == 100
