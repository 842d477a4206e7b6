import builtins
from typing import Any

import gymnasium
import numpy as np
import pytest

from moet.envs import resolve
from moet.envs.gym import GymBatch, make_env
from moet.envs.mujoco import quiet_mujoco
from moet.errors import TaskError

from .players import assert_same_episodes, at_random
from .worlds import Counter


class Shrinks(Counter):
    def observation(self) -> Any:
        return np.zeros(2 if self.count < 2 else 1)


class Breaks(Counter):
    def observation(self) -> Any:
        return np.array([0.0, 1.0 if self.count < 2 else np.nan])


class Pays(Counter):
    def reward(self) -> Any:
        return 1.0 if self.count < 2 else np.inf


def test_lunar_lander_is_gymnasiums_also_when_environments_are_used_again() -> None:
    task = resolve("lunarlander")
    assert assert_same_episodes(task, at_random, range(5)) > 300
    batch = task.batch()
    first = batch.reset([8, 9])
    batch.step(np.array([2, 2]))
    np.testing.assert_array_equal(batch.reset([8, 9]), first)


def test_environments_are_made_when_needed_used_again_and_closed() -> None:
    made: list[Counter] = []

    def make() -> Counter:
        made.append(Counter())
        return made[-1]

    batch = GymBatch("counter", make, max_steps=None)
    assert not made
    batch.reset([0, 1, 2])
    batch.reset([3, 4])
    assert len(made) == 3
    batch.close()
    assert all(env.closed for env in made)


def test_a_finished_episode_is_not_stepped() -> None:
    batch = resolve(lambda: Counter(length=2)).batch()  # Counter itself complains
    batch.reset([0, 1])
    batch.step(np.zeros(2, np.int64))
    assert batch.step(np.zeros(2, np.int64)).terminated.all()
    first = batch.restart(np.array([True, False]), [5])
    assert first.tolist() == [[0.0, 5.0]]
    batch.keep(np.array([True, False]))
    assert batch.step(np.zeros(1, np.int64)).observations.tolist() == [[1.0, 5.0]]


