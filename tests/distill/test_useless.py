"""What tells a teacher from which nothing can be learned."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from moet.distill.useless import MANY_STEPS, warn_if_seed_is_forgotten, warn_if_useless
from moet.envs import resolve
from moet.envs.rollout import play
from moet.errors import MoetWarning
from moet.teachers import load

CARTPOLE = resolve("cartpole")


def told(task, act, seeds, warn=warn_if_useless):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn(task, play(act, task, seeds), seeds)
    assert all(warning.category is MoetWarning for warning in found)
    return [str(warning.message) for warning in found]


def left(rows):
    return np.zeros(len(rows), np.int64)


@pytest.mark.parametrize("name", ["cartpole", "mountaincar", "acrobot", "pendulum", "gridworld"])
def test_the_bundled_teachers_are_not_suspected(name):
    assert told(resolve(name), load(name).act, list(range(5))) == []


def test_one_action_for_ever_is_told_with_what_to_do():
    (message,) = told(resolve("mountaincar"), left, [1, 2])
    assert "always acts alike: 'left' in all 400 steps of 2 episodes" in message
    assert "--normalize vecnormalize.pkl" in message


def test_one_action_in_a_few_steps_that_win_is_not_suspected():
    task = resolve("gridworld-5")
    teacher = load("gridworld-5")
    seeds = next(
        [seed]
        for seed in range(200)
        if 1 < len(alone := play(teacher.act, task, [seed]).actions) == sum(alone == alone[0])
    )
    assert len(play(teacher.act, task, seeds).actions) < MANY_STEPS
    assert told(task, teacher.act, seeds) == []


def test_play_no_better_than_chance_is_told():
    (message,) = told(CARTPOLE, lambda rows: (rows[:, 2] < 0).astype(np.int64), list(range(5)))
    assert "plays no better than chance: mean reward 8.60 against 26.00" in message


def test_numbers_that_hardly_change_are_one_action():
    task = resolve("MountainCarContinuous-v0")
    (message,) = told(task, lambda rows: 0.2 + 0.1 * rows[:, 1:], [1])
    assert "always acts alike: [0.2] in all 999 steps of 1 episodes" in message
    assert told(task, load("MountainCarContinuous-v0").act, [1, 2]) == []


class Forgetful(gymnasium.Env):
    """Has chance of its own, at the beginning or on the way."""

    observation_space, action_space = Box(-10, 10, (1,)), Discrete(2)

    def __init__(self, forgets_when):
        self.chance, self.forgets_when = np.random.default_rng(), forgets_when

    def observe(self, now):
        chance = self.chance if now == self.forgets_when else self.np_random
        return chance.normal(size=1).clip(-10, 10).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.observe("reset"), {}

    def step(self, action):
        self.steps += 1
        return self.observe("step"), 1.0, self.steps == 3, False, {}


@pytest.mark.parametrize("forgets_when", ["reset", "step"])
def test_an_environment_that_forgets_its_seed_is_told(forgets_when):
    task = resolve(lambda: Forgetful(forgets_when))
    (message,) = told(task, left, [1, 2], warn_if_seed_is_forgotten)
    assert "Forgetful goes otherwise with the same seed and the same actions" in message
    assert "super().reset(seed=seed)" in message


@pytest.mark.parametrize("name", ["cartpole", "gridworld", "LunarLander-v3", "Pendulum-v1", None])
def test_an_environment_that_keeps_its_seed_is_not_suspected(name):
    task = resolve(name or (lambda: Forgetful("never")))
    act = left if task.box is None else lambda rows: np.zeros((len(rows), len(task.box)))
    assert told(task, act, [1, 2], warn_if_seed_is_forgotten) == []
