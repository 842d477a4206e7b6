"""``safe`` and ``reaches`` on affine systems."""

import re
from fractions import Fraction

import numpy as np
import pytest
from verify_loop_honesty import holds

from moet import Mixture, MoETClassifier, Tree, save
from moet.errors import CertificateError, InputError
from moet.verify import Proved, Refuted, Unknown, check, reaches, safe, systems
from moet.verify.loops.paths.tables import ACROSS, FINE, WITHIN
from moet.verify.systems import AffineSystem

from .loops import balancer, tank, valve

PUBLISHED_RULE = np.array([2.1846, 7.2247, 20.647, 25.340])


def follower(sign: float = 1.0) -> Mixture:
    """The rule that the paper's authors published: push right iff it is above −1."""
    leaves = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    return Mixture([0 * PUBLISHED_RULE, sign * PUBLISHED_RULE], [0.0, sign], leaves, classes=["left", "right"])


def integrator(**changes) -> AffineSystem:
    """x grows by one, or shrinks by one."""
    description = {
        "states": ["x"],
        "actions": ["down", "up"],
        "matrix": [[1]],
        "offsets": [[-1], [1]],
        "initial": {"x": (0, 1)},
        "safe": ["-1 <= x <= 2"],
        "goal": ["x >= 2"],
    }
    return AffineSystem("integrator", **(description | changes))


def up_to(threshold: float) -> Mixture:
    """Go up until a threshold."""
    tree = Tree([0, -1, -1], [threshold, 0, 0], [1, -1, -1], [2, -1, -1], np.eye(2)[[0, 1, 0]])
    return Mixture([[0.0]], [0.0], [tree], classes=["down", "up"])


@pytest.mark.parametrize("steps", [0, 1, 10, 15])
def test_the_published_claim_is_proved_and_the_proof_is_checked(steps):
    system = systems.cartpole_published()
    verdict = safe(follower(), system, steps=steps)
    assert isinstance(verdict, Proved)
    assert check(verdict.certificate, follower(), system)
    assert verdict.certificate.claim["steps"] == steps


@pytest.mark.parametrize("system", [systems.cartpole_published(), systems.cartpole_linear()])
def test_an_inverted_gate_is_refuted_by_a_run_that_replays(system):
    verdict = safe(follower(-1.0), system, steps=40)
    assert isinstance(verdict, Refuted)
    assert_is_run_by_name(verdict.trace, follower(-1.0), system)
    assert not holds(system.safe, verdict.trace.states[-1], 0.0)
    assert np.all(holds(system.safe, verdict.trace.states[:-1], 1e-12))


def assert_is_run_by_name(trace, mixture, system):
    for t, action in enumerate(trace.actions):
        assert mixture.act(trace.states[t]) == action
        following = system.successor(trace.states[t][None], [system.actions.index(action)])[0]
        np.testing.assert_allclose(trace.states[t + 1], following, atol=1e-12)


def test_conditions_that_hold_with_equality_are_proved():
    # the exact route: in floats, 2 <= 2 is too close to call
    system = integrator()
    verdict = safe(up_to(1.0), system, steps=1)
    assert isinstance(verdict, Proved)
    assert check(verdict.certificate, up_to(1.0), system)
    assert isinstance(safe(up_to(1.0), integrator(safe=["x <= 1.999999999999999"]), steps=1), Refuted)


def test_a_side_of_a_split_that_only_its_edge_could_reach_is_nobodys():
    # x > 1 is impossible at first, and x = 1 goes up
    system = integrator(safe=["x >= 1/2"], initial={"x": ("1/2", 1)})
    verdict = safe(up_to(1.0), system, steps=1)
    assert isinstance(verdict, Proved)
    assert check(verdict.certificate, up_to(1.0), system)


def test_reaching_a_goal_takes_as_long_as_it_takes():
    mixture, system = up_to(5.0), integrator(initial={"x": (0, 1)})
    assert isinstance(reaches(mixture, system, within=1), Refuted)
    verdict = reaches(mixture, system, within=2)
    assert isinstance(verdict, Proved)
    assert check(verdict.certificate, mixture, system)
    verdict = reaches(mixture, system, "x >= 3", within=3)
    assert isinstance(verdict, Proved)
    assert check(verdict.certificate, mixture, system)
    assert len(reaches(mixture, system, ["x >= 3", "x <= 3.5"], within=3).trace.actions) == 3


