from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet.verify.rational import Row, Side, decide

NUMBERS = st.fractions(-3, 3, max_denominator=3)


@st.composite
def problems(draw):
    n = draw(st.integers(1, 4))
    rows = draw(
        st.lists(
            st.builds(Row, st.lists(NUMBERS, min_size=n, max_size=n), NUMBERS, st.booleans()), min_size=0, max_size=6
        )
    )
    side = st.none() | st.builds(Side, NUMBERS, st.booleans())
    lower, upper = (draw(st.lists(side, min_size=n, max_size=n)) for _ in range(2))
    start = draw(st.none() | st.lists(NUMBERS, min_size=n, max_size=n))
    return rows, lower, upper, start


def holds(value: Fraction, bound: Fraction, strict: bool) -> bool:
    return value > bound or (value == bound and not strict)


def is_contradiction(multipliers, rows, lower, upper) -> bool:
    """Whether the multiplied rows add up to something that the bounds of the variables rule out."""
    if not multipliers:
        pairs = [(low, high) for low, high in zip(lower, upper, strict=True) if low and high]
        return any(not holds(high.bound, low.bound, low.strict or high.strict) for low, high in pairs)
    assert all(factor > 0 for factor in multipliers.values())
    most, strict = Fraction(0), any(rows[i].strict for i in multipliers)
    for k, (low, high) in enumerate(zip(lower, upper, strict=True)):
        direction = sum(factor * rows[i].coefficients[k] for i, factor in multipliers.items())
        if direction:
            side = high if direction > 0 else low
            if side is None:
                return False
            most, strict = most + direction * side.bound, strict or side.strict
    bound = sum(factor * rows[i].bound for i, factor in multipliers.items())
    return most < bound or (most == bound and strict)


@settings(max_examples=100)
@given(problems())
def test_every_verdict_proves_itself(problem):
    rows, lower, upper, start = problem
    verdict = decide(rows, lower, upper, start)
    if isinstance(verdict, dict):
        assert is_contradiction(verdict, rows, lower, upper)
        return
    for row in rows:
        value = sum((c * v for c, v in zip(row.coefficients, verdict, strict=True)), Fraction(0))
        assert holds(value, row.bound, row.strict)
    for value, low, high in zip(verdict, lower, upper, strict=True):
        assert low is None or holds(value, low.bound, low.strict)
        assert high is None or holds(-value, -high.bound, high.strict)


@pytest.mark.parametrize("strict", [False, True])
def test_a_tie_is_a_point_unless_it_is_strict(strict):
    tie = [Row([Fraction(1), Fraction(-1)], Fraction(0)), Row([Fraction(-2), Fraction(2)], Fraction(0), strict)]
    verdict = decide(tie, [None, None], [None, None])
    assert isinstance(verdict, dict) == strict
    if isinstance(verdict, dict):
        assert verdict[0] == 2 * verdict[1]  # exactly, which no rounding would give
