from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from moet import MoETClassifier
from moet.distill import Distillation, Teacher, distill
from moet.distill.run import Run, Settings, carry_on
from moet.distill.selection import Score
from moet.distill.sizes import choose_size
from moet.envs import resolve
from moet.envs.rollout import play
from moet.errors import InputError

ONE_EPISODE = Settings(1, 1000, "uniform", "weight", "reward", 1, None, 0, 1)
QUICK = {"iterations": 8, "rollouts_per_iteration": 4, "selection_episodes": 5}


def test_without_a_student_the_smallest_that_earns_as_much_is_found(teacher):
    run = distill(teacher, "cartpole", **QUICK)
    assert run.policy.mixture.prediction == "hard"
    assert run.policy.mixture.size.leaves == 2
    assert len(run.history) == 8
    assert run.front[run.taken].score >= max(one.score for one in run.front) - run.tolerance


@pytest.mark.parametrize(("iterations", "scouted"), [(3, 3), (8, 4), (20, 5)])
def test_sizes_are_tried_with_a_quarter_of_the_iterations_and_four_at_least(teacher, monkeypatch, iterations, scouted):
    asked = []
    monkeypatch.setattr("moet.distill.sizes.carry_on", lambda run, n, *told, **how: asked.append(n) or carry_on(run, n))
    distill(teacher, "cartpole", **QUICK | {"iterations": iterations})
    assert set(asked[:-1]) == {scouted}
    assert asked[-1] == iterations


def test_finding_a_size_goes_on_where_it_was_stopped(teacher, tmp_path):
    whole = distill(teacher, "cartpole", **QUICK, checkpoint=tmp_path)
    again = distill(teacher, "cartpole", **QUICK, checkpoint=tmp_path)
    assert again.policy.mixture == whole.policy.mixture
    assert [it.score for it in again.history] == [it.score for it in whole.history]
    assert again.history[0].seconds == whole.history[0].seconds  # taken over, not run anew


def test_a_spent_budget_still_gives_a_policy(teacher):
    run = distill(teacher, "cartpole", **QUICK, budget=0.0)
    assert len(run.front) == 1
    assert len(run.history) == 1


def test_a_budget_is_for_finding_a_size(teacher):
    with pytest.raises(InputError, match="budget"):
        distill(teacher, "cartpole", MoETClassifier(2, 0), **QUICK, budget=1)


def test_soft_is_one_argument_away(teacher):
    assert distill(teacher, "cartpole", **QUICK, prediction="soft").policy.mixture.prediction == "soft"


def test_what_is_kept_has_few_digits_unless_all_are_wanted(teacher):
    student = MoETClassifier(2, 1, prediction="hard")
    short, whole = (distill(teacher, "cartpole", student, **QUICK, digits=digits) for digits in (None, 17))
    assert all(value == float(f"{value:.4g}") for value in short.policy.mixture.gate_weights.ravel())
    assert any(value != float(f"{value:.9g}") for value in whole.policy.mixture.gate_weights.ravel())
    assert short.score.reward >= whole.score.reward - whole.score.reward_error
    two = distill(teacher, "cartpole", student, **QUICK, digits=2)
    assert all(value == float(f"{value:.2g}") for value in two.policy.mixture.gate_weights.ravel())
    with pytest.raises(InputError, match="digits"):
        distill(teacher, "cartpole", student, **QUICK, digits=0)


def test_a_task_of_long_games_plays_few_of_them(teacher, monkeypatch):
    asked = {}

    def stop(teacher, task, settings, iterations, **limits):
        asked[task.name] = (iterations, settings.rollouts_per_iteration, settings.selection_episodes)
        raise KeyboardInterrupt

    monkeypatch.setattr("moet.distill.viper.choose_size", stop)
    long = replace(resolve("cartpole"), name="long", max_steps=27_000)
    for task, told in (("cartpole", {}), (long, {}), (replace(long, name="told"), {"iterations": 3})):
        with pytest.raises(KeyboardInterrupt):
            distill(teacher, task, **told)
    assert asked == {"cartpole": (40, 10, 50), "long": (8, 10, 2), "told": (3, 10, 2)}


class Scored(Run):
    """Plays nothing: ``figures`` says reward and fidelity by the number of leaves."""

    def best(self, finalists):
        leaves = self.student.n_experts * 2**self.student.max_depth
        reward, fidelity = self.figures(leaves)
        score = Score(reward=reward, reward_error=0.0, fidelity=fidelity, fidelity_error=0.0, leaves=leaves)
        return 0, SimpleNamespace(score=score)

    def teacher_reward(self):
        return 21.0

    def finish(self):
        return Distillation(None, (), 0, None, None)


def chosen_of(figures, monkeypatch):
    """What is found where sizes do as they are told."""
    monkeypatch.setattr("moet.distill.sizes.Run", Scored)
    monkeypatch.setattr("moet.distill.sizes.carry_on", lambda run, *_, **__: None)
    monkeypatch.setattr(Scored, "chance_reward", -20.9)
    monkeypatch.setattr(Scored, "figures", staticmethod(figures), raising=False)
    run = choose_size(None, resolve("cartpole"), Settings(1, 1, "uniform", "weight", "reward", 1, None, 0, 1), 4)
    return run.front[run.taken].name


