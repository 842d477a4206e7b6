"""The parts that learning is made of: memory, exploration, endless play, networks."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from moet.envs.dynamics import DynamicsBatch  # noqa: E402
from moet.teachers.network import NetworkTeacher  # noqa: E402
from moet.teachers.train.explore import Decay, Explorer, Ladder  # noqa: E402
from moet.teachers.train.networks import ScoreNetwork, as_tensor  # noqa: E402
from moet.teachers.train.patience import cut_off_idle  # noqa: E402
from moet.teachers.train.replay import Replay  # noqa: E402
from moet.teachers.train.stream import Stream  # noqa: E402

from .train_world import CORRIDOR, LENGTH, MAX_STEPS, corridor  # noqa: E402

CAPACITY, SLOTS = 12, 3


def filled_replay(ticks: int, seed: int) -> tuple[Replay, list[dict[str, np.ndarray]]]:
    """A memory, and everything that was ever put into it. Observations are the tick and the slot."""
    rng = np.random.default_rng(seed)
    replay = Replay(CAPACITY, SLOTS, 2)
    history = []
    for tick in range(ticks):
        terminated = rng.random(SLOTS) < 0.15
        row = {
            "observations": np.column_stack([np.full(SLOTS, tick), np.arange(SLOTS)]),
            "actions": rng.integers(4, size=SLOTS),
            "rewards": rng.normal(size=SLOTS).astype(np.float32),
            "next_observations": rng.normal(size=(SLOTS, 2)).astype(np.float32),
            "terminated": terminated,
            "ended": terminated | (rng.random(SLOTS) < 0.15),
        }
        replay.add(**row)
        history.append(row)
    return replay, history


@given(ticks=st.integers(4, 40), n_steps=st.integers(1, 4), seed=st.integers(0, 1000))
def test_a_sample_is_what_happened_up_to_n_steps_later(ticks, n_steps, seed):
    replay, history = filled_replay(ticks, seed)
    sample = replay.sample(np.random.default_rng(seed), 30, n_steps, 0.9)
    for row in range(30):
        tick, slot = sample.observations[row].astype(int)
        assert max(0, ticks - CAPACITY) <= tick <= ticks - n_steps
        assert sample.actions[row] == history[tick]["actions"][slot]
        expected, weight = 0.0, 1.0
        for later in history[tick : tick + n_steps]:
            expected += weight * later["rewards"][slot]
            weight *= 0.9
            if later["ended"][slot]:
                break
        assert sample.returns[row] == pytest.approx(expected, abs=1e-5)
        assert np.array_equal(sample.next_observations[row], later["next_observations"][slot])
        assert sample.discounts[row] == pytest.approx(0.0 if later["terminated"][slot] else weight)


def test_a_restored_memory_gives_the_same_samples():
    replay, _ = filled_replay(30, seed=1)
    other = Replay(CAPACITY, SLOTS, 2)
    other.restore(copy.deepcopy(replay.state()))
    samples = [memory.sample(np.random.default_rng(0), 20, 3, 0.9) for memory in (replay, other)]
    assert all(np.array_equal(a, b) for a, b in zip(*samples, strict=True))


def test_rates_fall_in_a_line_and_stay():
    decay = Decay(share=0.5, end=0.1, start=0.9)
    assert [decay.rates(progress, 2).tolist() for progress in (0.0, 0.25, 0.5, 1.0)] == [
        pytest.approx([rate, rate]) for rate in (0.9, 0.5, 0.1, 0.1)
    ]


def test_a_ladder_has_one_rate_for_each_slot():
    rates = Ladder(high=0.4, ratio=1 / 8, low=0.001).rates(0.0, 8)
    assert rates[:6] == pytest.approx(0.4 * (1 / 8) ** (np.arange(6) / 7))
    assert rates[6:] == pytest.approx([0.001, 0.001])


def test_random_actions_are_held():
    rng = np.random.default_rng(0)
    explorer = Explorer(1, n_actions=1000, longest=5)
    greedy = np.array([-1])
    played = [int(explorer.disturb(greedy, np.array([0.3]), rng)[0]) for _ in range(3000)]
    lengths = [len(run) for run in _runs(played) if run[0] != -1]
    assert set(lengths) == {1, 2, 3, 4, 5}
    assert np.mean(lengths) == pytest.approx(3.0, abs=0.2)
    share = np.mean(np.array(played) != -1)
    assert share == pytest.approx(0.9 / (0.9 + 0.7), abs=0.05)  # 3 steps each time, after 0.7 / 0.3 greedy ones


def test_nothing_is_held_into_the_next_episode():
    explorer = Explorer(2, n_actions=3, longest=1000)
    rng = np.random.default_rng(0)
    explorer.disturb(np.array([-1, -1]), np.ones(2), rng)
    explorer.forget(np.array([True, False]))
    assert (explorer.disturb(np.array([-1, -1]), np.zeros(2), rng) == -1).tolist() == [True, False]


def test_a_stream_goes_on_where_an_episode_ends():
    rng = np.random.default_rng(0)
    stream = Stream(corridor(), slots=5)
    stream.begin(rng)
    place, age = stream.observations[:, 0], np.zeros(5, int)
    ends = {"terminated": 0, "truncated": 0}
    for _ in range(300):
        actions = rng.integers(2, size=5)
        step = stream.step(actions, rng)
        age += 1
        assert np.array_equal(step.observations[:, 0], np.clip(place + 2 * actions - 1, 0, LENGTH))
        assert np.array_equal(step.terminated, step.observations[:, 0] == LENGTH)
        assert np.array_equal(step.truncated, age == MAX_STEPS)
        ended = step.terminated | step.truncated
        assert np.array_equal(stream.observations[~ended], step.observations[~ended])
        assert (stream.observations[ended] < LENGTH).all()
        place, age = stream.observations[:, 0], np.where(ended, 0, age)
        ends = {"terminated": ends["terminated"] + step.terminated.sum(), "truncated": ends["truncated"] + ended.sum()}
    assert min(ends.values()) > 0


def test_patience_cuts_off_play_without_reward():
    """Episodes of different age are cut off on their own, and begin anew with all their time."""
    rewards = iter(np.array([[0, 0], [0, 1], [0, 0], [0, 0], [0, 0], [1, 0], [0, 0]], dtype=float))
    task = replace(corridor(), batch=lambda: _Paying(rewards))
    batch = cut_off_idle(task, 3).batch()
    batch.reset([0, 1])
    cut = []
    for _ in range(7):
        step = batch.step(np.zeros(2, np.int64))
        cut.append(step.truncated.tolist())
        if step.truncated.any():
            batch.restart(step.truncated, [2] * int(step.truncated.sum()))
    assert cut == [
        [False, False],
        [False, False],
        [True, False],
        [False, False],
        [False, True],
        [False, False],
        [False, False],
    ]
    assert cut_off_idle(task, None) is task


def test_patience_follows_the_episodes_that_are_kept():
    rewards = iter([np.array([1.0, 0.0]), np.array([0.0]), np.array([0.0])])
    batch = cut_off_idle(replace(corridor(), batch=lambda: _Paying(rewards)), 3).batch()
    batch.reset([0, 1])
    batch.step(np.zeros(2, np.int64))
    batch.keep(np.array([False, True]))
    assert [batch.step(np.zeros(1, np.int64)).truncated.tolist() for _ in range(2)] == [[False], [True]]


class _Paying(DynamicsBatch):
    """A corridor with these rewards instead of its own."""

    def __init__(self, rewards):
        super().__init__(CORRIDOR, MAX_STEPS)
        self._rewards = rewards

    def step(self, actions):
        return super().step(actions)._replace(rewards=next(self._rewards))


@pytest.mark.parametrize(("dueling", "streams"), [(False, ()), (True, ()), (True, (5,)), (True, (5, 4))])
@pytest.mark.parametrize("activation", ["relu", "elu", "tanh"])
def test_the_exported_network_gives_the_same_scores(dueling, streams, activation):
    rng = np.random.default_rng(0)
    network = ScoreNetwork((2.0, 0.3, 5.0), (7, 6), 4, activation=activation, dueling=dueling, streams=streams, rng=rng)
    for parameter in network.parameters:
        parameter.data.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0)))
    observations = rng.normal(size=(50, 3))
    scores = network(as_tensor(observations)).detach()
    exported = network.export()
    assert exported.outputs(observations) == pytest.approx(scores.numpy(), abs=1e-5)
    assert exported.meaning == ("q_values" if dueling else "logits")
    expected = scores if dueling else torch.log_softmax(scores, dim=1)
    assert NetworkTeacher(exported).scores(observations) == pytest.approx(expected.numpy(), abs=1e-5)


def test_a_dueling_network_starts_near_zero_and_separates_the_mean():
    network = ScoreNetwork((1.0,), (64,), 3, activation="relu", dueling=True, rng=np.random.default_rng(0))
    scores = network(as_tensor(np.linspace(-1, 1, 9)[:, None]))
    assert scores.abs().max() < 2
    network.parameters[-1].data[0] += 5.0
    raised = network(as_tensor(np.linspace(-1, 1, 9)[:, None]))
    assert torch.allclose(raised, scores + 5.0, atol=1e-5)


def test_a_network_moves_towards_another():
    first, second = (
        ScoreNetwork((1.0,), (2,), 2, activation="relu", dueling=True, rng=np.random.default_rng(seed))
        for seed in (0, 1)
    )
    half = [(mine + theirs).detach() / 2 for mine, theirs in zip(first.parameters, second.parameters, strict=True)]
    first.move_towards(second.parameters, 0.5)
    assert all(torch.allclose(mine, middle) for mine, middle in zip(first.parameters, half, strict=True))
    first.move_towards(second.parameters, 1.0)
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(first.parameters, second.parameters, strict=True))


def _runs(values):
    """Runs of equal neighbours."""
    edges = np.flatnonzero(np.diff(values)) + 1
    return np.split(np.array(values), edges)