def test_a_model_whose_rounded_gate_chooses_otherwise_is_not_proved():
    # in exact arithmetic expert 0 (up) is always ahead, by 1e-20; in float64 that is lost beside 1e8
    leaves = [Tree.leaf([0, 1]), Tree.leaf([1, 0])]
    mixture = Mixture([[1e8], [1e8]], [1e-20, 0.0], leaves, classes=["down", "up"])
    system = integrator(initial={"x": (1, 1)}, safe=["x >= 1"])
    assert not isinstance(safe(mixture, system, steps=1), Proved)


def test_observation_errors_count():
    near = integrator(initial={"x": (0, "0.9")}, safe=["x >= 0"], observation_error={"x": "0.05"})
    assert isinstance(safe(up_to(1.0), near, steps=1), Proved)
    far = integrator(initial={"x": (0, "0.9")}, safe=["x >= 0"], observation_error={"x": "0.2"})
    assert not isinstance(safe(up_to(1.0), far, steps=1), Proved)


def test_leaving_the_domain_is_no_refutation():
    system = integrator(safe=["x <= 10"], domain={"x": (-1, 1.5)})
    verdict = safe(up_to(5.0), system, steps=2)
    assert isinstance(verdict, Unknown)


def test_first_states_are_part_of_the_question():
    verdict = safe(up_to(1.0), integrator(safe=["x <= 0.5"]), steps=0)
    assert isinstance(verdict, Refuted)
    assert verdict.trace.states.shape == (1, 1)
    assert verdict.trace.actions == ()


def test_a_time_limit_is_no_proof():
    verdict = safe(follower(), systems.cartpole_published(), steps=10, timeout=0)
    assert isinstance(verdict, Unknown)
    assert "time limit" in verdict.reason
    assert not verdict


def test_everything_that_holds_a_mixture_is_accepted(tmp_path):
    system = systems.cartpole_published()
    save(follower(), tmp_path / "m.moet.json")
    verdict = safe(tmp_path / "m.moet.json", system, steps=3)
    assert check(verdict.certificate, tmp_path / "m.moet.json", system)
    verdict.certificate.save(tmp_path / "proof.cert")
    assert check(tmp_path / "proof.cert", follower(), system.document())
    X = np.random.default_rng(0).uniform(-0.05, 0.05, (400, 4))
    classifier = MoETClassifier(n_experts=2, max_depth=0, prediction="hard", random_state=0)
    classifier.fit(X, (X @ PUBLISHED_RULE > -1).astype(int))
    assert isinstance(safe(classifier, system, steps=1), Proved)


@pytest.mark.parametrize(
    ("model", "system", "steps", "message"),
    [
        (balancer(), integrator(), 3, "4 features"),
        (up_to(1.0), systems.cartpole_published(), 3, "1 features"),
        (Mixture([[0.0]], [0.0], [Tree.leaf([1, 0])], classes=["sideways", "up"]), integrator(), 3, "sideways"),
        (Mixture([[0.0]], [0.0], [Tree.leaf([1, 0])], classes=[0, 7]), integrator(), 3, "7"),
        (up_to(1.0), integrator(), -1, "steps"),
        (up_to(1.0), integrator(), 1.5, "steps"),
        (up_to(1.0), "integrator", 1, "expected a system"),
    ],
)
def test_what_makes_no_sense_is_an_error(model, system, steps, message):
    with pytest.raises(InputError, match=message):
        safe(model, system, steps=steps)


def test_soft_mixtures_are_refused_by_name():
    soft = Mixture([[0.0], [1.0]], [0.0, 0.0], [Tree.leaf([1, 0])] * 2, classes=[0, 1], prediction="soft")
    with pytest.raises(InputError, match="soft"):
        safe(soft, integrator(), steps=1)


def test_reaches_needs_a_goal():
    with pytest.raises(InputError, match="no goal"):
        reaches(up_to(1.0), integrator(goal=[]), within=1)
    with pytest.raises(InputError, match="no goal"):
        reaches(valve(), tank(), within=1)


def test_numbers_are_exact_not_decimal():
    # the float 0.1 is above 1/10, so a bound of 1/10 is violated by a state of 0.1
    system = AffineSystem(
        "constant",
        states=["x"],
        actions=["stay"],
        matrix=[[1]],
        offsets=[[0]],
        initial={"x": (0, 0.1)},
        safe=["x <= 1/10"],
    )
    stay = Mixture([[0.0]], [0.0], [Tree.leaf([1.0])], classes=["stay"])
    verdict = safe(stay, system, steps=1)
    assert isinstance(verdict, Refuted)
    assert Fraction(verdict.trace.states[0, 0].item()) > Fraction(1, 10)


def test_progress_is_shown_on_request(capsys):
    safe(follower(), systems.cartpole_published(), steps=12, verbose=True)
    assert "pieces" in capsys.readouterr().err


