"""A refutation is a run that surely happens: exact first states and disturbances, and never out of the domain."""

import os
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from moet import Mixture, MoETClassifier, Tree
from moet.verify import Proved, Refuted, Unknown, reaches, safe, systems
from moet.verify.limits import Deadline
from moet.verify.loops.replay import Replay
from moet.verify.systems import AffineSystem, NonlinearSystem

from .loops import balancer

AGENTS = os.environ.get("MOET_AGENTS")
STAY = Mixture([[0.0]], [0.0], [Tree.leaf([1.0])], classes=["stay"])


def growing(kind: str, **changes):
    """x' = x + 1, as an affine system and as equations."""
    description = {"states": ["x"], "actions": ["stay"], "initial": {"x": (0, "1/2")}, "safe": ["x <= 2"]}
    if kind == "affine":
        return AffineSystem("growing", **(description | {"matrix": [[1]], "offsets": [[1]]} | changes))
    return NonlinearSystem("growing", **(description | {"step": {"x": "x + 1"}, "inputs": {}} | changes))


def resting(**changes):
    """A state that nothing but the disturbance decides."""
    description = {"states": ["x"], "actions": ["stay"], "initial": {"x": 0}, "inputs": {}}
    return NonlinearSystem("resting", **(description | {"step": {"x": "0 * x**2"}} | changes))


@pytest.mark.parametrize("kind", ["affine", "nonlinear"])
@pytest.mark.parametrize("steps", [3, 5, 100, None])
def test_a_run_that_left_the_domain_refutes_nothing(kind, steps):
    verdict = safe(STAY, growing(kind, domain={"x": (-1, 1)}), steps)
    assert isinstance(verdict, Unknown)
    assert "domain" in verdict.reason


@pytest.mark.parametrize("kind", ["affine", "nonlinear"])
def test_a_run_that_left_the_domain_misses_no_goal(kind):
    system = growing(kind, domain={"x": (-1, 1)}, goal=["x <= -1"], safe=["x <= 9"])
    assert isinstance(reaches(STAY, system, within=5), Unknown)


@pytest.mark.parametrize("kind", ["affine", "nonlinear"])
@pytest.mark.parametrize("steps", [3, 100, None])
def test_a_run_that_is_unsafe_within_the_domain_refutes(kind, steps):
    verdict = safe(STAY, growing(kind, domain={"x": (-1, 4)}), steps)
    assert isinstance(verdict, Refuted)
    assert np.all((verdict.trace.states >= -1) & (verdict.trace.states <= 4))
    assert verdict.trace.states[-1, 0] > 2


@pytest.mark.parametrize("kind", ["affine", "nonlinear"])
@pytest.mark.parametrize("steps", [0, 2, None])
def test_first_states_out_of_the_domain_refute_nothing(kind, steps):
    outside = growing(kind, initial={"x": (3, 4)}, domain={"x": (-1, 1)})
    assert isinstance(safe(STAY, outside, steps), Unknown)
    partly = growing(kind, initial={"x": (0, 4)}, domain={"x": (-1, 3)})
    verdict = safe(STAY, partly, steps)
    assert isinstance(verdict, Refuted)
    assert 2 < verdict.trace.states[0, 0] <= 3


@pytest.mark.parametrize("kind", ["affine", "nonlinear"])
def test_no_state_after_the_last_step_is_looked_at(kind):
    system = growing(kind, initial={"x": (0, 0)})
    assert not isinstance(safe(STAY, system, 2), Refuted)  # 0, 1, 2; the next would be unsafe
    assert isinstance(safe(STAY, system, 3), Refuted)