@pytest.mark.parametrize(("enough", "name"), [(32, "E4-D3"), (2**20, "E8-D3")])
def test_sizes_that_learned_nothing_do_not_end_the_search_and_the_most_faithful_is_taken(enough, name, monkeypatch):
    def figures(leaves):
        return 21.0 if leaves >= enough else -21.0, 0.6 + min(leaves, 64) / 640

    assert chosen_of(figures, monkeypatch) == name


def test_a_size_that_earns_as_much_by_another_game_neither_ends_the_search_nor_is_taken(monkeypatch):
    assert chosen_of(lambda leaves: (21.0, 0.4 if leaves < 16 else 0.9), monkeypatch) == "E4-D2"
    assert (
        chosen_of(lambda leaves: (21.0 if leaves < 16 else 19.0, 0.4 if leaves < 16 else 0.9), monkeypatch) == "E2-D0"
    )
    assert chosen_of(lambda leaves: (21.0, 0.4), monkeypatch) == "E2-D0"


def test_the_teacher_plays_its_first_episodes_once_for_all_sizes(teacher, monkeypatch):
    from moet.distill import run as module

    task = resolve("cartpole")
    settings = Settings(3, 1000, "uniform", "weight", "reward", 2, None, 0, 1)
    student = MoETClassifier(n_experts=2, max_depth=0, prediction="hard")
    alone, before = (Run(teacher, task, student, settings) for _ in range(2))
    alone.iterate(last=False)
    alone.iterate(last=True)
    before.iterate(last=True)
    players = []
    monkeypatch.setattr(module, "play", lambda act, *told: players.append(act) or play(act, *told))
    after = Run(teacher, task, student, settings, after=before)
    after.iterate(last=False)
    after.iterate(last=True)
    assert teacher.act not in players
    assert after.model(1) == alone.model(1)
    assert [one.score for one in after.history] == [one.score for one in alone.history]


@pytest.mark.filterwarnings("ignore::moet.errors.MoetWarning")  # its teacher is no good
def test_a_long_game_is_learned_from_for_as_long_as_the_teacher_plays_it(teacher):
    """Judged it is to its end."""
    task = resolve("CartPole-v1(max_episode_steps=6000)")
    settings = Settings(2, 1000, "uniform", "weight", "reward", 1, None, 0, 1)
    quick = Teacher.from_callable(lambda rows: np.zeros(len(rows), dtype=int))  # falls soon
    run = Run(quick, task, MoETClassifier(n_experts=2, max_depth=0, prediction="hard"), settings)
    run.iterate(last=False)
    longest = int(np.bincount(run.parts[0].episode).max())
    judged, learned = run._play_both(teacher, [0], [0, 1])
    assert longest < 20
    assert learned.lengths.tolist() == [longest, longest]
    assert judged.lengths[0] > 100


@pytest.mark.filterwarnings("ignore::moet.errors.FarBelowWarning")  # what matters here is where it has been
def test_where_games_repeat_students_learn_from_states_beside_their_track():
    """The one way over the lake would be learned by heart, and lost at the first slip."""
    lake = "FrozenLake-v1(is_slippery=False)"
    way = {0: 1, 4: 1, 8: 2, 9: 1, 13: 2, 14: 2}  # down, down, right, down, right, right
    guide = Teacher.from_callable(lambda rows: np.array([way.get(state, 2) for state in rows.argmax(axis=1)]))
    tree = DecisionTreeClassifier(random_state=0)
    run = distill(guide, lake, tree, iterations=3, rollouts_per_iteration=300, selection_episodes=2)
    states = run.data.features.argmax(axis=1)
    first = run.data.episode < 300
    assert set(states[first]) == set(way)
    assert set(states) > set(way)
    assert run.score.reward == 1.0  # judged it is by the game itself


@pytest.mark.filterwarnings("ignore::moet.errors.MoetWarning")  # to stand still is no good example
def test_robots_are_learned_from_falls_too():
    """A walk has plenty of numbers, so few walks are played, and hardly any falls of itself."""
    walker, still = resolve("BipedalWalker-v3"), lambda rows: np.zeros((len(rows), 4))
    guide = Teacher.from_callable(still, low=[-1] * 4, high=[1] * 4)
    run = Run(guide, walker, LinearRegression(), ONE_EPISODE)
    run.iterate(last=False)
    calm, shoved = (play(still, task, range(5)) for task in (walker, run._training_task))
    assert set(calm.lengths) != set(shoved.lengths)
    assert not np.array_equal(calm.observations[:100], shoved.observations[:100])


def test_games_of_their_own_are_played_as_they_are(teacher):
    task = resolve("cartpole")
    run = Run(teacher, task, MoETClassifier(n_experts=2, max_depth=0, prediction="hard"), ONE_EPISODE)
    run.iterate(last=False)
    assert run._training_task is task
