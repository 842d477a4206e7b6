"""Gymnasium behind a shield: what is kept, what is told, and what a wrong system, a late sensor or a lost action do."""

import gymnasium
import numpy as np
import pytest

from moet import Mixture, Tree
from moet.errors import InputError
from moet.shield import Shield, ShieldedEnv
from moet.verify import safe, systems


def pole():
    return gymnasium.make("CartPole-v1").unwrapped


def lost(env, agent, n_steps, seed=0):
    """Steps of an episode, whether it was lost, how many actions were replaced, and whether all was explained."""
    seen, _ = env.reset(seed=seed)
    replaced, info = 0, {"explained": True}
    for done in range(1, n_steps + 1):
        seen, _, terminated, _, info = env.step(agent(seen))
        replaced += info["overridden"]
        if terminated:
            return done, True, replaced, info["explained"]
    return n_steps, False, replaced, info["explained"]


AGENTS = {
    "right": lambda x: 1,
    "left": lambda x: 0,
    "with the fall": lambda x: int(x[2] < 0),
    "against the policy": lambda x: int(x @ [5.778, 11.041, 96.362, 25.0] <= 0),
}


@pytest.mark.parametrize("name", AGENTS)
def test_cartpole_is_never_lost(pole_shield, name):
    for seed in range(3):
        _, is_lost, replaced, explained = lost(ShieldedEnv(pole(), pole_shield), AGENTS[name], 1500, seed)
        assert not is_lost
        assert replaced > 0
        assert explained


def test_without_a_shield_it_is_lost_at_once(pole_shield):
    env = pole()
    env.reset(seed=0)
    assert any(env.step(1)[2] for _ in range(30))


def test_the_proved_policy_is_never_overridden(pole_shield):
    policy = pole_shield.policy
    agent = lambda x: int(policy.predict_hard(np.array(x, float)[None])[0] == "right")  # noqa: E731
    assert lost(ShieldedEnv(pole(), pole_shield), agent, 1500)[1:] == (False, 0, True)


def test_info_says_which_action_was_taken(pole_shield):
    env = ShieldedEnv(pole(), pole_shield)
    env.reset(seed=0)
    taken = []
    for _ in range(200):
        *_, info = env.step(1)
        assert info["overridden"] == (info["action"] != 1)
        taken.append(info["action"])
    assert set(taken) == {0, 1}


def test_an_episode_that_begins_elsewhere_is_refused(pole_shield):
    env = ShieldedEnv(pole(), pole_shield)
    with pytest.raises(InputError, match="does not cover"):
        env.reset(seed=0, options={"low": 0.19, "high": 0.2})
    with pytest.raises(InputError, match="reset"):
        env.step(0)


def test_an_episode_that_begins_in_the_set_is_covered(pole_shield):
    ShieldedEnv(pole(), pole_shield).reset(seed=0, options={"low": 0.0, "high": 0.06})


@pytest.mark.parametrize("name", ["Acrobot-v1", "MountainCarContinuous-v0"])
def test_an_environment_that_does_not_fit_is_refused(pole_shield, name):
    with pytest.raises(InputError, match="the shield is about"):
        ShieldedEnv(gymnasium.make(name), pole_shield)


class Cart(gymnasium.Env):
    """The cart of these tests with a sensor that rounds to some type, and a reset that may fail."""

    def __init__(self, kind=np.float64):
        self.observation_space = gymnasium.spaces.Box(-10, 10, (2,), kind)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.fails = False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self.fails:
            raise OSError("the sensor is off")
        return np.zeros(2, self.observation_space.dtype), {}

    def step(self, action):
        return np.zeros(2, self.observation_space.dtype), 0.0, False, False, {}


def described(**sensor):
    """A shield of which only what it says of the sensor matters."""
    system = systems.AffineSystem(
        "tank",
        states=["level", "flow"],
        actions=["drain", "fill"],
        matrix=[["0.5", 0], [0, "0.5"]],
        offsets=[["-0.1", 0], ["0.1", 0]],
        initial={"level": (0, 1), "flow": (0, 1)},
        safe=["-4 <= level <= 4"],
        domain={"level": (-4, 4), "flow": (-4, 4)},
        **sensor,
    )
    policy = Mixture([[0.0, 0.0]], [0.0], [Tree.leaf([1, 0])], ["drain", "fill"], feature_names=["level", "flow"])
    return Shield(safe(policy, system, steps=None).certificate, policy, system)


NOISY = {"observation_error": {"level": "0.01", "flow": "0.01"}}


@pytest.mark.parametrize(
    ("kind", "sensor", "fits"),
    [
        (np.float64, {}, True),
        (np.float32, {}, False),
        (np.float32, {"float32_observations": True}, True),
        (np.float64, {"float32_observations": True}, True),
        (np.float16, {"float32_observations": True}, False),
        (np.float32, NOISY, True),
        (np.float32, {"observation_error": {"level": "0.01"}}, False),
        (np.float16, NOISY, True),
        (np.float16, {"observation_error": {"level": "0.01", "flow": "0.001"}}, False),
        (np.int64, {}, True),
    ],
)
def test_an_environment_that_rounds_more_than_the_system_says_is_refused(kind, sensor, fits):
    shield = described(**sensor)
    if fits:
        ShieldedEnv(Cart(kind), shield)
    else:
        with pytest.raises(InputError, match="rounds more than 'tank' says"):
            ShieldedEnv(Cart(kind), shield)


def test_after_a_reset_that_failed_no_step_is_taken(cart_shield):
    env = ShieldedEnv(Cart(), cart_shield)
    env.reset(seed=0)
    env.step(0)
    env.env.fails = True
    with pytest.raises(OSError, match="the sensor is off"):
        env.reset()
    with pytest.raises(InputError, match="reset the environment"):
        env.step(0)


