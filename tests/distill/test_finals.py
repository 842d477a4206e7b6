"""Which of the best students is kept when luck may have ordered them."""

from types import SimpleNamespace

import numpy as np
import pytest

from moet import MoETClassifier
from moet.distill.run import FINAL_EPISODES, OVERTIME, Run, Settings
from moet.distill.selection import undecided
from moet.envs import resolve
from moet.envs.rollout import Episodes
from moet.envs.seeds import Purpose, episode_seeds

EPISODES = 25
SETTINGS = Settings(4, 1000, "uniform", "weight", "reward", EPISODES, None, 0, 1)
ALL = OVERTIME[-1][1] * FINAL_EPISODES * EPISODES


def earning(returns):
    """Episodes of one step each."""
    count = len(returns)
    nothing = np.zeros((count, 4))
    return Episodes(nothing, np.zeros(count, int), returns, np.ones(count, int), returns)


@pytest.fixture
def finals(teacher, monkeypatch):
    """A run whose students are names of what they earn in each of the last episodes."""
    seeds = episode_seeds(0, Purpose.FINAL_SELECTION, ALL, 0)
    played = []

    def meet(selection="reward", **earned):
        settings = Settings(4, 1000, "uniform", "weight", selection, EPISODES, None, 0, 1)
        run = Run(teacher, resolve("cartpole"), MoETClassifier(), settings)

        def play(policy, wanted):
            places = [seeds.index(seed) for seed in wanted]
            played.append((policy.model.name, len(places)))
            return earning(earned[policy.model.name][places])

        monkeypatch.setattr("moet.distill.run.Policy", lambda model, task: SimpleNamespace(model=model))
        monkeypatch.setattr("moet.distill.run.leaf_count", lambda model: 1)
        monkeypatch.setattr(run, "_play", play)
        students = [run._final(SimpleNamespace(name=name)) for name in earned]
        played.clear()
        return list(earned)[run._winner(students)], played

    return meet


def rewards(mean, crashes=()):
    earned = np.random.default_rng(0).normal(mean, 0.1, ALL)
    earned[list(crashes)] = 0.0
    return earned


def test_one_who_crashes_rarely_does_not_win_by_a_lucky_hundred(finals):
    rash = rewards(262, crashes=[0, *range(150, 400, 20)])
    assert rash[:100].mean() < 260 > rewards(259.6, [1])[:100].mean()
    winner, played = finals(rash=rash, safe=rewards(259.6))
    assert winner == "safe"
    assert played


def test_who_is_clearly_ahead_wins_at_once(finals):
    winner, played = finals(good=rewards(262, [3]), poor=rewards(200))
    assert (winner, played) == ("good", [])


def test_equals_do_not_play_on_to_be_told_apart(finals):
    winner, played = finals(first=rewards(200), second=rewards(200))
    assert (winner, played) == ("second", [])


def test_at_most_three_play_on_and_two_to_the_end(finals):
    names = "abcde"
    _, played = finals(
        **{name: rewards(200) + np.random.default_rng(k).normal(size=ALL) for k, name in enumerate(names)}
    )
    first = FINAL_EPISODES * EPISODES
    assert [count for _, count in played] == [first] * 3 + [2 * first] * 2


def test_where_fidelity_decides_nobody_plays_on(finals):
    noisy = {name: rewards(200) + np.random.default_rng(k).normal(size=ALL) for k, name in enumerate("ab")}
    assert finals("fidelity_then_size", **noisy)[1] == []


def test_a_difference_beyond_luck_is_decided():
    luck = np.random.default_rng(0).normal(size=200)
    assert undecided([luck, luck + 1.0, -luck, luck], luck.min()) == [0, 2]


def test_who_has_not_crashed_yet_plays_on_where_another_one_crashed(finals):
    first = FINAL_EPISODES * EPISODES
    rash, safe = rewards(262, range(first, ALL, 40)), rewards(261)
    assert finals(rash=rash, safe=safe) == ("rash", [])
    winner, played = finals(rash=rash, safe=safe, poor=rewards(255, [7]))
    assert winner == "safe"
    assert ("poor", first) not in played


def test_a_lead_that_one_crash_would_not_undo_is_decided():
    ahead, behind = np.full(100, 262.0), np.full(100, 250.0)
    assert undecided([ahead, behind], worst=0.0) == [0]
    assert undecided([ahead[:10], behind[:10]], worst=0.0) == [0, 1]


def test_short_numbers_are_judged_by_all_that_the_long_ones_played(teacher, monkeypatch):
    run = Run(teacher, resolve("cartpole"), MoETClassifier(2, 0, prediction="hard"), SETTINGS)
    run.iterate(last=True)
    long = run._played_on(run._final(run.model(0)), 2)
    counts = []
    monkeypatch.setattr(run, "_play", lambda player, seeds: counts.append(len(seeds)) or long.episodes)
    run._shortened(long)
    assert set(counts) == {len(long.episodes.returns)} == {2 * FINAL_EPISODES * EPISODES}
