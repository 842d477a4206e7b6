"""Shields for goals: whatever an agent wants, the goal is reached in time; the checker confirms every number."""

import copy

import gymnasium
import numpy as np
import pytest

from moet.errors import CertificateError, InputError
from moet.shield import GoalShield, ShieldedEnv
from moet.verify import check, reaches, systems
from tests.shield.conftest import car, car_policy
from tests.shield.test_env import Deaf, Late

ACTIONS = {"left": 0, "none": 1, "right": 2}


def contrary(seen, random):
    """The opposite of what the proved policy does."""
    return 2 - ACTIONS[car_policy().predict_hard(seen[None])[0]]


AGENTS = {
    "random": lambda seen, random: int(random.integers(3)),
    "idle": lambda seen, random: 1,
    "left": lambda seen, random: 0,
    "contrary": contrary,
}


def episode(shield, agent, start, seed=0):
    """Infos of an episode of Gymnasium's own car, until it is at the flag."""
    env, random = ShieldedEnv(gymnasium.make("MountainCar-v0").unwrapped, shield), np.random.default_rng(seed)
    seen, _ = env.reset(options={"low": start, "high": start})
    infos = []
    for _ in range(shield.within):
        seen, _, arrived, _, info = env.step(agent(np.array(seen, np.float64), random))
        infos.append(info)
        if arrived:
            return infos
    return None


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("start", [-0.4999, -0.495, -0.4901])
def test_the_flag_is_reached_in_time_whatever_is_wanted(car_shield, agent, start):
    infos = episode(car_shield, AGENTS[agent], start)
    assert infos is not None
    assert all(info["explained"] for info in infos)
    assert infos[0]["left"] == car_shield.within - 1
    assert any(info["overridden"] for info in infos)


def test_an_agent_is_mostly_free_as_long_as_there_is_time(car_shield):
    infos = episode(car_shield, AGENTS["random"], -0.495)
    assert np.mean([info["overridden"] for info in infos[:50]]) < 0.4
    assert len(infos) > 190


def test_less_is_allowed_with_fewer_steps_left(car_shield):
    state = [-0.45, 0.0]
    ahead = car_shield.steps_ahead(state, "none")
    assert 0 < ahead <= car_shield.steps
    assert car_shield.allows(state, "none", ahead)
    assert not car_shield.allows(state, "none", ahead - 1)
    assert car_shield.act(state, "none", ahead) == "none"
    assert car_shield.act(state, "none", ahead - 1) == "right"
    assert car_shield.act(state, 1, 0) == 2
    assert car_shield.act_many([state] * 2, [1, 1], [ahead, ahead - 1]).tolist() == [1, 2]


def test_a_start_is_covered_where_the_policy_surely_arrives(car_shield):
    assert car_shield.covers_start([-0.495, 0.0])
    assert car_shield.covers_start([0.3, 0.05])
    assert not car_shield.covers_start([-1.19, 0.0])  # by the wall, where the shield does not look ahead
    assert not car_shield.covers_start([np.nan, 0.0])


def test_an_episode_that_begins_elsewhere_is_refused(car_shield):
    env = ShieldedEnv(gymnasium.make("MountainCar-v0").unwrapped, car_shield)
    with pytest.raises(InputError, match="does not cover"):
        env.reset(options={"low": -1.19, "high": -1.19})


def test_a_shield_that_waits_counts_from_where_it_guards(car_shield):
    env = ShieldedEnv(gymnasium.make("MountainCar-v0").unwrapped, car_shield, waits=True)
    env.reset(options={"low": -1.19, "high": -1.19})
    told = [env.step(1)[-1]]
    while not told[-1]["guarded"]:
        told.append(env.step(1)[-1])
    assert len(told) > 1
    assert [info["left"] for info in told] == [car_shield.within] * (len(told) - 1) + [car_shield.within - 1]


def test_the_claim_says_goal_and_steps(car_shield):
    assert "after at most 200 steps, at some time in the goal" in car_shield.claim
    assert "whichever actions are wanted" in car_shield.claim
    assert "position >= 0.5" in car_shield.claim


def test_its_certificate_makes_the_same_shield(car_shield, tmp_path):
    car_shield.certificate.save(tmp_path / "goal.cert")
    again = GoalShield(tmp_path / "goal.cert", car_policy(), car())
    assert again.within == 200
    assert again.digest == car_shield.digest
    with pytest.raises(InputError, match="made for 200 steps"):
        GoalShield(tmp_path / "goal.cert", car_policy(), car(), within=300)


