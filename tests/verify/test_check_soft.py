"""The checker of proofs about soft models, and its exponential function."""

import copy
import math
import random
from array import array
from fractions import Fraction

import numpy as np
import pytest
from attack.soft import attack_soft
from hypothesis import given
from hypothesis import strategies as st

from moet import Mixture, Tree
from moet.errors import CertificateError
from moet.model.file import digest
from moet.verify import Box, Certificate, Closest, Proved, Refuted, Unknown, always, check, closest, equivalent
from moet.verify.checker.exp_bounds import BITS, LARGEST, exponential
from moet.verify.checker.inputs import soft as soft_checker
from tests.random_models import random_mixture

from .small import half_planes

SQUARE = Box.from_bounds([-1.0, -1.0], [1.0, 1.0])


def exact_exponential(z: Fraction) -> Fraction:
    """exp(z) to far more digits than the checker has, by another way: (Σ (z/2^m)^n / n!)^(2^m)."""
    m = max(0, math.ceil(abs(z))).bit_length() + 4
    small = z / 2**m
    term = total = Fraction(1)
    for n in range(1, 60):
        term = Fraction(int(term * small / n * 2**400), 2**400)
        total += term
    for _ in range(m):
        total = Fraction(int(total * total * 2**400), 2**400)
    return total


@pytest.mark.parametrize("z", [0.0, 1.0, -1.0, 0.1, -36.0, 50.0, 1e-20, -1e-20, 90.5, -66.2, math.log(2)])
def test_the_exponential_function_lies_between_its_bounds(z):
    low, high = exponential(int(Fraction(z) * 2**BITS))
    value = exact_exponential(Fraction(int(Fraction(z) * 2**BITS), 2**BITS)) * 2**BITS
    assert low <= value <= high
    assert high - low <= 2 + value / 2**90


def test_exponentials_of_extreme_numbers_are_bounded_too():
    assert exponential(-(10**6) << BITS) == (0, 1)
    low, high = exponential(LARGEST)
    assert 0 < low < high <= low + (low >> 80)


def soft(seed: int) -> Mixture:
    return random_mixture(seed, n_features=2, prediction="soft")


def blocks(certificate: Certificate) -> list:
    return [(list(codes), list(refs), list(numbers)) for codes, refs, numbers in certificate._read_blocks()]


def rebuilt(certificate: Certificate, content=None, claim=None) -> Certificate:
    result = Certificate(certificate.kind, certificate.claim | (claim or {}))
    for codes, refs, numbers in blocks(certificate) if content is None else content:
        result.add(bytes(codes), array("i", refs), array("d", numbers))
    return result


def proofs() -> dict:
    """Proofs of each kind, and claims that are wrong."""
    model, x = soft(1), np.array([0.3, -0.4])
    radius = 0.97 * closest(model, x, "linf", SQUARE).distance
    near = always(model, Box.from_bounds(x - radius, x + radius), [model.act(x)])
    found = {norm: closest(model, x, norm, SQUARE) for norm in ("linf", "l1")}
    wide = {"lo": [-1.0, -1.0], "hi": [1.0, 1.0]}
    hard = Mixture(model.gate_weights, model.gate_bias, model.trees, model.classes)
    mixed = equivalent(model, hard, Box.from_bounds(x, x + 0.01))
    further = {
        norm: {"distance": str(Fraction(verdict.distance) * Fraction(101, 100))} for norm, verdict in found.items()
    }
    return {
        "always": (near.certificate, [model], wide),
        "equivalent": (mixed.certificate, [model, hard], wide),
        "linf": (found["linf"].certificate, [model], further["linf"]),
        "l1": (found["l1"].certificate, [model], further["l1"]),
    }


PROOFS = proofs()


@pytest.mark.parametrize("kind", PROOFS)
def test_proofs_are_accepted_and_wrong_claims_rejected_however_the_proof_is_changed(kind, tmp_path):
    certificate, models, wrong = PROOFS[kind]
    assert check(certificate, *models)
    certificate.save(tmp_path / "proof.cert")
    assert check(tmp_path / "proof.cert", *models)
    rng = random.Random(0)
    for _ in range(40):
        content = copy.deepcopy(blocks(certificate))
        for codes, refs, numbers in content:
            match rng.randrange(4):
                case 0:
                    codes[rng.randrange(len(codes))] = rng.randrange(6)
                case 1 if refs:
                    refs[rng.randrange(len(refs))] += rng.choice([-1, 1, 1000])
                case 2 if numbers:
                    numbers[rng.randrange(len(numbers))] *= rng.choice([0.0, -1.0, 1.1, 1e300])
        with pytest.raises(CertificateError):
            check(rebuilt(certificate, content, wrong), *models)


@pytest.mark.parametrize("kind", PROOFS)
def test_nothing_may_be_missing_or_left_over(kind):
    certificate, models, _ = PROOFS[kind]
    content = blocks(certificate)
    for changed in (content[:-1], [*content, content[-1]]):
        with pytest.raises(CertificateError):
            check(rebuilt(certificate, changed), *models)


