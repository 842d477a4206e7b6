"""Environments with controls behind a shield, and what shows when they are not what was proved."""

import gymnasium
import numpy as np
import pytest

from moet.distill import control_law
from moet.distill.plant import PlantEnv
from moet.errors import InputError
from moet.shield import ControlShield, ShieldedEnv
from tests.verify.plants import cart


@pytest.fixture(scope="module")
def shield():
    law = control_law(cart(), widen=True)
    return ControlShield(law.verdict.certificate, law.policy, cart())


@pytest.mark.parametrize("agent", ["forth", "random", "away"])
def test_no_agent_ends_an_episode_behind_the_shield(shield, agent):
    env = ShieldedEnv(PlantEnv(cart(), 500), shield)
    random = np.random.default_rng(0)
    overridden = 0
    for seed in range(3):
        seen, _ = env.reset(seed=seed)
        for _ in range(500):
            wanted = {"forth": 1.0, "random": random.uniform(-5, 5), "away": np.sign(seen.sum())}[agent]
            seen, _, terminated, _, info = env.step(np.array([wanted]))
            assert not terminated
            assert info["explained"]
            overridden += info["overridden"]
    assert overridden > 0


def test_the_same_agent_without_the_shield_does(shield):
    env = PlantEnv(cart(), 500)
    env.reset(seed=0)
    assert any(env.step(np.array([1.0]))[2] for _ in range(100))


class Lagging(gymnasium.Wrapper):
    """Shows what was so one step before."""

    def reset(self, **options):
        self._last, info = self.env.reset(**options)
        return self._last, info

    def step(self, action):
        seen, *rest = self.env.step(action)
        shown, self._last = self._last, seen
        return (shown, *rest)


class Dropping(gymnasium.Wrapper):
    """Does nothing in every third step, whatever is wanted."""

    def reset(self, **options):
        self._count = 0
        return self.env.reset(**options)

    def step(self, action):
        self._count += 1
        return self.env.step(np.zeros_like(action) if self._count % 3 == 0 else action)


def explained_after(env, shield, steps=9):
    guarded = ShieldedEnv(env, shield)
    guarded.reset(seed=1)
    return [guarded.step(np.array([0.5]))[4]["explained"] for _ in range(steps)]


def test_a_wrong_system_shows_at_the_first_step(shield):
    heavier = cart(input_matrix=[["0.0025"], ["0.05"]])
    assert explained_after(PlantEnv(heavier), shield) == [False] * 9


def test_a_sensor_that_lags_shows_at_the_first_step(shield):
    assert not any(explained_after(Lagging(PlantEnv(cart())), shield))


def test_a_dropped_action_shows_when_it_is_dropped_and_ever_after(shield):
    assert explained_after(Dropping(PlantEnv(cart())), shield) == [True] * 2 + [False] * 7


def test_the_system_that_was_proved_is_explained(shield):
    assert all(explained_after(PlantEnv(cart()), shield))


def test_a_shield_refuses_to_start_where_nothing_is_proved(shield):
    far = PlantEnv(cart(initial={"place": ("0.95", "0.99"), "speed": ("0.95", "0.99")}))
    with pytest.raises(InputError, match="does not cover"):
        ShieldedEnv(far, shield).reset(seed=0)
    wider = PlantEnv(cart(initial={"place": ("0.11", "0.12"), "speed": ("0.11", "0.12")}))
    ShieldedEnv(wider, shield).reset(seed=0)  # no first state, but in the polytope


def test_an_environment_with_other_controls_is_refused(shield):
    with pytest.raises(InputError, match="push"):
        ShieldedEnv(gymnasium.make("CartPole-v1"), shield)
    with pytest.raises(InputError, match="float64"):
        ShieldedEnv(gymnasium.make("MountainCarContinuous-v0"), shield)


def test_a_shield_that_waits_takes_over_where_its_polytope_begins(shield):
    env = ShieldedEnv(PlantEnv(cart(), 300), shield, waits=True)
    env.reset(seed=0)
    outside = np.array([-0.99, -0.9])
    assert not shield.covers_start(outside)
    env.env._state, env._seen, env._guarded = (*outside[:, None], np.zeros(1)), outside, False
    told = [env.step(np.array([1.0]))[-1] for _ in range(100)]
    guarded = [info["guarded"] for info in told]
    assert guarded == sorted(guarded)
    assert not guarded[0]
    assert guarded[-1]
    assert not any(info["overridden"] for info in told if not info["guarded"])
    assert any(info["overridden"] for info in told)
