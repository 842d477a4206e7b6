"""Sides of the sets of a proof over many steps."""

import numpy as np
import pytest

from moet.verify import systems
from moet.verify.loops.sets.enclosures import linearised
from moet.verify.loops.sets.template import contracting, pulled_back

GATE = np.array([0.035, 0.016, 1.0, 0.256])
NEAR = np.full(4, 1e-6)


def loop(system):
    return linearised(system, -NEAR, NEAR)


def test_limits_are_followed_back_as_often_as_asked_and_both_ways():
    rows = pulled_back(*loop(systems.cartpole()), GATE, np.eye(4)[[0, 2]], 10, 5)
    assert rows.shape == (2 * 2 * 5, 4)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.array_equal(rows[:10], -rows[10:])
    assert len(pulled_back(*loop(systems.cartpole()), GATE, np.eye(4)[[0, 2]], 10, 0)) == 0
    assert len(pulled_back(*loop(systems.cartpole()), GATE, np.zeros((0, 4)), 10, 5)) == 0


def test_a_row_tells_what_its_limit_will_be_while_the_policy_switches():
    matrix, offsets = loop(systems.cartpole_linear())
    rows = pulled_back(matrix, offsets, GATE, np.eye(4)[:1], 10, 11)
    now = np.array([[1.0, 0, -0.035, 0], [0, 1.0, -0.016, 0]])[:, None]  # where the gate switches
    now = now + np.random.default_rng(0).uniform(-0.1, 0.1, (500, 1)) * [0, 0, 0, 1]  # at any phase of switching
    later = now
    for _ in range(100):
        later = later @ matrix.T + offsets[(later @ GATE > 0).astype(int)]
    told, at_once, seen = ((x @ row).mean(axis=1) for x, row in ((now, rows[10]), (now, rows[0]), (later, rows[0])))
    # rows have length one, so they tell it but for a factor, and but for what the switching adds
    assert seen[0] / seen[1] == pytest.approx(told[0] / told[1], rel=0.3)
    assert abs(at_once[0] / at_once[1]) > 10 * told[0] / told[1], "much has happened until then"


def test_loops_of_several_inputs_have_no_such_rows():
    two_inputs = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    assert len(pulled_back(np.eye(4), two_inputs, GATE, np.eye(4), 10, 5)) == 0
    assert np.isfinite(contracting(0.9 * np.eye(4), two_inputs, GATE)).all()
