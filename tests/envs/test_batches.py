"""What every batch must keep to, whoever plays the episodes."""

from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet.envs import Batch, Task, resolve
from moet.envs.cut import cut_short
from moet.envs.perturbation import perturbed
from moet.errors import TaskError

NAMES = ["cartpole", "acrobot", "mountaincar", "pendulum", "gridworld-5", "lunarlander"]


def play(batch: Batch, observations: np.ndarray, steps: int, action: int = 1) -> np.ndarray:
    for _ in range(steps):
        observations = batch.step(np.full(len(observations), action)).observations
    return observations


@pytest.mark.parametrize("name", NAMES)
def test_an_episode_does_not_depend_on_its_neighbours(name: str) -> None:
    together, alone = resolve(name).batch(), resolve(name).batch()
    rows = play(together, together.reset([4, 5, 6]), 3)
    for i, seed in enumerate([4, 5, 6]):
        np.testing.assert_array_equal(rows[i : i + 1], play(alone, alone.reset([seed]), 3))


@pytest.mark.parametrize("name", NAMES)
def test_keep_leaves_the_others_as_they_were(name: str) -> None:
    batch, alone = resolve(name).batch(), resolve(name).batch()
    rows = play(batch, batch.reset([4, 5, 6]), 2)
    batch.keep(np.array([True, False, True]))
    rows = play(batch, rows[[0, 2]], 2)
    for row, seed in zip(rows, [4, 6], strict=True):
        np.testing.assert_array_equal(row, play(alone, alone.reset([seed]), 4)[0])


@pytest.mark.parametrize("name", NAMES)
def test_restart_is_a_reset_of_some(name: str) -> None:
    batch, fresh, old = resolve(name).batch(), resolve(name).batch(), resolve(name).batch()
    play(batch, batch.reset([4, 5, 6]), 2)
    first = batch.restart(np.array([True, False, True]), [7, 8])
    np.testing.assert_array_equal(first, fresh.reset([7, 8]))
    rows = play(batch, np.zeros((3, 1)), 2)
    np.testing.assert_array_equal(rows[[0, 2]], play(fresh, first, 2))
    np.testing.assert_array_equal(rows[1:2], play(old, old.reset([5]), 4))


@pytest.mark.parametrize("name", ["acrobot", "pendulum", "mountaincar"])
def test_restart_begins_a_new_time_limit(name: str) -> None:
    task = resolve(name)
    assert task.max_steps is not None
    batch = task.batch()
    play(batch, batch.reset([0, 1]), task.max_steps - 1)
    batch.restart(np.array([True, False]), [2])
    assert batch.step(np.array([1, 1])).truncated.tolist() == [False, True]


@pytest.mark.parametrize("name", NAMES)
def test_observations_are_rows_of_doubles(name: str) -> None:
    task = resolve(name)
    batch = task.batch()
    for rows in (batch.reset([0, 1]), batch.step(np.array([0, 1])).observations):
        assert rows.dtype == np.float64
        assert rows.flags.c_contiguous
        assert rows.shape == (2, len(task.observation_names))


@pytest.mark.parametrize("name", NAMES)
def test_what_was_given_out_is_not_changed_later(name: str) -> None:
    batch = resolve(name).batch()
    first = batch.reset([0, 1])
    step = batch.step(np.array([0, 1]))
    copies = first.copy(), *(part.copy() for part in step)
    batch.restart(np.array([True, False]), [3])
    batch.step(np.array([1, 0]))
    for handed, copy in zip((first, *step), copies, strict=True):
        np.testing.assert_array_equal(handed, copy)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("actions", [[0], [0, -1], [0, 99], [[0], [1]]])
def test_strange_actions_are_refused(name: str, actions: list[int]) -> None:
    batch = resolve(name).batch()
    batch.reset([0, 1])
    with pytest.raises(TaskError, match="action"):
        batch.step(np.array(actions))


@pytest.mark.parametrize("name", NAMES)
def test_wrong_numbers_of_seeds_are_refused(name: str) -> None:
    batch = resolve(name).batch()
    with pytest.raises(TaskError, match="at least one"):
        batch.reset([])
    batch.reset([0, 1])
    with pytest.raises(TaskError, match="1 seeds to begin 2"):
        batch.restart(np.array([True, True]), [3])


def an_action(task: Task) -> st.SearchStrategy[Any]:
    if task.box is None:
        return st.integers(0, len(task.action_names) - 1)
    return st.tuples(*(st.floats(low, high) for low, high in zip(task.box.low, task.box.high, strict=True)))


@settings(max_examples=25)
@given(
    st.sampled_from(["cartpole", "mountaincar", "pendulum", "gridworld-5", "Pendulum-v1"]),
    st.booleans(),
    st.booleans(),
    st.data(),
)
def test_restarts_and_drops_in_any_order_change_no_episode(
    name: str, is_perturbed: bool, is_cut: bool, data: st.DataObject
) -> None:
    """Each place of the batch is replayed alone from the seed and the actions it was given."""
    task = perturbed(resolve(name), 0.5) if is_perturbed else resolve(name)
    task = cut_short(task, 3) if is_cut else task
    batch = task.batch()
    n = data.draw(st.integers(1, 4))
    history = [(seed, []) for seed in range(n)]
    rows = batch.reset(range(n))
    finished = np.zeros(n, np.bool_)
    for seed in range(100, 108):
        running = np.array([data.draw(st.booleans()) for _ in history])
        if finished.any():
            rows = rows.copy()
            rows[finished] = batch.restart(finished, [seed] * np.count_nonzero(finished))
            history = [(seed, []) if done else old for done, old in zip(finished, history, strict=True)]
        elif running.any():
            batch.keep(running)
            rows, history = rows[running], [old for kept, old in zip(running, history, strict=True) if kept]
        actions = np.array([data.draw(an_action(task)) for _ in history])
        for (_, taken), action in zip(history, actions, strict=True):
            taken.append(action)
        rows, _, terminated, truncated = batch.step(actions)
        finished = terminated | truncated
        assert not is_cut or all(done or len(taken) < 3 for done, (_, taken) in zip(finished, history, strict=True))
    for row, (seed, taken) in zip(rows, history, strict=True):
        alone = task.batch()
        alone.reset([seed])
        for action in taken:
            step = alone.step(np.array([action]))
        np.testing.assert_array_equal(step.observations[0], row)


class Taken:
    """A batch of Pendulum-v1 that keeps what was done in its first episode."""

    def __init__(self) -> None:
        self._batch = resolve("Pendulum-v1").batch()
        self.actions: list[float] = []

    def step(self, actions: np.ndarray) -> Any:
        self.actions.append(float(actions[0, 0]))
        return self._batch.step(actions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)


def test_random_numbers_are_between_the_bounds_and_held_for_one_to_eight_steps() -> None:
    taken = Taken()
    batch = perturbed(replace(resolve("Pendulum-v1"), batch=lambda: taken), 0.1).batch()
    batch.reset([0])
    for _ in range(2_000):
        batch.step(np.zeros((1, 1)))
    runs = [(number, len(list(group))) for number, group in groupby(taken.actions)]
    held = [steps for number, steps in runs if number]
    assert set(held) == set(range(1, 9))
    assert 100 < len(held) < 180  # a tenth of the steps in which nothing is held
    random = [number for number, _ in runs if number]
    assert -2 <= min(random) < -1.9
    assert 1.9 < max(random) <= 2
