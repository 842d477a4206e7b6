"""Ways from a student to a safe law."""

import numpy as np
import pytest

from moet import Mixture, Tree
from moet.distill import Teacher
from moet.distill.line import moved
from moet.distill.ways import ALL, Search, fidelity, unrest, ways_of
from moet.verify import systems

DAMPED = np.array([3.27, 6.89, 100.0, 23.71])
LOOSE = np.array([3.5, 1.59, 100.0, 25.53])
"""Damps the cart too little."""


def line(gains):
    leaves = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    return Mixture([[0.0] * 4, gains.tolist()], [0.0, 0.0], leaves, ["left", "right"], prediction="hard")


def teacher(gains):
    return Teacher.from_callable(lambda x: (x @ gains > 0).astype(int), n_actions=2)


def policy_between(shares):
    states = np.random.default_rng(0).uniform(-0.1, 0.1, (100, 4))
    return moved(line(LOOSE), line(DAMPED), shares, systems.cartpole(), states)


def test_a_way_moves_its_own_state_and_no_other():
    ways = {way.name: way.moves for way in ways_of(systems.cartpole())}
    assert list(ways) == [ALL, "position", "velocity", "angle", "angular_velocity"]
    student, there = policy_between(0.0), policy_between(ways["velocity"])
    ratio = (there.gate_weights[1] - there.gate_weights[0]) / (student.gate_weights[1] - student.gate_weights[0])
    assert np.ptp(np.delete(ratio, 1)) < 1e-12 * ratio[0]
    assert ratio[1] > 2 * ratio[0]


def test_a_policy_is_as_faithful_in_simulation_as_it_imitates():
    assert fidelity(line(DAMPED), teacher(DAMPED), systems.cartpole()) == 1.0
    assert fidelity(line(LOOSE), teacher(DAMPED), systems.cartpole()) < 0.99
    assert fidelity(line(-DAMPED), teacher(DAMPED), systems.cartpole()) == 0.0, "it falls"


def test_what_is_damped_well_comes_to_rest_sooner():
    system = systems.cartpole()
    assert unrest(line(DAMPED), system) < unrest(line(LOOSE), system)
    assert unrest(line(-DAMPED), system) == np.inf


@pytest.mark.parametrize("provable", [0.0, 0.3])
def test_the_search_asks_for_less_and_less_of_the_way(provable):
    asked = []

    def ask(way, share):
        asked.append((way.name, share))
        return way.name == "velocity" and share >= provable, 0.95 + 0.01 * (1 - share)

    Search(policy_between, teacher(LOOSE), systems.cartpole(), ask).run(0.9, lambda: len(asked) > 30)
    shares = [share for name, share in asked if name == "velocity"]
    assert len(shares) == 4
    proved = min(share for share in shares if share >= provable)
    assert provable <= proved <= provable + max(shares) / 8 + 1e-9


def test_nothing_is_asked_when_time_is_up():
    asked = []
    Search(policy_between, teacher(LOOSE), systems.cartpole(), lambda *one: asked.append(one)).run(0.9, lambda: True)
    assert asked == []
