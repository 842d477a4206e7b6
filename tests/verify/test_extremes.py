"""Questions about single inputs with denormal, huge, tied and cancelling numbers: each ends in a verdict that holds."""

from fractions import Fraction

import numpy as np
import pytest

from moet import Mixture, Tree
from moet.errors import CertificateError
from moet.verify import Box, Certificate, Proved, Refuted, Unknown, always, check, closest, differences, equivalent
from moet.verify.checker.documents.model import plain_model
from moet.verify.inputs.float_doubt import most_doubtful

from .extremes import ask, exact_answer
from .small import half_planes, rounding_victim

A, B = Tree.leaf([1.0, 0.0]), Tree.leaf([0.0, 1.0])


def two(weights, bias) -> Mixture:
    """One feature, two experts that answer "a" and "b"."""
    return Mixture(np.array(weights)[:, None], bias, [A, B], ["a", "b"])


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_no_question_with_extreme_numbers_has_a_wrong_answer_or_none(first):
    answers = {ask(seed) for seed in range(first, first + 40)}
    assert len(answers) > 6  # of all kinds


@pytest.mark.parametrize("weights", [(1e-310, 0.0), (1e-310, -1e-310), (5e-324, 0.0), (1e-300, 0.0)])
def test_a_tiny_weight_is_not_forgotten_where_the_input_is_unbounded(weights):
    model = two(weights, [0.0, 1e-20])
    verdict = always(model, Box(x0=(0, None)), ["b"])
    assert not isinstance(verdict, Proved)
    if isinstance(verdict, Refuted):
        assert model.act(verdict.point) == "a"
    assert isinstance(always(two((1e-300, 0.0), [0.0, 1e-20]), Box(x0=(0, None)), ["b"]), Refuted)


@pytest.mark.parametrize("domain", [Box(x0=(-5, -1)), Box(x0=(None, -1)), Box(x0=(-1e150, 1e150)), Box()])
def test_where_logits_may_overflow_nothing_is_proved(domain):
    model = two((1e308, 0.0), [0.0, 1.0])
    verdict = always(model, domain, ["b"])
    assert isinstance(verdict, Unknown | Refuted)
    assert not isinstance(verdict, Unknown) or "overflow" in verdict.reason


def test_the_checker_accepts_no_box_on_which_logits_overflow():
    model = two((1e308, -1e308), [0.0, 1.0])
    forged = Certificate("always", {"model": plain_model(model).digest, "lo": [-5.0], "hi": [-1.0], "answers": ["b"]})
    forged.add(bytes([1]), np.array([1, 1], np.int32), np.array([1.0]))
    with pytest.raises(CertificateError, match="overflow"):
        check(forged, model)


def test_a_proof_about_an_open_domain_says_how_far_it_reaches():
    verdict = always(two((3.0, 0.0), [0.0, 1.0]), Box(x0=(None, -1)), ["b"])
    assert verdict.checked
    assert "overflow" in verdict.caveats[0]
    assert always(two((3.0, 0.0), [0.0, 1.0]), Box(x0=(-7, -1)), ["b"]).caveats == ()


@pytest.mark.parametrize("domain", [Box(x0=(0, 100)), None])
def test_models_that_agree_in_exact_arithmetic_alone_are_not_called_equivalent(domain):
    huge, small = two((1.0, 0.0), [1e17, 1e17 + 16]), two((1.0, 0.0), [0.0, 16.0])
    X = np.linspace(0.5, 15.5, 50)[:, None]
    assert np.any(huge.predict(X) != small.predict(X))
    verdict = equivalent(huge, small, domain)
    assert isinstance(verdict, Unknown)
    assert "float64 rounding" in verdict.reason
    assert equivalent(small, small, domain).caveats == ()


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e10, 1e14])
def test_no_more_inputs_are_doubtful_than_the_bound_says(scale):
    random = np.random.default_rng(0)
    lo, hi = np.array([-1.0, 0.0, 5.0]), np.array([1.0, 0.5, 7.0])
    for _ in range(20):
        n = int(random.integers(2, 6))
        model = Mixture(
            random.normal(size=(n, 3)), scale * random.normal() + random.normal(size=n), [A] * n, ["a", "b"]
        )
        most = most_doubtful([model], lo, hi)
        X = random.uniform(lo, hi, (2000, 3))
        rounded = [first_largest(model, x, float) for x in X.tolist()]
        exact = [first_largest(model, x, Fraction) for x in X.tolist()]
        assert np.mean(np.array(rounded) != exact) <= most + 3 * np.sqrt(most / len(X))
        assert most < 1e-9 * scale + 1e-9


