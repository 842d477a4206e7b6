"""Students in a fence of a safe law."""

import numpy as np
import pytest

from moet import Mixture, Tree
from moet.distill import Teacher, prove
from moet.distill.fence import FENCE, Fence, _near, band, can_be_fenced, fenced, fences
from moet.distill.judging import Loop, failing_run
from moet.distill.lqr import COSTS, regulators
from moet.distill.ways import fidelity
from moet.envs.catalog import resolve
from moet.verify import Proved, Unknown, check, systems
from moet.verify.limits import Deadline, Stopped
from moet.verify.loops.sets import widen
from moet.verify.loops.sets.widen import closely

DAMPED = np.array([3.27, 6.89, 100.0, 23.71])
LOOSE = np.array([3.5, 1.59, 100.0, 25.53])
"""Damps the cart too little."""

SLOW = np.array([8.6, 28.5, 84.6, 100.0])
"""Brings the pole back so slowly that its switching alone may carry it to its limit."""

STATES = np.random.default_rng(0).uniform(-0.2, 0.2, (20_000, 4))


def line(gains, labels=("left", "right")):
    leaves = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    return Mixture([[0.0] * 4, gains.tolist()], [0.0, 0.0], leaves, labels, prediction="hard")


def damped(width):
    return Fence(line(DAMPED), width, 1.0)


def inside(width, states=STATES):
    """Where the law is less than a width from changing its mind: one push changes its function by 11.19."""
    system = systems.cartpole()
    left, right = system.successor(np.zeros((2, 4)), np.arange(2))
    return np.abs(states @ DAMPED) - width * abs(DAMPED @ (right - left))