@pytest.mark.parametrize(("steps", "note"), [(20, "step 10 of 20"), (None, "round 1")])
def test_progress_of_sets_is_shown_on_request(capsys, monkeypatch, steps, note):
    monkeypatch.setenv("COLUMNS", "200")
    assert safe(valve(), tank(), steps, verbose=True)
    shown = capsys.readouterr().err
    assert re.search(rf"attempt 1 of \d: {note}", shown)
    assert "nodes" in shown


def stairs(top: str) -> Mixture:
    """Up, down, up again, the third action between 2.15 and 2.85, down."""
    threshold = [1.0, 0.0, 1.9, 0.0, 2.15, 0.0, 2.85, 0.0, 0.0]
    left, right = [1, -1, 3, -1, 5, -1, 7, -1, -1], [2, -1, 4, -1, 6, -1, 8, -1, -1]
    actions = [0, 1, 0, 0, 0, 1, 0, 2, 0]
    tree = Tree([0 if child >= 0 else -1 for child in left], threshold, left, right, np.eye(3)[actions])
    return Mixture([[0.0]], [0.0], [tree], classes=["down", "up", top])


def two_stairs(top: str) -> Mixture:
    """The same, the lower two steps by one expert and the upper three by another."""
    lower = Tree([0, -1, -1], [1.0, 0.0, 0.0], [1, -1, -1], [2, -1, -1], np.eye(3)[[0, 1, 0]])
    threshold, actions = [2.15, 0.0, 2.85, 0.0, 0.0], [0, 1, 0, 2, 0]
    upper = Tree([0, -1, 0, -1, -1], threshold, [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], np.eye(3)[actions])
    return Mixture([[0.0], [1.0]], [0.0, -1.9], [lower, upper], classes=["down", "up", top])


def many_stairs(top: str) -> Mixture:
    """The same, with an expert for every step."""
    bias = -np.cumsum([0.0, 1.0, 1.9, 2.15, 2.85])
    leaves = [Tree.leaf(np.eye(3)[action]) for action in (1, 0, 1, 2, 0)]
    return Mixture(np.arange(5.0)[:, None], bias, leaves, classes=["down", "up", top])


@pytest.mark.parametrize(
    ("policy", "top", "coarse"),
    [
        (stairs, "stay", WITHIN),
        (stairs, "jump", FINE),
        (two_stairs, "stay", ACROSS),
        (two_stairs, "jump", WITHIN),
        (many_stairs, "stay", ACROSS),
        (many_stairs, "jump", FINE),
    ],
)
def test_pieces_that_are_no_convex_set_are_merged_as_long_as_that_proves_it(policy, top, coarse):
    # with "up" merged, states from 1 to 1.9 go up too, in the coarse view, and end where the third action is taken
    system = integrator(
        actions=["down", "up", "stay", "jump"],
        offsets=[[-1], [1], [0], [10]],
        initial={"x": (0, "2.1")},
        safe=["-3 <= x <= 5"],
    )
    verdict = safe(policy(top), system, steps=2)
    assert isinstance(verdict, Proved)
    assert verdict.certificate.claim.get("coarse", FINE) == coarse
    assert check(verdict.certificate, policy(top), system)
    verdict.certificate.claim["coarse"] = 3
    with pytest.raises(CertificateError, match="coarse must be"):
        check(verdict.certificate, policy(top), system)


def test_a_coarse_search_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr("moet.verify.loops.paths.search.SLICE", 1)
    monkeypatch.setattr("moet.verify.loops.paths.search.MOST_COARSE", 0)
    system = integrator(actions=["down", "up", "stay"], offsets=[[-1], [1], [0]], safe=["-3 <= x <= 5"])
    verdict = safe(stairs("stay"), system, steps=3)
    assert "coarse" not in verdict.certificate.claim
    assert check(verdict.certificate, stairs("stay"), system)


@pytest.mark.parametrize(("more", "holds"), [(Fraction(1, 2**140), True), (0, True), (-Fraction(1, 2**140), False)])
def test_a_proof_is_checked_to_the_last_digit(more, holds):
    # beyond the digits of the first, rounded, check; the states reach 2
    verdict = safe(up_to(1.0), integrator(safe=["x <= 2"]), steps=1)
    other = integrator(safe=[f"x <= {2 + more}"])
    verdict.certificate.claim["system"] = other.digest
    if holds:
        assert check(verdict.certificate, up_to(1.0), other)
    else:
        with pytest.raises(CertificateError):
            check(verdict.certificate, up_to(1.0), other)