@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1e-150, 1e150])
@pytest.mark.parametrize("side", [0.0, 5e-324, 1.0, 1e150])
def test_the_bound_of_doubtful_inputs_is_a_share_whatever_the_numbers_are(weight, side):
    model = Mixture([[0.0, 0.0], [weight, 0.0]], [1.0, 2.0], [A, B], ["a", "b"])
    assert 0.0 <= most_doubtful([model], np.zeros(2), np.array([side, 1e308])) <= 1.0


def test_a_bound_that_says_little_is_a_caveat():
    # along the one feature the difference of the logits changes by less than they are rounded
    model = Mixture([[0.0], [1e-3]], [1e14, 1e14 - 1e3], [A, B], ["a", "b"])
    verdict = equivalent(model, model, Box(x0=(0, 1)))
    assert verdict
    assert "no more than" in verdict.caveats[0]


def first_largest(model, x, number):
    """The expert that a gate chooses, in float64 or in exact arithmetic."""
    logits = []
    for row, total in zip(model.gate_weights.tolist(), map(number, model.gate_bias.tolist()), strict=True):
        for weight, value in zip(row, x, strict=True):
            total = total + number(weight) * number(value)
        logits.append(total)
    return logits.index(max(logits))


def test_ties_of_equal_numbers_are_no_matter_of_rounding():
    model = Mixture(np.ones((2, 1)), [1e17, 1e17], [A, B], ["a", "b"])
    assert equivalent(model, model, Box(x0=(0, 1)))


def test_differences_reports_the_answers_of_its_regions():
    # at (1, 1, 1) and around it the deployed answer is not that of exact arithmetic
    model, other = rounding_victim(), Mixture(np.zeros((1, 3)), [0.0], [B], ["exact", "deployed"])
    found = differences(model, other, Box.from_bounds([0.0] * 3, [2.0] * 3))
    assert len(found)
    for x, region, answers in zip(found.points, found.regions, found.answers, strict=True):
        assert x in region
        assert (exact_answer(model, x), exact_answer(other, x)) == answers == (model.act(x), other.act(x))


@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_closest_finds_an_input_beside_an_infimum_that_no_float_attains(norm):
    # many features of different sizes, as in a table with categories: rounding any of them misses the plane
    rng = np.random.default_rng(0)
    for _ in range(10):
        weights = rng.normal(size=12) * 10.0 ** rng.integers(-3, 1, 12)
        model = half_planes(weights, float(rng.normal()))
        x = rng.integers(0, 2, 12) * 1.0
        x[0] = 4000.0
        found = closest(model, x, norm)
        assert found.checked
        assert model.act(found.point) == found.answer != model.act(x)
        assert found.distance <= found.point_distance <= found.distance * (1 + 1e-6) + 1e-9


def test_products_that_underflow_are_not_forgotten_on_open_sides():
    """A multiplier times a denormal weight is zero in floats, and no bound at all where the side is open."""
    weights = [[5e-324, -1e-310, -1e-8], [-5e-324, 0.0, -1e17], [-1e-300, 5e-324, 1e-310], [-5e-324, 1e-310, 1e-8]]
    trees = [Tree.leaf(np.eye(2)[k % 2]) for k in range(4)]
    model = Mixture(weights, [1e-20, 1e17, -1e300, -1e-20], trees, ["a", "b"])
    domain = Box.from_bounds(np.array([-np.inf, -np.inf, -1e150]), np.array([1e150, 1e-323, -1e-20]))
    verdict = equivalent(model, model, domain)
    assert "does not accept" not in str(getattr(verdict, "reason", ""))
