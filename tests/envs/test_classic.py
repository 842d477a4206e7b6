import math
import pickle
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from moet.envs import classic, resolve
from moet.envs.dynamics import Dynamics

from .players import Policy, assert_same_episodes, at_random

Rows = NDArray[np.float64]
Actions = NDArray[np.int64]


def balance(observations: Rows, drawn: Actions) -> Actions:
    """Keep the pole up, and the track behind: reaches every time limit."""
    return (observations @ [0.1, 0.5, 5.0, 1.0] > 0).astype(np.int64)


def balance_loosely(observations: Rows, drawn: Actions) -> Actions:
    """Swing wide before falling: every third step or so is random."""
    return np.where(np.abs(observations[:, 2]) < 0.1, drawn, balance(observations, drawn))


def push_right(observations: Rows, drawn: Actions) -> Actions:
    return np.full(len(drawn), 1)


def follow(column: int) -> Policy:
    """Push where it already moves, which pumps energy in up to every speed limit."""
    return partial(_follow, column)


def _follow(column: int, observations: Rows, drawn: Actions) -> Actions:
    return np.where(observations[:, column] > 0, 2, 0)


@pytest.mark.parametrize(
    ("name", "policy", "n_episodes", "n_steps"),
    [
        ("cartpole", at_random, 60, 1_000),
        ("cartpole", balance, 10, 2_000),
        ("cartpole", balance_loosely, 40, 2_000),
        ("cartpole", push_right, 10, 80),
        ("CartPole-v1", balance, 6, 3_000),
        ("acrobot", at_random, 20, 3_500),
        ("Acrobot-v1", at_random, 6, 2_000),
        ("acrobot", follow(4), 20, 1_000),
        ("acrobot", follow(5), 10, 800),
        ("mountaincar", at_random, 20, 4_000),
        ("mountaincar", follow(1), 20, 1_500),
        ("pendulum", at_random, 20, 4_000),
        ("pendulum", follow(2), 10, 2_000),
    ],
)
def test_every_number_is_gymnasiums(name: str, policy: Policy, n_episodes: int, n_steps: int) -> None:
    assert assert_same_episodes(resolve(name), policy, range(1_000, 1_000 + n_episodes)) >= n_steps


@pytest.mark.parametrize("name", ["cartpole", "acrobot", "mountaincar", "pendulum"])
@pytest.mark.parametrize("seed", [0, 2**31 - 1, 2**32, 2**63 + 1])
def test_any_seed_begins_gymnasiums_episode(name: str, seed: int) -> None:
    task = resolve(name)
    assert task.batch().reset([seed])[0].tolist() == task.make().reset(seed=seed)[0].tolist()


def test_a_numpy_seed_is_as_good_as_an_integer() -> None:
    batch = resolve("cartpole").batch()
    np.testing.assert_array_equal(batch.reset(np.arange(3)), batch.reset([0, 1, 2]))


@pytest.mark.parametrize(
    ("name", "dynamics", "extent"),
    [
        ("cartpole", classic.CARTPOLE, [3.0, 5.0, 0.3, 5.0]),
        ("acrobot", classic.ACROBOT, [math.pi, math.pi, 4 * math.pi, 9 * math.pi]),
        ("mountaincar", classic.MOUNTAINCAR, [1.2, 0.07]),
        ("pendulum", classic.THREE_TORQUES, [50.0, 8.0]),
    ],
)
def test_one_step_from_any_state(name: str, dynamics: Dynamics, extent: list[float]) -> None:
    """States that play seldom reaches: at walls, beyond limits of speed, after many turns."""
    generator = np.random.default_rng(0)
    states = tuple(generator.uniform(-limit, limit, 2_000) for limit in extent)
    actions = generator.integers(dynamics.actions, size=2_000)
    new_states, rewards, terminated = dynamics.advance(states, actions)
    shown = np.array(dynamics.observe(new_states), dtype=np.float32).T

    env = resolve(name).make()
    for i, state in enumerate(np.array(states).T):
        env.reset(seed=0)
        env.unwrapped.state = state
        observation, reward, ended, _, _ = env.step(actions[i])
        assert (observation.tolist(), reward, ended) == (shown[i].tolist(), rewards[i], terminated[i])
        assert list(env.unwrapped.state) == [variable[i] for variable in new_states]  # in double precision


def test_rates_of_the_acrobot() -> None:
    """A wrong last bit in here seldom survives one step, but in the end it changes the episode."""
    generator = np.random.default_rng(0)
    states = np.array([generator.uniform(-limit, limit, 3_000) for limit in (3.0, 3.0, 12.0, 28.0)])
    torques = generator.choice([-1.0, 0.0, 1.0], size=3_000)
    rates = classic._acrobot_rates(states, torques)
    env = resolve("acrobot").make().unwrapped
    for state, torque, rate in zip(states.T, torques, rates.T, strict=True):
        assert list(env._dsdt(np.append(state, torque)))[:4] == rate.tolist()


def test_squares_of_scalars_are_the_c_librarys() -> None:
    """Which is why they are taken with ``math.pow``: ``x * x`` often has another last bit, and so had the episode."""
    values = np.random.default_rng(0).uniform(-10, 10, 20_000)
    assert [math.pow(v, 2.0) for v in values.tolist()] == [v**2 for v in values]


@pytest.mark.parametrize("name", ["cartpole", "acrobot", "mountaincar", "pendulum"])
def test_tasks_can_be_sent_to_another_process(name: str) -> None:
    task = resolve(name)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(task)).batch().reset([5]), task.batch().reset([5]))
