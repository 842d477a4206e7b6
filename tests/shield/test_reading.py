"""What agents and sensors may hand to a shield by mistake is refused by name, never rounded and never a crash."""

from __future__ import annotations

import copy
import gc
import pickle

import gymnasium
import numpy as np
import pytest

from moet import Mixture, RegressionMixture, RegressionTree, Tree
from moet.errors import InputError
from moet.shield import ControlShield, GoalShield, Shield, ShieldedEnv
from moet.verify import reaches, safe, systems

NO_ACTIONS = [None, np.nan, np.inf, -1, 2, 0.5, "up", b"drain", 1j, [0], [0, 1], np.array([0, 1]), {}, 10**400]
NO_STATES = [None, "level", [None], ["1.5"], [1.5 + 0j], [10**400], [[1.5]], [1.5, 1.5], [[1.5], [1.5, 2]], {}]
NO_CONTROLS = [None, "fast", [None], ["0.5"], [0.5j], [10**400], [np.nan], [0.1, 0.2], [[0.1]], {}]


@pytest.fixture(scope="module")
def shield() -> Shield:
    tank = systems.AffineSystem(
        "tank",
        states=["level"],
        actions=["drain", "fill"],
        matrix=[["0.9"]],
        offsets=[["0"], ["0.5"]],
        initial={"level": (1, 2)},
        safe=["0.5 <= level <= 4"],
    )
    leaves = [Tree.leaf([0, 1]), Tree.leaf([1, 0])]
    valve = Mixture([[-1], [0]], [2, 0], leaves, ["drain", "fill"], feature_names=["level"])
    return Shield(safe(valve, tank, steps=None).certificate, valve, tank)


@pytest.fixture(scope="module")
def control_shield() -> ControlShield:
    tank = systems.AffineSystem(
        "tank",
        states=["level"],
        controls={"inflow": (-1, 1)},
        matrix=[["0.9"]],
        input_matrix=[["0.5"]],
        initial={"level": ("-0.5", "0.5")},
        safe=["-1 <= level <= 1"],
    )
    law = RegressionTree.leaf([0.0], slope=[[-1.0]])
    keeper = RegressionMixture([[0.0]], [0.0], [law], ["inflow"], feature_names=["level"])
    return ControlShield(safe(keeper, tank, steps=None).certificate, keeper, tank)


@pytest.fixture(scope="module")
def goal_shield() -> GoalShield:
    walk = systems.NonlinearSystem(
        "walk",
        states=["place"],
        actions=["back", "forth"],
        inputs={"pace": (-1, 1)},
        step={"place": "place + 0.25 * pace"},
        initial={"place": (0, "0.5")},
        safe=["place >= -9"],
        goal=["place >= 2"],
        domain={"place": (-10, 10)},
    )
    goer = Mixture([[0.0]], [0.0], [Tree.leaf([0, 1])], ["back", "forth"], feature_names=["place"])
    return GoalShield(reaches(goer, walk, within=10).certificate, goer, walk, within=20)


class Tank(gymnasium.Env):
    """A tank that stays as it is."""

    def __init__(self, action_space: gymnasium.Space, level: float) -> None:
        self.observation_space = gymnasium.spaces.Box(-9, 9, (1,), np.float64)
        self.action_space, self._level = action_space, np.array([level])

    def reset(self, *, seed=None, options=None):
        return self._level, {}

    def step(self, action):
        return self._level, 0.0, False, False, {}


@pytest.mark.parametrize("action", NO_ACTIONS, ids=lambda value: repr(value)[:20])
def test_what_is_no_action_is_refused_everywhere(shield: Shield, action: object) -> None:
    env = ShieldedEnv(Tank(gymnasium.spaces.Discrete(2), 1.5), shield)
    env.reset()
    for ask in (lambda: shield.act([1.5], action), lambda: shield.allows([1.5], action), lambda: env.step(action)):
        with pytest.raises(InputError):
            ask()
    with pytest.raises(InputError):
        shield.act_many([[1.5]], [action])


@pytest.mark.parametrize("state", NO_STATES, ids=lambda value: repr(value)[:20])
def test_what_is_no_state_is_refused_by_every_question(shield: Shield, state: object) -> None:
    questions = [lambda: shield.act(state, 0), lambda: shield.allows(state, 0), lambda: shield.covers_start(state)]
    for ask in [*questions, lambda: shield.explains(state, 0, [1.5]), lambda: shield.explains([1.5], 0, state)]:
        with pytest.raises(InputError):
            ask()


@pytest.mark.parametrize("control", NO_CONTROLS, ids=lambda value: repr(value)[:20])
def test_what_is_no_control_is_refused_everywhere(control_shield: ControlShield, control: object) -> None:
    env = ShieldedEnv(Tank(gymnasium.spaces.Box(-1, 1, (1,), np.float64), 0.4), control_shield)
    env.reset()
    asked = [lambda: control_shield.act([0.4], control), lambda: control_shield.allows([0.4], control)]
    for ask in [*asked, lambda: env.step(control), lambda: control_shield.act_many([[0.4]], [control])]:
        with pytest.raises(InputError):
            ask()


@pytest.mark.parametrize("left", [None, np.nan, 2.5, "3", [3, 4]], ids=repr)
def test_steps_that_are_left_are_a_whole_number(goal_shield: GoalShield, left: object) -> None:
    with pytest.raises(InputError, match="left is a whole number"):
        goal_shield.act([1.0], "back", left)
    assert goal_shield.act([1.0], "back", np.float32(20)) == "back"


def test_whole_numbers_of_any_type_are_actions(shield: Shield) -> None:
    for one in (1, 1.0, True, np.int8(1), np.float32(1), np.bool_(True), np.array(1)):
        assert shield.act([1.5], one) == 1


def test_copies_and_pickles_of_a_certificate_outlive_it(shield: Shield) -> None:
    for copied in (copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
        original = shield.certificate.claiming(shield.certificate.kind, shield.certificate.claim)
        other = copied(original)
        del original
        gc.collect()
        assert other.digest == shield.digest
        assert Shield(other, shield.policy, shield.system).digest == shield.digest


def test_copies_and_pickles_of_a_shield_decide_alike(shield: Shield) -> None:
    states = np.linspace(0.4, 4.2, 50)[:, None]
    wanted = np.arange(50) % 2
    for other in (copy.copy(shield), copy.deepcopy(shield), pickle.loads(pickle.dumps(shield))):
        assert other.digest == shield.digest
        assert np.array_equal(other.act_many(states, wanted), shield.act_many(states, wanted))


def test_shielded_environments_can_be_played_many_at_once(shield: Shield) -> None:
    def made() -> ShieldedEnv:
        return ShieldedEnv(Tank(gymnasium.spaces.Discrete(2), 1.5), shield)

    many = gymnasium.vector.SyncVectorEnv([made, made])
    many.reset(seed=0)
    *_, info = many.step(np.array([0, 1]))
    assert info["overridden"].tolist() == [False, False]
