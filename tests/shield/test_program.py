"""The program of a step: what it computes, and that its rounding is as small as the checker says."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet.errors import CertificateError
from moet.shield.kernel import _polynomial, explained
from moet.shield.program import Operation, polynomials, step_program, terms_for
from moet.verify import systems
from moet.verify.checker.documents.system import read_system
from moet.verify.checker.loops.intervals import BITS
from moet.verify.checker.loops.sets.roundoff import FloatStep
from moet.verify.checker.meter import Meter
from moet.verify.systems.equations import Algebra

CUT_OFF = 2.0**-56


def computed(program, terms, state, action):
    """What the program computes, line by line in Python's floats."""
    sines, cosines = polynomials(terms)
    registers = [*state, *program.inputs[action].tolist(), *program.constants.tolist()]
    horner = _polynomial.py_func
    rules = [
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        lambda a, b: a / b,
        lambda a, b: -a,
        lambda a, b: a * horner(sines, 0, terms, a * a),
        lambda a, b: horner(cosines, 0, terms, a * a),
    ]
    for operation, a, b, *_ in program.code.tolist():
        registers.append(float(rules[operation](registers[a], registers[b])))
    return [registers[k] for k in program.outputs]


def exactly(system, state, action):
    """The next state with fifty digits."""
    functions = {"sin": mpmath.sin, "cos": mpmath.cos}
    inputs = {name: mpmath.mpf(values[action].numerator) for name, values in system.inputs.items()}
    algebra = Algebra(lambda value: mpmath.mpf(value.numerator) / value.denominator, functions)
    return system.next_values([mpmath.mpf(x) for x in state], inputs, algebra)


@settings(max_examples=100)
@given(st.tuples(st.floats(-2, 2), st.floats(-3, 3), st.floats(-0.2, 0.2), st.floats(-3, 3)), st.sampled_from([0, 1]))
def test_rounding_is_within_what_the_checker_allows(state, action):
    system = systems.cartpole()
    terms = terms_for(0.2, CUT_OFF)
    box = [(Fraction(-x), Fraction(x)) for x in (2, 3, 0.2, 3)]
    allowed = FloatStep(read_system(system), box, terms, Meter()).errors()
    found = computed(step_program(system), terms, state, action)
    with mpmath.workdps(50):
        for one, true, most in zip(found, exactly(system, state, action), allowed, strict=True):
            assert abs(mpmath.mpf(one) - true) <= mpmath.mpf(most) / 2**BITS


def divided(divisor):
    """A system that divides by a number."""
    return systems.NonlinearSystem(
        "divided",
        states=["x"],
        actions=["go", "stop"],
        inputs={"push": (-1, 1)},
        step={"x": f"(x + 0.1 * push) / {divisor}"},
        initial={"x": (0, "0.5")},
        safe=["x <= 1"],
        domain={"x": (-10, 10)},
    )


@settings(max_examples=100)
@given(st.floats(-3, 3), st.integers(1, 10**6), st.integers(1, 10**6))
def test_rounding_of_a_product_with_a_reciprocal_is_within_what_the_checker_allows_a_quotient(x, whole, thousandths):
    system = divided(f"{whole}.{thousandths}")
    program = step_program(system)
    assert Operation.DIVIDE not in program.code[:, 0]
    (allowed,) = FloatStep(read_system(system), [(Fraction(-3), Fraction(3))], 2, Meter()).errors()
    for action in (0, 1):
        (found,) = computed(program, 2, [x], action)
        with mpmath.workdps(50):
            (true,) = exactly(system, [x], action)
            assert abs(mpmath.mpf(found) - true) <= mpmath.mpf(allowed) / 2**BITS


@pytest.mark.parametrize(("divisor", "divides"), [("8", False), ("1e-300", False), ("1e-305", True), ("(x + 4)", True)])
def test_only_numbers_whose_reciprocal_loses_nothing_are_multiplied_with(divisor, divides):
    assert (Operation.DIVIDE in step_program(divided(divisor)).code[:, 0]) == divides


def test_the_bound_of_rounding_is_not_idle():
    box = [(Fraction(-x), Fraction(x)) for x in (2, 3, 0.2, 3)]
    allowed = FloatStep(read_system(systems.cartpole()), box, terms_for(0.2, CUT_OFF), Meter()).errors()
    assert all(error / 2**BITS < 1e-14 for error in allowed)


@pytest.mark.parametrize("argument", [0.01, 0.2, 1.0, 3.6, 8.0])
def test_polynomials_are_sine_and_cosine(argument):
    terms = terms_for(argument, CUT_OFF)
    for coefficients, true in zip(polynomials(terms), (np.sin(argument) / argument, np.cos(argument)), strict=True):
        assert _polynomial.py_func(coefficients, 0, terms, argument * argument) == pytest.approx(true, abs=2e-12)


def test_growth_that_is_claimed_too_small_is_refused():
    box = [(Fraction(-x), Fraction(x)) for x in (2, 3, 0.2, 3)]
    step = FloatStep(read_system(systems.cartpole()), box, 7, Meter())
    step.check_growth([Fraction(1)] * 4, Fraction(3, 2))
    with pytest.raises(CertificateError, match="grow"):
        step.check_growth([Fraction(1)] * 4, Fraction(11, 10))


def test_a_step_of_the_system_is_explained_and_another_one_is_not(pole_shield):
    x = np.array([0.1, 0.2, 0.01, -0.1])
    following = pole_shield.system.successor(x[None], [1])[0]
    assert explained(x, 1, following.astype(np.float32).astype(float), *pole_shield._packed)
    assert not pole_shield.explains(x, 0, following)
    assert not pole_shield.explains(x, 1, following + np.array([0, 0, 1e-4, 0]))
