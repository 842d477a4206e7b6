"""Limits that runs touch exactly, before any control has a say."""

import pytest

from moet.verify import Proved, Refuted, Unknown, meets, systems

from .plants import law


def integrator(**changes):
    """A double integrator: its place is out of reach of the control for one step."""
    description = {
        "states": ["x", "v"],
        "controls": {"u": (-1, 1)},
        "matrix": [[1, 1], [0, 1]],
        "input_matrix": [[0], [1]],
        "initial": {"x": ("-0.5", "0.5"), "v": ("-0.5", "0.5")},
    }
    return systems.AffineSystem("integrator", **(description | changes))


BRAKE = law([[-0.5, -1.2]], [0.0], ["u"])


def test_a_limit_that_is_met_exactly_in_the_first_step_is_kept():
    verdict = meets(BRAKE, integrator(), "-1 <= x <= 1 until 5")
    assert isinstance(verdict, Proved)
    assert verdict.checked


def test_a_limit_that_is_met_exactly_is_kept_for_ever():
    assert isinstance(meets(BRAKE, integrator(), "-1 <= x <= 1"), Proved)


@pytest.mark.parametrize("changes", [{"offset": ["1/1000", 0]}, {"disturbance": {"x": "1/1000"}}])
def test_what_is_added_in_the_step_counts(changes):
    assert isinstance(meets(BRAKE, integrator(**changes), "x <= 1 until 1"), Refuted)
    assert isinstance(meets(BRAKE, integrator(**changes), "x <= 1.001 until 1"), Proved)


def test_a_limit_that_the_control_must_keep_exactly_is_not_claimed():
    stop = law([[0.0, -1.0]], [0.0], ["u"])
    verdict = meets(stop, integrator(initial={"x": 0, "v": (0, "0.3")}), "v <= 0 from 1 to 2")
    assert isinstance(verdict, Unknown)
