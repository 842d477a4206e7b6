"""Distillation that ends with a certificate."""

import numpy as np
import pytest

from moet import MoETClassifier
from moet.distill import Teacher, distill, prove
from moet.distill.prove import failing_run
from moet.errors import InputError
from moet.verify import Proved, check, systems

GOOD = np.array([3.27, 6.89, 100.0, 23.71])
FALLS = np.array([0.0, 0.0, 100.0, 23.71])
"""Holds the pole up and does not care where the cart goes."""


def teacher(gains):
    return Teacher.from_callable(lambda x: (x @ gains > 0).astype(int), n_actions=2)


def student():
    return MoETClassifier(n_experts=2, max_depth=0, prediction="hard")


def short(**options):
    return {"iterations": 2, "rollouts_per_iteration": 4, "selection_episodes": 4, **options}


def test_a_teacher_that_fails_by_itself_is_found_out():
    trace = failing_run(teacher(FALLS), systems.cartpole())
    assert abs(trace.states[-1][0]) > 2.4 or abs(trace.states[-1][2]) > 0.2
    assert len(trace.actions) == len(trace.states) - 1
    assert failing_run(teacher(GOOD), systems.cartpole()) is None


def test_a_good_agent_comes_out_proved():
    run = distill(teacher(GOOD), "CartPole-v1", student(), prove=systems.cartpole(), **short())
    assert isinstance(run.verdict, Proved)
    assert run.shield is None
    assert run.given_up == 0
    assert run.teacher_failure is None
    assert check(run.certificate, run.policy, systems.cartpole())


def test_for_some_steps():
    run = distill(teacher(GOOD), "CartPole-v1", student(), prove=systems.cartpole(), steps=30, **short())
    assert isinstance(run.verdict, Proved)
    assert "0 to 30" in run.verdict.claim


def test_an_agent_that_cannot_be_proved_comes_out_moved_or_behind_a_shield(monkeypatch):
    monkeypatch.setattr(prove, "FOR_FENCES", 5.0)
    monkeypatch.setattr(prove, "FOR_WAYS", 5.0)
    run = distill(teacher(FALLS), "CartPole-v1", student(), prove=systems.cartpole(), **short())
    assert run.teacher_failure is not None
    assert run.candidates[0].verdict != "proved"
    assert len(run.candidates) > 1
    if run.shield is None:
        assert isinstance(run.verdict, Proved)
        assert check(run.certificate, run.policy, systems.cartpole())
    else:
        assert check(run.certificate, run.shield.policy, systems.cartpole())
        assert 0 <= run.overridden <= 1
    run.plot_front()


def test_steps_without_a_system_are_refused():
    with pytest.raises(InputError, match="name the system"):
        distill(teacher(GOOD), "CartPole-v1", student(), steps=10, **short())
