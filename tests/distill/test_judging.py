"""A policy behind a shield that waits until its policy holds."""

import numpy as np
import pytest

from moet import Mixture, Tree
from moet.distill import Policy
from moet.distill.judging import Guarded
from moet.envs.catalog import resolve


class Guard:
    """Holds at positive places, covers starts at zero, and turns every action into 1."""

    def holds(self, seen):
        return bool(seen[0] > 0)

    def covers_start(self, seen):
        return bool(seen[0] == 0)

    def act_many(self, states, wanted):
        return np.ones_like(wanted)


@pytest.mark.parametrize(
    ("places", "guarded"),
    [
        ([-1, -1, 1, -1], [False, False, True, True]),
        ([0, -1, -1], [True, True, True]),
        ([-1, 0, 0], [False, False, False]),  # a first state is one only at first
    ],
)
def test_only_what_is_done_while_it_guards_is_replaced_and_counted(places, guarded):
    mixture = Mixture(np.zeros((1, 4)), [0.0], [Tree.leaf([1, 0])], ["left", "right"])
    policy = Guarded(Policy.of(mixture, resolve("CartPole-v1")), Guard())
    taken = [int(policy(np.array([[place, 0.0, 0.0, 0.0]]))[0]) for place in places]
    assert taken == [int(one) for one in guarded]
    assert policy.taken == policy.replaced == sum(guarded)
