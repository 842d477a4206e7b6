from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet import Mixture
from moet.errors import InputError
from moet.verify.box import Box
from moet.verify.exact import ExactMixture, exactly
from moet.verify.polytopes import regions
from tests.random_models import random_mixture

from .small import half_planes, single, stump

TIES = st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0])


@given(st.integers(0, 50), st.lists(st.floats(-1, 1), min_size=3, max_size=3))
def test_every_input_is_in_the_one_region_of_its_answer(seed, x):
    model = random_mixture(seed)
    point = np.array(x)
    (home,) = [region for region in regions(model) if point in region.polytope]
    answer = ExactMixture(model).answer(exactly(x))
    assert home.label == model.classes[answer]
    assert home.expert == ExactMixture(model).expert(exactly(x))


@given(st.lists(TIES, min_size=2, max_size=2))
def test_ties_belong_to_the_first_expert_and_thresholds_to_the_left(x):
    model = Mixture([[1, 0], [0, 1]], [0, 0], [stump(0, 0.5, 0, 1), stump(1, 0.5, 1, 0)], ["a", "b"])
    (home,) = [region for region in regions(model) if np.array(x) in region.polytope]
    assert home.label == model.predict_hard([x])[0]
    assert home.expert == (0 if x[0] >= x[1] else 1)


def test_regions_stay_in_the_domain_and_leave_out_what_no_test_reaches():
    model = single(stump(0, 0.5, 0, 1))
    (region,) = regions(model, Box(theta=(0.6, 1.0)))
    assert (region.label, region.polytope.lo[0], region.polytope.hi[0]) == ("right", 0.6, 1.0)
    assert not region.polytope.above[0]
    below, above = regions(model, Box(theta=(0.5, 1.0)))
    assert (below.polytope.lo[0], below.polytope.hi[0]) == (0.5, 0.5)
    assert above.polytope.above[0]


def test_leaves_of_one_answer_are_merged():
    model = single(stump(0, 0.5, 1, 1))
    (region,) = regions(model)
    assert (region.node, region.label) == (0, "right")


def test_rows_are_exact():
    gate = [[0.1], [0.3]]
    model = Mixture(gate, [0, 0.2], [stump(0, 0, 0, 1)] * 2, [0, 1])
    rows = regions(model)[0].polytope.rows
    assert rows[0].coefficients == [Fraction(0.1) - Fraction(0.3)]
    assert (rows[0].bound, rows[0].strict) == (Fraction(0.2), False)
    A, b = regions(model)[-1].polytope.halfspaces()
    np.testing.assert_allclose((A[0, 0], b[0]), (0.2, -0.2))


def test_soft_models_have_none():
    with pytest.raises(InputError, match="hard"):
        regions(half_planes(prediction="soft"))
