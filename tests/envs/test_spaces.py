"""Environments that show or take something else than a row of numbers and one of a few actions."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Graph, MultiBinary, MultiDiscrete, Text, Tuple

from moet.envs import resolve
from moet.envs.rollout import play
from moet.envs.spaces import as_parts, row_names
from moet.errors import TaskError

from .worlds import Counter

CAR = Dict(
    gear=Discrete(3, start=1),
    lamps=MultiBinary(2),
    position=Box(-1, 1, (2,)),
    speed=Box(0, 9, ()),
    inner=Dict(heat=Box(0, 1, (1,))),
)


def shows(space: Any, actions: Any = None) -> Any:
    """A class of environments with these spaces, which remember what was done."""

    class World(Counter):
        def __init__(self) -> None:
            super().__init__()
            self.observation_space = space
            self.action_space = Discrete(2) if actions is None else actions
            self.taken: list[Any] = []

        def observation(self) -> Any:
            space.seed(self.np_random_seed + self.count)
            return space.sample()

        def step(self, action: Any) -> Any:
            self.taken.append(action)
            return super().step(action)

    return World


@pytest.mark.parametrize(
    ("space", "names"),
    [
        (Discrete(3), ("x=0", "x=1", "x=2")),
        (
            CAR,
            ("gear=1", "gear=2", "gear=3", "lamps_0", "lamps_1", "position_0", "position_1", "speed", "inner_heat"),
        ),
        (Tuple([Discrete(2), Box(0, 1, (2,))]), ("x0=0", "x0=1", "x1_0", "x1_1")),
        (MultiDiscrete([2, 3]), ("x0=0", "x0=1", "x1=0", "x1=1", "x1=2")),
        (MultiDiscrete([[1], [2]]), ("x_0_0=0", "x_1_0=0", "x_1_0=1")),
        (Dict(board=MultiBinary((2, 2))), ("board_0_0", "board_0_1", "board_1_0", "board_1_1")),
    ],
    ids=["discrete", "dict", "tuple", "several", "grid", "board"],
)
def test_observations_are_flattened_as_gymnasium_does_and_named(space: Any, names: tuple[str, ...]) -> None:
    task = resolve(shows(space))
    # a dictionary may be sorted by its keys
    assert sorted(task.feature_names) == sorted(task.observation_names) == sorted(names)
    batch = task.batch()
    rows = batch.reset([3, 4])
    env = task.make()
    for row, seed in zip(rows, (3, 4), strict=True):
        seen, _ = env.reset(seed=seed)
        assert np.array_equal(row, gymnasium.spaces.flatten(space, seen))
    assert batch.step(np.zeros(2, np.int64)).observations.shape == (2, len(names))


def test_names_stand_in_the_order_of_the_numbers() -> None:
    flat = resolve(shows(CAR))
    env = flat.make()
    seen, _ = env.reset(seed=5)
    (row,) = flat.batch().reset([5])
    by_name = dict(zip(flat.feature_names, row, strict=True))
    assert by_name["speed"] == seen["speed"]
    assert by_name["position_1"] == seen["position"][1]
    assert by_name["inner_heat"] == seen["inner"]["heat"][0]
    assert by_name[f"gear={seen['gear']}"] == 1.0


def test_features_get_the_parts_of_a_dictionary() -> None:
    def features(seen: dict[str, Any]) -> Any:
        return np.column_stack([seen["speed"], seen["gear"], seen["position"], seen["inner"]["heat"]])

    task = resolve(shows(CAR), features=features)
    rows = task.batch().reset([1, 2, 3])
    env = task.make()
    for row, seed in zip(task.view(rows), (1, 2, 3), strict=True):
        seen, _ = env.reset(seed=seed)
        expected = [seen["speed"], seen["gear"], *seen["position"], *seen["inner"]["heat"]]
        assert np.array_equal(row, np.array(expected, np.float64))


@pytest.mark.parametrize(
    "space",
    [
        CAR,
        Tuple([Discrete(4, start=2), MultiDiscrete([2, 3]), MultiBinary(3)]),
        Tuple([MultiDiscrete([[2, 3], [4, 2]]), MultiBinary((2, 3))]),
    ],
)
def test_parts_are_what_was_flattened(space: Any) -> None:
    space.seed(0)
    samples = [space.sample() for _ in range(20)]
    rows = np.stack([gymnasium.spaces.flatten(space, sample) for sample in samples]).astype(np.float64)
    parts = as_parts(space, rows)
    for k, sample in enumerate(samples):
        keys = sample if isinstance(sample, dict) else range(len(sample))
        for key in keys:
            if isinstance(sample[key], dict):
                assert np.array_equal(parts[key]["heat"][k], sample[key]["heat"])
            else:
                assert np.array_equal(parts[key][k], sample[key])


def test_a_picture_in_a_dictionary_needs_features() -> None:
    space = Dict(camera=Box(0, 255, (4, 5), np.uint8), speed=Box(0, 9, ()))
    with pytest.raises(TaskError, match=r"World shows observations from Dict.*give features="):
        resolve(shows(space))
    task = resolve(shows(space), features=lambda seen: seen["camera"].mean(axis=(1, 2))[:, None])
    assert task.observation_names == ()
    assert task.view(task.batch().reset([0, 1])).shape == (2, 1)


@pytest.mark.parametrize("space", [Text(5), Dict(a=Graph(Box(0, 1, (2,)), None))])
def test_what_has_no_length_is_refused(space: Any) -> None:
    with pytest.raises(TaskError, match=r"World shows observations from .*give features="):
        resolve(shows(space))
    with pytest.raises(TaskError, match="no numbers that a tree could compare"):
        row_names(space)


@pytest.mark.parametrize("wrong", [{"gear": 1}, None, 7])
def test_an_observation_of_another_space_is_told(wrong: Any) -> None:
    class Lies(shows(CAR)):  # type: ignore[misc]
        def observation(self) -> Any:
            return wrong

    with pytest.raises(TaskError, match=r"Lies gave an observation that is not of Dict"):
        resolve(Lies).batch().reset([0])


def test_several_choices_at_once_are_numbered() -> None:
    task = resolve(shows(Box(0, 1, (2,)), MultiDiscrete([2, 3])))
    assert task.action_names == ("0,0", "0,1", "0,2", "1,0", "1,1", "1,2")
    assert task.choices == (2, 3)
    assert task.env_action(5).tolist() == [1, 2]
    assert resolve("cartpole").env_action(1) == 1
    batch = task.batch()
    batch.reset([0, 1])
    batch.step(np.array([4, 0]))
    assert [env.taken[0].tolist() for env in batch._running] == [[1, 1], [0, 0]]  # type: ignore[attr-defined]
    with pytest.raises(TaskError, match="there is no action 6; the task has actions 0 to 5"):
        batch.step(np.array([6, 0]))
    episodes = play(lambda rows: np.full(len(rows), 5), task, [1, 2])
    assert episodes.lengths.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("actions", "counts"), [(MultiBinary(2), (2, 2)), (MultiDiscrete([3]), (3,)), (MultiBinary(1), (2,))]
)
def test_what_takes_an_array_of_choices_is_given_one(actions: Any, counts: tuple[int, ...]) -> None:
    task = resolve(shows(Box(0, 1, (2,)), actions))
    assert task.choices == counts
    assert task.env_action(1).tolist() == [0] * (len(counts) - 1) + [1]
    batch = task.batch()
    batch.reset([0])
    batch.step(np.array([1]))
    assert batch._running[0].taken[0] in actions  # type: ignore[attr-defined]


def test_a_small_array_is_a_row_and_features_get_it_as_it_was() -> None:
    window = Box(-1, 1, (2, 3))
    task = resolve(shows(window))
    assert task.feature_names == ("x_0_0", "x_0_1", "x_0_2", "x_1_0", "x_1_1", "x_1_2")
    assert task.batch().reset([0, 1]).shape == (2, 6)
    last = resolve(shows(window), features=lambda arrays: arrays[:, -1])
    assert np.array_equal(last.view(last.batch().reset([0])), task.batch().reset([0])[:, 3:])


@pytest.mark.parametrize(
    ("actions", "complaint"),
    [
        (
            MultiDiscrete([8, 9]),
            r"World chooses among 8 × 9 = 72 combinations .*, more than 64; .*ActionWrapper",
        ),
        (MultiDiscrete([2, 2], start=[0, 1]), r"numbered from \[0, 1\]; .*ActionWrapper"),
        (MultiBinary(7), r"World chooses among 2 × .* = 128 combinations"),
        (MultiBinary([2, 2]), r"takes actions from MultiBinary.*ActionWrapper"),
    ],
)
def test_actions_that_are_too_many_or_no_numbers_are_refused(actions: Any, complaint: str) -> None:
    with pytest.raises(TaskError, match=complaint):
        resolve(shows(Box(0, 1, (2,)), actions))


def test_a_frozen_lake_is_a_task() -> None:
    task = resolve("FrozenLake-v1")
    assert task.feature_names[:2] == ("x=0", "x=1")
    assert task.batch().reset([0]).sum() == 1.0
