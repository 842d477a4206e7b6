"""``moet why``, and units in ``moet show``."""

import json

import pytest

from moet import Mixture, Tree, load, save
from moet.cli.output import Exit


@pytest.fixture
def model(tmp_path):
    """Path of a policy for CartPole: right where 2*angle + angular_velocity > 0."""
    names = ["position", "velocity", "angle", "angular_velocity"]
    trees = [Tree.leaf([1.0, 0.0]), Tree.leaf([0.1, 0.9])]
    mixture = Mixture([[0] * 4, [0, 0, 2, 1]], [0, 0], trees, ["left", "right"], names, provenance={"task": "cartpole"})
    save(mixture, tmp_path / "m.moet.json")
    return tmp_path / "m.moet.json"


def test_for_people(run, model):
    result = run("why", model, "--at", "0,0,0.1,0")
    assert result.exit_code == Exit.OK
    assert result.stdout.startswith("right, answered by expert 1 alone\n\ngate: expert 1 beats expert 0 by 0.2\n")
    assert "angle [rad]                 0.1         +0.2" in result.stdout
    assert "nearest other answer: left, 0.1 away\n" in result.stdout


@pytest.mark.parametrize("at", ["0,0,0.1,0", "angle=0.1,position=0, velocity = 0,angular_velocity=0"])
def test_for_programs(run, model, at):
    document = json.loads(run("why", model, "--at", at, "--norm", "linf", "--json").stdout)
    assert document["answer"] == load(model).act([0, 0, 0.1, 0]) == "right"
    assert document["at"] == {"position": 0, "velocity": 0, "angle": 0.1, "angular_velocity": 0}
    assert document["units"]["angular_velocity"] == "rad/s"
    assert document["contest"]["margin"] == 0.2
    assert document["contest"]["ties_at"] == {"position": None, "velocity": None, "angle": 0, "angular_velocity": -0.2}
    assert [expert["expert"] for expert in document["experts"]] == [1, 0]
    assert document["experts"][0]["share"] == 1
    assert document["closest"]["verdict"] == "proved"
    assert document["closest"]["distance"] == pytest.approx(0.2 / 3)
    assert document["closest"]["answer"] == "left"


def test_paths_and_limits(run, tmp_path):
    stump = Tree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [1, 0], [0, 1]])
    save(Mixture([[0.0]], [0], [stump], [0, 1], ["color=red"]), tmp_path / "tree.moet.json")
    arguments = ["why", tmp_path / "tree.moet.json", "--at", "color=red=0", "--where", "color=red<=0.25", "--json"]
    document = json.loads(run(*arguments[:4], "--json").stdout)
    (check,) = document["experts"][0]["path"]
    assert check == {
        "node": 0,
        "feature": "color=red",
        "value": 0,
        "threshold": 0.5,
        "passed": True,
        "flips_at": 0.5000000000000001,
        "distance": 0.5000000000000001,
    }
    assert document["contest"] is None
    assert document["closest"]["distance"] == 0.5
    undecided = json.loads(run(*arguments[:4], "--json", "--timeout", 0).stdout)
    assert undecided["closest"]["verdict"] == "unknown"
    assert undecided["closest"]["point"] is None


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("0,0", "4 numbers"),
        ("0,0,x,0", "'x' is neither"),
        ("angle=0.1", "position, velocity, angular_velocity is missing"),
        ("angel=0.1", "no feature 'angel'; the features are position"),
        ("0,0,inf,0", "finite"),
        ("angle=1,2,3,4", "no feature ''"),
    ],
)
def test_wrong_inputs(run, model, at, message):
    result = run("why", model, "--at", at)
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_closest_takes_names_too(run, model):
    result = run("closest", model, "--at", "position=0,velocity=0,angle=0.1,angular_velocity=0", "--norm", "l1")
    assert "l1 distance 0.1" in result.stdout


def test_show_knows_units(run, model):
    lines = run("show", model).stdout.splitlines()
    assert lines[1] == "units: position [m], velocity [m/s], angle [rad], angular_velocity [rad/s]"
    assert lines[3] == "if 2*angle + 1*angular_velocity > 0 then right else left"
    assert json.loads(run("show", model, "--json").stdout)["units"]["position"] == "m"


@pytest.mark.parametrize("task", ["os:Env-v0", "NoSuchTask-v9", 7, None])
def test_a_strangers_task_is_not_looked_up(run, model, task):
    """Gymnasium would import the module ``os`` for the first of them."""
    mixture = load(model)
    fields = {
        name: getattr(mixture, name) for name in ("gate_weights", "gate_bias", "trees", "classes", "feature_names")
    }
    save(Mixture(**fields, provenance={"task": task}), model)
    result = run("show", model)
    assert result.exit_code == Exit.OK
    assert "units" not in result.stdout
