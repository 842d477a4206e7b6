"""Names of environments as people write them."""

import numpy as np
import pytest

from moet import Mixture, Tree, save
from moet.distill import Policy, evaluate
from moet.envs import resolve
from moet.envs.names import parse_name
from moet.errors import InputError, TaskError


def test_settings_reach_the_environment_and_stay_in_the_name():
    task = resolve("FrozenLake-v1(is_slippery=False, map_name='8x8')")
    assert task.name == "FrozenLake-v1(is_slippery=False, map_name='8x8')"
    assert len(task.feature_names) == 64
    env = task.make()
    env.reset(seed=0)
    assert [env.step(2)[0] for _ in range(3)] == [1, 2, 3]  # on slippery ice it would not always go right
    assert resolve("CartPole-v1(max_episode_steps=7)").max_steps == 7


def test_settings_of_a_task_that_is_known_keep_its_names():
    task = resolve("CartPole-v1(sutton_barto_reward=True)")
    assert task.feature_names == resolve("CartPole-v1").feature_names
    assert task.action_names == ("left", "right")


def test_continuous_settings_change_what_is_done_only():
    pytest.importorskip("Box2D")
    task = resolve("LunarLander-v3(continuous=True)")
    assert task.continuous
    assert task.feature_names == resolve("LunarLander-v3").feature_names


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("CartPole-v1(", "cannot read the settings"),
        ("CartPole-v1(1)", "cannot read the settings"),
        ("CartPole-v1(a=b)", "cannot read the settings"),
        ("CartPole-v1(**{'a': 1})", "cannot read the settings"),
        ("CartPole-v1(a=__import__('os'))", "cannot read the settings"),
        ("CartPole-v1(a=1)(b=2)", "cannot read the settings"),
        ("CartPole-v1(a=1) + f(b=2)", "cannot read the settings"),
        ("CartPole-v1(" + "-" * 100_000 + "1)", "cannot read the settings"),
        ("CartPole-v1(colour='red')", r"cannot make CartPole-v1 with colour='red': .*unexpected keyword"),
        ("FrozenLake-v1(map_name='9x9')", "cannot make FrozenLake-v1 with map_name='9x9'"),
        ("gridworld-5(size=3)", "gridworld-5 has no settings"),
        ("Nothing-v0(a=1)", "there is no environment 'Nothing-v0'"),
        ("no_such_module:make", "cannot find 'no_such_module:make'"),
        ("moet.envs:no_such_name", "cannot find 'moet.envs:no_such_name'"),
        ("moet:__version__", "is a str, not a function that makes an environment"),
        (":make", "cannot find ':make'"),
    ],
)
def test_names_that_stand_for_nothing_are_refused(name, message):
    with pytest.raises(TaskError, match=message):
        resolve(name)


def test_a_plain_id_has_no_settings():
    assert parse_name("ALE/Pong-v5") == ("ALE/Pong-v5", {})


def test_a_policy_with_settings_in_its_name_plays_without_being_told_them(tmp_path):
    task = "FrozenLake-v1(is_slippery=False)"
    right = Mixture(np.zeros((1, 16)), [0], [Tree.leaf([0, 0, 1, 0])], [0, 1, 2, 3], provenance={"task": task})
    save(right, tmp_path / "p.moet.json")
    policy = Policy.load(tmp_path / "p.moet.json")
    assert policy.task.name == task
    assert policy.env_action(0) == 2


@pytest.mark.parametrize("value", ["'/tmp/a.xml'", "'../a.xml'", "'~/a.xml'", "['b/c']", r"'a\\b'"])
def test_a_model_file_names_no_file_that_an_environment_would_read(value):
    leaf = Tree.leaf([1.0, 0.0])
    provenance = {"task": f"CartPole-v1(xml_file={value})"}
    model = Mixture(np.zeros((1, 4)), [0.0], [leaf], ["left", "right"], provenance=provenance)
    with pytest.raises(InputError, match="names a module or a file"):
        evaluate(model)
