"""Agents whose actions are numbers, distilled into mixtures of affine laws."""

import os
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from sklearn.tree import DecisionTreeRegressor

from moet import MoETClassifier, MoETRegressor, RegressionMixture, RegressionTree, load, save
from moet.distill import Policy, Teacher, distill, evaluate
from moet.envs import resolve
from moet.errors import InputError, MoetWarning, TaskError, TeacherError

AGENTS = Path(os.environ.get("MOET_AGENTS", "missing"))
SHORT = {"iterations": 2, "rollouts_per_iteration": 2, "selection_episodes": 2}


def push(rows):
    """Drive the car by its velocity, which one affine law says."""
    return np.clip(0.1 + 30 * rows[:, 1:], -1, 1)


def swing(rows):
    return np.clip(np.where(rows[:, :1] > 0.8, -8 * rows[:, 1:2] - 2 * rows[:, 2:], 2 * np.sign(rows[:, 2:])), -2, 2)


@pytest.fixture(scope="module")
def run():
    teacher = Teacher.from_callable(push, low=[-1], high=[1])
    return teacher, distill(teacher, "MountainCarContinuous-v0", MoETRegressor(1, 0), **SHORT)


def test_an_affine_law_is_learned_and_plays_as_its_teacher(run, tmp_path):
    teacher, result = run
    found = evaluate(result.policy, episodes=4, teacher=teacher)
    assert found.fidelity == 1
    assert found.fidelity_raw is None
    assert found.action_error < 0.005
    assert found.r2 > 0.99
    assert found.numbers == 3
    assert found.reward == pytest.approx(found.teacher_reward, abs=0.5)
    assert result.history[0].loss < 0.005
    save(result.policy, tmp_path / "car.moet.json")
    again = Policy.load(tmp_path / "car.moet.json")
    assert again.mixture == result.policy.mixture
    assert again.mixture.outputs == ("force",)
    assert again.mixture.feature_names == ("position", "velocity")
    rows = np.array([[-0.5, 0.01], [0.2, -0.05]])
    np.testing.assert_array_equal(again.act(rows), result.policy.act(rows))
    assert "force" in result.policy._repr_html_()
    assert "force" in result._repr_html_()


def test_the_environment_takes_what_the_policy_gives_it(run):
    policy = run[1].policy
    env = gymnasium.make("MountainCarContinuous-v0")
    seen, _ = env.reset(seed=0)
    action = policy.env_action(seen)
    assert action.dtype == np.float32
    assert env.action_space.contains(action)
    env.step(action)
    assert policy.env_action(np.stack([seen, seen])).shape == (2, 1)


def test_a_run_is_repeated_to_the_bit_and_goes_on_from_its_checkpoint(tmp_path):
    teacher = Teacher.from_callable(swing, low=[-2], high=[2])
    whole, first, rest = (
        distill(teacher, "Pendulum-v1", MoETRegressor(2, 0, joint_iter=5), **(SHORT | options))
        for options in ({}, {"iterations": 1, "checkpoint": tmp_path}, {"checkpoint": tmp_path})
    )
    assert whole.policy.mixture == rest.policy.mixture
    assert len(first.history) == 1
    assert 0 < whole.score.fidelity < 1


def test_any_regressor_is_a_student_and_its_answers_are_cut_at_the_bounds():
    teacher = Teacher.from_callable(swing, low=[-2], high=[2])
    policy = distill(teacher, "Pendulum-v1", DecisionTreeRegressor(max_depth=3), **SHORT).policy
    assert policy.mixture.low.tolist() == [-2]
    assert policy.mixture.high.tolist() == [2]


class Mean:
    """A student that is no estimator of scikit-learn."""

    def fit(self, X, y, sample_weight=None):
        self.mean = np.mean(y, axis=0)

    def predict(self, X):
        return np.tile(self.mean, (len(X), 1))


def test_a_student_of_ones_own_need_not_say_what_it_answers_with():
    teacher = Teacher.from_callable(swing, low=[-2], high=[2])
    assert distill(teacher, "Pendulum-v1", Mean(), **SHORT).policy.act(np.zeros((2, 3))).shape == (2, 1)


