"""Every question about any system ends in a verdict or an error of ours, whatever its equations do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet import Mixture, Tree
from moet.errors import InputError, MoetError
from moet.verify import Unknown, reaches, safe
from moet.verify.result import Verdict
from moet.verify.systems import AffineSystem, NonlinearSystem

TOWER = "((((x + 9)**16)**16)**16)**16"
STAY = Mixture([[0.0]], [0.0], [Tree.leaf([1.0])], classes=["stay"])


def system(step: str, **changes) -> NonlinearSystem:
    """One state."""
    description = {
        "states": ["x"],
        "actions": ["stay"],
        "inputs": {},
        "step": {"x": step},
        "initial": {"x": (-1, 1)},
        "safe": ["-2 <= x <= 2"],
        "goal": ["x >= 1.5"],
    }
    return NonlinearSystem("hostile", **(description | changes))


@pytest.mark.parametrize("step", ["sqrt(x)", "x / 0", "1 / (x - x)", "sqrt(x - 9)", "x * 1e308 * 1e308", TOWER])
@pytest.mark.parametrize("steps", [3, 100, None])
def test_where_a_step_has_no_value_nothing_is_known(step, steps):
    assert isinstance(safe(STAY, system(step), steps), Unknown)


@pytest.mark.parametrize("step", ["sqrt(x)", "x / 0", "1 / x"])
def test_goals_without_a_value_are_not_reached(step):
    assert not reaches(STAY, system(step), within=3)


def test_a_reason_names_what_the_equations_may_do():
    assert "divide by zero" in safe(STAY, system("sqrt(x)"), 3).reason


@pytest.mark.parametrize("number", ["1e400", "1e999", 10**400])
def test_numbers_beyond_float64_are_errors(number):
    with pytest.raises(InputError, match="float64"):
        system("x", initial={"x": (0, number)})
    with pytest.raises(InputError, match="float64"):
        system(f"x + {number}")
    with pytest.raises(InputError, match="float64"):
        system("x", safe=[f"x <= {number}"])


@pytest.mark.parametrize("step", ["-" * 900 + "x", "+".join(["x"] * 900), "(" * 90 + "x" + ")" * 90 + "**2" * 90])
def test_expressions_that_are_too_deep_are_errors(step):
    with pytest.raises(InputError):
        system(step)


@pytest.mark.parametrize("steps", [3, 60, 300, None])
def test_an_affine_system_that_grows_beyond_float64_is_no_exception(steps):
    exploding = AffineSystem(
        "exploding",
        states=["x"],
        actions=["stay"],
        matrix=[["1e200"]],
        offsets=[["1e300"]],
        initial={"x": (0, 1)},
        safe=["x >= -1"],
    )
    assert isinstance(safe(STAY, exploding, steps), Verdict)


NUMBERS = st.sampled_from(["0", "1", "0.5", "1e-300", "1e300", "1e150", "1/3", "7e-160"])
NAMES = st.sampled_from(["x", "y"])


def _larger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({}{}{})".format, parts, st.sampled_from("+-*/"), parts),
        st.builds("{}({})".format, st.sampled_from(["sin", "cos", "sqrt", "abs"]), parts),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), parts, parts),
        st.builds("({})**{}".format, parts, st.integers(1, 16)),
        st.builds("({} if {} <= {} else {})".format, parts, parts, parts, parts),
    )


EXPRESSIONS = st.recursive(st.one_of(NUMBERS, NAMES), _larger, max_leaves=6)
SIDES = st.sampled_from([(-1, 1), (0, 0), ("1/3", "1/3"), (-1e300, 1e300), (1e-300, 1), (5e-324, 1e-310), (-3, -2)])


@settings(max_examples=40, deadline=None)
@given(EXPRESSIONS, EXPRESSIONS, SIDES, SIDES, st.sampled_from([0, 1, 1e300, 1e-300]), st.sampled_from([2, 80, None]))
def test_random_equations_end_in_a_verdict_or_an_error_of_ours(first, second, x, y, noise, steps):
    tree = Tree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], np.eye(2)[[0, 1, 0]])
    policy = Mixture([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [tree, Tree.leaf([1, 0])], classes=["a", "b"])
    try:
        hostile = NonlinearSystem(
            "hostile",
            states=["x", "y"],
            actions=["a", "b"],
            inputs={},
            step={"x": first, "y": second},
            initial={"x": x, "y": y},
            safe=["-2 <= x <= 2"],
            goal=["y >= 1"],
            disturbance={"x": noise},
        )
        assert isinstance(safe(policy, hostile, steps, cpu_limit=0.5), Verdict)
        assert isinstance(reaches(policy, hostile, within=2, cpu_limit=0.5), Verdict)
    except MoetError:
        pass