def test_reaching_with_a_domain_of_many_sides_is_decided():
    system = AffineSystem(
        "two",
        states=["x", "y"],
        actions=["stay"],
        matrix=[["1/2", 0], [0, 1]],
        offsets=[[0, 1]],
        initial={"x": (-1, 1), "y": (0, 0)},
        safe=[],
        goal=["x >= 5"],
        domain={"x": (-2, 2), "y": (-2, 2)},
    )
    policy = Mixture([[0.0, 0.0]], [0.0], [Tree.leaf([1.0])], classes=["stay"])
    assert isinstance(reaches(policy, system, within=5), Unknown)
    assert isinstance(reaches(policy, system, within=2), Refuted)


@pytest.mark.parametrize("value", ["1/3", "-1/3", "1/7", "0.1", "1e-20"])
def test_disturbances_are_the_fractions_they_are(value):
    exact = Fraction(value)
    system = resting(disturbance={"x": (value, value)}, safe=[f"x <= {abs(exact)}", f"x >= -({abs(exact)})"])
    assert not isinstance(safe(STAY, system, 3), Refuted)
    below = exact - abs(exact) / 10**6
    unsafe = resting(disturbance={"x": (value, value)}, safe=[f"x <= {below}"], initial={"x": ("-1", "-1")})
    verdict = safe(STAY, unsafe, 3)
    assert isinstance(verdict, Refuted)
    assert verdict.trace.disturbances == pytest.approx(float(exact))


def test_a_third_of_disturbance_cancels_a_third():
    # in floats 1/3 − float(1/3) is 1.85e-17, which the safe set would tell from 0
    system = resting(
        initial={"x": 1}, step={"x": "0 * x**2 - 1/3 + 1e-17"}, disturbance={"x": ("1/3", "1/3")}, safe=["x >= 1e-18"]
    )
    assert not isinstance(safe(STAY, system, 2), Refuted)


@pytest.mark.parametrize("kind", ["affine", "nonlinear"])
def test_first_states_that_are_no_floats_are_refuted_as_what_they_are(kind):
    verdict = safe(STAY, growing(kind, initial={"x": ("1/3", "1/3")}), 3)
    assert isinstance(verdict, Refuted)
    assert verdict.trace.start == (Fraction(1, 3),)
    assert verdict.trace.states[0, 0] == 1 / 3


@pytest.mark.parametrize("kind", ["affine", "nonlinear"])
def test_bounds_that_no_float_is_are_not_rounded(kind):
    # 3 is within 3 + 1e-30, which rounds to 3, and beyond 3 − 1e-30
    loose = growing(kind, initial={"x": (1, 1)}, safe=[f"x <= {Fraction(3) + Fraction(1, 10**30)}"])
    assert not isinstance(safe(STAY, loose, 2), Refuted)
    tight = growing(kind, initial={"x": (1, 1)}, safe=[f"x <= {Fraction(3) - Fraction(1, 10**30)}"])
    assert not isinstance(safe(STAY, tight, 2), Proved)


def test_the_policy_sees_float32_numbers_in_a_replay():
    # the state 1 + 1e-9 is above the threshold, and is seen as 1, which is not
    tree = Tree([0, -1, -1], [1.0, 0, 0], [1, -1, -1], [2, -1, -1], np.eye(2)[[0, 0, 1]])
    policy = Mixture([[0.0]], [0.0], [tree], classes=["stay", "go"])
    description = {
        "states": ["x"],
        "actions": ["stay", "go"],
        "inputs": {"u": (0, 5)},
        "step": {"x": "x + u"},
        "initial": {"x": (1 + 1e-9, 1 + 1e-9)},
        "safe": ["x <= 2"],
        "domain": {"x": (0, 9)},
    }
    assert isinstance(safe(policy, NonlinearSystem("step", **description), 1), Refuted)
    seeing = NonlinearSystem("step", **description, float32_observations=True)
    assert not isinstance(safe(policy, seeing, 1), Refuted)


