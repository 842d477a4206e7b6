import logging

import gymnasium
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from moet import MoETClassifier, load, save
from moet.distill import Teacher, distill
from moet.distill.checkpoint import Checkpoint
from moet.errors import CheckpointError, InputError, MoetWarning, TeacherError

from .conftest import linear_scores

# so few rounds are enough to see that it learns
pytestmark = pytest.mark.filterwarnings("ignore::moet.errors.FarBelowWarning")

QUICK = {"iterations": 3, "rollouts_per_iteration": 4, "selection_episodes": 5}


@pytest.fixture
def student():
    return MoETClassifier(n_experts=2, max_depth=0, prediction="hard", random_state=0)


@pytest.fixture
def run(teacher, student):
    return distill(teacher, "cartpole", student, **QUICK)


def same(one, other):
    return one.policy.mixture == other.policy.mixture and [it.score for it in one.history] == [
        it.score for it in other.history
    ]


def test_a_linear_policy_is_learned(run):
    assert len(run.history) == 3
    assert run.score.reward == 200
    assert run.score.fidelity > 0.95
    assert run.score.leaves == 2
    assert run.history[-1].rows == len(run.data) == len(run.data.features)
    assert np.array_equal(run.data.actions, linear_scores(run.data.features).argmax(axis=1))
    assert np.unique(run.data.episode).tolist() == list(range(12))


def test_the_policy_answers_numbers_and_its_mixture_names(run):
    states = run.data.features[:50]
    numbers = run.policy.predict(states)
    assert numbers.dtype == np.int64
    assert [("left", "right")[k] for k in numbers] == run.policy.mixture.predict(states).tolist()
    assert run.policy.mixture.feature_names[2] == "angle"


def test_the_file_remembers_where_the_policy_comes_from(run, tmp_path):
    save(run.policy, tmp_path / "policy.moet.json")
    mixture = load(tmp_path / "policy.moet.json")
    assert mixture == run.policy.mixture
    assert mixture.provenance["task"] == "cartpole"
    assert mixture.provenance["seed"] == 0
    assert mixture.provenance["selected_iteration"] == run.selected
    assert set(mixture.provenance["versions"]) >= {"numpy", "gymnasium"}


def test_the_first_iteration_plays_the_teacher_and_the_next_its_student(teacher, run, student):
    calls = []

    def act(observations):
        calls.append(len(observations))
        return linear_scores(observations).argmax(axis=1)

    counting = Teacher.from_callable(act, scores=linear_scores)
    distill(counting, "cartpole", student, iterations=1, rollouts_per_iteration=4, selection_episodes=5)
    played = sum(calls[:200])
    assert calls[:200] == [4] * 200  # four episodes of 200 steps side by side, then labelling in one go
    assert calls[200] == played == 800


def test_seeds(teacher, student, run):
    assert same(run, distill(teacher, "cartpole", student, **QUICK))
    other = distill(teacher, "cartpole", student, **QUICK, seed=1)
    assert not np.array_equal(run.data.features, other.data.features)


@pytest.mark.parametrize("stopped_after", [1, 2])
def test_a_stopped_run_ends_as_if_it_had_not_been(teacher, student, run, tmp_path, monkeypatch, stopped_after):
    append = Checkpoint.append

    def append_then_stop(self, data, records):
        append(self, data, records)
        if len(records) == stopped_after:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "append", append_then_stop)
    with pytest.raises(KeyboardInterrupt):
        distill(teacher, "cartpole", student, **QUICK, checkpoint=tmp_path / "run")
    monkeypatch.undo()
    resumed = distill(teacher, "cartpole", student, **QUICK, checkpoint=tmp_path / "run")
    assert same(run, resumed)
    assert np.array_equal(run.data.features, resumed.data.features)


def test_a_finished_run_can_be_extended_or_read_again(teacher, student, run, tmp_path):
    short = distill(teacher, "cartpole", student, **(QUICK | {"iterations": 2}), checkpoint=tmp_path)
    assert len(short.history) == 2
    assert same(run, distill(teacher, "cartpole", student, **QUICK, checkpoint=tmp_path))
    again = distill(teacher, "cartpole", student, **(QUICK | {"iterations": 2}), checkpoint=tmp_path)
    assert same(short, again)


def test_a_checkpoint_of_another_student_is_refused(teacher, student, tmp_path):
    distill(teacher, "cartpole", student, **QUICK, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="its student is"):
        distill(teacher, "cartpole", student.set_params(max_depth=1), **QUICK, checkpoint=tmp_path)


@pytest.mark.parametrize(
    "other",
    [DecisionTreeClassifier(max_depth=3), MoETClassifier(2, 1), LogisticRegression()],
    ids=lambda student: type(student).__name__,
)
@pytest.mark.parametrize("weighting", ["weight", "resample"])
def test_any_classifier_can_be_the_student(teacher, other, weighting):
    run = distill(teacher, "cartpole", other, **QUICK, weighting=weighting)
    assert run.score.reward > 150
    assert same_type(run.policy.predict(run.data.features))


def same_type(actions):
    return actions.dtype == np.int64 and set(actions.tolist()) <= {0, 1}