def test_only_the_same_function_is_the_same():
    a = soft(1)
    same = equivalent(a, a)
    assert same.checked
    gate = a.gate_bias.copy()
    gate[0] = np.nextafter(gate[0], 1)
    b = Mixture(a.gate_weights, gate, a.trees, a.classes, prediction="soft")
    with pytest.raises(CertificateError, match="not the same"):
        check(rebuilt(same.certificate, claim={"models": [digest(a), digest(b)]}), a, b)
    forged = Certificate("always", {"model": digest(a), "lo": [-1.0, -1.0], "hi": [1.0, 1.0], "answers": [0]})
    forged.add(bytes([4]))
    with pytest.raises(CertificateError):
        check(forged, a)


def test_the_same_function_that_rounding_makes_different_is_unknown():
    a = half_planes((1.0, 0.5), 0.0, "soft")
    b = Mixture(a.gate_weights, [0.0, 0.0], a.trees, a.classes, a.feature_names, prediction="soft")
    c = Mixture(a.gate_weights, [2.0**54, 2.0**54], a.trees, a.classes, a.feature_names, prediction="soft")
    assert isinstance(equivalent(b, c, SQUARE), Unknown)


def test_an_open_domain_is_no_proof():
    certificate, models, _ = PROOFS["always"]
    with pytest.raises(CertificateError, match="bounded"):
        check(rebuilt(certificate, claim={"lo": [None, None]}), *models)


def extreme(rng: np.random.Generator) -> Mixture:
    """Soft mixture with awkward gate numbers and certain leaves."""
    numbers = [0.0, -0.0, 5e-324, 1e-310, 1e-20, 1.0, -1.0, 30.0, 700.0, -800.0, 1e17, -1e17, 1e150]
    n_experts = int(rng.integers(1, 4))
    trees = [
        Tree([0, -1, -1], [float(rng.normal()), 0, 0], [1, -1, -1], [2, -1, -1], _leaves(rng)) for _ in range(n_experts)
    ]
    gate = rng.choice(numbers, (n_experts, 3)) + (rng.normal(size=(n_experts, 3)) if rng.random() < 0.5 else 0.0)
    return Mixture(gate[:, 1:], gate[:, 0], trees, ["a", "b", "c"], prediction="soft")


def _leaves(rng: np.random.Generator) -> np.ndarray:
    return np.eye(3)[rng.integers(0, 3, 3)] if rng.random() < 0.5 else rng.dirichlet(np.ones(3), 3)


@pytest.mark.parametrize("seed", range(40))
def test_proofs_about_extreme_soft_models_hold_for_awkward_inputs(seed):
    rng = np.random.default_rng(seed)
    model = extreme(rng)
    lo = rng.choice([-1.0, 0.0, 0.3, 5e-324], 2)
    hi = lo + rng.choice([0.0, 1e-300, 0.1, 1.0], 2)
    box = Box.from_bounds(lo, hi)
    middle = (lo + hi) / 2
    label = model.act(middle)
    thresholds = [tree.threshold[0] for tree in model.trees]
    places = [*thresholds, *np.nextafter(thresholds, np.inf), *rng.uniform(lo[0], hi[0], 20)]
    column = np.clip([lo[0], hi[0], *places], lo[0], hi[0])
    X = np.array([(u, v) for u in column for v in (lo[1], hi[1], middle[1])])
    verdict = always(model, box, [label], cpu_limit=0.2)
    if isinstance(verdict, Proved):
        assert verdict.checked
        assert set(model.predict(X).tolist()) == {label}
    elif isinstance(verdict, Refuted):
        assert model.act(verdict.point) != label
    found = closest(model, middle, "linf", box, cpu_limit=0.2)
    if isinstance(found, Closest):
        assert found.checked
        near = np.abs(X - middle).max(axis=1) < found.distance
        assert set(model.predict(X[near]).tolist()) <= {label}


@pytest.mark.parametrize("seed", [30000458, 30000578])  # steep gates at the least number; experts that tie
def test_what_the_search_proves_of_nasty_soft_models_is_accepted(seed):
    attack_soft(seed)


@given(st.floats(-1e6, 1e6), st.fractions(min_value=0, max_value=10**6), st.integers(-3, 3))
def test_a_rounded_ball_has_the_ball_and_no_threshold_more(x, radius, step):
    (ball,) = soft_checker._ball([Fraction(x)], radius)
    low, high = Fraction(x) - radius, Fraction(x) + radius
    assert ball.low <= low
    assert high <= ball.high
    for edge in (low, high):
        t = float(edge + step * Fraction(float(np.spacing(abs(float(edge))))))
        gets_left = ball.low < t or (ball.low == t and not ball.above)
        assert gets_left == (low <= t)
        assert (ball.high > t) == (high > t)
        box = [soft_checker.Side(t, t)]
        assert soft_checker._is_beside(box, [ball]) == (abs(Fraction(t) - Fraction(x)) >= radius)
