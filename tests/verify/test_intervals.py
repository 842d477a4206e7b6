from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moet.verify.checker.loops.intervals import wave_at
from moet.verify.checker.loops.sets.enclosures import BITS, rounded
from moet.verify.systems.intervals import FUNCTIONS, Interval, Slope, cosine, root, sine

numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
shares = st.floats(0, 1)


def interval(a: float, b: float) -> Interval:
    return Interval(np.array(min(a, b)), np.array(max(a, b)))


def point(x: Interval, share: float) -> Fraction:
    low, high = Fraction(float(x.low)), Fraction(float(x.high))
    return low + Fraction(share) * (high - low)


def holds(x: Interval, value: Fraction) -> bool:
    return bool(x.low == -np.inf or Fraction(float(x.low)) <= value) and bool(
        x.high == np.inf or value <= Fraction(float(x.high))
    )


@given(numbers, numbers, numbers, numbers, shares, shares)
def test_arithmetic_holds_the_exact_result(a: float, b: float, c: float, d: float, s: float, t: float) -> None:
    x, y = interval(a, b), interval(c, d)
    p, q = point(x, s), point(y, t)
    assert holds(x + y, p + q)
    assert holds(x - y, p - q)
    assert holds(x * y, p * q)
    assert holds(-x, -p)
    assert holds(x.square(), p * p)
    if q:
        with np.errstate(over="ignore", invalid="ignore"):  # ∞ is a bound too, and of 0·∞ nothing is known
            assert holds(x / y, p / q)


@given(st.floats(-12, 12), st.floats(0, 4), shares)
def test_waves_hold_the_exact_value(low: float, width: float, share: float) -> None:
    x = interval(low, low + width)
    p = rounded(point(x, share))[0]  # an exact point of the grid of the checker, whose series is another program
    assume(point(x, 0) <= Fraction(p, 1 << BITS) <= point(x, 1))
    for function, first in ((sine, 1), (cosine, 0)):
        found, (least, most) = function(x), wave_at(p, first)
        assert float(found.low) * 2.0**BITS <= most
        assert float(found.high) * 2.0**BITS >= least


@given(st.floats(0, 1e6), st.floats(0, 1e6), shares)
def test_root_holds_the_exact_value(a: float, b: float, share: float) -> None:
    x = interval(a, b)
    found, inside = root(x), point(x, share)
    assert Fraction(max(float(found.low), 0.0)) ** 2 <= inside <= Fraction(float(found.high)) ** 2


def test_nothing_is_known_where_nothing_can_be_known() -> None:
    zero_inside = interval(-1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        quotient = interval(1, 1) / zero_inside
        negative_root = root(interval(-1, 1))
    for unknown in (quotient, negative_root):
        assert unknown.low == -np.inf
        assert unknown.high == np.inf


@given(st.floats(-2, 2), st.floats(0, 1), shares, shares)
def test_slopes_hold_the_differences(low: float, width: float, s: float, t: float) -> None:
    lows, highs = np.array([[low]]), np.array([[low + width]])
    (x,) = Slope.variables(lows, highs)
    a, b = low + s * width, low + t * width
    assume(abs(a - b) > 1e-3)
    for name, function in (("sin", np.sin), ("cos", np.cos), ("abs", np.abs)):
        gradient = FUNCTIONS[name](x).gradient
        quotient = (function(a) - function(b)) / (a - b)
        assert gradient.low[0, 0] - 1e-9 <= quotient <= gradient.high[0, 0] + 1e-9
    cube = (x**3).gradient
    assert cube.low[0, 0] - 1e-9 <= (a**3 - b**3) / (a - b) <= cube.high[0, 0] + 1e-9


@pytest.mark.parametrize(("left", "expected"), [(-1.0, (5, 5)), (1.0, (7, 7)), (0.0, (5, 7)), (1e-12, (5, 7))])
def test_a_close_comparison_has_both_outcomes(left: float, expected: tuple[int, int]) -> None:
    x = Slope(Interval(np.array([left]), np.array([left])), Interval(np.zeros((1, 1)), np.zeros((1, 1))))
    zero, five, seven = (Slope.constant(Fraction(n), 1) for n in (0, 5, 7))
    found = FUNCTIONS["choose"](x, zero, five, seven).value
    assert (found.low.item(), found.high.item()) == expected
