import numpy as np
import pytest

from moet import Mixture, Tree
from moet.distill import Policy
from moet.envs import rollout
from moet.envs.catalog import resolve
from moet.envs.rollout import play

TASK = resolve("cartpole")
SEEDS = [5, 3, 8, 1]


def push_right_when_leaning(observations):
    return (observations[:, 2] > 0).astype(np.int64)


def one_by_one(seed):
    """The same episode in Gymnasium."""
    env = TASK.make()
    state, _ = env.reset(seed=seed)
    states, total, over = [], 0.0, False
    while not over:
        states.append(state)
        state, reward, terminated, truncated, _ = env.step(int(push_right_when_leaning(state[None, :])[0]))
        total += reward
        over = terminated or truncated
    return np.array(states, dtype=np.float64), total


def test_episodes_are_those_of_gymnasium_one_after_the_other():
    episodes = play(push_right_when_leaning, TASK, SEEDS)
    ends = np.cumsum(episodes.lengths)
    for k, seed in enumerate(SEEDS):
        states, total = one_by_one(seed)
        own = episodes.observations[ends[k] - episodes.lengths[k] : ends[k]]
        assert np.array_equal(own, states)
        assert episodes.returns[k] == total
        assert (episodes.number[ends[k] - episodes.lengths[k] : ends[k]] == k).all()
    assert np.array_equal(episodes.actions, push_right_when_leaning(episodes.observations))


@pytest.mark.parametrize("width", [1, 3, 256])
def test_the_result_does_not_depend_on_the_width(monkeypatch, width):
    whole = play(push_right_when_leaning, TASK, SEEDS)
    monkeypatch.setattr(rollout, "WIDTH", width)
    parts = play(push_right_when_leaning, TASK, SEEDS)
    for name in whole.__dataclass_fields__:
        assert np.array_equal(getattr(whole, name), getattr(parts, name))


@pytest.mark.parametrize("count", range(len(SEEDS) + 1))
def test_episodes_played_together_split_into_those_played_apart(count):
    parts = play(push_right_when_leaning, TASK, SEEDS).split(count)
    for seeds, part in zip((SEEDS[:count], SEEDS[count:]), parts, strict=True):
        assert len(part.lengths) == len(seeds)
        if seeds:
            alone = play(push_right_when_leaning, TASK, seeds)
            for name in alone.__dataclass_fields__:
                assert np.array_equal(getattr(part, name), getattr(alone, name))


@pytest.mark.processes
def test_the_result_does_not_depend_on_the_workers():
    leaves = [Tree.leaf([1.0, 0.0]), Tree.leaf([0.0, 1.0])]
    policy = Policy.of(Mixture([[0, 0, -1, 0], [0, 0, 1, 0]], [0, 0], leaves, ["left", "right"]), TASK)
    whole = play(policy.act, TASK, SEEDS)
    parts = play(policy.act, TASK, SEEDS, workers=2)
    for name in whole.__dataclass_fields__:
        assert np.array_equal(getattr(whole, name), getattr(parts, name))
