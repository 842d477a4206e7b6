"""Environments of the user's own modules, named on the command line and in files."""

import sys

import gymnasium
import pytest

from moet import Mixture, Tree, save
from moet.cli.output import Exit
from moet.distill import Policy, evaluate, tune
from moet.errors import InputError


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """A folder with a module that says when it is imported, and a policy for the environment in it."""
    (tmp_path / "strange_envs.py").write_text(
        "import gymnasium\n"
        "gymnasium.register('Strange-v0', entry_point='gymnasium.envs.classic_control:CartPoleEnv',"
        " max_episode_steps=30)\n"
        "def make(render_mode=None):\n"
        "    return gymnasium.make('CartPole-v1', max_episode_steps=20)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != ""])
    yield tmp_path
    sys.modules.pop("strange_envs", None)
    gymnasium.registry.pop("Strange-v0", None)


def lean(task, path):
    leaves = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    save(Mixture([[0, 0, 0, 0], [0, 0, 4, 1]], [0, 0], leaves, [0, 1], provenance={"task": task}), path)
    return path


@pytest.mark.parametrize("name", ["strange_envs:make", "strange_envs:Strange-v0", "strange_envs:Strange-v0(a=1)"])
def test_nothing_is_imported_because_a_file_says_so(run, stranger, name):
    path = lean(name, stranger / "p.moet.json")
    for command in (("evaluate", path), ("watch", path), ("tune", path, "-o", stranger / "q.moet.json")):
        refused = run(*command)
        assert refused.exit_code == Exit.USAGE
        assert "not registered here or names a module or a file" in refused.stderr
    for question in (lambda: evaluate(path), lambda: tune(path), lambda: Policy.load(path)):
        with pytest.raises(InputError, match="not registered here"):
            question()
    assert "strange_envs" not in sys.modules


@pytest.mark.parametrize(("name", "steps"), [("strange_envs:make", 20), ("strange_envs:Strange-v0", 30)])
def test_a_module_in_the_current_folder_is_found_if_the_user_names_it(run, stranger, name, steps):
    path = lean(name, stranger / "p.moet.json")
    played = run("watch", path, "--env", name)
    assert played.exit_code == Exit.OK, played.stderr
    assert f"in {steps} steps" in played.stdout
