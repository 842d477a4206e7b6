"""Proofs by an admissible set, shields and tasks of systems with schedules and memory."""

import numpy as np
import pytest

from moet import MoETRegressor
from moet.distill import Teacher, control_law, distill
from moet.distill.plant import PlantEnv, plant_task
from moet.envs.rollout import play
from moet.errors import CertificateError
from moet.shield import ControlShield
from moet.verify import check, safe
from moet.verify.systems import AffineSystem, NonlinearSystem, SampledSystem

from .plants import cart, law

STATES = {"place": ("-0.1", "0.1"), "speed": ("-0.1", "0.1")}
GOOD = law([[-1.0, -1.5]], [0.0], ["push"], feature_names=["place", "speed"])


def affine_cart(**changes):
    """Pushed to the right for a while."""
    return cart(schedule={"speed": ["0.02", "0.02", ("-0.01", "0.01"), 0]}, **changes)


def nonlinear_cart(**changes):
    return NonlinearSystem(
        "cart",
        states=["place", "speed"],
        controls={"push": (-1, 1)},
        step={"place": "place + 0.1 * speed", "speed": "speed + 0.1 * push + wind"},
        schedule={"wind": ["0.01", ("-0.01", "0.005"), 0]},
        initial=STATES,
        safe=["-1 <= place <= 1", "-1 <= speed <= 1"],
        **changes,
    )


def sampled_cart(**changes):
    return SampledSystem(
        "cart",
        flow={"place": "speed", "speed": "push + wind"},
        controls={"push": (-1, 1)},
        period="0.1",
        schedule={"wind": ["0.1", ("-0.1", "0.05"), 0]},
        initial=STATES,
        safe=["-1 <= place <= 1", "-1 <= speed <= 1"],
        **changes,
    )


def integral(**changes):
    """A cart whose law sees the sum of its places."""
    return SampledSystem(
        "cart",
        flow={"place": "speed", "speed": "push"},
        memory={"sum": "0.9 * sum + 0.1 * place"},
        controls={"push": (-1, 1)},
        period="0.1",
        initial=STATES | {"sum": 0},
        safe=["-1 <= place <= 1", "-1 <= speed <= 1", "-2 <= sum <= 2"],
        **changes,
    )


INTEGRAL = law([[-1.0, -1.5, -0.1]], [0.0], ["push"], feature_names=["place", "speed", "sum"])
PLANTS = [(affine_cart, GOOD), (nonlinear_cart, GOOD), (sampled_cart, GOOD), (integral, INTEGRAL)]


def runs(plant, act, n=200, steps=60, seed=0):
    """Simulated runs, one step after another, with what is scheduled as it is."""
    rows = plant.first.sample(np.random.default_rng(seed), n)
    for step in range(steps):
        yield rows
        rows = plant.successor(rows, act(rows), step)


@pytest.mark.parametrize(("make", "policy"), PLANTS)
def test_a_law_is_proved_for_ever_by_a_polytope_that_no_run_leaves(make, policy):
    plant = make()
    verdict = safe(policy, plant, steps=None)
    assert verdict.checked
    assert verdict.certificate.kind == "admissible"
    claim = verdict.certificate.claim
    low, high = np.array([[float(eval(end)) for end in side] for side in claim["box"]]).T
    for rows in runs(plant, policy.predict):
        assert np.all((low <= rows) & (rows <= high))
        assert np.all(rows @ np.array(claim["rows"], float).reshape(-1, len(low)).T <= _limits(claim) + 1e-9)


def _limits(claim):
    from fractions import Fraction

    return np.array([float(Fraction(limit)) for limit in claim["limits"]])


@pytest.mark.parametrize(("make", "policy"), PLANTS)
def test_a_shield_keeps_an_adversary_safe_and_explains_every_step(make, policy):
    plant = make()
    shield = ControlShield(safe(policy, plant, steps=None).certificate, policy, plant)
    rng = np.random.default_rng(1)
    rows = plant.first.sample(rng, 20)
    for step in range(80):
        taken = shield.act_many(rows, rng.choice([-1.0, 1.0], (len(rows), 1)))
        ahead = plant.successor(rows, taken, step)
        assert all(shield.explains(*one) for one in zip(rows[:3], taken[:3], ahead[:3], strict=True))
        rows = ahead
        assert np.all(np.abs(rows[:, :2]) <= 1)


