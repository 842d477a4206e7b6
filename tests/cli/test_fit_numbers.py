"""A column of numbers through ``moet fit`` and the commands after it."""

import json

import numpy as np
import pandas as pd
import pytest

from moet import RegressionMixture, load
from moet.cli.fit_numbers import holds_numbers
from moet.cli.output import Exit


@pytest.fixture
def houses(write_csv):
    """A price that depends on area and town, with another law for small houses."""
    rng = np.random.default_rng(0)
    area, town = rng.uniform(20, 200, 300).round(1), rng.choice(["Linz", "Graz"], 300)
    price = np.where(area < 80, 5 * area, 400 + 2 * (area - 80)) + 30 * (town == "Graz") + rng.normal(0, 2, 300)
    return write_csv("houses.csv", ["area", "town", "price"], list(zip(area, town, price.round(2), strict=True)))


def test_a_target_of_numbers_is_learned_by_laws_of_the_smallest_size(run, houses, tmp_path):
    model = tmp_path / "m.moet.json"
    result = run("fit", houses, "--target", "price", "--test-fraction", 0.2, "-o", model)
    assert result.exit_code == Exit.OK
    assert "'price' holds numbers, and is learned as such; --labels takes them for labels" in result.stderr
    assert "<- taken" in result.stderr
    laws = load(model)
    assert isinstance(laws, RegressionMixture)
    assert laws.outputs == ("price",)
    assert set(laws.feature_names) == {"area", "town=Graz", "town=Linz"}
    assert laws.size.leaves <= 4
    told = run("predict", model, houses, "--target", "price", "--json")
    document = json.loads(told.stdout)
    assert document["r2"] > 0.98
    assert f"R² {document['r2']:.4f} (300 rows)" in told.stderr
    assert "price = " in run("show", model).stdout


def test_a_size_that_was_asked_for_is_taken_and_told_as_json(run, houses, tmp_path):
    arguments = ("fit", houses, "--target", "price", "--experts", 1, "--depth", 0, "--json", "-o")
    result = run(*arguments, tmp_path / "m.moet.json")
    document = json.loads(result.stdout)
    assert document["size"]["leaves"] == 1
    assert document["numbers"] == 4
    assert document["sizes"] == []
    assert 0.5 < document["train_r2"] < 0.99
    assert document["test_r2"] is None
    assert run(*arguments, tmp_path / "n.moet.json").exit_code == Exit.OK
    assert (tmp_path / "m.moet.json").read_bytes() == (tmp_path / "n.moet.json").read_bytes()


def test_labels_and_numbers_can_be_asked_for(run, write_csv, tmp_path):
    data = write_csv("t.csv", ["a", "y"], [[k, k % 2] for k in range(60)])
    arguments = (data, "--target", "y", "-o", tmp_path / "m.moet.json")
    assert run("fit", *arguments, "--numbers").exit_code == Exit.OK
    assert isinstance(load(tmp_path / "m.moet.json"), RegressionMixture)
    assert run("fit", *arguments).exit_code == Exit.OK
    assert not isinstance(load(tmp_path / "m.moet.json"), RegressionMixture)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,y\n1,0.5\n2,1\n", ["--labels"], "holds real numbers, which are no labels; fit them with --numbers"),
        ("a,y\n1,0.5\n2,1\n", ["--distill"], "--distill is for labels"),
        ("a,y\n1,x\n2,1\n", ["--numbers"], "column 'y' must hold numbers, but has 'x'"),
        ("a,y\n1,0.5\n2,\n", [], "values are missing in column 'y' (1 of 2 rows)"),
        ("a,y\n1,inf\n2,0.5\n", [], "infinite"),
    ],
)
def test_what_cannot_be_learned_is_told_in_one_line(run, tmp_path, content, options, message):
    data, model = tmp_path / "t.csv", tmp_path / "m.moet.json"
    data.write_text(content)
    result = run("fit", data, "--target", "y", *options, "-o", model)
    assert result.exit_code == Exit.USAGE
    assert message in result.stderr
    assert not model.exists()


def test_options_for_labels_are_refused_by_laws(run, houses, tmp_path):
    model = tmp_path / "m.moet.json"
    run("fit", houses, "--target", "price", "--experts", 1, "--depth", 0, "-o", model)
    result = run("predict", model, houses, "--proba")
    assert result.exit_code == Exit.USAGE
    assert "--proba is for models that answer with labels" in result.stderr


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 1, 0, 1], False),
        ([0.5, 1.0], True),
        (list(range(100)), True),
        (list(range(50)) * 40, False),
        (["a", "b"], False),
        ([True, False], False),
        ([1.0, 2.0, None], False),
    ],
)
def test_numbers_have_fractions_or_are_many(values, expected):
    assert holds_numbers(pd.Series(values)) is expected


def test_a_constant_target_is_a_constant_law(run, write_csv, tmp_path):
    data = write_csv("t.csv", ["a", "y"], [[k, 1.5] for k in range(20)])
    model = tmp_path / "m.moet.json"
    assert run("fit", data, "--target", "y", "-o", model).exit_code == Exit.OK
    assert load(model).predict([[3.0]])[0, 0] == pytest.approx(1.5)
