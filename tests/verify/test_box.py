import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet.errors import InputError
from moet.verify.box import Box

NAMES = ["x", "theta", "theta_dot"]


def test_sides_by_name_and_open_sides():
    lo, hi = Box(theta=(0.15, 0.2), theta_dot=(0.5, None)).bounds(NAMES)
    assert lo.tolist() == [-math.inf, 0.15, 0.5]
    assert hi.tolist() == [math.inf, 0.2, math.inf]


def test_from_bounds_is_positional_and_copies():
    low = np.zeros(3)
    box = Box.from_bounds(low, [1, 2, math.inf])
    low[0] = 7
    lo, hi = box.bounds(NAMES)
    lo[1] = 9
    assert box.bounds(NAMES)[0].tolist() == [0, 0, 0]
    assert hi.tolist() == [1, 2, math.inf]


def test_a_feature_may_have_any_name():
    box = Box(**{"age (years)": (18, None), "self": (0, 1)})
    assert box.bounds(["self", "age (years)"])[0].tolist() == [0, 18]
    assert eval(repr(box)) == box


@pytest.mark.parametrize("box", [Box(), Box(x=(None, 1.0)), Box.from_bounds([0.0, -1.0], [1.0, 1.0])])
def test_repr_rebuilds_the_box(box):
    assert eval(repr(box)) == box
    assert box != Box(x=(3, 4))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("theta>=0.15,theta_dot>=0.5", Box(theta=(0.15, None), theta_dot=(0.5, None))),
        (" -1 <= x <= 1e3 , theta=0 ", Box(x=(-1, 1e3), theta=(0, 0))),
        ("x>=0, x<=2, x>=1", Box(x=(1, 2))),
        ("", Box()),
    ],
)
def test_parse(text, expected):
    assert Box.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x>1", "closed sides"),
        ("x", "cannot read"),
        ("x>=a", "not a number"),
        ("x>=nan", "finite"),
        ("x>=inf", "finite"),
        ("1>=x>=0", "cannot read"),
        ("x>=2,x<=1", "empty"),
    ],
)
def test_parse_says_what_is_wrong(text, message):
    with pytest.raises(InputError, match=message):
        Box.parse(text)


@pytest.mark.parametrize("side", [(2, 1), (math.nan, 1), (math.inf, None), (None, -math.inf), 3, ("a", 1), (1, 2, 3)])
def test_empty_and_senseless_sides_are_errors(side):
    with pytest.raises(InputError, match="x"):
        Box(x=side)


@pytest.mark.parametrize(("lo", "hi"), [([0], [0, 1]), ([[0]], [[1]]), ([1], [0]), ([math.nan], [1]), (["a"], [1])])
def test_bad_bounds_are_errors(lo, hi):
    with pytest.raises(InputError):
        Box.from_bounds(lo, hi)


def test_unknown_features_get_a_suggestion():
    with pytest.raises(InputError, match="did you mean 'theta'"):
        Box(tehta=(0, 1)).bounds(NAMES)
    with pytest.raises(InputError, match="2 features, the model 3"):
        Box.from_bounds([0, 0], [1, 1]).bounds(NAMES)


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)).map(sorted), min_size=1, max_size=4))
def test_parse_reads_what_is_written_to_the_last_bit(sides):
    names = [f"x{k}" for k in range(len(sides))]
    text = ", ".join(f"{low!r}<={name}<={high!r}" for name, (low, high) in zip(names, sides, strict=True))
    lo, hi = Box.parse(text).bounds(names)
    assert [list(side) for side in zip(lo.tolist(), hi.tolist(), strict=True)] == [list(side) for side in sides]
