"""Proofs for ever of one affine law by its admissible set: what is proved, what is not, and that all is checked."""

import copy
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet import RegressionMixture, RegressionTree
from moet.errors import CertificateError
from moet.shield.controls import sides_of
from moet.verify import Proved, check, safe, systems
from moet.verify.systems.controls import clipped
from tests.verify.plants import cart


def law(gain, constant=0.0, states=("place", "speed"), **bounds):
    leaf = RegressionTree.leaf([constant], slope=[list(gain)])
    zeros = [[0.0] * len(states)]
    return RegressionMixture(zeros, [0.0], [leaf], ["push"], feature_names=list(states), **bounds)


def flowing(**changes):
    description = {
        "flow": {"place": "speed", "speed": "push"},
        "controls": {"push": (-1, 1)},
        "period": "0.1",
        "initial": {"place": ("-0.1", "0.1"), "speed": ("-0.1", "0.1")},
        "safe": ["-1 <= place <= 1", "-1 <= speed <= 1"],
    }
    return systems.SampledSystem("flowing", **(description | changes))


def pendulum():
    return systems.SampledSystem(
        "pendulum",
        flow={"place": "speed", "speed": "sin(place) + push"},
        controls={"push": (-2, 2)},
        period="0.05",
        initial={"place": ("-0.1", "0.1"), "speed": ("-0.1", "0.1")},
        safe=["-1 <= place <= 1", "-1 <= speed <= 1"],
    )


GOOD = law([-1.0, -1.5])
STEEP = law([-3.0, -2.5])


@pytest.mark.parametrize(
    ("plant", "policy"),
    [
        (cart(), GOOD),
        (cart(disturbance={"place": "0.001", "speed": "0.002"}, observation_error={"place": "0.01"}), GOOD),
        (cart(float32_observations=True), GOOD),
        (cart(safe=["-1 <= place <= 1"]), GOOD),
        (cart(safe=["-1 <= place + speed <= 1", "-1 <= place - speed <= 1"]), GOOD),
        (flowing(), GOOD),
        (pendulum(), STEEP),
    ],
    ids=["affine", "disturbed", "float32", "one limit", "slanted", "flow", "nonlinear flow"],
)
def test_a_damped_law_is_proved_by_a_polytope_that_no_simulated_run_leaves(plant, policy):
    verdict = safe(policy, plant, None)
    assert verdict.checked
    assert verdict.certificate.kind == "admissible"
    assert check(verdict.certificate, policy, plant)
    sides = sides_of(verdict.certificate.claim)
    rows = np.array([[float(a) for a in row] for row, _ in sides])
    limits = np.array([float(limit) for _, limit in sides])
    random = np.random.default_rng(0)
    states = random.uniform(-1, 1, (4000, 2))
    states = states[np.all(states @ rows.T <= limits - 1e-9, axis=1)]
    noise = np.array([float(e) for e in plant.noise])
    least, most = np.array(plant.disturbance, np.float64).T
    for _ in range(100):
        seen = states + random.uniform(-1, 1, states.shape) * noise
        states = plant.successor(states, clipped(plant, policy.predict(seen))) + random.choice([0.0, 1.0]) * (
            random.uniform(least, most, states.shape)
        )
        assert np.all(states @ rows.T <= limits + 1e-9)


def test_a_limit_that_is_met_exactly_does_not_hinder_a_proof():
    touching = cart(
        matrix=[[1, 1], [0, 1]],
        input_matrix=[[0], [1]],
        initial={"place": ("-1/2", "1/2"), "speed": ("-1/2", "1/2")},
        controls={"push": (-2, 2)},
    )
    policy = law([-0.25, -1.0])
    verdict = safe(policy, touching, None)
    assert verdict.checked
    assert verdict.certificate.kind == "admissible"
    corner = touching.successor(np.array([[0.5, 0.5]]), np.zeros((1, 1)))
    assert corner[0, 0] == 1.0


def test_first_states_on_the_limit_itself_may_be_proved():
    edge = systems.AffineSystem(
        "edge",
        states=["x"],
        controls={"push": (-1, 1)},
        matrix=[["1.01"]],
        input_matrix=[[1]],
        initial={"x": ("1.6", "3.2")},
        safe=["-3.2 <= x <= 3.2"],
    )
    verdict = safe(law([-0.3], states=("x",)), edge, None)
    assert verdict.checked
    assert verdict.certificate.kind == "admissible"


