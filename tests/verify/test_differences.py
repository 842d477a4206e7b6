"""``differences``, and volumes."""

import math
from fractions import Fraction

import numpy as np
import pytest

from moet import Mixture
from moet.errors import InputError
from moet.verify import Box, differences
from moet.verify.exact import ExactMixture, exactly
from moet.verify.inputs.volume import confidence_interval
from tests.random_models import random_mixture

from .small import half_planes, scaled, single, stump

SQUARE = Box.from_bounds([-1.0, -1.0], [1.0, 1.0])


def test_two_trees_differ_in_a_box_of_known_volume():
    found = differences(single(stump(0, 0.5, 0, 1)), single(stump(0, -0.5, 0, 1)), SQUARE)
    assert (found.share, found.share_interval, found.confidence) == (0.5, (0.5, 0.5), 1.0)
    assert found.complete
    assert found.answers == [("left", "right")]
    (region,) = found.regions
    assert (region.lo[0], region.hi[0], bool(region.above[0])) == (-0.5, 0.5, True)
    assert found.points[0] in region
    assert [-0.5, 0.0] not in region
    assert [0.5, 0.0] in region


def test_the_share_of_half_planes_is_exact_in_two_dimensions():
    # x > 0 against x + y > 0: two triangles, an eighth of the square each
    found = differences(half_planes((1.0, 0.0)), half_planes((1.0, 1.0)), SQUARE)
    assert found.share == 0.25
    assert found.confidence == 1.0
    assert len(found) == 2


def test_a_feature_with_one_value_takes_no_part_in_the_volume():
    # theta_dot = 0.5 everywhere: the lines meet theta at 0 and at -0.5
    line = Box(theta=(-1, 1), theta_dot=(0.5, 0.5))
    assert differences(half_planes((1.0, 0.0)), half_planes((1.0, 1.0)), line).share == 0.25


@pytest.mark.parametrize("seed", range(4))
def test_exact_and_estimated_shares_agree(seed):
    a, b = (random_mixture(10 * seed + k, n_experts=3, n_features=2, depth=2) for k in (0, 1))
    X = np.random.default_rng(seed).uniform(-1, 1, (100_000, 2))
    share = (a.predict_hard(X) != b.predict_hard(X)).mean()
    exact = differences(a, b, SQUARE, limit=1000)
    assert exact.confidence == 1.0
    assert exact.share == pytest.approx(share, abs=0.01)
    estimated = differences(a, b, SQUARE, limit=1, samples=20_000)
    assert not estimated.complete
    assert estimated.confidence == 0.99
    low, high = estimated.share_interval
    assert low <= estimated.share <= high
    assert low - 0.005 <= exact.share <= high + 0.005


def test_points_differ_and_lie_in_their_regions():
    a, b = random_mixture(0), random_mixture(1)
    found = differences(a, b, Box.from_bounds(-np.ones(3), np.ones(3)), limit=20)
    assert len(found) == 20
    for x, region, answers in zip(found.points, found.regions, found.answers, strict=True):
        assert x in region
        assert (a.act(x), b.act(x)) == answers
        assert ExactMixture(a).answer(exactly(x)) != ExactMixture(b).answer(exactly(x))


def test_no_difference_is_a_share_of_zero():
    model = random_mixture(2, n_features=2)
    found = differences(model, scaled(model), SQUARE)
    assert (len(found), found.complete, found.share) == (0, True, 0.0)


def test_an_open_domain_has_no_volume():
    found = differences(half_planes((1.0, 0.0)), half_planes((1.0, 1.0)))
    assert found.share is None
    assert found.share_interval is None
    assert len(found) == 2
    assert found.band == np.inf


def test_classes_and_time():
    labels = ["left", "right", "stay"]
    a = single(stump(0, 0.5, 0, 1, 3), classes=labels)
    b = single(stump(0, 0.5, 0, 2, 3), classes=labels)
    assert len(differences(a, b, SQUARE)) == 1
    assert len(differences(a, b, SQUARE, classes=["left"])) == 0
    cut_short = differences(a, b, SQUARE, timeout=0)
    assert not cut_short.complete
    assert len(cut_short) == 0
    assert cut_short.share == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(("change", "message"), [({"limit": 0}, "at least 1"), ({"samples": 0}, "at least 1")])
def test_wrong_numbers_are_errors(change, message):
    with pytest.raises(InputError, match=message):
        differences(half_planes(), half_planes(), SQUARE, **change)


def test_soft_models_are_not_supported():
    with pytest.raises(InputError, match="hard models"):
        differences(half_planes(prediction="soft"), half_planes())


@pytest.mark.parametrize(("hits", "n"), [(0, 50), (50, 50), (7, 100), (90, 300)])
def test_the_interval_is_that_of_clopper_and_pearson(hits, n):
    def at_most(k: int, p: float) -> float:
        return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))

    low, high = confidence_interval(hits, n, 0.95)
    assert 0 <= low <= hits / n <= high <= 1
    assert low == 0 if not hits else at_most(hits - 1, low) == pytest.approx(0.975)
    assert high == 1 if hits == n else at_most(hits, high) == pytest.approx(0.025)


def test_volumes_add_up():
    # a gate of three experts with different answers: the regions of a and those where it differs from each constant
    gate = [[0.7, -0.2], [-0.3, 0.9], [-0.5, -0.6]]
    model = Mixture(gate, [0.1, 0.0, -0.05], [stump(0, 0, k, k, 3) for k in range(3)], [0, 1, 2])
    constants = [single(stump(0, 0, k, k, 3), classes=[0, 1, 2]) for k in range(3)]
    shares = [Fraction(differences(model, constant, SQUARE).share) for constant in constants]
    assert float(sum(shares)) == pytest.approx(2.0, abs=1e-12)
