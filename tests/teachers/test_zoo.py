"""Agents of the public zoo of Stable-Baselines3, which are not part of this repository: MOET_AGENTS says where."""

import os
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from moet.envs import resolve
from moet.envs.rollout import play
from moet.errors import MoetWarning
from moet.teachers import Teacher

pytest.importorskip("torch")

AGENTS = Path(os.environ.get("MOET_AGENTS", "missing"))
pytestmark = pytest.mark.skipif(not AGENTS.is_dir(), reason="MOET_AGENTS names no folder of agents")

DISCRETE = {
    "a2c_Acrobot-v1": ("Acrobot-v1", -130),
    "a2c_CartPole-v1": ("CartPole-v1", 495),
    "a2c_MountainCar-v0": ("MountainCar-v0", -130),
    "ars_CartPole-v1": ("CartPole-v1", 495),
    "dqn_CartPole-v1": ("CartPole-v1", 495),
    "ppo_Acrobot-v1": ("Acrobot-v1", -90),
    "qrdqn_Acrobot-v1": ("Acrobot-v1", -90),
}
CONTINUOUS = {
    "ars_MountainCarContinuous-v0": ("MountainCarContinuous-v0", 90),
    "ddpg_Pendulum-v1": ("Pendulum-v1", -300),
    "ppo_Pendulum-v1": ("Pendulum-v1", -300),
    "sac_Pendulum-v1": ("Pendulum-v1", -300),
    "tqc_Pendulum-v1": ("Pendulum-v1", -300),
}


def teacher(name):
    statistics = AGENTS / f"{name}.vecnormalize.pkl"
    return Teacher.from_sb3(AGENTS / f"{name}.zip", normalize=statistics if statistics.exists() else None)


@pytest.mark.parametrize("name", DISCRETE)
def test_agents_with_a_few_actions_play_as_they_should(name):
    env, least = DISCRETE[name]
    assert play(teacher(name).act, resolve(env), range(20)).returns.mean() > least


@pytest.mark.parametrize("name", CONTINUOUS)
def test_agents_with_continuous_actions_play_as_they_should(name):
    env_id, least = CONTINUOUS[name]
    agent = teacher(name)
    env = gymnasium.make(env_id)
    assert agent.low.tolist() == env.action_space.low.tolist()
    returns = []
    for seed in range(5):
        seen, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            seen, reward, terminated, truncated, _ = env.step(agent.act(np.array([seen], float))[0].astype(np.float32))
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    assert np.mean(returns) > least


def test_every_agent_is_read_and_those_that_were_normalised_say_so():
    found = sorted(AGENTS.glob("*.zip"))
    assert found
    for path in found:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            agent = Teacher.from_sb3(path)
        statistics = path.with_name(f"{path.stem}.vecnormalize.pkl")
        assert [warning.category for warning in told] == [MoetWarning] * statistics.exists(), path
        if told:
            assert str(statistics) in str(told[0].message)
            assert Teacher.from_sb3(path, normalize=statistics).digest != agent.digest


def test_without_its_statistics_an_agent_of_mountaincar_plays_one_action():
    with pytest.warns(MoetWarning):
        agent = Teacher.from_sb3(AGENTS / "a2c_MountainCar-v0.zip")
    played = play(agent.act, resolve("mountaincar"), range(5))
    assert played.returns.tolist() == [-200.0] * 5