def test_without_a_student_one_law_is_tried_first_and_taken_if_it_does():
    teacher = Teacher.from_callable(push, low=[-1], high=[1])
    result = distill(teacher, "MountainCarContinuous-v0", **SHORT, budget=5.0)
    assert isinstance(result.policy.model, RegressionMixture)
    assert [one.name for one in result.front] == ["E1-D0"]
    assert result.policy.model.n_numbers == 3


def test_laws_are_kept_with_few_digits_unless_all_are_asked_for():
    teacher = Teacher.from_callable(push, low=[-1], high=[1])
    short, long, two = (
        distill(teacher, "MountainCarContinuous-v0", MoETRegressor(1, 0), **SHORT, digits=digits).policy.mixture
        for digits in (None, 17, 2)
    )
    assert max(len(repr(number)) for number in short.trees[0].laws.tolist()) <= 6
    assert max(len(repr(number)) for number in long.trees[0].laws.tolist()) > 12
    assert all(float(f"{number:.2g}") == number for number in two.trees[0].laws)


@pytest.mark.parametrize(
    ("env", "student", "options", "message"),
    [
        ("Pendulum-v1", MoETClassifier(), {}, r"labels, Pendulum-v1 takes 1 number between \[-2\].*MoETRegressor"),
        ("pendulum", MoETRegressor(), {}, "numbers, pendulum takes one of 3 actions; take a moet.MoETClassifier"),
        ("Pendulum-v1", None, {"digits": 0}, "digits must be from 1 to 17"),
        ("Pendulum-v1", MoETRegressor(), {"budget": 1.0}, "a given student takes as long as its iterations"),
    ],
)
def test_what_does_not_go_together_is_refused_with_what_to_take(env, student, options, message):
    bounds = {} if env == "pendulum" else {"low": [-2], "high": [2]}
    with pytest.raises(InputError, match=message):
        distill(Teacher.from_callable(swing, **bounds), env, student, **options)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"low": [-1], "high": [1]}, r"between \[-1\] and \[1\], Pendulum-v1 takes 1 number between \[-2\] and \[2\]"),
        ({"low": [-2, -2], "high": [2, 2]}, "actions of 2 numbers, Pendulum-v1 has actions of 1"),
        ({}, "chooses one of a few actions, Pendulum-v1 takes 1 number"),
    ],
)
def test_a_teacher_with_another_action_box_is_refused(bounds, message):
    with pytest.raises(TeacherError, match=message):
        distill(Teacher.from_callable(swing, **bounds), "Pendulum-v1", MoETRegressor())


def test_a_model_of_the_other_kind_or_size_cannot_play(run):
    model = run[1].policy.mixture
    with pytest.raises(TaskError, match=r"mountaincar takes one of 3 actions; take a moet.MoETClassifier"):
        Policy.of(model, resolve("mountaincar"))
    labels = MoETClassifier(1, 1).fit([[0.0, 0], [1, 1]] * 9, [0, 1] * 9)
    with pytest.raises(TaskError, match=r"answers with labels, MountainCarContinuous-v0 takes .*MoETRegressor"):
        Policy.of(labels, resolve("MountainCarContinuous-v0"))


class Reach(gymnasium.Env):
    """One step; an action is a matrix."""

    observation_space = Box(-1, 1, (2,))
    action_space = Box(np.float32([[-1, 0], [0, -2]]), np.float32([[1, 3], [1, 2]]))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        return np.zeros(2, np.float32), float(action.sum()), True, False, {}


def test_a_model_with_too_many_outputs_is_told_what_the_task_takes():
    law = RegressionTree.leaf([0.0, 1.0], slope=[[0.0, 4.0, 1.0]] * 2)
    model = RegressionMixture([[0.0] * 3], [0.0], [law], ["left", "right"])
    with pytest.raises(TaskError, match=r"answers with left, right, Pendulum-v1 takes 1 number between .*: torque"):
        evaluate(model, "Pendulum-v1", episodes=1)


