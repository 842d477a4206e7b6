"""What a shield allows, and that nothing it allows is ever unsafe."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet.errors import CertificateError, InputError
from moet.shield import Shield
from moet.shield.kernel import packed, steps_to_set
from moet.verify import check, safe, systems
from moet.verify.loops.simulation import excess
from tests.shield.conftest import cart, cart_policy, pole_policy


def rough_run(shield, agent, random, n_steps, n_runs):
    """Largest excess over the safe set in runs of an affine system with the worst noise and disturbances."""
    system = shield.system
    noise = np.array([float(e) for e in system.noise])
    low, high = np.array([[float(a), float(b)] for a, b in system.disturbance]).T
    first = np.array([[float(a), float(b)] for a, b in system.initial])
    x = first[:, 0] + random.integers(0, 2, (n_runs, len(first))) * (first[:, 1] - first[:, 0])
    worst = -np.inf
    for _ in range(n_steps):
        seen = x + noise * random.choice([-1, 1], x.shape)
        taken = [shield.act(one, agent(one)) for one in seen]
        x = system.successor(x, taken) + np.where(random.random(x.shape) < 0.5, low, high)
        worst = max(worst, excess(system.safe, x).max())
    return worst


@pytest.mark.parametrize("gains", [(1, 0), (-1, 0), (0, 1), (1, 1), (1, 1.5), (0, 0)])
def test_no_agent_gets_a_noisy_and_disturbed_system_out_of_its_safe_set(cart_shield, gains):
    random = np.random.default_rng(0)
    assert rough_run(cart_shield, lambda x: int(x @ gains > 0), random, 300, 40) <= 0


def test_without_the_shield_these_agents_do(cart_shield):
    system, x = cart_shield.system, np.zeros((1, 2))
    for _ in range(60):
        x = system.successor(x, [1])
    assert excess(system.safe, x).max() > 0


def test_a_random_agent_does_not_either(cart_shield):
    random = np.random.default_rng(1)
    assert rough_run(cart_shield, lambda x: int(random.integers(2)), random, 500, 40) <= 0


@settings(max_examples=150)
@given(
    st.lists(st.floats(-2.2, 2.2), min_size=2, max_size=2),
    st.sampled_from([0, 1]),
    st.integers(0, 2**32 - 1),
)
def test_whatever_is_allowed_ends_in_the_set_after_as_many_steps_as_it_says(cart_shield, seen, action, seed):
    steps = cart_shield.steps_ahead(seen, action)
    if steps == 0:
        return
    system, random = cart_shield.system, np.random.default_rng(seed)
    noise = np.array([float(e) for e in system.noise])
    x = np.array(seen) + noise * random.uniform(-1, 1, (64, 2))
    for k in range(steps):
        if k > 0:
            names = cart_shield.policy.predict_hard(x + noise * random.choice([-1, 1], x.shape))
            action = np.array([system.actions.index(name) for name in names])
        x = system.successor(x, np.broadcast_to(action, len(x))) + 0.001 * random.choice([-1, 1], x.shape)
        assert excess(system.safe, x).max() <= 0
    assert all(in_set(cart_shield, one) for one in x)


def in_set(shield, x):
    claim = shield.certificate.claim
    rows = [[1, 0], [-1, 0], [0, 1], [0, -1], claim["slice"], [-a for a in claim["slice"]], *claim["directions"]]
    values = np.array(rows) @ x
    return any(cell is not None and np.all(values <= np.array(cell) + 1e-12) for cell in claim["blocks"][-1]["set"])


def test_looking_further_ahead_allows_more(cart_proof):
    near, far = (Shield(cart_proof, cart_policy(), cart(), steps=steps) for steps in (1, 20))
    states = np.random.default_rng(0).uniform(-1.5, 1.5, (2000, 2))
    allowed_near, allowed_far = ([s.allows(x, 1) for x in states] for s in (near, far))
    assert all(b for a, b in zip(allowed_near, allowed_far, strict=True) if a)
    assert sum(allowed_far) > sum(allowed_near) > 0


def test_the_order_in_which_limits_are_tried_decides_nothing(cart_shield):
    tables, random = cart_shield.tables, np.random.default_rng(0)
    order = random.permutation(len(tables.rows))
    other = packed(
        tables._replace(
            rows=tables.rows[order],
            spreads=tables.spreads[order],
            limits=tables.limits[:, order],
            most=tables.most[order],
        )
    )
    states = random.uniform(tables.bottom, tables.top, (5000, 2))
    found = [cart_shield.steps_ahead(x, k % 2) for k, x in enumerate(states)]
    assert found == [steps_to_set(x, k % 2, cart_shield.steps, *other) for k, x in enumerate(states)]
    assert {0, 1, 2} <= set(found)


def test_an_allowed_action_is_taken_and_the_policys_otherwise(cart_shield):
    for x in np.random.default_rng(0).uniform(-2, 2, (500, 2)):
        own = cart_shield.policy.predict_hard(x[None])[0]
        for wanted in ("back", "forth"):
            expected = wanted if cart_shield.allows(x, wanted) else own
            assert cart_shield.act(x, wanted) == expected
            number = cart_shield.system.actions.index(wanted)
            assert cart_shield.act(x, number) == cart_shield.system.actions.index(expected)


def test_beyond_its_box_the_policy_acts(cart_shield):
    assert not cart_shield.allows([5.0, 0.0], 0)
    assert cart_shield.act([5.0, 0.0], 1) == 0


@pytest.mark.parametrize("state", [[np.nan, 0.0], [np.inf, 0.0]])
def test_a_state_that_is_not_finite_allows_nothing_and_has_no_answer(cart_shield, state):
    assert not cart_shield.allows(state, 0)
    with pytest.raises(InputError, match="finite"):
        cart_shield.act(state, 0)


@pytest.mark.parametrize("action", [2, -1, 0.5, "up", None, np.nan])
def test_what_is_no_action_is_refused(cart_shield, action):
    with pytest.raises(InputError, match="no action"):
        cart_shield.act([0.0, 0.0], action)


def test_a_state_of_another_size_is_refused(cart_shield):
    with pytest.raises(InputError, match="2 numbers"):
        cart_shield.act([0.0], 0)


def test_a_proof_of_another_policy_is_refused(cart_proof):
    other = cart_policy()
    other = type(other)(other.gate_weights * 2, other.gate_bias, other.trees, ["back", "forth"])
    with pytest.raises(CertificateError, match="another model"):
        Shield(cart_proof, other, cart())


def test_a_proof_for_some_steps_is_refused():
    policy, system = cart_policy(), cart()
    verdict = safe(policy, system, steps=30)
    with pytest.raises(CertificateError, match="safe for ever"):
        Shield(verdict.certificate, policy, system)


def test_another_system_is_refused(pole_proof):
    with pytest.raises(CertificateError, match="another system"):
        Shield(pole_proof, pole_policy(), systems.cartpole(position="2.3"))


def test_its_certificate_makes_the_same_shield(cart_shield, tmp_path):
    path = tmp_path / "shield.cert"
    cart_shield.certificate.save(path)
    again = Shield(path, cart_policy(), cart())
    assert again.steps == cart_shield.steps
    assert check(path, cart_policy(), cart())
    for x in np.random.default_rng(0).uniform(-2, 2, (200, 2)):
        assert again.steps_ahead(x, 1) == cart_shield.steps_ahead(x, 1)


def test_its_claim_says_what_it_does(pole_shield):
    assert "whichever actions are wanted" in pole_shield.claim
    assert "position <= 2.4" in pole_shield.claim


def test_equations_that_may_jump_are_refused():
    step = {"x": "0.5 * x + push + (0.1 if 0.05 <= x else 0) + (0.01 if x <= 0.35 else 0)"}
    system = systems.NonlinearSystem(
        "jump",
        states=["x"],
        actions=["a", "b"],
        inputs={"push": (0, "0.1")},
        step=step,
        initial={"x": (0, "0.1")},
        safe=["-5 <= x <= 5"],
    )
    from moet import Mixture, Tree

    policy = Mixture(
        [[0.0], [-1.0]], [0.0, 0.0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["a", "b"], feature_names=["x"]
    )
    with pytest.raises(InputError, match="jump"):
        Shield(safe(policy, system, steps=None).certificate, policy, system)
