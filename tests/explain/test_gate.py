"""The gate as a heat map."""

import numpy as np
import pytest

from moet import Mixture, Tree
from moet.errors import InputError
from moet.explain import draw_gate, gate_table
from tests.random_models import random_mixture


def test_weights_as_they_are():
    mixture = random_mixture(0, n_experts=4)
    table = gate_table(mixture, units={"x1": "m/s", "x2": ""})
    assert table.columns == ("x0", "x1 [per m/s]", "x2", "constant")
    assert np.array_equal(table.values, np.column_stack([mixture.gate_weights, mixture.gate_bias]))
    assert np.abs(table.shades).max(axis=0) == pytest.approx(1)  # each column by its own largest


def test_scaled_by_the_spread_of_data():
    mixture = random_mixture(0, n_experts=4)
    rows = np.random.default_rng(0).normal([1, 2, 3], [0.1, 1, 10], size=(50, 3))
    table = gate_table(mixture, rows)
    assert table.columns[-1] == "mean input"
    assert table.values.mean(axis=0) == pytest.approx(0)
    # the score of an input in standard deviations, up to what all experts have in common
    z = (rows[7] - rows.mean(axis=0)) / rows.std(axis=0)
    scores = table.values[:, :-1] @ z + table.values[:, -1]
    logits = mixture.gate_weights @ rows[7] + mixture.gate_bias
    assert scores - scores[0] == pytest.approx(logits - logits[0])
    assert np.abs(table.shades).max() == pytest.approx(1)
    assert np.argmax(np.abs(table.shades)) == np.argmax(np.abs(table.values))


def test_the_picture_prints_every_number_and_hatches_the_negative_ones():
    table = gate_table(random_mixture(0, n_experts=4))
    (axis,) = draw_gate(table, "note").axes
    printed = [float(text.get_text().replace("−", "-")) for text in axis.texts]
    assert printed == pytest.approx(table.values.ravel(), rel=5e-3)
    assert len(axis.patches) == np.sum(table.values < 0) > 0
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["expert 0", "expert 1", "expert 2", "expert 3"]


def test_many_features_stand_below_one_another():
    gate = np.random.default_rng(0).normal(size=(3, 109))
    names = [f"Occupation=Some longer name {k}" for k in range(108)]
    mixture = Mixture(gate[:, 1:], gate[:, 0], [Tree.leaf([1, 0])] * 3, [0, 1], names)
    figure = draw_gate(table := gate_table(mixture))
    width, height = figure.get_size_inches()
    assert width < 8 < height < 30
    (axis,) = figure.axes
    assert [tick.get_text() for tick in axis.get_yticklabels()] == [*names, "constant"]
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["expert 0", "expert 1", "expert 2"]
    printed = [float(text.get_text().replace("−", "-")) for text in axis.texts]
    assert printed == pytest.approx(table.values.T.ravel(), rel=5e-3)


def test_a_feature_without_weight_or_spread():
    table = gate_table(random_mixture(0), np.ones((3, 3)))
    assert np.array_equal(table.shades[:, :3], np.zeros((3, 3)))
    draw_gate(table)


def test_what_has_no_gate_or_no_data():
    with pytest.raises(InputError, match="no gate"):
        gate_table(random_mixture(0, n_experts=1))
    with pytest.raises(InputError, match="rows of 3 features"):
        gate_table(random_mixture(0), np.ones((3, 2)))
    with pytest.raises(InputError, match="at least one row"):
        gate_table(random_mixture(0), np.ones((0, 3)))
