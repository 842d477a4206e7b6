"""The checker's own bounds of a step: every state is cut where it needs it, and for itself."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from moet.errors import CertificateError
from moet.verify import Proved, safe
from moet.verify.checker.documents.dynamics import Equations
from moet.verify.checker.documents.system import read_system
from moet.verify.checker.loops.equations import Operations
from moet.verify.checker.loops.intervals import BITS, ONE, Undefined, times
from moet.verify.checker.loops.sets import enclosures
from moet.verify.checker.loops.sets.enclosures import EnclosureChecker
from moet.verify.checker.meter import Meter
from moet.verify.systems import NonlinearSystem

from .loops import heater, tank, valve

VARIANTS = [*itertools.product((0.1, 0.2, 0.4), repeat=3)]
SIDES = np.array([-1.0, -1.0, -1.0]), np.array([1.0, 1.0, 1.0])


def three_states(wave: float, kink: float, bend: float, **changes) -> NonlinearSystem:
    """A sine, a maximum and a product, each of two other states."""
    description = {
        "states": ["x", "y", "z"],
        "actions": ["down", "up"],
        "inputs": {"u": ("-0.1", "0.1")},
        "step": {
            "x": f"0.5*x + {wave}*sin(6*z + y)",
            "y": f"0.5*y + {kink}*max(x, y) + u",
            "z": f"0.5*z + {bend}*y*x",
        },
        "initial": dict.fromkeys("xyz", (-0.5, 0.5)),
        "safe": [f"-3 <= {name} <= 3" for name in "xyz"],
    }
    return NonlinearSystem("three", **(description | changes))


def checked(system: NonlinearSystem, low: np.ndarray, high: np.ndarray, shrink: float = 0.0) -> None:
    """Have the checker confirm what the search says about a step on a box, or a little more than that."""
    matrix = system.fitted_matrix(low, high)
    (least,), (most,) = system.residuals(matrix, low[None], high[None])
    least, most = least + shrink * (most - least), most - shrink * (most - least)
    checker = EnclosureChecker(read_system(system), Meter())
    box = [(Fraction(a), Fraction(b)) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    rows = [[Fraction(value) for value in row] for row in matrix.tolist()]
    for action in range(len(system.actions)):
        sides = [[Fraction(value) for value in side[action].tolist()] for side in (least, most)]
        checker.check(rows, box, action, *sides)


@pytest.mark.parametrize("numbers", VARIANTS, ids=str)
def test_three_states_take_as_many_boxes_as_each_of_them_needs(monkeypatch, numbers):
    # cut together, they would take the product of what each needs: thousands
    monkeypatch.setattr(enclosures, "MAX_BOXES", 400)
    checked(three_states(*numbers), *SIDES)


@pytest.mark.parametrize("numbers", [(0.1, 0.2, 0.4), (0.4, 0.4, 0.4)])
def test_bounds_that_are_too_narrow_are_refused(numbers):
    with pytest.raises(CertificateError, match="does not hold"):
        checked(three_states(*numbers), *SIDES, shrink=0.2)


@pytest.mark.parametrize("numbers", VARIANTS, ids=str)
def test_proofs_of_three_states_with_sine_maximum_and_product_are_accepted(numbers):
    # once 26 of 27 such proofs were refused: the checker cut all states together, and ran out of boxes
    wide = [f"-8 <= {name} <= 8" for name in "xyz"]
    verdict = safe(heater_of_three(), three_states(*numbers, safe=wide), 2)
    assert isinstance(verdict, Proved)
    assert verdict.checked


def heater_of_three():
    from moet import Mixture

    two = heater()
    return Mixture(np.eye(3)[:2], [0.0, 0.1], two.trees, classes=["down", "up"])


def test_where_a_step_has_no_value_the_box_is_cut():
    # on all of the box the root may be of a negative number; on its halves the maximum is known
    system = tank(step={"level": "level + 0.1 * (inflow - 0.15 * sqrt(max(level, 1 - level)))"})
    checked(system, np.array([-1.0]), np.array([2.0]))
    negative = EnclosureChecker(read_system(tank()), Meter())
    anything = [[Fraction(-(10**6))], [Fraction(10**6)]]
    with pytest.raises(CertificateError, match="does not hold"):
        negative.check([[Fraction(1)]], [(Fraction(-1), Fraction(1))], 0, *anything)


def test_products_of_intervals_are_rounded_outward():
    rng = np.random.default_rng(0)
    for _ in range(500):
        ends = [int(value) << 60 for value in rng.integers(-5, 6, 4)]
        a, b = (min(ends[:2]), max(ends[:2])), (min(ends[2:]), max(ends[2:]))
        products = [x * y for x in a for y in b]
        assert times(a, b) == (min(products) >> BITS, -(-max(products) >> BITS))


@pytest.mark.parametrize("x", [0.0, 1.0, -2.5, 60.0, -1000.25, 123456.75])
def test_sine_and_cosine_of_many_turns_are_sharp(x):
    step = Equations({}, [], ["sin(x)", "cos(x)"])
    point = int(Fraction(x) * ONE)
    values = Operations(["x", "y"], 1, step).values((0, 1), [(point, point), (0, 0)], 0, slopes=False)
    for ((low, high), _), exact in zip(values, (np.sin(x), np.cos(x)), strict=True):
        assert low / ONE - 1e-15 <= exact <= high / ONE + 1e-15
        assert high - low < 100


def test_equal_parts_of_equations_are_computed_once():
    once = Operations(["x"], 1, Equations({}, [], ["sin(x) + 1"]))
    shared = Operations(["x"], 1, Equations({}, [("a", "sin(x) + 1")], ["a - (sin(x) + 1)"]))
    assert shared.size == once.size + 1


def test_what_is_beyond_float64_has_no_value():
    huge = Operations(["x"], 1, Equations({}, [], ["(x * 1e300)**2"]))
    with pytest.raises(Undefined, match="range"):
        huge.values((0,), [(ONE, ONE)], 0, slopes=False)


def test_a_valve_is_checked_with_its_root():
    verdict = safe(valve(), tank(), 20)
    assert isinstance(verdict, Proved)
    assert verdict.checked
