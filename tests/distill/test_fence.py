"""Students in a fence of a safe law."""

import numpy as np
import pytest

from moet import Mixture, Tree
from moet.distill import Teacher, prove
from moet.distill.fence import FENCE, WIDTHS, can_be_fenced, fenced, outer_switch, widths
from moet.distill.judging import Loop
from moet.distill.ways import fidelity
from moet.envs.catalog import resolve
from moet.verify import Proved, Unknown, check, systems
from moet.verify.limits import Deadline
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


SWITCH = outer_switch(line(DAMPED))


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


def fence(width):
    return fenced(line(LOOSE), line(DAMPED), width, systems.cartpole(), STATES)


def loop():
    teacher = Teacher.from_callable(lambda x: (x @ LOOSE > 0).astype(int), n_actions=2)
    return Loop(teacher, resolve("CartPole-v1"), systems.cartpole(), None, 0)


def test_the_more_may_be_lost_the_narrower_a_fence():
    found = widths(fence, loop().teacher, systems.cartpole(), (0.002, 0.5))
    assert len(found) == 2
    assert found[0] > found[1] == WIDTHS[0]


def test_the_most_faithful_fence_is_asked_about_first_and_the_first_that_is_proved_ends_it(monkeypatch):
    asked = []

    def answer(mixture, system, deadline, switch):
        asked.append(mixture)
        assert np.array_equal(switch, SWITCH)
        return Proved(certificate=None) if len(asked) == 2 else Unknown(reason="sets grow")

    monkeypatch.setattr(prove, "closely", answer)
    monkeypatch.setattr(prove, "LOST_IN_FENCES", (0.002, 0.02, 0.5))
    found = prove._in_fences(fence, SWITCH, loop(), lambda note: None)
    assert [one.verdict for one in found] == ["unknown", "proved"]
    assert {one.name for one in found} == {FENCE}
    assert found[0].share < found[1].share < 1
    assert found[0].fidelity >= found[1].fidelity > 0.9


@pytest.mark.slow
def test_a_student_that_damps_too_little_is_proved_in_a_fence_at_hardly_any_loss():
    mixture = fence(0.18)
    verdict = closely(mixture, systems.cartpole(), Deadline(None, 300.0))
    assert isinstance(verdict, Proved)
    assert check(verdict.certificate, mixture, systems.cartpole())
    assert fidelity(mixture, loop().teacher, systems.cartpole()) > 0.99


@pytest.mark.slow
def test_sets_need_the_sides_of_the_law_where_a_student_brings_the_pole_back_slowly():
    mixture, system = fenced(line(SLOW), line(DAMPED), 0.25, systems.cartpole(), STATES), systems.cartpole()
    verdict = closely(mixture, system, Deadline(None, 300.0), SWITCH)
    assert isinstance(verdict, Proved)
    assert check(verdict.certificate, mixture, system)
    assert isinstance(closely(mixture, system, Deadline(None, 300.0)), Unknown)
