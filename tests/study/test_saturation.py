import pytest

from moet.study.saturation import Spread, find_saturation

from .making import outcome


def trees(levels):
    """Trees of some depths with rewards and fidelities of their runs; before re-evaluation all are bad."""
    return [
        outcome("VIPER", (0.0, 0.0), run, depth=depth, seed=seed)
        for depth, runs in levels.items()
        for seed, run in enumerate(runs)
    ]


def test_the_least_depth_that_no_deeper_one_clearly_beats():
    found = find_saturation(
        trees(
            {
                8: [(99.0, 0.90), (101.0, 0.92)],
                2: [(50.0, 0.50), (52.0, 0.52)],
                4: [(99.5, 0.60), (100.5, 0.62)],
                16: [(99.0, 0.91), (102.0, 0.93)],
            }
        )
    )
    assert found.depths == (2, 4, 8, 16)
    assert found.reward[0] == Spread(51.0, pytest.approx(2**0.5), 2)
    assert found.fidelity[3].mean == pytest.approx(0.92)
    assert (found.reward_depth, found.fidelity_depth, found.depth) == (4, 8, 8)


def test_trees_that_still_improve_do_not_saturate():
    found = find_saturation(trees({1: [(1.0, 0.5)], 2: [(2.0, 0.5)], 3: [(3.0, 0.5)]}))
    assert (found.reward_depth, found.fidelity_depth, found.depth) == (None, 1, None)


def test_a_worse_deep_tree_is_no_improvement():
    found = find_saturation(trees({1: [(1.0, 0.5)], 2: [(3.0, 0.6)], 3: [(2.0, 0.55)]}))
    assert found.depth == 2


def test_one_depth_shows_nothing():
    assert find_saturation(trees({5: [(1.0, 0.5), (1.0, 0.5)]})).depth is None


def test_mixtures_do_not_count():
    assert find_saturation([outcome("MoËT", (1.0, 0.5)), outcome("MoËT_h", (1.0, 0.5))]) is None


def test_noise_is_two_standard_errors_of_the_difference():
    low, high = Spread(0.0, 3.0, 9), Spread(2.9, 4.0, 16)  # standard errors 1 and 1
    assert high.clearly_below(Spread(10.0, 0.0, 1))
    assert low.clearly_below(high)
    assert not low.clearly_below(Spread(2.8, 4.0, 16))
    assert not high.clearly_below(low)
