"""Time limits."""

import time
from functools import partial

import pytest

from moet.errors import InputError
from moet.verify import Unknown, systems
from moet.verify.limits import Deadline
from moet.verify.loops.sets.bounded import safe_for_steps
from moet.verify.loops.sets.invariant import safe_for_ever

from .loops import balancer


@pytest.mark.parametrize("timeout", [-1, float("nan"), "soon"])
def test_wrong_limits_are_errors(timeout):
    with pytest.raises(InputError, match="timeout"):
        Deadline(timeout)


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
    assert verdict.effort["nodes"] <= 5  # one per attempt
