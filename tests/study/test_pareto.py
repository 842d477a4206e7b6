import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet.study.pareto import fronts, hypervolume, non_dominated, rescaled

from .making import outcome

coordinates = st.integers(0, 6).map(float)  # few values, so that ties are common


def clouds(n_objectives, min_size=1):
    return st.lists(st.tuples(*[coordinates] * n_objectives), min_size=min_size, max_size=12)


def dominates(a, b):
    return all(x >= y for x, y in zip(a, b, strict=True)) and a != b


@given(clouds(2) | clouds(3))
def test_non_dominated_is_what_it_says(points):
    assert non_dominated(points) == [k for k, p in enumerate(points) if not any(dominates(q, p) for q in points)]


@given(clouds(3), st.randoms())
def test_the_order_of_points_does_not_matter(points, random):
    order = list(range(len(points)))
    random.shuffle(order)
    shuffled = non_dominated([points[k] for k in order])
    assert sorted(order[k] for k in shuffled) == non_dominated(points)


@given(clouds(2), st.tuples(coordinates, coordinates))
def test_a_dominated_point_changes_nothing(points, newcomer):
    grown = [*points, newcomer]
    if any(dominates(p, newcomer) for p in points):
        assert non_dominated(grown) == non_dominated(points)
        assert hypervolume(grown, (0.0, 0.0)) == hypervolume(points, (0.0, 0.0))
    else:
        assert len(points) in non_dominated(grown)


@given(clouds(2, min_size=0), st.tuples(coordinates, coordinates))
def test_hypervolume_counts_unit_squares(points, reference):
    squares = itertools.product(range(6), range(6))
    inside = sum(
        any(x + 1 <= p[0] and y + 1 <= p[1] for p in points) and x >= reference[0] and y >= reference[1]
        for x, y in squares
    )
    assert hypervolume(points, reference) == inside


@given(clouds(2), clouds(2))
def test_a_coordinate_without_spread_tells_nothing(points, among):
    scaled = rescaled(points, [(7.0, y) for _, y in among])
    assert np.all(scaled[:, 0] == 1.0)
    assert np.all(rescaled(points, points) <= 1.0)


def test_models_are_chosen_before_and_judged_after():
    lucky = outcome("VIPER", (200.0, 0.9), (150.0, 0.8), depth=2)
    second = outcome("VIPER", (199.0, 0.8), (199.0, 0.99), depth=3)  # dominated before, so never re-evaluated
    soft = outcome("MoËT", (198.0, 0.95), (198.0, 0.95))
    hard = outcome("MoËT_h", (197.0, 0.94), (197.0, 0.96))  # on the front of its family only
    found = fronts([lucky, second, soft, hard])
    assert found.families == {"VIPER": [0], "MoËT": [2], "MoËT_h": [3]}
    assert found.chosen == [0, 2, 3]
    assert found.before == [2, 0]
    assert found.after == [3, 2]
    # rewards span 150 … 199, fidelities 0.8 … 0.99
    assert found.coverage["VIPER"] == 0.0
    across, up = (198 - 150) / 49, (197 - 150) / 49
    assert found.coverage["MoËT"] == pytest.approx(across * 0.15 / 0.19)
    assert found.coverage["mixtures"] == pytest.approx(across * 0.15 / 0.19 + up * 0.01 / 0.19)


def test_size_lets_small_models_onto_the_front():
    large = outcome("VIPER", (200.0, 0.9), parameters=100)
    small = outcome("VIPER", (190.0, 0.8), parameters=5)
    found = fronts([large, small])
    assert found.before == [0]
    assert found.with_size == [1, 0]


def test_absent_families_are_not_compared():
    found = fronts([outcome("MoËT_h", (200.0, 0.9))])
    assert found.coverage == {"MoËT_h": 1.0, "mixtures": 1.0}
    assert list(found.families) == ["MoËT_h"]
