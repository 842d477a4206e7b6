import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from moet.envs import Task, resolve, tasks
from moet.envs.box import ActionBox
from moet.envs.dynamics import DynamicsBatch
from moet.envs.mujoco import ROBOTS
from moet.errors import MoetError, TaskError
from tests.processes import run

from .worlds import Counter, Image

WITHOUT_ATARI = [name for name in tasks() if not name.startswith("pong")]


@pytest.mark.parametrize("name", WITHOUT_ATARI)
def test_a_task_says_about_itself_what_its_environment_says(name: str) -> None:
    if name in ROBOTS:
        pytest.importorskip("mujoco")
    task = resolve(name)
    env = task.make()
    assert task.name == name
    assert env.observation_space.shape == (len(task.observation_names),)
    if task.box is None:
        assert env.action_space == Discrete(len(task.action_names))
    else:
        assert len(task.action_names) == len(task.box)
        assert task.box == ActionBox.of(env.action_space, name)
    assert len(task.feature_units) == len(task.feature_names) == len(set(task.feature_names))
    limits = []
    while isinstance(env, gymnasium.Wrapper):
        limits += [env._max_episode_steps] if isinstance(env, gymnasium.wrappers.TimeLimit) else []
        env = env.env
    assert limits == [task.max_steps]


@pytest.mark.parametrize(
    ("name", "max_steps", "episodes", "depths", "experts"),
    [
        ("cartpole", 200, 250, range(8), range(2, 9)),
        ("cartpole-500", 500, 250, range(8), range(2, 9)),
        ("acrobot", 200, 100, range(16), [*range(2, 9), 15, 16]),
        ("mountaincar", 200, 100, range(12), [*range(2, 9), 12, 16]),
        ("lunarlander", 1000, 100, range(21), range(2, 9)),
        ("pendulum", 200, 100, [], []),
        ("gridworld", 100, 100, [0], [2]),
    ],
)
def test_limits_and_grids_are_the_papers(
    name: str, max_steps: int, episodes: int, depths: list[int], experts: list[int]
) -> None:
    task = resolve(name)
    assert (task.max_steps, task.episodes) == (max_steps, episodes)
    assert task.depths == tuple(depths)
    assert task.experts == tuple(experts)


@pytest.mark.parametrize(("name", "size"), [("gridworld", 10), ("gridworld-5", 5), ("gridworld-23", 23)])
def test_gridworlds_of_any_size(name: str, size: int) -> None:
    assert resolve(name).make().observation_space.high.tolist() == [size, size - 1]


@pytest.mark.parametrize(
    ("name", "n_features", "n_actions"),
    [
        ("pong", 7, 3),
        ("pong-18", 18, 3),
        ("pong-six", 7, 6),
        ("pong-sticky", 7, 3),
        ("pong-18-six-sticky-noisy", 18, 6),
    ],
)
def test_variants_of_pong(name: str, n_features: int, n_actions: int) -> None:
    task = resolve(name)
    assert task.name == name
    assert len(task.feature_names) == n_features
    assert len(task.action_names) == n_actions


@pytest.mark.parametrize(
    ("env_id", "name", "max_steps"),
    [
        ("CartPole-v1", "cartpole", 500),
        ("Acrobot-v1", "acrobot", 500),
        ("MountainCar-v0", "mountaincar", 200),
        ("LunarLander-v3", "lunarlander", 1000),
    ],
)
def test_known_ids_have_our_names_and_gymnasiums_limit(env_id: str, name: str, max_steps: int) -> None:
    ours, theirs = resolve(name), resolve(env_id)
    assert theirs.feature_names == ours.feature_names
    assert theirs.action_names == ours.action_names
    assert theirs.max_steps == max_steps
    assert type(theirs.batch()) is type(ours.batch())
    assert theirs.make().spec.max_episode_steps == max_steps


def test_any_other_environment_works_without_registration() -> None:
    gymnasium.register("moet-tests/Counter-v0", Counter, max_episode_steps=2)
    try:
        task = resolve("moet-tests/Counter-v0")
    finally:
        gymnasium.registry.pop("moet-tests/Counter-v0")
    assert task.name == task.env_id == "moet-tests/Counter-v0"
    assert task.feature_names == task.observation_names == ("x0", "x1")
    assert task.feature_units == ("", "")
    assert task.action_names == ("0", "1")
    assert task.max_steps == 2
    assert task.features is None


