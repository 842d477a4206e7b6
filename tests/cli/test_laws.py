"""Commands that read models that answer with numbers, and those that refuse them."""

import json

import pytest

from moet import Mixture, RegressionMixture, RegressionTree, Tree, export, save
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


def test_predict_refuses_probabilities_of_numbers(run, law, table):
    result = run("predict", law, table, "--proba")
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


def test_explore_writes_a_page(run, law, tmp_path):
    page = tmp_path / "law.html"
    assert run("explore", law, "--no-open", "-o", page).exit_code == Exit.OK
    assert '"torque"' in page.read_text()


WHERE = ["--where", "-1<=angle<=1, 0<=speed<=1"]


def test_verify_says_between_which_numbers_outputs_are_and_check_confirms_it(run, law, tmp_path):
    proof = tmp_path / "range.cert"
    result = run("verify", law, "--range", *WHERE, "--certificate", proof)
    assert result.exit_code == Exit.OK
    assert result.stdout.startswith("proved: torque is between -2 and 2.5000")
    assert "2.5 at angle=1, speed=0" in result.stdout
    document = json.loads(run("verify", law, "--range", *WHERE, "--json").stdout)
    assert document["outputs"]["torque"]["largest"] == 2.5
    assert document["checked"]
    checked = run("check", proof, law)
    assert checked.exit_code == Exit.OK
    assert "torque >= -2" in checked.stdout
    open_sides = run("verify", law, "--range")
    assert open_sides.exit_code == Exit.OK
    assert "torque has no upper bound" in open_sides.stdout


def test_verify_decides_conditions_on_outputs(run, law):
    proved = run("verify", law, "--always", "torque <= 2.6", *WHERE)
    assert (proved.exit_code, proved.stdout.split(" where")[0]) == (Exit.OK, "proved: torque <= 2.6")
    refuted = run("verify", law, "--always", "torque <= 2", *WHERE)
    assert refuted.exit_code == Exit.NEGATIVE
    assert refuted.stdout.startswith("refuted: not always; the answer is torque = ")
    document = json.loads(run("verify", law, "--always", "torque <= 2", *WHERE, "--json").stdout)
    assert document["answer"]["torque"] > 2
    wrong = run("verify", law, "--always", "speed <= 2")
    assert wrong.exit_code == Exit.USAGE
    assert "known are torque" in wrong.stderr


def test_compare_takes_a_tolerance(run, law, tmp_path):
    other = tmp_path / "other.moet.json"
    leaf = RegressionTree.leaf([0.51], slope=[[2.0, -1.0]])
    save(RegressionMixture([[0.0, 0.0]], [0.0], [leaf], ["torque"], [-2], feature_names=["angle", "speed"]), other)
    assert run("compare", law, law).exit_code == Exit.OK
    assert run("compare", law, other, *WHERE, "--tolerance", "0.011").exit_code == Exit.OK
    differ = run("compare", law, other, *WHERE)
    assert differ.exit_code == Exit.NEGATIVE
    assert "torque = " in differ.stdout
    document = json.loads(run("compare", law, other, *WHERE, "--json").stdout)
    assert document["answers"][1]["torque"] > document["answers"][0]["torque"]


def test_closest_takes_a_condition_or_a_tolerance(run, law):
    told = run("closest", law, "--at", "0,0", "--answer", "torque >= 1")
    assert told.exit_code == Exit.OK
    assert "the nearest input with the answer torque >= 1 is at linf distance 0.1666" in told.stdout
    changed = json.loads(run("closest", law, "--at", "0,0", "--tolerance", "0.3", "--json").stdout)
    assert changed["distance"] == pytest.approx(0.1)
    nowhere = run("closest", law, "--at", "0,0", "--answer", "torque <= -3")
    assert "proved: there is no input with the answer torque <= -3" in nowhere.stdout
    neither = run("closest", law, "--at", "0,0")
    assert neither.exit_code == Exit.USAGE
    assert "say what to look for" in neither.stderr


def test_verify_asks_one_question_at_a_time(run, law):
    result = run("verify", law, "--range", "--always", "torque <= 1")
    assert result.exit_code == Exit.USAGE
    assert "give one of --system" in result.stderr


@pytest.mark.parametrize("kind", ["regions", "experts", "trees"])
def test_plot_draws_numbers(run, law, tmp_path, kind):
    where = [] if kind == "trees" else WHERE
    result = run("plot", law, "--kind", kind, *where, "-o", tmp_path / "law.svg")
    assert result.exit_code == Exit.OK
    assert "torque" in (tmp_path / "law.svg").read_text()


def test_plot_says_what_does_not_go_together(run, law, tmp_path):
    picture = tmp_path / "law.png"
    teacher = run("plot", law, "--kind", "regions", *WHERE, "--teacher", "-o", picture)
    assert "--teacher goes with models that answer with labels" in teacher.stderr
    labels = tmp_path / "labels.moet.json"
    save(Mixture([[0.0, 0.0]], [0.0], [Tree.leaf([1, 0])], ["a", "b"], ["angle", "speed"]), labels)
    both = run("plot", law, labels, "--kind", "regions", *WHERE, "-o", picture)
    assert "draw them apart" in both.stderr
    assert not picture.exists()
