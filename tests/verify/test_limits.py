"""Time limits."""

import threading
import time
from functools import partial

import numpy as np
import pytest

from moet import Mixture, Tree
from moet.errors import InputError
from moet.verify import Unknown, reaches, safe, systems
from moet.verify.limits import Deadline, Stopped
from moet.verify.loops.sets.bounded import REFINEMENTS, safe_for_steps
from moet.verify.loops.sets.invariant import safe_for_ever
from moet.verify.loops.simulation import simulate
from moet.verify.systems import NonlinearSystem
from moet.verify.systems.enclose import fitted_matrix, residual_ranges

from .loops import balancer, tank, valve


@pytest.mark.parametrize("timeout", [-1, float("nan"), "soon"])
def test_wrong_limits_are_errors(timeout):
    with pytest.raises(InputError, match="timeout"):
        Deadline(timeout)


def test_a_part_of_a_deadline_ends_with_it_and_has_a_share_of_the_work():
    assert Deadline(0.0, 100.0).part(0.5).passed
    assert 45.0 < Deadline(None, 100.0).part(0.5).left <= 50.0
    assert Deadline(1000.0, 100.0).part(0.5, 10.0).cpu_limit == 10.0
    assert Deadline().part(0.5).left == np.inf


def test_the_flag_of_compiled_code_is_raised_when_time_is_up():
    assert Deadline(0).flag[0]
    assert not Deadline(None).flag[0]
    assert not Deadline(1e12).flag[0]
    deadline = Deadline(0.01)
    flag = deadline.flag
    while not deadline.passed or not flag[0]:
        time.sleep(0.01)


@pytest.mark.parametrize("decide", [partial(safe_for_steps, steps=50), safe_for_ever])
def test_a_search_among_polytopes_ends_when_the_flag_is_raised(decide):
    deadline = Deadline(None)
    deadline.flag[0] = True
    verdict = decide(balancer(), systems.cartpole(), deadline=deadline)
    assert isinstance(verdict, Unknown)
    assert verdict.effort["nodes"] <= len(REFINEMENTS)  # one per attempt


def ring(n_states: int) -> NonlinearSystem:
    """States that drive one another in a ring."""
    names = [f"x{i}" for i in range(n_states)]
    after = names[1:] + names[:1]
    return NonlinearSystem(
        "ring",
        states=names,
        actions=["a", "b"],
        inputs={"u": (-1, 1)},
        step={a: f"0.8*{a} + 0.1*sin({b})*{b} + 0.05*u" for a, b in zip(names, after, strict=True)},
        initial=dict.fromkeys(names, (-0.5, 0.5)),
        safe=[f"-2 <= {name} <= 2" for name in names],
        goal=["x0 <= 1"],
    )


def chooser(n_states: int) -> Mixture:
    """Two experts for the ring."""
    return Mixture(np.eye(n_states)[:2], [0.0, 0.0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], classes=["a", "b"])


class Counted(Deadline):
    """A deadline that has passed once it was asked so many times."""

    def __init__(self, looks: int) -> None:
        super().__init__(None)
        self.looks = looks

    @property
    def passed(self) -> bool:
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize("n_states", [2, 12])
def test_bounding_equations_ends_when_time_is_up(n_states):
    system = ring(n_states)
    low, high = np.full(n_states, -2.0), np.full(n_states, 2.0)
    matrix = fitted_matrix(system, low, high)
    with pytest.raises(Stopped):
        residual_ranges(system, matrix, low[None], high[None], Counted(2))


def test_simulated_runs_are_cut_short_when_time_is_up():
    assert len(simulate(valve(), tank(), 1000, deadline=Counted(10)).states) == 11


def test_a_fit_takes_no_more_nodes_than_there_is_time_for():
    # a grid of twelve states would have 4^12 nodes
    low, high = np.full(12, -1.0), np.full(12, 1.0)
    matrix = fitted_matrix(ring(12), low, high)
    np.testing.assert_allclose(np.diag(matrix), 0.8, atol=0.02)


@pytest.mark.parametrize("steps", [3, 100, None])
@pytest.mark.parametrize(("model", "system"), [(valve(), tank()), (chooser(12), ring(12)), (balancer(), None)])
def test_without_any_cpu_time_nothing_is_decided(steps, model, system):
    verdict = safe(model, system or systems.cartpole_linear(), steps, cpu_limit=0)
    assert isinstance(verdict, Unknown)
    assert "CPU time" in verdict.reason


def test_goals_have_the_same_limits():
    assert "CPU time" in reaches(chooser(3), ring(3), within=3, cpu_limit=0).reason
    assert "time limit" in reaches(chooser(3), ring(3), within=3, timeout=0).reason
    with pytest.raises(InputError, match="cpu_limit"):
        safe(valve(), tank(), 3, cpu_limit=-1)


@pytest.mark.parametrize("steps", [3, 100, None])
def test_a_verdict_says_what_cpu_time_it_took(steps):
    for model, system in ((valve(), tank()), (balancer(-1.0), systems.cartpole_linear())):
        assert safe(model, system, steps).effort["cpu_seconds"] > 0


def test_the_work_of_other_threads_counts():
    deadline = Deadline(None, cpu_limit=0.05)

    def work():
        with deadline.counting():
            while not deadline.passed:
                sum(range(1000))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert deadline.cpu_seconds >= 0.05