@pytest.mark.parametrize(
    ("env", "complaint"),
    [
        (Shrinks, r"Shrinks gave an observation of shape \(1,\); its space announces \(2,\)"),
        (Breaks, "Breaks gave an observation that holds nan"),
        (Pays, "Pays gave a reward of inf"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(env: type[Counter], complaint: str) -> None:
    batch = resolve(env).batch()
    batch.reset([0])
    batch.step(np.zeros(1, np.int64))
    with pytest.raises(TaskError, match=complaint):
        batch.step(np.zeros(1, np.int64))


def answering(answer: Any, method: str = "step") -> type[Counter]:
    """A class of environments with such an answer of a method."""
    return type("Odd", (Counter,), {method: lambda self, *args, **options: answer})


SEEN = np.zeros(2)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ((SEEN, 1.0, False, {"info": 1}), r"step of Odd gave 4 things; .* five: .*\. An environment of the old gym"),
        (None, "step of Odd gave None; in Gymnasium it gives five"),
        ((SEEN, None, False, False, {}), "Odd gave a reward of None, which is not one number"),
        ((SEEN, np.ones(2), False, False, {}), "Odd gave a reward of array.*, which is not one number"),
        ((SEEN, 1.0, None, False, {}), "Odd says that terminated is None, which is neither true nor false"),
        ((SEEN, 1.0, False, {}, {}), "Odd says that truncated is {}, which is neither true nor false"),
    ],
)
def test_a_step_that_is_not_gymnasiums_is_refused(answer: Any, complaint: str) -> None:
    batch = resolve(answering(answer)).batch()
    batch.reset([0])
    with pytest.raises(TaskError, match=complaint):
        batch.step(np.zeros(1, np.int64))


@pytest.mark.parametrize("ended", [False, np.False_, 0, np.array(False)])
def test_what_says_whether_an_episode_ended_may_have_any_type_that_says_it(ended: Any) -> None:
    batch = resolve(answering([SEEN, np.float32(2), ended, ended, {}])).batch()
    batch.reset([0])
    after = batch.step(np.zeros(1, np.int64))
    assert after.rewards.tolist() == [2.0]
    assert not after.terminated.any()
    assert not after.truncated.any()


@pytest.mark.parametrize("answer", [SEEN, {"a": SEEN}, (SEEN, SEEN), None])
def test_a_reset_that_is_not_gymnasiums_is_refused(answer: Any) -> None:
    with pytest.raises(TaskError, match=r"reset of Odd gave .* an observation and a dictionary"):
        resolve(answering(answer, "reset")).batch().reset([0])


def test_a_reset_without_seed_is_refused() -> None:
    env = type("Odd", (Counter,), {"reset": lambda self: (SEEN, {})})
    with pytest.raises(TaskError, match=r"Odd cannot begin with a seed .*super\(\)\.reset\(seed=seed\)"):
        resolve(env).batch().reset([0])


def endless() -> Counter:
    return Counter(length=None)


def limited() -> gymnasium.Env[Any, Any]:
    return gymnasium.wrappers.TimeLimit(Counter(length=None), 60)


def test_an_episode_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moet.envs.gym.ENDLESS", 50)
    batch = resolve(endless).batch()
    batch.reset([0])
    action = np.zeros(1, np.int64)
    for _ in range(49):
        batch.step(action)
    with pytest.raises(TaskError, match=r"endless has not ended after 50 steps.*TimeLimit.*MODULE:ID"):
        batch.step(action)


def test_an_episode_may_be_longer_if_it_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moet.envs.gym.ENDLESS", 50)
    task = resolve(limited)
    assert task.max_steps == 60
    batch = task.batch()
    batch.reset([0])
    for _ in range(60):
        step = batch.step(np.zeros(1, np.int64))
    assert step.truncated.all()


@pytest.mark.parametrize(
    ("env_id", "complaint"),
    [
        ("CartPol-v1", "no environment 'CartPol-v1'.*did you mean 'CartPole-v1'"),
        ("cartpole-v1", "did you mean 'CartPole-v1'"),
        ("CartPole-v77", "no environment 'CartPole-v77'.*did you mean 'CartPole-v1'"),
        ("Nowhere/Nothing-v0", "no environment 'Nowhere/Nothing-v0'"),
        ("not an id", "cannot make 'not an id'"),
        ("no_such_module:Thing-v0", "cannot make.*no_such_module"),
    ],
)
def test_unknown_environments(env_id: str, complaint: str) -> None:
    with pytest.raises(TaskError, match=complaint):
        make_env(env_id)


def test_an_environment_that_draws_nothing_need_not_know_of_render_modes() -> None:
    gymnasium.register("Silent-v0", entry_point=Counter)
    try:
        make_env("Silent-v0").close()
    finally:
        del gymnasium.registry["Silent-v0"]


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Let imports of some packages fail as if they were not installed."""
    real = builtins.__import__

    def fake(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name.split(".")[0] in packages:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", fake)


def test_without_atari(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "ale_py")
    with pytest.raises(TaskError, match=r"pip install 'moet\[atari\]'"):
        make_env("NoSuchGameNoFrameskip-v4")


def test_without_box2d(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_box2d(*arguments: Any, **options: Any) -> Any:
        raise gymnasium.error.DependencyNotInstalled("Box2D is not installed, you can install it by run ...")

    monkeypatch.setattr(gymnasium, "make", no_box2d)
    with pytest.raises(TaskError, match=r"LunarLander-v3 needs Box2D: pip install 'moet\[box2d\]'"):
        resolve("lunarlander").make()


def test_atari_games_are_found() -> None:
    pytest.importorskip("ale_py")
    env = make_env("ALE/Pong-v5")
    assert env.observation_space.shape == (210, 160, 3)
    env.close()


def test_mujoco_does_not_complain_of_the_robots_of_gymnasium(tmp_path, monkeypatch, capfd):
    mujoco = pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    make_env("HalfCheetah-v5").close()
    assert capfd.readouterr().err == ""
    assert list(tmp_path.iterdir()) == []
    assert mujoco.get_mju_user_warning() is None


def test_other_warnings_of_mujoco_are_heard(capfd):
    mujoco = pytest.importorskip("mujoco")
    with quiet_mujoco("HalfCheetah-v5"):
        mujoco.get_mju_user_warning()("the sky is falling")
        mujoco.get_mju_user_warning()("word is deprecated")
    assert capfd.readouterr().err == "the sky is falling\n"
