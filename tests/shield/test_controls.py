"""Shields for controls: what is kept, what is replaced, and that every number is checked."""

import copy
from fractions import Fraction

import numpy as np
import pytest

from moet.distill import control_law
from moet.errors import CertificateError, InputError
from moet.shield import ControlShield
from moet.shield.controls import sides_of
from moet.verify import check, safe
from tests.verify import plants

STATES = ("place", "speed")


def cart(**changes):
    """A cart that is pushed; what is seen is noisy, and every step is disturbed."""
    noise = {"disturbance": dict.fromkeys(STATES, "0.001"), "observation_error": dict.fromkeys(STATES, "0.002")}
    return plants.cart(**(noise | changes))


@pytest.fixture(scope="module")
def law():
    return control_law(cart(), widen=True)


@pytest.fixture(scope="module")
def shield(law):
    return ControlShield(law.verdict.certificate, law.policy, cart())


AGENTS = {
    "forth": lambda x, random: [1.0],
    "back": lambda x, random: [-1.0],
    "away": lambda x, random: [np.sign(x.sum())],
    "random": lambda x, random: random.uniform(-1, 1, 1),
    "beyond all limits": lambda x, random: random.choice([-1e9, 1e9], 1),
}


@pytest.mark.parametrize("name", AGENTS)
def test_no_agent_gets_a_noisy_and_disturbed_system_out_of_its_safe_set(shield, name):
    random = np.random.default_rng(0)
    for _ in range(5):
        x = random.uniform(-0.1, 0.1, 2)
        for _ in range(300):
            seen = x + random.choice([-0.002, 0.002], 2)
            taken = shield.act(seen, AGENTS[name](x, random))
            assert np.all(np.abs(taken) <= 1)
            x = shield.system.successor(x[None], taken[None])[0] + random.choice([-0.001, 0.001], 2)
            assert np.all(np.abs(x) <= 1)


def test_without_the_shield_these_agents_do(shield):
    x = np.zeros(2)
    for _ in range(300):
        x = shield.system.successor(x[None], np.array([[1.0]]))[0]
    assert np.abs(x).max() > 1


def test_the_policys_own_control_is_kept_where_it_is_allowed_and_taken_where_nothing_is(shield):
    own = shield.policy.predict(np.array([[0.05, 0.05]]))[0]
    assert np.array_equal(shield.act([0.05, 0.05], own), own)
    far = np.array([50.0, 50.0])
    assert not shield.allows(far, [0.0])
    assert np.array_equal(shield.act(far, [1.0]), shield.policy.predict(far[None])[0])


def test_a_replaced_control_is_the_nearest_that_is_allowed(shield):
    seen = next(x for x in np.linspace(0, 1, 200)[:, None] * [1.0, 1.0] if not shield.allows(x, [1.0]))
    taken = shield.act(seen, [1.0])
    assert shield.allows(seen, taken)
    grid = np.linspace(-1, 1, 4001)
    best = max(u for u in grid if shield.allows(seen, [u]))
    assert best <= taken[0] + 1e-9 <= best + 1e-3


def test_what_is_allowed_leads_into_the_set_in_exact_arithmetic(shield):
    """From all corners of what a state may be, with all disturbances."""
    random = np.random.default_rng(1)
    sides = sides_of(shield.certificate.claim)
    system, tried = shield.system, 0
    while tried < 200:
        seen, control = random.uniform(-0.8, 0.8, 2), random.uniform(-1, 1, 1)
        state_is_in_set = all(np.dot([float(a) for a in row], seen) <= float(limit) - 0.01 for row, limit in sides)
        if not state_is_in_set or not shield.allows(seen, control):
            continue
        tried += 1
        noise = [Fraction(2 * int(s), 1000) for s in random.choice([-1, 1], 2)]
        shaken = [Fraction(int(s), 1000) for s in random.choice([-1, 1], 2)]
        x = [Fraction(a) - e for a, e in zip(seen.tolist(), noise, strict=True)]
        u = Fraction(float(control[0]))
        after = [
            sum(a * b for a, b in zip(row, x, strict=True)) + gain[0] * u + w
            for row, gain, w in zip(system.matrix, system.input_matrix, shaken, strict=True)
        ]
        assert all(sum(a * b for a, b in zip(row, after, strict=True)) <= limit for row, limit in sides)


FORGERIES = {
    "a limit": ("limits", 0, 1.001),
    "a test": ("tests", 0, [0.0, 0.0, 0.0]),
    "a test that is too short": ("tests", 0, [1.0, 0.1]),
    "nonsense": ("limits", 0, "one"),
    "not finite": ("limits", 0, float("nan")),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_every_number_of_a_shield_is_checked(shield, name):
    key, place, value = FORGERIES[name]
    claim = copy.deepcopy(shield.certificate.claim)
    claim["shield"][key][place] = value
    with pytest.raises(CertificateError):
        check(shield.certificate.claiming("control_shield", claim), shield.policy, shield.system)


@pytest.mark.parametrize("key", ["tests", "limits"])
def test_a_number_that_is_missing_is_refused(shield, key):
    claim = copy.deepcopy(shield.certificate.claim)
    del claim["shield"][key]
    with pytest.raises(CertificateError, match=key):
        check(shield.certificate.claiming("control_shield", claim), shield.policy, shield.system)


def test_a_proof_without_a_shield_is_none(law):
    with pytest.raises(CertificateError, match="lacks shield"):
        check(law.verdict.certificate.claiming("control_shield", law.verdict.certificate.claim), law.policy, cart())


def test_another_system_and_another_proof_are_refused(law):
    heavier = cart(input_matrix=[["0.0025"], ["0.05"]])
    with pytest.raises(CertificateError):
        ControlShield(law.verdict.certificate, law.policy, heavier)
    short = safe(law.policy, cart(), 5).certificate
    with pytest.raises(CertificateError, match="for ever"):
        ControlShield(short, law.policy, cart())


def test_its_certificate_makes_the_same_shield(shield, tmp_path):
    shield.certificate.save(tmp_path / "shield.cert")
    again = ControlShield(tmp_path / "shield.cert", shield.policy, shield.system)
    assert again.digest == shield.digest
    assert "whatever controls are wanted" in again.claim


@pytest.mark.parametrize("state", [[0.0], [np.nan, 0.0], [np.inf, 0.0]])
def test_what_is_no_state_is_refused(shield, state):
    with pytest.raises(InputError):
        shield.act(state, [0.0])


@pytest.mark.parametrize("control", [[0.0, 0.0], [np.nan]])
def test_what_is_no_control_is_refused(shield, control):
    with pytest.raises(InputError):
        shield.act([0.0, 0.0], control)
