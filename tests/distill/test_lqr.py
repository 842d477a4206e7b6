"""Laws that systems yield by themselves, and the line from a student to them."""

import numpy as np
import pytest

from moet import Mixture, Tree
from moet.distill.line import can_be_moved, moved
from moet.distill.lqr import regulators, safe_law
from moet.errors import InputError
from moet.verify import Proved, check, systems
from moet.verify.loops.sets.propagate import proven_ranges
from tests.shield.conftest import cart, cart_policy


def test_a_cart_yields_a_law_that_is_proved_and_checked():
    found = safe_law(cart())
    assert isinstance(found.verdict, Proved)
    assert check(found.verdict.certificate, found.policy, cart())


def test_a_wider_set_is_found_if_it_is_wanted():
    narrow, wide = (safe_law(cart(), widen=widen).verdict.certificate for widen in (False, True))
    widths = [proven_ranges(certificate, cart())["place"] for certificate in (narrow, wide)]
    assert widths[1][1] - widths[1][0] > widths[0][1] - widths[0][0]


def test_laws_push_against_the_fall():
    for law in regulators(systems.cartpole_linear()):
        assert law.predict_hard(np.array([[0.0, 0.0, 0.1, 0.0], [0.0, 0.0, -0.1, 0.0]])).tolist() == ["right", "left"]


def test_three_actions_are_chosen_by_how_hard_a_push_is_wanted():
    for law in regulators(systems.pendulum()):
        turning = np.array([[1.0, 0.0, speed] for speed in (-3.0, 0.0, 3.0)])
        assert law.predict_hard(turning).tolist() == ["positive", "none", "negative"]


def test_a_system_whose_actions_do_nothing_has_no_law():
    idle = systems.AffineSystem(
        "idle",
        states=["x"],
        actions=["a", "b"],
        matrix=[["0.5"]],
        offsets=[[0], [0]],
        initial={"x": 0},
        safe=["x <= 1"],
    )
    with pytest.raises(InputError, match="do the same"):
        safe_law(idle)


def student(n_experts=2):
    random = np.random.default_rng(0)
    leaves = [Tree.leaf([1, 0]) if j % 2 == 0 else Tree.leaf([0, 1]) for j in range(n_experts)]
    return Mixture(random.normal(size=(n_experts, 2)), random.normal(size=n_experts), leaves, ["back", "forth"])


@pytest.mark.parametrize("n_experts", [2, 3, 4])
def test_the_line_begins_at_the_student_and_ends_at_the_law(n_experts):
    states = np.random.default_rng(1).normal(size=(500, 2))
    law = cart_policy()
    start, end = (moved(student(n_experts), law, share, cart(), states) for share in (0.0, 1.0))
    assert np.array_equal(start.predict_hard(states), student(n_experts).predict_hard(states))
    assert np.array_equal(end.predict_hard(states), law.predict_hard(states))


def test_on_the_way_a_policy_agrees_less_and_less_with_the_student():
    states = np.random.default_rng(1).normal(size=(2000, 2))
    own = student().predict_hard(states)
    shares = [
        np.mean(moved(student(), cart_policy(), s, cart(), states).predict_hard(states) == own) for s in (0, 0.5, 1)
    ]
    assert shares[0] == 1 >= shares[1] >= shares[2]


def test_experts_with_trees_cannot_be_moved():
    tree = Tree([0, -1, -1], [0.0, 0.0, 0.0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [1, 0], [0, 1]])
    assert can_be_moved(student())
    assert not can_be_moved(Mixture([[0.0, 0.0], [1.0, 0.0]], [0.0, 0.0], [tree, Tree.leaf([1, 0])], ["back", "forth"]))
