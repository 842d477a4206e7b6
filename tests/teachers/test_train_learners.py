"""REINFORCE and DQN learn."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from moet.envs.rollout import play  # noqa: E402
from moet.envs.task import Step  # noqa: E402
from moet.teachers.network import NetworkTeacher  # noqa: E402
from moet.teachers.train.reinforce import standardised_advantages  # noqa: E402

from .train_world import BEST, DQN_RECIPE, LENGTH, REINFORCE_RECIPE, corridor  # noqa: E402


def mean_reward(learner) -> float:
    return float(play(NetworkTeacher(learner.network()).act, corridor(), range(200)).returns.mean())


@pytest.mark.parametrize("recipe", [DQN_RECIPE, REINFORCE_RECIPE], ids=["dqn", "reinforce"])
def test_learning_reaches_the_best_reward(recipe):
    learner = recipe.learner(corridor(), seed=0)
    before = mean_reward(learner)
    for _ in range(4):
        learner.advance()
    assert mean_reward(learner) == pytest.approx(BEST, abs=0.3)
    assert before < BEST - 2
    learner.close()


def test_values_are_those_of_the_corridor():
    """Termination has no future and a time limit has one, so Q(place, right) is known."""
    learner = replace(DQN_RECIPE, n_steps=(2,), hidden=(16,), steps=6_000).learner(corridor(), seed=0)
    for _ in range(6):
        learner.advance()
    q = NetworkTeacher(learner.network()).scores(np.arange(LENGTH, dtype=float)[:, None])
    steps_before_exit = np.arange(LENGTH)[::-1]
    assert q[:, 1] == pytest.approx(-(1 - 0.9**steps_before_exit) / 0.1, abs=0.5)


@pytest.mark.parametrize(("reward_ends", "value"), [(False, -1.0), (True, -0.2)])
def test_what_a_cost_for_ever_is_worth(reward_ends, value):
    """Where only the time limit ends anything, -0.2 / (1 - discount); where a reward ends the return, -0.2."""
    recipe = replace(DQN_RECIPE, discount=0.8, reward_scale=0.2, hidden=(4,), reward_ends=reward_ends)
    learner = recipe.learner(replace(corridor(), batch=_Endless), seed=0)
    for _ in range(4):
        learner.advance()
    assert NetworkTeacher(learner.network()).scores(np.zeros((1, 1))) == pytest.approx(value, abs=0.1)


@given(st.lists(st.lists(st.floats(-5, 5), min_size=1, max_size=8), min_size=2, max_size=6))
def test_advantages_compare_episodes_at_the_same_time(episodes):
    rewards, lengths = np.concatenate(episodes), np.array([len(episode) for episode in episodes])
    returns = [
        [sum(0.9 ** (k - t) * episode[k] for k in range(t, len(episode))) for t in range(len(episode))]
        for episode in episodes
    ]
    baseline = [np.mean([later[t] for later in returns if len(later) > t]) for t in range(lengths.max())]
    expected = np.concatenate([np.array(later) - baseline[: len(later)] for later in returns])
    advantages = standardised_advantages(rewards, lengths, 0.9)
    assert advantages * (expected.std() + 1e-8) == pytest.approx(expected, abs=1e-6)


class _Endless:
    """Shows nothing, costs 1 a step, and is only ever cut off."""

    def reset(self, seeds):
        self._age = np.zeros(len(seeds), int)
        return np.zeros((len(seeds), 1))

    def step(self, actions):
        self._age += 1
        nothing = np.zeros(len(actions), bool)
        return Step(np.zeros((len(actions), 1)), -np.ones(len(actions)), nothing, self._age >= 2)

    def restart(self, finished, seeds):
        self._age[finished] = 0
        return np.zeros((len(seeds), 1))

    def close(self):
        pass