@pytest.mark.parametrize("within", [129, 0, -1, True, 130.5])
def test_fewer_steps_than_the_proof_needs_are_refused(car_proof, within):
    with pytest.raises(InputError, match="at least"):
        GoalShield(car_proof, car_policy(), car(), within=within)


def test_a_proof_of_another_kind_is_refused(cart_proof):
    from tests.shield.conftest import cart, cart_policy

    with pytest.raises(CertificateError, match="'invariant'"):
        GoalShield(cart_proof, cart_policy(), cart())


def test_the_proof_of_another_system_is_refused(car_proof):
    with pytest.raises(CertificateError, match="another system"):
        GoalShield(car_proof, car_policy(), systems.mountaincar(start=(-0.5, -0.48)), within=200)


def forged(certificate, change):
    claim = copy.deepcopy(certificate.claim)
    change(claim["shield"])
    return certificate.claiming("goal_shield", claim)


CHANGES = {
    "fewer steps than the policy needs": lambda s: s.update(within=129),
    "a goal that begins before the goal": lambda s: s["limits"][0].__setitem__(0, s["limits"][0][0] + 1e-9),
    "smaller errors": lambda s: s.update(errors=[e / 2 for e in s["errors"]]),
    "errors that grow too slowly": lambda s: s.update(growth=1.0),
    "a box beyond the wall": lambda s: s["bottom"].__setitem__(0, -1.15),
    "a box beyond the domain": lambda s: s["top"].__setitem__(1, 0.2),
    "smaller spreads": lambda s: s["spreads"].__setitem__(0, s["spreads"][0] / 2),
    "a gate without rounding": lambda s: s["gate_errors"][0].__setitem__(1, 0.0),
    "fewer terms of the cosine": lambda s: s.update(terms=4),
    "no steps at all": lambda s: s.update(within=0),
    "something else": lambda s: s.update(other=1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_checker_refuses(car_shield, change):
    with pytest.raises(CertificateError):
        check(forged(car_shield.certificate, CHANGES[change]), car_policy(), car())


def test_the_claim_of_a_plain_arrival_is_no_shield(car_proof):
    with pytest.raises(CertificateError, match="lacks shield"):
        check(car_proof.claiming("goal_shield", dict(car_proof.claim)), car_policy(), car())


def test_more_freedom_is_true_as_well(car_shield):
    check(forged(car_shield.certificate, lambda s: s.update(within=100_000)), car_policy(), car())


def test_a_car_of_another_engine_is_not_explained(car_shield):
    engine = gymnasium.make("MountainCar-v0").unwrapped
    engine.force = 0.002
    env = ShieldedEnv(engine, car_shield)
    env.reset(options={"low": -0.495, "high": -0.495})
    assert not env.step(2)[4]["explained"]


def test_a_sensor_that_lags_is_noticed_at_the_first_step(car_shield):
    env = ShieldedEnv(Late(gymnasium.make("MountainCar-v0").unwrapped), car_shield)
    env.reset(options={"low": -0.495, "high": -0.495})
    assert not env.step(1)[4]["explained"]


def test_an_action_that_is_dropped_is_noticed_when_it_matters_and_remembered(car_shield):
    env = ShieldedEnv(Deaf(gymnasium.make("MountainCar-v0").unwrapped), car_shield)
    env.reset(options={"low": -0.45, "high": -0.45})
    infos = [env.step(2 * (k % 2))[4] for k in range(40)]
    told = [info["explained"] for info in infos]
    assert told[0]
    assert told == sorted(told, reverse=True)
    assert not told[-1]


def test_an_affine_proof_of_arrival_is_refused_with_the_kind_that_is_needed():
    from moet import Mixture, Tree

    tank = systems.AffineSystem(
        "tank",
        states=["level"],
        actions=["drain", "fill"],
        matrix=[["0.9"]],
        offsets=[["0"], ["0.5"]],
        initial={"level": (1, 2)},
        safe=["0.5 <= level <= 4"],
        goal=["level >= 2"],
    )
    filler = Mixture([[0.0]], [0.0], [Tree.leaf([0, 1])], ["drain", "fill"], feature_names=["level"])
    with pytest.raises(CertificateError, match="nonlinear"):
        GoalShield(reaches(filler, tank, within=20).certificate, filler, tank)
