"""Verdicts as people read them."""

import numpy as np

from moet.verify import Proved, Refuted, Trace, Unknown


def test_a_proof_is_told_by_the_first_line_of_its_claim_and_what_it_does_not_say():
    verdict = Proved(claim="Every run is safe.\nThe model sees floats.", checked=True, caveats=("x is large",))
    assert str(verdict) == "Proved: Every run is safe.\nNote: x is large"


def test_a_claim_that_is_a_list_is_told_whole():
    assert str(Proved(claim="Every run:\n  is safe.\n  ends.\nThe model sees floats.")) == (
        "Proved: Every run:\n  is safe.\n  ends."
    )


def test_a_refutation_is_told_by_what_shows_it():
    trace = Trace(np.array([[0.5, 1.0], [1.0, 2.0]]), ("left",))
    assert str(Refuted(trace=trace)) == "Refuted: a run of 1 step from (0.5, 1) shows it, see its trace"
    assert str(Refuted(point=np.array([0.25]), answers=("a", "b"))) == "Refuted: (0.25), answered a and b"
    rows = ({"colour": "red"}, {"colour": "blue"})
    assert str(Refuted(rows=rows)) == "Refuted: {'colour': 'red'} and {'colour': 'blue'}"


def test_an_unknown_says_why():
    assert str(Unknown(reason="time is up")) == "Unknown: time is up"