def test_a_long_replay_is_exact():
    system = systems.cartpole_linear()
    replay = Replay(balancer(), system, Deadline(None))
    start = [Fraction(1, 3) / 10, Fraction(0), Fraction(0), Fraction(0)]
    ended = list(replay._runs(start, [[Fraction(0)] * 4] * 500))
    states, classes = ended[-1]
    assert len(classes) == 500
    # the same, step by step with reduced fractions
    x, actions = start, system.actions_of(balancer())
    for label, state in zip(classes[:40], states[:40], strict=True):
        assert [Fraction(n, state.denominator) for n in state.numerators] == x
        x = [
            sum(a * b for a, b in zip(row, x, strict=True)) + offset
            for row, offset in zip(system.matrix, system.offsets[actions[label]], strict=True)
        ]


def spiral(kind: str, **changes):
    """A point that circles and drifts outward so slowly that it takes thousands of steps to leave the safe set."""
    description = {
        "states": ["x", "y"],
        "actions": ["stay"],
        "initial": {"x": (1, "1.001"), "y": (0, 0)},
        "safe": ["-4 <= x <= 4"],
        "domain": {"x": (-9, 9), "y": (-9, 9)},
    }
    if kind == "affine":
        turn = {"matrix": [["0.9955", "-0.1"], ["0.1", "0.9955"]], "offsets": [[0, 0]]}
        return AffineSystem("spiral", **(description | turn | changes))
    turn = {"x": "0.9955*x - 0.1*y + 0*x*y", "y": "0.1*x + 0.9955*y"}
    return NonlinearSystem("spiral", **(description | {"step": turn, "inputs": {}} | changes))


PASSIVE = Mixture([[0.0, 0.0]], [0.0], [Tree.leaf([1.0])], classes=["stay"])


@pytest.mark.parametrize(
    ("kind", "changes"),
    [("affine", {}), ("nonlinear", {"disturbance": {"x": 1e-12, "y": 1e-12}})],
)
def test_a_run_that_takes_thousands_of_steps_to_be_unsafe_is_found(kind, changes):
    verdict = safe(PASSIVE, spiral(kind, **changes), None)
    assert isinstance(verdict, Refuted)
    assert len(verdict.trace.actions) > 2000
    assert abs(verdict.trace.states[-1, 0]) > 4


def test_a_run_is_not_followed_beyond_the_steps_that_were_asked_for():
    late = len(safe(PASSIVE, spiral("affine"), None).trace.actions)
    assert not isinstance(safe(PASSIVE, spiral("affine"), late - 200), Refuted)
    assert isinstance(safe(PASSIVE, spiral("affine"), late + 200), Refuted)


def test_a_computed_run_is_a_run_of_a_system_that_allows_its_rounding():
    system = spiral("nonlinear", disturbance={"x": 1e-12, "y": 1e-12})
    trace = safe(PASSIVE, system, None).trace
    states = [[Fraction(value) for value in row] for row in trace.states.tolist()]
    limit = Fraction(1e-12)
    for (x, y), following in pairwise(states):
        exact = Fraction("0.9955") * x - y / 10, x / 10 + Fraction("0.9955") * y
        assert all(abs(a - b) <= limit for a, b in zip(following, exact, strict=True))


@pytest.mark.skipif(not AGENTS, reason="MOET_AGENTS names no folder of trained agents")
def test_a_distilled_agent_that_drifts_off_the_track_after_a_thousand_steps_is_refuted():
    pytest.importorskip("torch")  # its weights are in a file of PyTorch's
    from moet.distill import Teacher, distill

    teacher = Teacher.from_sb3(Path(str(AGENTS)) / "a2c_CartPole-v1.zip")
    student = MoETClassifier(2, 0, prediction="hard", random_state=0)
    run = distill(teacher, "CartPole-v1", student, iterations=5, selection_episodes=10)
    verdict = safe(run.policy, systems.cartpole(), None)
    assert isinstance(verdict, Refuted)
    assert len(verdict.trace.actions) > 600
    assert abs(verdict.trace.states[-1, 0]) > 2.4
