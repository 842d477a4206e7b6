from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet import RegressionMixture, RegressionTree
from moet.errors import InputError
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.documents.laws import read_laws, rounded_law
from moet.verify.checker.inputs.gate import GateConditions, rounded_logits
from moet.verify.checker.meter import Meter
from moet.verify.outputs.laws import Laws
from moet.verify.rounding import gate_epsilon, gate_errors, logit_errors

from .small import half_planes, rounding_victim, single, stump

NUMBERS = st.one_of(
    st.sampled_from([0.0, 5e-324, -1e-308, 1e-160, 1e16, -1e16, 1.0, 0.1]), st.floats(-1e6, 1e6, allow_subnormal=True)
)


TINY = st.one_of(st.sampled_from([0.0, 5e-324, -5e-324, 1e-310, -1e-300]), st.floats(-1e-300, 1e-300))
HUGE = st.one_of(st.sampled_from([1.7e308, -1e308, 1e150, 0.0]), st.floats(-1e308, 1e308))


def float_logit(bias: float, weights: list[float], x: list[float]) -> float:
    total = bias
    for w, v in zip(weights, x, strict=True):
        total = total + w * v
    return total


@settings(max_examples=200)
@given(st.data())
def test_the_error_of_a_float_logit_is_within_the_bound(data):
    n = data.draw(st.integers(1, 6))
    numbers = st.lists(NUMBERS, min_size=n, max_size=n)
    weights, x, bias = data.draw(numbers), data.draw(numbers), data.draw(NUMBERS)
    real = Fraction(bias) + sum(Fraction(w) * Fraction(v) for w, v in zip(weights, x, strict=True))
    error = abs(Fraction(float_logit(bias, weights, x)) - real)
    side = np.abs(x)
    bounded = logit_errors(np.array([weights]), np.array([bias]), -side, side)
    assert error <= Fraction(bounded.constant[0])
    assert_open_error(weights, bias, x, error)


@settings(max_examples=300)
@given(st.data())
def test_no_slope_of_an_open_side_is_too_small_however_small_the_weight(data):
    # a weight of 1e-310 times an x of 1e308 is no small number, and its error none either
    n = data.draw(st.integers(1, 4))
    weights = data.draw(st.lists(TINY, min_size=n, max_size=n))
    x, bias = data.draw(st.lists(HUGE, min_size=n, max_size=n)), data.draw(TINY)
    real = Fraction(bias) + sum(Fraction(w) * Fraction(v) for w, v in zip(weights, x, strict=True))
    assert_open_error(weights, bias, x, abs(Fraction(float_logit(bias, weights, x)) - real))


def assert_open_error(weights: list[float], bias: float, x: list[float], error: Fraction) -> None:
    n = len(x)
    is_open = logit_errors(np.array([weights]), np.array([bias]), np.full(n, -np.inf), np.full(n, np.inf))
    slopes = zip(is_open.slope[0].tolist(), x, strict=True)
    assert error <= Fraction(is_open.constant[0]) + sum(Fraction(s) * abs(Fraction(v)) for s, v in slopes)


@given(st.lists(NUMBERS, min_size=3, max_size=3), NUMBERS, st.lists(st.floats(0, 1e6), min_size=3, max_size=3))
def test_the_bound_covers_that_of_the_checker(weights, bias, sides):
    # the checker computes (n + 2)·2⁻⁵³·S + 2⁻³⁰⁰ exactly; were it larger, it would refuse proofs that are right
    size = abs(Fraction(bias)) + sum(abs(Fraction(w)) * Fraction(s) for w, s in zip(weights, sides, strict=True))
    side = np.array(sides)
    ours = logit_errors(np.array([weights]), np.array([bias]), -side, side).constant[0]
    assert Fraction(ours) >= 5 * Fraction(1, 2**53) * size + Fraction(1, 2**300)


def test_epsilon_is_twice_the_largest_error():
    model, side = rounding_victim(), np.ones(3)
    errors = gate_errors(model.gate_weights, model.gate_bias, -side, side)
    assert gate_epsilon(model, -side, side) == 2 * errors.max()
    assert 1.0 < errors[0] < 100.0 < 1e15 * errors[1] + 100.0


def test_a_single_expert_needs_no_logit():
    model = single(stump(0, 0.5, 0, 1))
    everything = np.full(2, np.inf)
    assert gate_errors(model.gate_weights, model.gate_bias, -everything, everything).tolist() == [0.0]


def test_unbounded_and_overflowing_gates_are_errors():
    model, everything = half_planes(), np.full(2, np.inf)
    with pytest.raises(InputError, match="no bound"):
        gate_errors(model.gate_weights, model.gate_bias, -everything, everything)
    huge = np.full(2, 1e150)
    with pytest.raises(InputError, match="overflow"):
        logit_errors(1e200 * model.gate_weights, model.gate_bias, -huge, huge)


SIDES = st.sampled_from(
    [(-1e17, 3.0), (0.0, np.inf), (-0.0, 1e17), (-np.inf, 0.0), (0.0, 0.0), (-np.inf, -0.1), (1.0, np.inf)]
)
FEW = st.sampled_from([0.0, -0.0, 0.0, 5e-324, -5e-324, 1e17, 0.1, -3.0])


@settings(max_examples=200)
@given(st.data())
def test_search_and_checker_allow_for_the_same_rounding_of_gates_and_laws(data):
    # a proof of the search is worth nothing if the checker allows for more; constant logits once were such a case
    n, n_experts = data.draw(st.integers(1, 3)), data.draw(st.integers(2, 4))
    weights = [data.draw(st.lists(FEW, min_size=n, max_size=n)) for _ in range(n_experts)]
    bias = data.draw(st.lists(FEW, min_size=n_experts, max_size=n_experts))
    leaf = RegressionTree.leaf([data.draw(FEW)], slope=[data.draw(st.lists(FEW, min_size=n, max_size=n))])
    model = RegressionMixture(weights, bias, [leaf] * n_experts, ["u"])
    sides = [data.draw(SIDES) for _ in range(n)]
    laws = Laws(model, *(np.array(side) for side in zip(*sides, strict=True)), rounded=True)
    lo, hi = ([Fraction(v) if np.isfinite(v) else None for v in side] for side in zip(*sides, strict=True))
    plain = read_laws(model)
    own = rounded_law(plain.trees[0].laws[0][0], lo, hi)
    assert (own.bias, own.weights, own.error, own.slope) == laws.laws(0, 0)[0]
    scale = 2**1200  # all denominators divide it
    conditions = GateConditions(rounded_logits(plain, lo, hi), scale, 1, Certificate("bounds", {}).records(Meter()))
    for e in range(n_experts):
        seen = [row for k, row in enumerate(conditions(e)) if k != e]
        for row, condition in zip(laws.rows(e), seen, strict=True):
            assert [c * scale for c in row.coefficients] == condition.coefficients
            assert (row.bound * scale, row.strict) == (condition.bound, condition.strict)
