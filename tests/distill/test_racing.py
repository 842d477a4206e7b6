"""Races among policies whose rewards are luck in part."""

import numpy as np
import pytest

from moet.distill.racing import LAST, ROUNDS, race
from moet.evolution import careful_mean


def test_everyone_plays_the_same_episodes_and_the_better_half_plays_on():
    seen = {}

    def returns(skill, begin, end):
        seen.setdefault(skill, []).append((begin, end))
        return np.full(end - begin, float(skill))

    found = race(range(8), returns, np.mean, episodes=10)
    assert [skill for skill, _ in found] == [7, 6]
    assert all(len(earned) == 10 * ROUNDS[-1] for _, earned in found)
    assert seen[0] == [(0, 10)]
    assert seen[4] == [(0, 10), (10, 20)]
    assert seen[7] == [(0, 10), (10, 20), (20, 40)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_entrants_play_all_rounds(count):
    found = race(range(count), lambda skill, begin, end: np.full(end - begin, float(skill)), np.mean, episodes=2)
    assert [skill for skill, _ in found] == list(range(count))[::-1][:LAST]
    assert {len(earned) for _, earned in found} == {2 * ROUNDS[-1]}


def test_one_who_crashes_after_the_first_round_does_not_win():
    crash = np.full(400, 290.0)
    crash[[150, 330]] = 50.0

    def returns(reckless, begin, end):
        return crash[begin:end] if reckless else np.full(end - begin, 288.0)

    assert [reckless for reckless, _ in race([True, False], returns, lambda r: careful_mean(r, 0.2), 100)] == [
        False,
        True,
    ]
