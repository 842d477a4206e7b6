"""``moet compare`` and ``moet closest``."""

import json

import numpy as np
import pandas as pd
import pytest

from moet import Mixture, Schema, Tree, save, verify
from moet.cli.output import Exit


def gate(weights, bias=0.0, scale=1.0, prediction="hard") -> Mixture:
    """Answer "right" where weights·x + bias > 0."""
    rows = scale * np.array([[0.0, 0.0], weights])
    trees = [Tree.leaf([1.0, 0.0]), Tree.leaf([0.0, 1.0])]
    names = ["theta", "theta_dot"]
    return Mixture(rows, [0.0, scale * bias], trees, ["left", "right"], names, prediction)


@pytest.fixture
def models(tmp_path):
    """Paths of a model, of its copy in other units, and of another one."""
    made = {"a": gate([1.0, 1.0]), "copy": gate([1.0, 1.0], scale=4.0), "other": gate([1.0, 0.0])}
    made["soft"] = gate([1.0, 1.0], prediction="soft")
    paths = {name: tmp_path / f"{name}.moet.json" for name in made}
    for name, mixture in made.items():
        save(mixture, paths[name])
    return paths


WHERE = "-1<=theta<=1, -1<=theta_dot<=1"


def test_compare_proves(run, models, tmp_path):
    result = run("compare", models["a"], models["copy"], "--certificate", tmp_path / "proof.cert")
    assert result.exit_code == Exit.OK
    assert result.stdout.startswith("proved")
    assert verify.check(tmp_path / "proof.cert", models["a"], models["copy"])


def test_compare_shows_where_models_differ(run, models):
    result = run("compare", models["a"], models["other"], "--where", WHERE)
    assert result.exit_code == Exit.NEGATIVE
    assert result.stdout.startswith("refuted")
    assert "0.25 (exactly)" in result.stdout
    document = json.loads(run("compare", models["a"], models["other"], "--where", WHERE, "--json").stdout)
    assert document["verdict"] == "refuted"
    assert document["differences"]["share"] == 0.25
    assert document["differences"]["complete"]
    point = np.array(list(document["point"].values()))
    assert document["answers"] == [gate([1.0, 1.0]).act(point), gate([1.0, 0.0]).act(point)]


def test_compare_by_class_and_with_a_soft_model(run, models):
    assert run("compare", models["a"], models["other"], "--classes", "left").exit_code == Exit.NEGATIVE
    assert run("compare", models["soft"], models["soft"]).exit_code == Exit.OK
    result = run("compare", models["a"], models["other"], "--classes", "up")
    assert result.exit_code == Exit.USAGE
    assert "no class 'up'" in result.stderr


@pytest.mark.parametrize("command", [["compare", "a", "copy"], ["closest", "a", "--at", "1,0"]])
def test_no_time_is_undecided(run, models, command):
    arguments = [models.get(word, word) for word in command]
    result = run(*arguments, "--timeout", "0")
    assert result.exit_code == Exit.UNDECIDED
    assert result.stdout.startswith("unknown")
    assert "time limit" in result.stdout
    document = json.loads(run(*arguments, "--timeout", "0", "--json").stdout)
    assert document["verdict"] == "unknown"
    assert "time limit" in document["reason"]


@pytest.mark.parametrize(("norm", "distance"), [("linf", 0.5), ("l1", 1.0)])
def test_closest(run, models, tmp_path, norm, distance):
    arguments = ["closest", models["a"], "--at=-1,0", "--norm", norm, "--certificate", tmp_path / "proof.cert"]
    result = run(*arguments)
    assert result.exit_code == Exit.OK
    assert result.stdout.startswith(
        f"proved: the nearest input with another answer is at {norm} distance {distance:g}\n"
    )
    assert verify.check(tmp_path / "proof.cert", models["a"])
    document = json.loads(run(*arguments, "--json").stdout)
    assert (document["distance"], document["answer"]) == (distance, "right")
    assert gate([1.0, 1.0]).act(list(document["point"].values())) == "right"


def test_closest_to_a_given_answer_and_nowhere(run, models):
    assert "distance 0\n" in run("closest", models["a"], "--at=-1,0", "--answer", "left").stdout
    result = run("closest", models["a"], "--at=-1,0", "--where", "theta<=-1, theta_dot<=0")
    assert result.exit_code == Exit.OK
    assert result.stdout.startswith("proved: there is no input with another answer")
    document = json.loads(
        run("closest", models["a"], "--at=-1,0", "--where", "theta<=-1,theta_dot<=0", "--json").stdout
    )
    assert document["distance"] is None
    assert document["point"] is None


def test_soft_models_have_certificates_that_the_checker_accepts(run, models, tmp_path):
    result = run("closest", models["soft"], "--at=-1,0", "--certificate", tmp_path / "proof.cert")
    assert result.exit_code == Exit.OK
    checked = run("check", tmp_path / "proof.cert", models["soft"])
    assert checked.exit_code == Exit.OK


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--at", "1"], "2 numbers"),
        (["--at", "1,x"], "separated by commas"),
        (["--at", "1,nan"], "finite"),
        (["--at", "1,0", "--where", "tehta>=0"], "did you mean 'theta'"),
        (["--at", "1,0", "--where", "theta>0"], "closed sides"),
        (["--at", "1,0", "--where", "theta>=2,theta<=1"], "empty"),
        (["--at", "1,0", "--answer", "up"], "no class"),
        (["--at", "1,0", "--certificate", "/nowhere/at/all.cert"], "no folder"),
    ],
)
def test_wrong_usage(run, models, arguments, message):
    result = run("closest", models["a"], *arguments)
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert message in result.stderr


def test_models_with_other_features(run, models, tmp_path):
    save(Mixture([[0.0]], [0.0], [Tree.leaf([1.0, 0.0])], ["left", "right"]), tmp_path / "one.moet.json")
    result = run("compare", models["a"], tmp_path / "one.moet.json")
    assert result.exit_code == Exit.USAGE
    assert "2 and 1 features" in result.stderr


def test_models_of_a_table_differ_in_possible_rows(run, tmp_path):
    table = pd.DataFrame({"Age": [20, 30, 40, 50] * 5, "Housing": ["own", "rent", "free house", "rent"] * 5})
    schema = Schema.of(table)
    leaf = [Tree.leaf([1.0, 0.0]), Tree.leaf([0.0, 1.0])]
    for name, weights in (("a", [1, 0, 0, 0]), ("b", [1, 0, 4, 0])):
        gates = [[0.0] * 4, [float(weight) for weight in weights]]
        save(Mixture(gates, [0.0, -35.5], leaf, ["good", "bad"], schema=schema), tmp_path / f"{name}.moet.json")
    result = run("compare", tmp_path / "a.moet.json", tmp_path / "b.moet.json")
    assert result.exit_code == Exit.NEGATIVE
    assert '"good" / "bad" at Age=3' in result.stdout
    assert "Housing=own" in result.stdout
    document = json.loads(run("compare", tmp_path / "a.moet.json", tmp_path / "b.moet.json", "--json").stdout)
    assert document["point"].keys() == {"Age", "Housing"}
    assert document["differences"]["points"][0]["Housing"] == "own"
