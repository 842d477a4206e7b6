import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet.errors import InputError
from moet.evolution import Evolution, careful_mean


def search(seed=0):
    return Evolution(np.zeros(4), 0.3, population=8, seed=seed)


def sphere(points):
    return [-float(((point - 0.5) ** 2).sum()) for point in points]


def test_a_replayed_search_asks_the_same_to_the_bit():
    first = search()
    for _ in range(15):
        first.tell(sphere(first.ask()))
    again = search()
    again.replay(first.told)
    assert np.array_equal(again.centre, first.centre)
    assert np.array_equal(again.ask(), first.ask())
    assert not np.array_equal(search(1).ask(), search().ask())


def test_to_search_leaves_numpys_global_generator_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    evolution = search()
    evolution.tell(sphere(evolution.ask()))
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_a_search_among_one_number():
    evolution = Evolution(np.zeros(1), 0.5, population=6, seed=0)
    for _ in range(40):
        evolution.tell([-abs(float(point[0]) - 2) for point in evolution.ask()])
    assert evolution.centre == pytest.approx([2], abs=0.01)


def test_a_search_among_very_many_numbers_learns_no_pairs_of_them():
    evolution = Evolution(np.zeros(600), 0.3, population=12, seed=0)
    begin = np.mean(sphere(evolution.ask()))
    for _ in range(30):
        evolution.tell(sphere(evolution.ask()))
    assert np.mean(sphere(evolution.ask())) > begin


def test_to_ask_twice_is_to_ask_once():
    evolution = search()
    assert np.array_equal(evolution.ask(), evolution.ask())


@pytest.mark.parametrize("scores", [[1.0] * 7, [1.0] * 7 + [float("nan")]])
def test_scores_that_are_missing_or_no_numbers_are_refused(scores):
    with pytest.raises(InputError, match="8 points"):
        search().tell(scores)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0.01, 1))
def test_a_careful_mean_lies_between_the_worst_and_the_mean(returns, tail):
    values = np.array(returns)
    found = careful_mean(values, tail)
    assert values.min() - 1e-6 <= found <= values.mean() + 1e-6


def test_a_rare_crash_counts_for_more_than_in_a_mean():
    steady, risky = np.full(20, 95.0), np.append(np.full(19, 105.0), 0.0)
    assert risky.mean() > steady.mean()
    assert careful_mean(risky, 0.05) < careful_mean(steady, 0.05)