@pytest.mark.parametrize("make", [affine_cart, nonlinear_cart, sampled_cart])
def test_a_proof_without_the_schedule_is_none_with_it(make):
    """Numbers of another schedule are another claim, and a wider one leads out of the polytope."""
    plant = make()
    proof = safe(GOOD, plant, steps=None).certificate
    windy = make()
    windy.schedule = {name: (*sides, (-9, 9)) for name, sides in plant.schedule.items()}
    with pytest.raises(CertificateError):
        check(proof, GOOD, windy)
    with pytest.raises(CertificateError, match=r"out of the polytope|may be missed"):
        check(proof.claiming("admissible", {**proof.claim, "system": windy.digest}), GOOD, windy)


def test_memory_that_runs_away_is_not_proved_by_a_polytope():
    plant = integral()
    proof = safe(INTEGRAL, plant, steps=None).certificate
    forged = SampledSystem(
        "cart",
        flow={"place": "speed", "speed": "push"},
        memory={"sum": "1.1 * sum + place"},
        controls={"push": (-1, 1)},
        period="0.1",
        initial=STATES | {"sum": 0},
        safe=["-1 <= place <= 1", "-1 <= speed <= 1", "-2 <= sum <= 2"],
    )
    with pytest.raises(CertificateError, match=r"out of the polytope|may be missed"):
        check(proof.claiming("admissible", {**proof.claim, "system": forged.digest}), INTEGRAL, forged)


@pytest.mark.parametrize(("make", "policy"), PLANTS)
def test_episodes_follow_the_schedule_and_remember_as_the_plant_does(make, policy):
    plant = make()
    task = plant_task(plant, max_steps=6)
    episodes = play(policy.predict, task, [3])
    rows = episodes.observations[:1]
    for step, seen in enumerate(episodes.observations):
        np.testing.assert_allclose(rows[0], seen, rtol=1e-12, atol=1e-15)
        rows = plant.successor(rows, policy.predict(rows), step)
    env = PlantEnv(plant, 6)
    first, _ = env.reset(seed=3)
    second, *_ = env.step(policy.predict(first[None])[0])
    np.testing.assert_array_equal([first, second], episodes.observations[:2])


def test_a_plant_with_a_schedule_is_distilled_and_proved():
    plant = affine_cart()
    teacher = Teacher.from_callable(lambda x: np.clip(-x[:, :1] - 1.5 * x[:, 1:], -1, 1), low=[-1.0], high=[1.0])
    student = MoETRegressor(n_experts=1, max_depth=0, leaf="affine", prediction="hard")
    run = distill(teacher, plant, student, iterations=2, selection_episodes=5, prove=plant)
    assert run.verdict.checked


def test_a_law_is_found_for_a_plant_with_a_schedule():
    found = control_law(affine_cart())
    assert found.verdict.checked
    assert isinstance(affine_cart(), AffineSystem)


@pytest.mark.parametrize(("n", "kind"), [(8, "admissible"), (9, "flowpipe")])
def test_with_many_states_sets_are_followed_before_a_polytope_is_looked_for(n, kind):
    names = [f"x{k}" for k in range(n)]
    plant = SampledSystem(
        "many",
        flow={name: "u - x0" if name == "x0" else f"-{name}" for name in names},
        controls={"u": (-1, 1)},
        period="0.1",
        initial=dict.fromkeys(names, ("-0.1", "0.1")),
        safe=[f"-1 <= {name} <= 1" for name in names],
    )
    verdict = safe(law([[-0.5] + [0.0] * (n - 1)], [0.0], ["u"], feature_names=names), plant, steps=None)
    assert verdict.certificate.kind == kind


def test_where_sets_that_are_followed_do_not_do_a_polytope_may():
    """First states on the limit itself, in more states than a polytope is looked for at first."""
    names = [f"x{k}" for k in range(9)]
    plant = AffineSystem(
        "edge",
        states=names,
        controls={"u": (-1, 1)},
        matrix=[["1" if i == j == 8 else "0.5" if i == j else 0 for j in range(9)] for i in range(9)],
        input_matrix=[["0.1" if i == 0 else 0] for i in range(9)],
        initial=dict.fromkeys(names, (-1, 1)),
        safe=[f"-1 <= {name} <= 1" for name in names],
    )
    verdict = safe(law([[0.0] * 9], [0.0], ["u"], feature_names=names), plant, steps=None)
    assert verdict.certificate.kind == "admissible"
