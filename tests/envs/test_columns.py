"""What an environment shows, thing by thing."""

import math

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from moet import Mixture, RegressionMixture, RegressionTree, Tree, load, save
from moet.distill import Policy
from moet.envs import resolve
from moet.envs.columns import columns_of, seen_in
from moet.envs.spaces import row_names
from moet.explain import rules

LAKE = "FrozenLake-v1(is_slippery=False)"

LEAVES = st.one_of(
    st.builds(spaces.Discrete, st.integers(1, 5), start=st.integers(-3, 3)),
    st.lists(st.integers(1, 4), min_size=1, max_size=3).map(spaces.MultiDiscrete),
    st.just(spaces.MultiDiscrete([[2, 3], [4, 1]])),
    st.integers(1, 4).map(spaces.MultiBinary),
    st.just(spaces.MultiBinary((2, 3))),
    st.sampled_from([(), (1,), (3,), (2, 2)]).map(lambda shape: spaces.Box(-1, 2, shape)),
    st.just(spaces.Box(0, 255, (2,), np.uint8)),
)
SPACES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(spaces.Tuple),
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3).map(spaces.Dict),
    ),
    max_leaves=4,
)


@given(SPACES, st.integers(0, 99))
def test_columns_have_the_numbers_of_a_flattened_observation_in_its_order(space, seed):
    seen = list(seen_in(space))
    names = row_names(space)
    assert len(names) == spaces.flatdim(space)
    assert names == tuple(name for one in seen for name in one.features)
    space.seed(seed)
    row = iter(spaces.flatten(space, space.sample()).tolist())
    for one in seen:
        values = [next(row) for _ in one.features]
        if one.choices:
            assert sorted(values) == [0] * (len(values) - 1) + [1]
        else:
            assert one.low <= values[0] <= one.high


def test_numbers_alone_make_no_table():
    assert columns_of(spaces.Box(-1, 1, (3,))) == ()
    assert columns_of(spaces.MultiBinary(3)) == ()


@pytest.mark.parametrize("low", [-math.inf, -(2.0**60)])
def test_a_choice_beside_a_number_without_bounds_makes_no_table(low):
    box = spaces.Box(np.float32(low), np.float32(1)) if low == -math.inf else spaces.Box(-(2**60), 1, (1,), np.int64)
    assert columns_of(spaces.Dict({"gear": spaces.Discrete(3), "speed": box})) == ()


def test_two_things_of_one_name_make_no_table():
    inner = spaces.Dict({"b": spaces.Discrete(2)})
    assert columns_of(spaces.Dict({"a": inner, "a_b": spaces.Discrete(2)})) == ()


def test_a_policy_of_flattened_observations_is_told_in_what_was_seen(tmp_path):
    trees = [Tree([9, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])]
    policy = Policy.of(Mixture(np.zeros((1, 16)), [0], trees, [0, 1, 2, 3]), resolve(LAKE))
    assert "if x is not 9:" in rules(policy.mixture)
    save(policy, tmp_path / "p.moet.json")
    again = load(tmp_path / "p.moet.json")
    assert again.schema.columns[0].categories == tuple(map(str, range(16)))
    played = Policy.of(again, resolve(LAKE))
    assert [played.env_action(place) for place in (0, 9)] == [1, 2]
    assert played.mixture == policy.mixture


def test_numbers_and_choices_stand_side_by_side():
    space = spaces.Dict({"gear": spaces.Discrete(2, start=1), "speed": spaces.Box(0, 9, (1,))})
    assert [(one.name, one.choices, one.low, one.high) for one in columns_of(space)] == [
        ("gear", ("1", "2"), -math.inf, math.inf),
        ("speed", (), 0.0, 9.0),
    ]


def test_laws_of_flattened_observations_have_a_schema_too():
    import gymnasium

    class Slide(gymnasium.Env):
        observation_space = spaces.Tuple([spaces.Discrete(2), spaces.Box(-1, 1, (1,), np.float64)])
        action_space = spaces.Box(-1, 1, (1,))

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return (0, np.zeros(1)), {}

        def step(self, action):
            return (1, np.zeros(1)), 0.0, True, False, {}

    law = RegressionTree.leaf([0.1], [[0.2, 0.3, 0.4]])
    policy = Policy.of(RegressionMixture(np.zeros((1, 3)), [0], [law], ["u0"]), resolve(Slide))
    assert [column.name for column in policy.mixture.schema.columns] == ["x0", "x1"]
    assert policy.env_action((1, np.array([0.5]))) == pytest.approx([0.6])