def test_actions_are_clipped_and_have_the_shape_that_the_environment_wants():
    task = resolve(Reach)
    assert task.action_names == ("u0", "u1", "u2", "u3")
    batch = task.batch()
    batch.reset([0, 1])
    assert batch.step(np.array([[9.0, 9, 9, 9], [-9, -9, -9, -9]])).rewards.tolist() == [7, -3]
    for wrong in (np.zeros((2, 3)), np.zeros(2), np.full((2, 4), np.nan)):
        with pytest.raises(TaskError, match=r"shape|nan"):
            batch.step(wrong)


@pytest.mark.parametrize("space", [Box(-np.inf, np.inf, (1,)), Box(0, 5, (1,), dtype=np.int64), Box(1, 1, (1,))])
def test_actions_without_finite_bounds_or_whole_numbers_are_refused(space):
    class World(Reach):
        action_space = space

    with pytest.raises(TaskError, match="ActionWrapper"):
        resolve(World)


@pytest.mark.skipif(not AGENTS.is_dir(), reason="MOET_AGENTS names no folder of agents")
def test_the_mountain_car_of_ars_becomes_three_numbers():
    pytest.importorskip("torch")  # its weights are in a file of PyTorch's
    name = AGENTS / "ars_MountainCarContinuous-v0"
    teacher = Teacher.from_sb3(f"{name}.zip", normalize=f"{name}.vecnormalize.pkl")
    result = distill(teacher, "MountainCarContinuous-v0", MoETRegressor(1, 0), iterations=3, selection_episodes=10)
    found = evaluate(result.policy, episodes=50, teacher=teacher)
    assert found.numbers == 3
    assert found.reward >= found.teacher_reward - 0.5


def test_the_command_line_distils_and_evaluates(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from moet.cli.app import app

    monkeypatch.chdir(tmp_path)
    Path("driver_of_cars.py").write_text("def act(rows):\n    return 0.1 + 30 * rows[:, 1:]\n")
    agent = ["--agent", "driver_of_cars:act", "--episodes", "2"]
    short = ["--iterations", "1", "--rollouts", "2", "--selection-episodes", "2", "--experts", "1"]
    command = ["distill", "--env", "MountainCarContinuous-v0", *agent, *short, "-o", "p.json"]
    made = CliRunner().invoke(app, command)
    assert made.exit_code == 0, made.output
    assert "R²" in made.output
    assert load("p.json").n_numbers == 3
    judged = CliRunner().invoke(app, ["evaluate", "p.json", *agent])
    assert judged.exit_code == 0, judged.output
    assert "within 5 % of its range" in judged.output


@pytest.mark.parametrize("level", [0.25, 2.0, -2.0])
def test_a_teacher_that_always_acts_alike_is_told_and_still_learned(level):
    """Also one that is on a bound throughout, which any law beyond it would meet."""
    teacher = Teacher.from_callable(lambda rows: np.full((len(rows), 1), level), low=[-2], high=[2])
    with pytest.warns(MoetWarning, match="always acts alike"):
        policy = distill(teacher, "Pendulum-v1", MoETRegressor(2, 1), **SHORT).policy
    rows = np.random.default_rng(0).normal(0, 3, (200, 3))
    np.testing.assert_allclose(policy.act(rows), level, atol=1e-6)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_answers_that_are_no_numbers_are_told_with_their_row(wrong):
    def broken(rows):
        return np.where(rows[:, 2:] > 0, wrong, 0.0)

    with pytest.raises(TeacherError, match="must be finite: NaN or infinity in"):
        distill(Teacher.from_callable(broken, low=[-2], high=[2]), "Pendulum-v1", MoETRegressor(1, 0), **SHORT)


def test_importance_without_a_critic_is_uniform_and_said_to_be(caplog):
    teacher = Teacher.from_callable(swing, low=[-2], high=[2])
    result = distill(teacher, "Pendulum-v1", MoETRegressor(1, 0), **SHORT, importance="q_gap")
    assert np.all(result.data.importance == 1)
    assert "all states count the same" in caplog.text
