from collections import deque

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from moet.envs import resolve
from moet.envs.gridworld import ACTIONS, Gridworld, optimal_scores
from moet.errors import TaskError

from .players import assert_same_episodes, at_random

UP, LEFT, RIGHT, DOWN = range(4)


def free_cells(size: int) -> list[tuple[int, int]]:
    return [(x, y) for x in range(size) for y in range(size) if x + y != size - 1]


def neighbour(size: int, cell: tuple[int, int], action: int) -> tuple[int, int] | None:
    """Where an action leads by the rules of the paper, written without the code under test; None is outside."""
    x, y = cell
    x, y = {UP: (x, y + 1), LEFT: (x - 1, y), RIGHT: (x + 1, y), DOWN: (x, y - 1)}[action]
    if x in (-1, size):
        return None
    return cell if y in (-1, size) or x + y == size - 1 else (x, y)


def distances_to_the_doors(size: int) -> dict[tuple[int, int] | None, int]:
    """Breadth-first search backwards from the doors."""
    distances: dict[tuple[int, int] | None, int] = {None: 0}
    queue: deque[tuple[int, int] | None] = deque([None])
    while queue:
        goal = queue.popleft()
        for cell in free_cells(size):
            if cell not in distances and any(neighbour(size, cell, action) == goal for action in range(4)):
                distances[cell] = distances[goal] + 1
                queue.append(cell)
    return distances


@pytest.mark.parametrize("size", [2, 3, 5, 10])
def test_every_move_follows_the_rules(size: int) -> None:
    env = Gridworld(size)
    env.reset(seed=0)
    for cell in free_cells(size):
        for action in range(4):
            env._cell = np.array(cell, dtype=np.float64)
            observation, reward, terminated, truncated, _ = env.step(np.int64(action))
            expected = neighbour(size, cell, action)
            assert (reward, terminated, truncated) == (-0.1, expected is None, False)
            assert env.observation_space.contains(observation)
            if expected is not None:
                assert tuple(observation) == expected


@pytest.mark.parametrize("size", [2, 3, 5, 6, 10, 17])
def test_scores_are_those_of_the_shortest_ways(size: int) -> None:
    distances = distances_to_the_doors(size)
    cells = free_cells(size)
    expected = [[-0.1 * (1 + distances[neighbour(size, cell, action)]) for action in range(4)] for cell in cells]
    scores = optimal_scores(size)(np.array(cells, dtype=np.float64))
    np.testing.assert_allclose(scores, expected, rtol=1e-15)
    assert (np.sort(scores, axis=1)[:, -2] < scores.max(axis=1)).all(), "the best action is not unique"
    below = np.array([x + y < size - 1 for x, y in cells])
    np.testing.assert_array_equal(scores.argmax(axis=1), np.where(below, LEFT, RIGHT))


def test_starts_are_uniform_over_the_cells_off_the_wall() -> None:
    starts = resolve("gridworld-5").batch().reset(range(10_000))
    cells, counts = np.unique(starts, axis=0, return_counts=True)
    assert cells.tolist() == [list(map(float, cell)) for cell in free_cells(5)]
    assert 400 < counts.min() <= counts.max() < 600  # 500 expected, standard deviation 22


def test_the_optimal_policy_leaves_by_the_nearest_door() -> None:
    batch, scores = resolve("gridworld").batch(), optimal_scores(10)
    rows = batch.reset(range(200))
    shortest = scores(rows).max(axis=1)
    returns, running = np.zeros(200), np.arange(200)
    while len(running):
        step = batch.step(scores(rows).argmax(axis=1))
        returns[running] += step.rewards
        assert not step.truncated.any()
        batch.keep(~step.terminated)
        rows, running = step.observations[~step.terminated], running[~step.terminated]
    np.testing.assert_allclose(returns, shortest, rtol=1e-12)


def test_the_batch_and_the_environment_play_the_same_episodes() -> None:
    assert assert_same_episodes(resolve("gridworld-6"), at_random, range(50)) > 300


def test_episodes_are_cut_after_a_hundred_steps() -> None:
    task = resolve("gridworld-4")
    batch = task.batch()
    batch.reset([0])
    ends = [batch.step(np.array([UP])) for _ in range(100)]
    assert [bool(step.truncated[0]) for step in ends] == [False] * 99 + [True]
    assert not any(step.terminated[0] for step in ends)
    assert task.max_steps == 100


def test_gymnasium_finds_nothing_to_complain_about() -> None:
    check_env(Gridworld(5), skip_render_check=True)  # which needs a registered id


def test_the_grid_is_drawn_as_text_and_as_a_picture() -> None:
    env = resolve("gridworld-3").make(render_mode="ansi")
    env.reset(seed=0)
    env.unwrapped._cell = np.array([0.0, 0.0])
    assert env.render().splitlines() == [" #.. ", " .#. ", " o.# "]
    picture = resolve("gridworld-3").make(render_mode="rgb_array")
    picture.reset(seed=0)
    assert picture.render().dtype == np.uint8
    assert picture.render().shape[2] == 3
    assert Gridworld(3).render() is None


def test_a_grid_needs_a_cell_off_the_wall() -> None:
    with pytest.raises(TaskError, match="size 1"):
        resolve("gridworld-1")


def test_the_time_limit_is_a_wrapper() -> None:
    assert isinstance(resolve("gridworld").make(), gymnasium.wrappers.TimeLimit)
    assert resolve("gridworld").action_names == ACTIONS
