import pytest

from moet.distill.selection import Score, ranking


def score(reward, fidelity, leaves=1, reward_error=0.0, fidelity_error=0.0):
    return Score(reward, reward_error, fidelity, fidelity_error, leaves)


def test_reward_alone_then_fidelity_among_equals():
    assert ranking([score(1, 0.9), score(3, 0.1), score(3, 0.2)], "reward") == [2, 1, 0]


def test_fidelity_decides_among_rewards_that_cannot_be_told_apart():
    scores = [score(10, 0.5, reward_error=1.0), score(9.5, 0.8), score(8.9, 0.99)]
    assert ranking(scores, "reward_then_fidelity") == [1, 0, 2]


def test_size_decides_among_fidelities_that_cannot_be_told_apart():
    scores = [score(0, 0.95, leaves=30, fidelity_error=0.01), score(0, 0.945, leaves=8), score(0, 0.9, leaves=2)]
    assert ranking(scores, "fidelity_then_size") == [1, 0, 2]


def test_a_student_of_unknown_size_counts_as_large():
    assert ranking([score(0, 0.9, leaves=None), score(0, 0.9, leaves=500)], "fidelity_then_size") == [1, 0]


def test_harmonic_mean_wants_both():
    scores = [score(0, 1.0), score(100, 0.1), score(80, 0.9)]
    assert ranking(scores, "harmonic")[0] == 2


@pytest.mark.parametrize("selection", ["reward", "reward_then_fidelity", "fidelity_then_size", "harmonic"])
def test_the_latest_of_equals_comes_first(selection):
    assert ranking([score(-5, 0.0)] * 4, selection) == [3, 2, 1, 0]


def test_fidelity_decides_the_harmonic_mean_of_equal_rewards():
    assert ranking([score(7, 0.5), score(7, 0.9), score(7, 0.7)], "harmonic") == [1, 2, 0]