@pytest.mark.parametrize(
    "policy", [law([1.0, 1.0]), law([0.0, 0.0]), law([-1.0, 0.0])], ids=["away", "idle", "undamped"]
)
def test_a_law_that_does_not_hold_the_cart_is_not_proved(policy):
    assert not isinstance(safe(policy, cart(), None, cpu_limit=5), Proved)


@settings(max_examples=60, deadline=None)
@given(
    gain=st.tuples(st.floats(-12, 1), st.floats(-12, 1)),
    constant=st.floats(-0.3, 0.3),
    shake=st.sampled_from(["0", "0.001", "0.05"]),
)
def test_what_is_proved_survives_the_worst_simulated_runs(gain, constant, shake):
    plant = cart(disturbance={"place": shake, "speed": shake})
    policy = law(gain, constant)
    from moet.verify.limits import Deadline
    from moet.verify.loops.admissible.search import held_for_ever
    from moet.verify.loops.flowpipe.questions import staying_safe

    if not held_for_ever(policy, plant, staying_safe(plant, None), Deadline(None, 10)):
        return
    size = float(Fraction(shake))
    states = np.array([[a, b] for a in (-0.1, 0.1) for b in (-0.1, 0.1)]).repeat(4, axis=0)
    pushes = np.array([[a, b] for a in (-size, size) for b in (-size, size)] * 4)
    for _ in range(400):
        states = plant.successor(states, clipped(plant, policy.predict(states))) + pushes
        assert np.abs(states).max() <= 1 + 1e-9


FORGERIES = {
    "a wider box": ("box", 0, ["-2", "2"]),
    "a box without the first states": ("box", 0, ["-1/100", "1/100"]),
    "an empty box": ("box", 0, ["1", "-1"]),
    "no numbers": ("box", 0, ["a", "b"]),
}


@pytest.fixture(scope="module")
def proof():
    plant = cart(disturbance={"place": "0.01", "speed": "0.01"})
    verdict = safe(GOOD, plant, None)
    assert verdict.certificate.claim["rows"]
    return verdict.certificate, plant


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_box_is_refused(proof, name):
    certificate, plant = proof
    key, place, value = FORGERIES[name]
    claim = copy.deepcopy(certificate.claim)
    claim[key][place] = value
    with pytest.raises(CertificateError):
        check(certificate.claiming("admissible", claim), GOOD, plant)


def test_half_spaces_that_are_moved_or_left_out_are_refused(proof):
    certificate, plant = proof
    for place in range(len(certificate.claim["limits"])):
        for by in (Fraction(1, 100), Fraction(-1, 2)):
            claim = copy.deepcopy(certificate.claim)
            claim["limits"][place] = str(Fraction(claim["limits"][place]) + by)
            with pytest.raises(CertificateError):
                check(certificate.claiming("admissible", claim), GOOD, plant)
    claim = copy.deepcopy(certificate.claim)
    claim["rows"], claim["limits"] = [], []
    with pytest.raises(CertificateError):
        check(certificate.claiming("admissible", claim), GOOD, plant)


def test_another_law_another_plant_and_another_claim_are_refused(proof):
    certificate, plant = proof
    with pytest.raises(CertificateError):
        check(certificate, law([-1.0, -1.4]), plant)
    with pytest.raises(CertificateError):
        check(certificate, GOOD, cart())
    claim = copy.deepcopy(certificate.claim)
    claim["spec"][0]["conditions"][0]["bound"] = "1/2"
    with pytest.raises(CertificateError):
        check(certificate.claiming("admissible", claim), GOOD, plant)
    claim = copy.deepcopy(certificate.claim)
    claim["spec"][0]["kind"] = "avoid"
    with pytest.raises(CertificateError, match="for ever"):
        check(certificate.claiming("admissible", claim), GOOD, plant)


def test_several_laws_have_no_such_proof_but_may_have_another():
    two = RegressionMixture(
        [[0.0, 0.0], [1.0, 0.0]],
        [0.0, 0.0],
        [RegressionTree.leaf([0.0], slope=[[-1.0, -1.5]])] * 2,
        ["push"],
        feature_names=["place", "speed"],
        prediction="hard",
    )
    verdict = safe(two, cart(), None, cpu_limit=20)
    assert verdict.certificate.kind == "flowpipe"
    with pytest.raises(CertificateError):
        check(safe(GOOD, cart(), None).certificate, two, cart())
