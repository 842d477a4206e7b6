"""``moet teach``."""

import json
from dataclasses import replace

import numpy as np
import pytest

from moet.cli.output import Exit
from moet.teachers import Teacher

torch = pytest.importorskip("torch")

from moet.teachers.train import recipes  # noqa: E402


@pytest.fixture(autouse=True)
def _quick_cartpole(monkeypatch):
    """A run of a second, which is too short to balance anything for long."""
    recipe = recipes.RECIPES["cartpole"]
    trials = tuple(replace(trial, episodes=20) for trial in recipe.trials)
    quick = replace(recipe, episodes=10, updates=2, selection_episodes=20, steps=2_000, trials=trials)
    monkeypatch.setitem(recipes.RECIPES, "cartpole", quick)


def test_trains_reports_and_saves(run, tmp_path):
    output = tmp_path / "teacher.npz"
    result = run("teach", "cartpole", "-o", output)
    assert result.exit_code == Exit.OK
    lines = dict(line.split("  ", 1) for line in result.stdout.splitlines())
    assert list(lines) == ["cartpole-500", "cartpole", "selection", "trained for", "saved to"]
    assert "(20 episodes, 20 distinct); target 500 missed" in lines["cartpole-500"]
    assert "20 other episodes" in lines["selection"]
    assert output.name in lines["saved to"]
    assert "thousands of steps" in result.stderr
    assert Teacher.from_arrays(output).act(np.zeros((3, 4))).shape == (3,)


def test_the_same_command_writes_the_same_bytes(run, tmp_path):
    for name in ("a", "b"):
        assert run("teach", "cartpole", "--seed", 5, "-o", tmp_path / name).exit_code == Exit.OK
    assert run("teach", "cartpole", "--seed", 6, "-o", tmp_path / "c").exit_code == Exit.OK
    first, again, other = ((tmp_path / name).read_bytes() for name in "abc")
    assert first == again != other


def test_json(run, tmp_path):
    result = run("teach", "cartpole", "-o", tmp_path / "t.npz", "--steps", 100, "--json")
    report = json.loads(result.stdout)
    assert report["teacher"] == str(tmp_path / "t.npz")
    assert report["digest"] == Teacher.from_arrays(tmp_path / "t.npz").digest
    assert report["seed"] == 0
    assert 100 <= report["steps"] < 2_000
    trial = report["trials"][0]
    assert (trial["task"], trial["episodes"], trial["target"], trial["target_reached"]) == (
        "cartpole-500",
        20,
        500.0,
        False,
    )
    low, high = trial["reward_interval"]
    assert trial["worst"] <= low <= trial["reward"] <= high


def test_goes_on_from_a_checkpoint(run, tmp_path, monkeypatch):
    """Ctrl-C says how to go on, and going on gives what an uninterrupted run gives."""
    from moet.teachers.train.reinforce import Reinforce

    folder, advance, done = tmp_path / "checkpoints", Reinforce.advance, []

    def interrupted(self):
        advance(self)
        done.append(True)
        if len(done) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Reinforce, "advance", interrupted)
        result = run("teach", "cartpole", "-o", tmp_path / "t.npz", "--checkpoint", folder)
    assert result.exit_code == Exit.INTERRUPTED
    assert "moet: the same command goes on from the last checkpoint" in result.stderr
    assert not (tmp_path / "t.npz").exists()
    assert run("teach", "cartpole", "-o", tmp_path / "t.npz", "--checkpoint", folder).exit_code == Exit.OK
    assert run("teach", "cartpole", "-o", tmp_path / "whole.npz").exit_code == Exit.OK
    assert (tmp_path / "t.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()


def test_without_checkpoints_an_interruption_says_so(run, tmp_path, monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("moet.teachers.train.reinforce.Reinforce.advance", interrupted)
    result = run("teach", "cartpole", "-o", tmp_path / "t.npz")
    assert result.exit_code == Exit.INTERRUPTED
    assert "nothing was kept: no --checkpoint" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chess"], "there is no recipe to train a teacher of 'chess'"),
        (["gridworld"], "gridworld needs no training"),
        (["cartpole", "-o", "missing/folder/t.npz"], "there is no folder"),
    ],
)
def test_mistakes_are_told_in_one_line(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    result = run("teach", *arguments)
    assert result.exit_code == Exit.USAGE
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_without_pytorch_it_says_what_to_install(run, tmp_path, monkeypatch):
    import sys

    monkeypatch.chdir(tmp_path)
    for name in list(sys.modules):
        if name.partition(".")[0] == "torch" or name.startswith("moet.teachers.train"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    result = run("teach", "cartpole")
    assert result.exit_code == Exit.USAGE
    assert result.stderr == "moet: error: training a teacher needs PyTorch: pip install 'moet[teachers]'\n"
