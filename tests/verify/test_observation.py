"""What is seen of a state: two pieces of code that share nothing say the same, and NumPy's rounding agrees."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet.errors import CertificateError
from moet.verify.checker.loops.observation import Observation
from moet.verify.systems.observation import seen_edges

THRESHOLDS = st.one_of(
    st.floats(-1e30, 1e30),
    st.floats(-(2.0**100), 2.0**100, width=32),
    st.integers(-140, 100).map(lambda e: math.ldexp(1.0, e)),
    st.integers(-140, 100).map(lambda e: -math.ldexp(1.0, e)),
    st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e-45, 1e300, -1e300, 1.7976931348623157e308]),
)


def seen(value: Fraction, float32: bool) -> float:
    near = float(value)
    return float(np.float32(near)) if float32 else near


@given(THRESHOLDS, st.booleans(), st.fractions(0, 1))
def test_search_and_checker_know_the_same_edges(threshold, float32, noise):
    observation = Observation([noise], float32)
    above, below = seen_edges(threshold, float32)
    assert observation.largest_below(0, threshold) == below + noise
    assert observation.least_above(0, threshold) == above - noise


@given(THRESHOLDS.filter(lambda t: abs(t) < 1e30), st.booleans(), st.integers(-3, 3), st.sampled_from([1, 2, 3, 1000]))
def test_a_state_beyond_an_edge_is_seen_on_that_side(threshold, float32, steps, shares):
    above, below = seen_edges(threshold, float32)
    middle = (above + below) / 2
    unit = abs(middle - Fraction(threshold)) + Fraction(1, 2**1080)
    state = middle + steps * unit / shares
    if seen(state, float32) <= threshold:
        assert state <= below
    else:
        assert state >= above


@given(st.fractions(-1000, 1000), st.booleans())
def test_the_error_of_what_is_seen_has_its_bound(state, float32):
    (error,) = Observation([Fraction(0)], float32).errors([abs(state)])
    assert abs(Fraction(seen(state, float32)) - state) <= error


def test_noise_is_rounded_too():
    quiet, noisy = (Observation([noise], True).errors([Fraction(1)])[0] for noise in (Fraction(0), Fraction(1000)))
    assert noisy > 1000 + 900 * quiet


@pytest.mark.parametrize(("float32", "size"), [(False, 2**1020), (True, 2**126)])
def test_what_may_be_infinite_is_refused(float32, size):
    with pytest.raises(CertificateError, match="range"):
        Observation([Fraction(0)], float32).errors([Fraction(size)])
