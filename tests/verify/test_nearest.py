"""``closest`` and ``robustness_radius`` on hard models."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet import Mixture, Tree, verify
from moet.errors import InputError
from moet.verify import Box, Closest, Unknown, closest, robustness_radius
from moet.verify.exact import ExactMixture, exactly
from moet.verify.inputs.distance import Ray, distance_of
from moet.verify.polytopes import Polytope
from moet.verify.rational import Row
from tests.random_models import random_mixture

from .small import half_planes, single, stump

CUBE = Box.from_bounds(-np.ones(3), np.ones(3))


@pytest.mark.parametrize(("norm", "distance"), [("linf", Fraction(3, 4)), ("l1", Fraction(3, 2))])
def test_the_distance_of_a_line_is_exact(norm, distance):
    # right where x + y > 1.5; "left" answers on the line itself, so the distance is not attained
    model = half_planes((1.0, 1.0), -1.5)
    found = closest(model, [0.0, 0.0], norm)
    assert found.exact_distance == distance
    assert found.distance == float(distance)
    assert found.answer == model.act(found.point) == "right"
    assert found.distance < found.point_distance <= found.distance * (1 + 1e-12)
    assert verify.check(found.certificate, model)


def test_an_attained_distance_has_a_point_at_exactly_it():
    model = single(stump(0, 0.5, 0, 1))
    found = closest(model, [2.0, 0.0])
    assert (found.distance, found.point_distance, found.point.tolist()) == (1.5, 1.5, [0.5, 0.0])
    found = closest(model, [0.25, 0.0])  # x > 0.5 is open: the next float64 number
    assert found.distance == 0.25
    assert found.point.tolist() == [np.nextafter(0.5, 1), 0.0]


def test_a_given_answer_and_the_answer_of_x_itself():
    labels = ["left", "right", "stay"]
    model = single(stump(0, 0.5, 0, 2, 3), classes=labels)
    assert closest(model, [0.0, 0.0], answer="stay").answer == "stay"
    own = closest(model, [0.0, 0.0], answer="left")
    assert (own.distance, own.point.tolist()) == (0.0, [0.0, 0.0])
    assert verify.check(own.certificate, model)


@pytest.mark.parametrize("domain", [None, Box(theta=(-5, 0.5))])
def test_no_such_input_is_an_infinite_distance_with_a_proof(domain):
    model = single(stump(0, 0.5, 0, 1), classes=["left", "right"]) if domain else single(stump(0, 0.5, 0, 0))
    found = closest(model, [0.0, 0.0], domain=domain)
    assert isinstance(found, Closest)
    assert (found.distance, found.exact_distance, found.point) == (math.inf, None, None)
    assert verify.check(found.certificate, model)
    assert robustness_radius(model, [0.0, 0.0], domain=domain) == math.inf


def test_a_start_outside_the_domain():
    model = half_planes((1.0, 0.0), -2.0)
    found = closest(model, [0.0, 0.0], domain=Box(theta=(3.0, 4.0), theta_dot=(1.0, 1.0)))
    assert (found.distance, found.point.tolist()) == (3.0, [3.0, 1.0])


@pytest.mark.parametrize("norm", ["linf", "l1"])
@pytest.mark.parametrize("domain", [CUBE, None])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_sampled_is_nearer_and_the_point_is_that_near(seed, domain, norm):
    model = random_mixture(seed, n_experts=4, depth=3)
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, 3)
    found = closest(model, x, norm, domain)
    assert verify.check(found.certificate, model)
    assert robustness_radius(model, x, norm, domain) == found.distance
    exact = ExactMixture(model)
    centre = exactly(x)
    assert exact.answer(exactly(found.point)) != exact.answer(centre)
    assert found.distance <= distance_of(centre, exactly(found.point), norm) <= found.point_distance
    assert found.point_distance <= found.distance * (1 + 1e-9)
    near = x + found.distance * rng.uniform(-1, 1, (20_000, 3)) * (1 if norm == "linf" else 0.33)
    near = near if domain is None else np.clip(near, -1, 1)
    assert np.all(model.predict_hard(near) == model.act(x))


def test_the_nearest_of_many_equal_regions():
    # all four sides of a square of "left" are equally near
    square = Tree(
        feature=[0, -1, 0, 1, -1, 1, -1, -1, -1],
        threshold=[-1.0, 0, 1.0, -1.0, 0, 1.0, 0, 0, 0],
        left=[1, -1, 3, 4, -1, 6, -1, -1, -1],
        right=[2, -1, 8, 5, -1, 7, -1, -1, -1],
        value=np.eye(2)[[0, 1, 0, 0, 1, 0, 0, 1, 1]],
    )
    found = closest(single(square), [0.0, 0.0])
    assert found.exact_distance == 1
    assert verify.check(found.certificate, single(square))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 0.0],), "3 numbers"),
        (([0.0, math.nan, 0.0],), "finite"),
        (([0.0, 1e200, 0.0],), "not beyond"),
        ((["a", 0, 0],), "numbers"),
        ((np.zeros(3), "l2"), "norm"),
        ((np.zeros(3), "linf", Box(theta=(0, 1))), "no feature"),
        ((np.zeros(3), "linf", None, 7), "no class 7"),
    ],
)
def test_wrong_questions_are_errors(arguments, message):
    with pytest.raises(InputError, match=message):
        closest(random_mixture(0), *arguments)


def test_robustness_radius_without_time_is_unknown():
    assert isinstance(robustness_radius(random_mixture(0), np.zeros(3), timeout=0), Unknown)


@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_multipliers_rule_out_all_radii_below_theirs(norm):
    # x + 2y >= 4 in [0, 1.5] × [0, inf): from the origin, where moving y gains more
    rows = (Row([Fraction(1), Fraction(2)], Fraction(4)),)
    box = Polytope(np.zeros(2), np.array([1.5, np.inf]), np.zeros(2, dtype=bool), rows)
    ray = Ray([Fraction(0)] * 2, box, norm)
    radius = ray.radius_ruled_out({0: Fraction(1)})
    assert radius == (Fraction(4, 3) if norm == "linf" else 2)
    start = [Fraction(0)] * 2
    assert isinstance(ray.closed_point(radius, start), list)
    assert isinstance(ray.closed_point(radius - Fraction(1, 10**9), start), dict)
    assert ray.radius_ruled_out({}) == 0
    narrow = Ray([Fraction(0)] * 2, Polytope(np.zeros(2), np.ones(2), np.zeros(2, dtype=bool), rows), norm)
    assert narrow.radius_ruled_out({0: Fraction(1)}) is None


def test_a_point_is_pulled_to_the_nearest_one_where_three_experts_all_but_tie():
    gate = [[-0.6342143994495253, -0.8106594454936095], [-0.30627686802893644, -0.12446074770262933]]
    gate += [[0.021660663391652395, 0.5617379500883508], gate[0]]
    bias = [0.6942906992574956, 0.9370543270434992, 1.1798179548295027, 0.6942906992574956]
    trees = [Tree.leaf(row) for row in ([0, 1], [0, 1], [1, 0], [0, 1])]
    domain = Box(x0=(-0.8418115048156442, None), x1=(-0.0594293517391045, None))
    found = closest(
        Mixture(gate, bias, trees, [0, 1]), [0.10944253296902437, -0.29893869517357835], "l1", domain, seed=1001821
    )
    assert isinstance(found, Closest)
    assert found.point_distance - found.distance < 1e-9


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), whole=st.booleans())
def test_there_is_a_point_wherever_always_finds_one_in_a_ball_that_is_hardly_larger(seed, whole):
    random = np.random.default_rng(seed)
    model = random_mixture(random, n_experts=int(random.integers(2, 6)), depth=int(random.integers(0, 4)))
    x = random.integers(-2, 3, 3).astype(float) if whole else random.normal(size=3)
    found = closest(model, x, "linf")
    if isinstance(found, Closest) and found.point is None:
        return
    distance = found.distance if isinstance(found, Closest) else _told_distance(found)
    ball = Box.from_bounds(x - distance * (1 + 1e-12) - 1e-12, x + distance * (1 + 1e-12) + 1e-12)
    verdict = verify.always(model, ball, model.predict(x[None]).tolist())
    if isinstance(verdict, verify.Refuted):
        assert isinstance(found, Closest)
        assert np.abs(found.point - x).max() <= distance * (1 + 1e-6) + 1e-9


def _told_distance(verdict):
    """The distance that an Unknown tells."""
    return float(verdict.reason.split("the distance is ")[1].split(",")[0])