def test_a_function_that_makes_an_environment() -> None:
    def two_steps() -> Counter:
        return Counter(length=2)

    task = resolve(two_steps)
    assert (task.name, task.env_id, task.max_steps) == ("two_steps", None, None)
    assert task.batch().reset([3]).tolist() == [[0.0, 3.0]]
    assert resolve(lambda: Counter()).name == "Counter"


def test_a_function_is_told_how_to_render_only_if_asked() -> None:
    assert resolve(lambda: Counter()).make().render_mode is None
    assert resolve(Counter).make(render_mode="rgb_array").render_mode == "rgb_array"


def test_a_wrapped_environment_keeps_its_own_dynamics() -> None:
    task = resolve(lambda: gymnasium.wrappers.TransformReward(gymnasium.make("CartPole-v1"), lambda reward: 7 * reward))
    assert not isinstance(task.batch(), DynamicsBatch)
    batch = task.batch()
    batch.reset([0])
    assert batch.step(np.array([0])).rewards.tolist() == [7.0]


def test_a_task_is_a_task() -> None:
    task = resolve("cartpole")
    assert resolve(task) is task


class Numbered(Counter):
    def __init__(self) -> None:
        super().__init__()
        self.action_space = Discrete(2, start=1)


class Continuous(Counter):
    def __init__(self) -> None:
        super().__init__()
        self.action_space = Box(-np.inf, np.inf, (1,))


def lost() -> int:
    return 3


@pytest.mark.parametrize(
    ("env", "complaint"),
    [
        (Numbered, "numbered from 1.*ActionWrapper"),
        (Continuous, r"Box.*finite bounds.*ActionWrapper"),
        (Image, r"shape \(4, 5\).*features="),
        ("cartpol", "did you mean 'cartpole'"),
        ("gridwold", "did you mean 'gridworld'"),
        (lost, "lost made 3, which is no Gymnasium environment"),
        (7, "cannot play 7; give the name of a task"),
        (Counter(), "a function that makes an environment"),
    ],
)
def test_what_trees_cannot_play_is_refused_with_advice(env: Any, complaint: str) -> None:
    with pytest.raises(TaskError, match=complaint) as caught:
        resolve(env)
    assert isinstance(caught.value, MoetError)


def test_features_make_rows_of_an_image() -> None:
    task = resolve(Image, features=lambda images: images[:, :2, :2].reshape(len(images), -1))
    assert task.observation_names == ()
    assert task.feature_names == ("x0", "x1", "x2", "x3")
    batch = task.batch()
    assert batch.reset([0, 1]).shape == (2, 4, 5)
    assert task.view(batch.step(np.array([0, 1])).observations).tolist() == [[1.0] * 4] * 2


@pytest.mark.parametrize("env", ["cartpole", resolve("cartpole"), "gridworld", lambda: Counter()])
def test_features_of_any_task(env: str | Task) -> None:
    task = resolve(env, features=lambda rows: rows[:, ::-1] * 2)
    observations = task.batch().reset([1, 2])
    np.testing.assert_array_equal(task.view(observations), observations[:, ::-1] * 2)
    assert len(task.observation_names) == observations.shape[1]


@pytest.mark.parametrize(
    "features",
    [lambda rows: rows[:, 0], lambda rows: 1.0, lambda rows: np.vstack([rows, rows]), lambda rows: rows[:, :0]],
)
def test_features_that_are_no_rows(features: Any) -> None:
    with pytest.raises(TaskError, match="two-dimensional"):
        resolve("cartpole", features=features)


def test_features_are_checked_at_every_call() -> None:
    task = resolve(Counter, features=lambda rows: rows if rows[0, 0] < 1 else rows / 0)
    with np.errstate(divide="ignore"), pytest.raises(TaskError, match="features gave inf"):
        task.view(np.array([[1.0, 2.0]]))
    shrinking = resolve(Counter, features=lambda rows: rows[:1])
    with pytest.raises(TaskError, match=r"shape \(1, 2\) instead of \(3, 2\)"):
        shrinking.view(np.ones((3, 2)))


@pytest.mark.processes
def test_looking_a_task_up_does_not_load_gymnasium() -> None:
    """It takes a quarter of a second, and the fast tasks do without."""
    code = "import moet.envs, sys; moet.envs.resolve('cartpole').batch().reset([0]); print('gymnasium' in sys.modules)"
    assert run([sys.executable, "-c", code], check=True).stdout == "False\n"