def test_a_student_without_weights_must_be_resampled(teacher):
    with pytest.raises(InputError, match="takes no sample_weight; distil with weighting='resample'"):
        distill(teacher, "cartpole", KNeighborsClassifier(), **QUICK)
    run = distill(teacher, "cartpole", KNeighborsClassifier(), **QUICK, weighting="resample")
    assert run.score.leaves is None


def test_rows_of_an_episode_stay_together(teacher):
    seen = []

    class Student(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None, groups=None):
            seen.append(groups)
            return super().fit(X, y, sample_weight)

    distill(teacher, "cartpole", Student(max_depth=2), **QUICK, weighting="resample")
    assert all(group is not None for group in seen)


def test_a_teacher_without_scores_is_said_in_the_log(student, caplog):
    teacher = Teacher.from_callable(lambda X: linear_scores(X).argmax(axis=1))
    with caplog.at_level(logging.WARNING):
        run = distill(teacher, "cartpole", student, importance="q_gap", **QUICK)
    assert "gives no scores" in caplog.text
    assert (run.data.importance == 1).all()


def test_all_equal_scores_count_as_uniform_and_are_said_in_the_log(student, caplog):
    def act(observations):
        return linear_scores(observations).argmax(axis=1)

    teacher = Teacher.from_callable(act, scores=lambda X: np.zeros((len(X), 2)))
    with caplog.at_level(logging.WARNING):
        assert distill(teacher, "cartpole", student, importance="q_gap", **QUICK).score.reward == 200
    assert caplog.text.count("scores all actions the same") == 1


def test_scores_that_are_not_finite_are_refused(student):
    teacher = Teacher.from_callable(
        lambda X: linear_scores(X).argmax(axis=1), scores=lambda X: np.full((len(X), 2), np.nan)
    )
    with pytest.raises(TeacherError, match="finite"):
        distill(teacher, "cartpole", student, importance="q_gap", **QUICK)


def test_a_teacher_of_another_task_is_refused(student):
    teacher = Teacher.from_callable(scores=linear_scores, n_features=6)
    with pytest.raises(TeacherError, match="6"):
        distill(teacher, "cartpole", student, **QUICK)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"iterations": 0}, "iterations must be at least 1, got 0"),
        ({"max_samples": 0}, "max_samples must be at least 1"),
        ({"importance": "max"}, "importance must be one of q_gap, uniform, got 'max'"),
        ({"selection": "best"}, "selection must be one of reward"),
        ({"seed": -1}, "seed must not be negative"),
    ],
)
def test_wrong_settings(teacher, student, wrong, message):
    with pytest.raises(InputError, match=message):
        distill(teacher, "cartpole", student, **(QUICK | wrong))


def test_what_cannot_learn_is_refused(teacher):
    with pytest.raises(InputError, match="has no fit"):
        distill(teacher, "cartpole", object(), **QUICK)


def test_a_teacher_that_knows_one_action_only_is_told_before_anything_is_trained():
    class Student(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("trained already")

    teacher = Teacher.from_callable(lambda X: np.zeros(len(X), dtype=int))
    complaint = r"always acts alike: 'left' in all \d+ steps of .* --normalize vecnormalize\.pkl"
    with pytest.warns(MoetWarning, match=complaint), pytest.raises(AssertionError, match="trained already"):
        distill(teacher, "mountaincar", Student(), **QUICK)


def test_a_teacher_that_knows_one_action_only_is_imitated_all_the_same(student):
    teacher = Teacher.from_callable(lambda X: np.zeros(len(X), dtype=int))
    with pytest.warns(MoetWarning, match="always acts alike"):
        run = distill(teacher, "mountaincar", student, **QUICK)
    assert run.score.fidelity == 1.0


def test_a_teacher_that_never_beats_chance_is_told(student):
    teacher = Teacher.from_callable(lambda X: (X[:, 2] < 0).astype(int))  # pushes the cart away from under the pole
    with pytest.warns(MoetWarning, match=r"plays no better than chance: mean reward \d\.\d\d against \d\d\.\d\d"):
        distill(teacher, "cartpole", student, **QUICK)


class Screen(gymnasium.Env):
    """Shows a random image; bright ones call for action 1, which is paid for."""

    observation_space = gymnasium.spaces.Box(0, 255, (4, 4), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._image(), {}

    def step(self, action):
        self.steps += 1
        paid = float(action == (self.image.mean() > 128))
        return self._image(), paid, False, self.steps == 20, {}

    def _image(self):
        self.image = self.np_random.integers(256, size=(4, 4)).astype(np.uint8)
        return self.image


def test_a_student_of_features_of_an_image():
    def brightness(images):
        return images.reshape(len(images), -1).mean(axis=1, keepdims=True)

    teacher = Teacher.from_callable(lambda images: (brightness(images)[:, 0] > 128).astype(int))
    run = distill(teacher, Screen, DecisionTreeClassifier(max_depth=1), **QUICK, features=brightness)
    assert run.score.fidelity > 0.95
    assert run.policy.mixture.n_features == 1
    assert run.policy.mixture.classes.tolist() == [0, 1]  # the environment has no names for its actions