@pytest.mark.parametrize("width", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("labels", [("left", "right"), ("right", "left")])
def test_inside_the_student_acts_and_outside_the_law(width, labels):
    gains = LOOSE if labels[0] == "left" else -LOOSE
    mixture = fenced(line(gains, labels), line(DAMPED), width, systems.cartpole(), STATES)
    acts, margin = mixture.predict_hard(STATES), inside(width)
    near = margin < -0.02 * width * 11.19
    far = margin > 0.02 * width * 11.19
    assert near.any()
    assert np.array_equal(acts[near], line(gains, labels).predict_hard(STATES[near]))
    assert np.array_equal(acts[far], line(DAMPED).predict_hard(STATES[far]))
    assert np.any(acts[near] != line(DAMPED).predict_hard(STATES[near]))


def test_laws_of_more_than_two_actions_have_no_fence():
    three = Mixture(np.eye(3, 4), np.zeros(3), [Tree.leaf(row) for row in np.eye(3)], ["a", "b", "c"])
    assert can_be_fenced(line(LOOSE), line(DAMPED))
    assert not can_be_fenced(line(LOOSE), three)
    assert not can_be_fenced(three, three)


def loop():
    teacher = Teacher.from_callable(lambda x: (x @ LOOSE > 0).astype(int), n_actions=2)
    return Loop(teacher, resolve("CartPole-v1"), systems.cartpole(), None, 0)


def near(lost=(0.002, 0.05), least=0.0):
    laws = list(regulators(systems.cartpole()))
    return fences(line(LOOSE), laws, loop().teacher, systems.cartpole(), STATES, lost, least)


def test_the_more_may_be_lost_the_less_far_a_student_may_get():
    found = near()
    assert len(found) == 2
    assert found[0].reach > found[1].reach
    shares = [fidelity(fenced(line(LOOSE), one.law, one.width, systems.cartpole(), STATES), *judges()) for one in found]
    assert shares[0] > shares[1] > 0.9


def test_fences_that_lose_too_much_are_not_worth_a_question():
    assert near(least=1.01) == []


def judges():
    return loop().teacher, systems.cartpole()


def furthest(policy, system):
    """How far runs from near rest get in 2,000 steps, in shares of what is safe."""
    states, far = np.random.default_rng(0).uniform(-1e-3, 1e-3, (50, 4)), 0.0
    for _ in range(2000):
        states = system.successor(states, (policy.predict_hard(states) == "right").astype(int))
        far = max(far, np.abs(states[:, 0]).max() / 2.4, np.abs(states[:, 2]).max() / np.radians(12))
    return far


@pytest.mark.parametrize("student", [line(-DAMPED), line(LOOSE), line(np.array([-9.0, 0, 1, 0]))])
def test_no_student_gets_further_than_its_fence_says(student):
    system = systems.cartpole_linear()
    laws = list(regulators(system))
    known = [one for one in _near(laws, system) if one.width in (0.1, 0.5, 1.0)]
    assert len({id(one.law) for one in known}) > 3
    for one in known:
        assert furthest(fenced(student, one.law, one.width, system, STATES), system) <= one.reach


def test_the_cheaper_pushes_are_to_a_law_the_less_far_a_student_in_its_fence_gets():
    laws = dict(zip(COSTS, regulators(systems.cartpole()), strict=True))
    reaches = [next(_near([laws[cost]], systems.cartpole())).reach for cost in (10.0, 5.0, 1.0, 0.1)]
    assert reaches == sorted(reaches, reverse=True)


@pytest.mark.parametrize("width", [0.1, 0.5, 1.0])
def test_beyond_its_band_a_student_in_a_fence_does_as_the_law(width):
    system, law = systems.cartpole(), line(DAMPED)
    direction, low, high = band(Fence(law, width, 1.0), system)
    values = STATES @ direction
    assert np.allclose(np.linalg.norm(direction), 1)
    same = fenced(line(-DAMPED), law, width, system, STATES).predict_hard(STATES) == law.predict_hard(STATES)
    assert np.all(same[(values < 1.02 * low) | (values > 1.02 * high)])
    assert not np.any(same[(values > 0.98 * low) & (values < 0.98 * high)])


def verdicts(monkeypatch, *proved):
    """Fences of four widths are asked about; of these widths a proof is found."""
    known = [Fence(line(DAMPED), width, width) for width in (0.8, 0.6, 0.4, 0.2)]
    asked = []

    def answer(mixture, system, deadline, ends):
        width = next(one.width for one in known if band(one, system).high == ends.high)
        asked.append(width)
        return Proved(certificate=None) if width in proved else Unknown(reason="sets grow")

    monkeypatch.setattr(prove, "fences", lambda *arguments: known)
    monkeypatch.setattr(prove, "closely", answer)
    found = prove._in_fences(line(LOOSE), line(LOOSE), STATES, loop(), lambda note: None)
    assert {one.name for one in found} == {FENCE}
    assert [one.verdict for one in found] == ["proved" if width in proved else "unknown" for width in asked]
    return asked


def test_the_least_faithful_is_asked_about_first_and_then_by_halves_as_far_as_it_is_proved(monkeypatch):
    assert verdicts(monkeypatch, 0.8, 0.6, 0.4, 0.2) == [0.2, 0.6, 0.8]
    assert verdicts(monkeypatch, 0.6, 0.4, 0.2) == [0.2, 0.6, 0.8]
    assert verdicts(monkeypatch, 0.4, 0.2) == [0.2, 0.6, 0.4]
    assert verdicts(monkeypatch, 0.2) == [0.2, 0.6, 0.4]
    assert verdicts(monkeypatch) == [0.2]


def test_sets_are_cut_where_the_student_switches_and_then_at_the_ends_of_the_band(monkeypatch):
    """Within the band nobody knows what the policy does; beyond its ends it is the law, and the cells say so."""
    system, templates = systems.cartpole(), []

    def stopped(propagation, *arguments):
        templates.append(propagation.post.template)
        raise Stopped("enough was seen")

    monkeypatch.setattr(widen, "invariant_blocks", stopped)
    ends = band(damped(0.5), system)
    closely(fenced(line(LOOSE), line(DAMPED), 0.5, system, STATES), system, Deadline(None, 60.0), ends)
    own, outer = templates
    assert not np.allclose(own.slice, ends.direction)
    assert np.allclose(outer.slice, ends.direction)
    assert np.allclose(outer.edges, [ends.low, (ends.low + ends.high) / 2, ends.high])
    for one, other in ((own, outer), (outer, own)):  # both have the sides of both directions
        assert any(np.allclose(row, other.slice) for row in one.rows)


@pytest.mark.slow
def test_a_student_that_damps_too_little_is_proved_in_a_fence_at_hardly_any_loss():
    mixture = fenced(line(LOOSE), line(DAMPED), 0.18, systems.cartpole(), STATES)
    verdict = closely(mixture, systems.cartpole(), Deadline(None, 300.0))
    assert isinstance(verdict, Proved)
    assert check(verdict.certificate, mixture, systems.cartpole())
    assert fidelity(mixture, loop().teacher, systems.cartpole()) > 0.99


@pytest.mark.slow
def test_sets_need_the_sides_of_the_law_where_a_student_brings_the_pole_back_slowly():
    mixture, system = fenced(line(SLOW), line(DAMPED), 0.25, systems.cartpole(), STATES), systems.cartpole()
    verdict = closely(mixture, system, Deadline(None, 300.0), band(damped(0.25), system))
    assert isinstance(verdict, Proved)
    assert check(verdict.certificate, mixture, system)
    assert isinstance(closely(mixture, system, Deadline(None, 300.0)), Unknown)


@pytest.mark.slow
def test_a_student_that_wanders_off_as_its_teacher_does_is_proved_in_a_fence_of_cheap_pushes():
    system, gains = systems.cartpole(), np.array([-24.2, 81.0, 76.0, 91.7])
    teacher = Teacher.from_callable(lambda x: (x @ gains > 0).astype(int), n_actions=2)
    assert failing_run(teacher, system) is not None
    laws = dict(zip(COSTS, regulators(system), strict=True))
    fence = Fence(laws[1.0], 0.5, 1.0)
    mixture = fenced(line(gains), fence.law, fence.width, system, STATES)
    assert fidelity(mixture, teacher, system) > 0.97
    verdict = closely(mixture, system, Deadline(None, 300.0), band(fence, system))
    assert isinstance(verdict, Proved)
    assert check(verdict.certificate, mixture, system)
    lazy = fenced(line(gains), laws[10.0], 0.6, system, STATES)
    assert failing_run(
        Teacher.from_callable(lambda x: (lazy.predict_hard(x) == "right").astype(int), n_actions=2), system
    )
