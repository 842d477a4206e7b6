from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from moet import Mixture, Tree, save
from moet.distill import Policy, Teacher, evaluate
from moet.distill.evaluation import agreement, play_report, regret
from moet.envs.catalog import resolve
from moet.envs.rollout import bootstrap_interval
from moet.errors import InputError, ModelError, TaskError

from .conftest import linear_scores

WEIGHTS = np.array([1.0, 2.0, 20.0, 5.0])


def linear_mixture(classes=("left", "right"), **options):
    """Two experts of depth 0 that act exactly as the teacher of these tests."""
    trees = [Tree.leaf([1.0, 0.0]), Tree.leaf([0.0, 1.0])]
    return Mixture([-WEIGHTS, WEIGHTS], [0.0, 0.0], trees, list(classes), **options)


def test_a_perfect_student(teacher):
    found = evaluate(linear_mixture(), "cartpole", episodes=20, seed=1, teacher=teacher)
    assert found.reward == 200
    assert found.reward_interval == (200, 200)
    assert found.fidelity == found.fidelity_raw == found.fidelity_teacher_play == 1.0
    assert found.q_regret == 0
    assert found.teacher_reward == 200
    assert found.size.leaves == 2
    assert found.lengths.tolist() == [200] * 20
    assert found.microseconds > 0


def test_evaluations_can_share_the_play_of_the_teacher(teacher):
    student = linear_mixture(classes=["right", "left"])
    guided = play_report(teacher, resolve("cartpole"), episodes=3, seed=1)
    shared, alone = (
        evaluate(student, "cartpole", episodes=3, seed=1, teacher=teacher, guided=episodes)
        for episodes in (guided, None)
    )
    assert guided.lengths.tolist() == [200] * 3
    assert (shared.teacher_reward, shared.fidelity_teacher_play) == (alone.teacher_reward, 0.0)


def test_the_teacher_itself_can_be_evaluated(teacher):
    found = evaluate(teacher, "cartpole", episodes=5)
    assert found.reward == 200
    assert found.size is None


def test_a_student_that_does_the_opposite(teacher):
    found = evaluate(linear_mixture(classes=["right", "left"]), "cartpole", episodes=20, teacher=teacher)
    assert found.reward < 20
    assert found.fidelity == found.fidelity_teacher_play == 0.0
    assert found.q_regret > 0
    low, high = found.reward_interval
    assert low < found.reward < high


def test_numbers_and_names_of_actions_mean_the_same(teacher, tmp_path):
    save(linear_mixture(), tmp_path / "policy.moet.json")
    models = (linear_mixture(), linear_mixture((0, 1)), tmp_path / "policy.moet.json")
    results = [evaluate(model, "cartpole", episodes=3) for model in models]
    assert all(np.array_equal(results[0].returns, other.returns) for other in results)


def test_trees_and_other_classifiers_can_be_evaluated():
    X = np.random.default_rng(0).normal(size=(500, 4))
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, linear_scores(X).argmax(axis=1))

    class Other:
        predict = tree.predict

    as_tree, as_other = (evaluate(model, "cartpole", episodes=5, seed=2) for model in (tree, Other()))
    assert np.array_equal(as_tree.returns, as_other.returns)
    assert (as_tree.size.leaves, as_other.size) == (4, None)


def test_a_policy_knows_its_task():
    policy = Policy.of(linear_mixture(), resolve("cartpole"))
    assert evaluate(policy, episodes=2).lengths.tolist() == [200, 200]
    remembered = linear_mixture(provenance={"task": "cartpole-500"})
    assert evaluate(remembered, episodes=2).lengths.tolist() == [500, 500]
    with pytest.raises(InputError, match="does not say which task"):
        evaluate(linear_mixture(), episodes=2)


def test_bad_input(teacher):
    with pytest.raises(InputError, match="at least one episode"):
        evaluate(linear_mixture(), "cartpole", episodes=0)
    with pytest.raises(TaskError, match="answers 'up', which is no action of cartpole; its actions are left, right"):
        evaluate(linear_mixture(("up", "down")), "cartpole", episodes=1)
    with pytest.raises(TaskError, match="has 4 features, but mountaincar shows 2"):
        evaluate(linear_mixture(), "mountaincar", episodes=1)
    with pytest.raises(ModelError):
        evaluate(object(), "cartpole", episodes=1)


def test_actions_that_do_the_same_agree():
    task = resolve("cartpole")
    same = replace(task, action_groups=(0, 0))
    first, second = np.array([0, 1, 0]), np.array([0, 0, 1])
    assert agreement(task, first, second).tolist() == [True, False, False]
    assert agreement(same, first, second).all()


def test_games_that_repeat_are_counted_once():
    task = replace(resolve("cartpole"), game_digest=lambda seen, done: str(len(done)))
    found = evaluate(linear_mixture(), task, episodes=4)
    assert found.distinct_games == 1  # all last 200 steps
    assert evaluate(linear_mixture(), "cartpole", episodes=4).distinct_games is None


def test_regret_is_what_the_choice_costs():
    assert regret(np.array([[1.0, 3.0], [5.0, 5.0]]), np.array([0, 1])) == 1.0


def test_the_interval_holds_the_mean_and_narrows():
    rng = np.random.default_rng(0)
    few, many = rng.normal(size=20), rng.normal(size=2_000)
    for values in (few, many):
        low, high = bootstrap_interval(values, seed=0)
        assert low < values.mean() < high
    assert np.diff(bootstrap_interval(many, 0)) < np.diff(bootstrap_interval(few, 0))


def test_fresh_episodes_depend_on_the_seed():
    flawed = linear_mixture(classes=["right", "left"])
    one, same, other = (evaluate(flawed, "cartpole", episodes=10, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.returns, same.returns)
    assert not np.array_equal(one.returns, other.returns)


def test_a_teacher_without_scores_has_no_regret():
    teacher = Teacher.from_callable(lambda X: linear_scores(X).argmax(axis=1))
    assert evaluate(linear_mixture(), "cartpole", episodes=2, teacher=teacher).q_regret is None