def test_what_is_no_environment_or_no_shield_is_refused_with_what_to_do(cart_shield, cart_proof):
    with pytest.raises(InputError, match="put each behind it"):
        ShieldedEnv(gymnasium.vector.SyncVectorEnv([Cart, Cart]), cart_shield)
    for env, shield in [(cart_shield, Cart()), (Cart(), cart_proof), (Cart(), cart_shield.policy), (Cart, cart_shield)]:
        with pytest.raises(InputError, match=r"expected ShieldedEnv\(environment, shield\)"):
            ShieldedEnv(env, shield)


def test_another_mass_is_noticed_at_the_first_step(pole_shield):
    env = pole()
    env.masspole, env.total_mass, env.polemass_length = 0.2, 1.2, 0.1
    shielded = ShieldedEnv(env, pole_shield)
    shielded.reset(seed=0)
    *_, info = shielded.step(1)
    assert not info["explained"]


class Late(gymnasium.Wrapper):
    """Shows what was to be seen one step before."""

    def reset(self, **options):
        self.before, info = self.env.reset(**options)
        return self.before, info

    def step(self, action):
        seen, *rest = self.env.step(action)
        shown, self.before = self.before, seen
        return shown, *rest


def test_a_sensor_that_lags_is_noticed_at_the_first_step(pole_shield):
    shielded = ShieldedEnv(Late(pole()), pole_shield)
    shielded.reset(seed=0)
    *_, info = shielded.step(1)
    assert not info["explained"]


class Deaf(gymnasium.Wrapper):
    """Repeats the last action now and then, whatever is wanted."""

    def step(self, action):
        self.count = getattr(self, "count", 0) + 1
        self.last = self.last if self.count % 7 == 0 else action
        return self.env.step(self.last)


def test_an_action_that_is_dropped_is_noticed_when_it_matters_and_remembered(pole_shield):
    shielded = ShieldedEnv(Deaf(pole()), pole_shield)
    shielded.reset(seed=0)
    told, wanted = [], 0
    for _ in range(40):
        wanted = 1 - wanted
        *_, info = shielded.step(wanted)
        told.append(info["explained"])
    assert told[0]
    assert not told[-1]
    assert told == sorted(told, reverse=True)


class ThreeTorques(gymnasium.ActionWrapper):
    """Pendulum with torques −2, 0 and 2."""

    def __init__(self, env):
        super().__init__(env)
        self.action_space = gymnasium.spaces.Discrete(3)

    def action(self, action):
        return np.array([2.0 * (action - 1)], np.float32)


@pytest.fixture(scope="module")
def pendulum_shield():
    from moet.distill.lqr import safe_law

    law = safe_law(systems.pendulum(), widen=False)
    return Shield(law.verdict.certificate, law.policy, systems.pendulum())


@pytest.mark.parametrize("name", ["all the same", "random"])
def test_pendulum_stays_up_whatever_is_wanted(pendulum_shield, name):
    env = ShieldedEnv(ThreeTorques(gymnasium.make("Pendulum-v1").unwrapped), pendulum_shield)
    random = np.random.default_rng(0)
    for seed in range(3):
        seen, _ = env.reset(seed=seed, options={"x_init": 0.05, "y_init": 0.1})
        for _ in range(500):
            seen, *_, info = env.step(2 if name == "all the same" else random.integers(3))
            assert seen[0] > 0.5
            assert info["explained"]


def test_where_pendulum_hangs_its_shield_refuses_to_start(pendulum_shield):
    env = ShieldedEnv(ThreeTorques(gymnasium.make("Pendulum-v1").unwrapped), pendulum_shield)
    env.env.unwrapped.reset = lambda **_: (np.array([-1.0, 0.0, 0.0], np.float32), {})
    with pytest.raises(InputError, match="does not cover"):
        env.reset(seed=0)


def test_a_shield_that_waits_lets_the_agent_swing_up_and_keeps_what_it_has_reached(pendulum_shield):
    from moet import teachers

    teacher, random = teachers.load("pendulum"), np.random.default_rng(0)
    env = ShieldedEnv(ThreeTorques(gymnasium.make("Pendulum-v1").unwrapped), pendulum_shield, waits=True)
    waited = []
    for seed in range(4):
        seen, _ = env.reset(seed=seed, options={"x_init": np.pi, "y_init": 1.0})
        told = []
        for _ in range(400):
            guarded = bool(told) and told[-1]["guarded"]
            wanted = random.integers(3) if guarded else int(np.asarray(teacher.act(np.asarray(seen, float)[None]))[0])
            seen, _, _, _, info = env.step(wanted)
            assert info["guarded"] or not info["overridden"]
            assert not info["guarded"] or (seen[0] > 0 and info["explained"])
            told.append(info)
        waited.append(sum(not one["guarded"] for one in told))
        assert waited[-1] < 200
        assert any(one["overridden"] for one in told)
    assert max(waited) > 20


def test_where_the_policy_surely_holds_is_more_than_its_set_and_less_than_all(pendulum_shield):
    assert pendulum_shield.holds([1.0, 0.0, 0.0])
    tilted = np.array([[np.cos(a), np.sin(a), -4 * a] for a in np.linspace(0, 0.5, 200)])
    held, covered = (np.array([of(x) for x in tilted]) for of in (pendulum_shield.holds, pendulum_shield.covers_start))
    assert not np.any(covered & ~held)
    assert np.count_nonzero(held) > np.count_nonzero(covered)
    assert not pendulum_shield.holds([-1.0, 0.0, 0.0])
    assert not pendulum_shield.holds([np.nan, 0.0, 0.0])
