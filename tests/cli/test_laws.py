"""Commands that read models that answer with numbers, and those that refuse them."""

import json

import pytest

from moet import RegressionMixture, RegressionTree, export, save
from moet.cli.output import Exit


@pytest.fixture
def law(tmp_path):
    path = tmp_path / "law.moet.json"
    leaf = RegressionTree.leaf([0.5], slope=[[2.0, -1.0]])
    save(RegressionMixture([[0.0, 0.0]], [0.0], [leaf], ["torque"], [-2], feature_names=["angle", "speed"]), path)
    return path


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "states.csv"
    path.write_text("speed,angle\n0.0,1.0\n9.0,1.0\n")
    return path


def test_predict_prints_the_outputs(run, law, table):
    result = run("predict", law, table)
    assert result.exit_code == Exit.OK
    assert result.stdout == "torque\n2.5\n-2.0\n"
    assert json.loads(run("predict", law, table, "--json").stdout)["predictions"] == [[2.5], [-2.0]]


@pytest.mark.parametrize("option", [["--proba"], ["--target", "angle"]])
def test_predict_refuses_options_for_labels(run, law, table, option):
    result = run("predict", law, table, *option)
    assert result.exit_code == Exit.USAGE
    assert "this model answers with numbers" in result.stderr


def test_show_prints_formulas(run, law):
    assert "torque = 0.5 + 2*angle - 1*speed" in run("show", law).stdout
    shown = json.loads(run("show", law, "--json").stdout)
    assert (shown["outputs"], shown["low"], shown["high"], shown["numbers"]) == (["torque"], [-2.0], [None], 3)


@pytest.mark.parametrize(
    ("to", "text"),
    [
        ("c", "static inline void moet_predict"),
        ("python", "def predict(x):"),
        ("dot", "torque = 0.5"),
        ("smt2", "(define-fun output0 "),
    ],
)
def test_export_writes_source(run, law, to, text):
    assert text in run("export", law, "--to", to).stdout


def test_export_writes_onnx(run, law, tmp_path):
    onnx = pytest.importorskip("onnx")
    assert run("export", law, "--to", "onnx", "-o", tmp_path / "law.onnx").exit_code == Exit.OK
    assert onnx.load(tmp_path / "law.onnx") == export.onnx(law)


def test_why_says_what_every_feature_adds(run, law):
    told = run("why", law, "--at", "angle=1, speed=9").stdout
    assert told.startswith("torque = -2\n\nlaw of torque:\n")
    assert told.endswith("sum: -6.5, clipped to -2\n")
    document = json.loads(run("why", law, "--at", "1,9", "--json").stdout)
    assert document["answer"] == {"torque": -2.0}
    assert document["laws"]["torque"]["terms"] == {"angle": 2.0, "speed": -9.0}
    assert (document["expert"], document["path"], document["contest"]) == (0, [], None)


@pytest.mark.parametrize("option", [["--where", "angle>=0"], ["--norm", "linf"]])
def test_why_refuses_options_about_labels(run, law, option):
    result = run("why", law, "--at", "0,0", *option)
    assert result.exit_code == Exit.USAGE
    assert "this model answers with numbers" in result.stderr


def test_other_commands_say_which_read_it(run, law):
    for arguments in (["explore", law], ["compare", law, law]):
        result = run(*arguments)
        assert result.exit_code == Exit.USAGE
        assert "answers with numbers (torque)" in result.stderr
