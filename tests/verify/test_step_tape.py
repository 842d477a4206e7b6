"""The compiled arithmetic of steps, against that of :mod:`moet.verify.systems.intervals` and against true steps."""

import numpy as np
import pytest

from moet.verify.systems import NonlinearSystem
from moet.verify.systems.enclose import _next, residual_ranges
from moet.verify.systems.intervals import Interval
from moet.verify.systems.slopes_kernel import missed
from moet.verify.systems.tape import CONSTANT, INPUT, VARIABLE, tape_of

TERMS = [
    "sin({a})",
    "cos({a} + {b})",
    "tan({a} / 2)",
    "exp(-{a})",
    "sqrt({a})",
    "{a} * {b}",
    "{a} / {b}",
    "{a}**2",
    "{a}**5",
    "abs({a})",
    "min({a}, {b})",
    "max({a}, p * {b})",
    "({a} if {b} <= 0.2 else {b} - {a})",
    "-p * ({a} - {b}) / (2 + {a}**2)",
]


def random_system(random: np.random.Generator) -> NonlinearSystem:
    """Three states, each the sum of two functions of states, names and inputs."""
    names = ["x", "y", "z", "shared"]

    def term() -> str:
        a, b = random.choice(names[: 3 + used], 2)
        return str(random.choice(TERMS)).format(a=a, b=b)

    used = 0
    let = {"shared": f"0.3 * x - {term()}"}
    used = 1
    return NonlinearSystem(
        "random",
        states=("x", "y", "z"),
        actions=("left", "right"),
        inputs={"p": ("-0.4", "1/3")},
        let=let,
        step={name: f"{term()} - 0.7 * {term()}" for name in ("x", "y", "z")},
        initial={"x": 0, "y": 0, "z": 0},
        safe=["x <= 1"],
    )


def random_boxes(random: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Boxes of all sizes; some have no width along some of their sides, some are on one side of 0."""
    middle = random.normal(size=(3, n)) * random.choice([0.3, 1.0, 4.0], n)
    width = 10 ** random.uniform(-9, 0.3, (3, n)) * (random.random((3, n)) < 0.9)
    return middle - width, middle + width


def by_arrays(system, matrix, actions, low, high):
    """Bounds in mean value form, values in the middle, and blame, with the intervals of arrays."""
    middle = low / 2 + high / 2
    box, centre = _next(system, actions, low, high), _next(system, actions, middle, middle)
    deviation = Interval(low, high) - Interval(middle, middle)
    bounds, values, blame = [], [], np.zeros_like(low)
    for k, row in enumerate(matrix):
        change = (box[k].gradient - Interval(row[:, None], row[:, None])) * deviation
        value, natural = centre[k].value, box[k].value
        for j in np.flatnonzero(row):
            slope = Interval(row[j], row[j])
            value = value - slope * Interval(middle[j], middle[j])
            natural = natural - slope * Interval(low[j], high[j])
        total = value
        for j in range(len(row)):
            total = total + Interval(change.low[j], change.high[j])
        bounds.append(total.meet(natural))
        values.append(value)
        width = np.where(np.isfinite(change.high - change.low), change.high - change.low, 1e200 * (high - low))
        blame = np.maximum(blame, np.where(high > low, width, 0))
    return bounds, values, blame


@pytest.mark.parametrize("seed", range(40))
def test_compiled_bounds_are_those_of_arrays(seed):
    random = np.random.default_rng(seed)
    system, n = random_system(random), 200
    low, high = random_boxes(random, n)
    matrix = random.normal(size=(3, 3)) * (random.random((3, 3)) < 0.7)
    actions = random.integers(2, size=n)
    bounds, middles = np.empty((2, 3, n)), np.empty((2, 3, n))
    blame = missed(tape_of(system), matrix, actions, low, high, bounds, middles)
    with np.errstate(all="ignore"):
        expected, values, blamed = by_arrays(system, matrix, actions, low, high)
    known = blamed < 1e150  # arrays say that all derivatives are infinite where one is
    np.testing.assert_allclose(blame[known], blamed[known], rtol=1e-9, atol=1e-12)
    same = np.all(known, axis=0)
    for k in range(3):
        for found, one in ((bounds[:, k], expected[k]), (middles[:, k], values[k])):
            low, high = np.broadcast_to(one.low, n), np.broadcast_to(one.high, n)
            assert np.all((found[0] >= low - 1e-9 * (1 + np.abs(low))) & (found[1] <= high + 1e-9 * (1 + np.abs(high))))
            same &= np.isfinite(low) & np.isfinite(high)
            np.testing.assert_allclose(found[:, same], np.array([low, high])[:, same], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_no_step_misses_the_ranges(seed):
    random = np.random.default_rng(seed)
    system = random_system(random)
    low, high = random_boxes(random, 6)
    matrix = random.normal(size=(3, 3))
    least, most = residual_ranges(system, matrix, low.T, high.T)
    for box in range(6):
        states = random.uniform(low[:, box], high[:, box], (300, 3))
        for action in range(2):
            with np.errstate(all="ignore"):
                rest = system.successor(states, np.full(300, action)) - states @ matrix.T
            known = np.isfinite(rest)
            slack = 1e-12 * (1 + np.abs(rest))
            inside = (least[box, action] - slack <= rest) & (rest <= most[box, action] + slack)
            assert np.all(inside | ~known)


def test_a_system_needs_no_inputs():
    description = {"step": {"x": "x / 2 - x**3"}, "initial": {"x": 0}, "safe": ["x <= 1"]}
    system = NonlinearSystem("alone", states=("x",), actions=("stay",), **description)
    least, most = residual_ranges(system, np.array([[0.5]]), np.array([[-1.0]]), np.array([[1.0]]))
    np.testing.assert_allclose([least[0, 0, 0], most[0, 0, 0]], [-1, 1], atol=0.2)


def test_what_occurs_twice_is_computed_once():
    system = NonlinearSystem(
        "twice",
        states=("x",),
        actions=("stay",),
        inputs={"p": (1,)},
        step={"x": "sin(x + p) * sin(x + p) + 0.5 * 0.5"},
        initial={"x": 0},
        safe=["x <= 1"],
    )
    codes = tape_of(system).codes.tolist()
    assert (codes.count(VARIABLE), codes.count(INPUT), codes.count(CONSTANT)) == (1, 1, 1)
    assert len(codes) == 8
    assert tape_of(system).uses[:, 0].tolist() == [True, False, True, True, True, False, False, True]
