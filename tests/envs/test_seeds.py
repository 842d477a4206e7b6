from hypothesis import given
from hypothesis import strategies as st

from moet.envs.seeds import Purpose, episode_seeds

seeds = st.integers(0, 2**32 - 1)


@given(seeds, seeds)
def test_purposes_never_share_a_seed(one, other):
    used = [set(episode_seeds(seed, purpose, 50)) for purpose in Purpose for seed in (one, other)]
    for i, first in enumerate(used):
        for j, second in enumerate(used):
            if i // 2 != j // 2:
                assert first.isdisjoint(second)


@given(seeds, st.integers(0, 20), st.integers(1, 20))
def test_a_part_of_the_seeds_is_the_same_part(seed, start, count):
    whole = episode_seeds(seed, Purpose.TRAINING, 40)
    assert episode_seeds(seed, Purpose.TRAINING, count, start) == whole[start : start + count]
    assert all(0 <= value < 2**31 for value in whole)
