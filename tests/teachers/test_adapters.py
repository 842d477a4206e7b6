import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from moet.envs.task import Task
from moet.errors import InputError, TeacherError
from moet.teachers import Teacher, adapters, network
from moet.teachers.adapters import checked
from moet.teachers.network import NetworkTeacher

from .networks import a_network

ROWS = np.random.default_rng(0).normal(size=(50, 3))
TASK = Task(
    name="toy",
    make=lambda render_mode=None: None,
    batch=lambda: None,
    observation_names=("x", "y", "z"),
    feature_names=("x", "y", "z"),
    feature_units=("", "", ""),
    action_names=("a", "b", "c", "d"),
    max_steps=10,
)


def test_a_function_that_scores_also_acts():
    teacher = Teacher.from_callable(scores=lambda rows: rows[:, [2, 0]])
    assert teacher.has_scores
    assert np.array_equal(teacher.scores(ROWS), ROWS[:, [2, 0]])
    assert np.array_equal(teacher.act(ROWS), (ROWS[:, 0] > ROWS[:, 2]).astype(int))


def test_a_function_that_acts_has_no_scores():
    teacher = Teacher.from_callable(lambda rows: (rows[:, 0] > 0).tolist(), n_features=3, n_actions=2)
    assert not teacher.has_scores
    assert teacher.digest == ""
    assert teacher.act(ROWS).dtype == np.int64
    assert np.array_equal(teacher.act(ROWS), ROWS[:, 0] > 0)
    with pytest.raises(TeacherError, match="this teacher has no scores"):
        teacher.scores(ROWS)


def test_a_function_that_acts_has_the_word_over_one_that_scores():
    teacher = Teacher.from_callable(lambda rows: np.ones(len(rows)), scores=lambda rows: -rows)
    assert set(teacher.act(ROWS)) == {1}


def test_functions_are_checked_as_far_as_their_task_is_known():
    with pytest.raises(TeacherError, match=r"scores of shape \(50, actions\), got \(50,\)"):
        Teacher.from_callable(scores=lambda rows: rows[:, 0]).scores(ROWS)
    with pytest.raises(TeacherError, match=r"scores of shape \(50, 2\), got \(50, 3\)"):
        Teacher.from_callable(scores=lambda rows: rows, n_actions=2).act(ROWS)
    with pytest.raises(TeacherError, match="whole numbers from 0 on; the teacher gave 50 others, the first is -1"):
        Teacher.from_callable(lambda rows: [-1] * len(rows)).act(ROWS)
    with pytest.raises(TeacherError, match=r"observations of shape \(rows, 2\), got \(50, 3\)"):
        Teacher.from_callable(lambda rows: rows, n_features=2).act(ROWS)


def test_a_teacher_needs_a_function():
    for arguments in ({}, {"act": 3}, {"scores": "q"}):
        with pytest.raises(TeacherError, match="needs a function that acts or one that scores"):
            Teacher.from_callable(**arguments)


def test_a_function_may_write_into_what_it_gets():
    rows = ROWS.copy()

    def scores(rows):
        rows *= 0
        return rows

    Teacher.from_callable(scores=scores).scores(rows)
    checked(Teacher.from_callable(scores=lambda r: np.hstack([scores(r), r[:, :1]])), TASK).scores(rows)
    assert np.array_equal(rows, ROWS)


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(max_depth=3), make_pipeline(StandardScaler(), LogisticRegression())]
)
@pytest.mark.parametrize("n_actions", [None, 6])
def test_probabilities_go_to_the_actions_that_the_classes_name(model, n_actions):
    actions = np.where(ROWS[:, 0] > 0.5, 4, np.where(ROWS[:, 1] > 0, 0, 3))
    model.fit(ROWS, actions)
    teacher = Teacher.from_predictor(model, n_actions=n_actions)
    assert (teacher.n_features, teacher.n_actions) == (3, n_actions or 5)
    assert np.array_equal(teacher.act(ROWS), model.predict(ROWS))
    expected = np.zeros((len(ROWS), teacher.n_actions))
    expected[:, [0, 3, 4]] = model.predict_proba(ROWS)
    assert np.array_equal(teacher.scores(ROWS), np.log(expected + 1e-10))


def test_a_predictor_without_probabilities_has_no_scores():
    teacher = Teacher.from_predictor(LinearSVC().fit(ROWS, ROWS[:, 0] > 0))
    assert not teacher.has_scores
    assert np.array_equal(teacher.act(ROWS), ROWS[:, 0] > 0)
    with pytest.raises(TeacherError, match="a LinearSVC has no scores"):
        teacher.scores(ROWS)


@pytest.mark.parametrize("classes", [["left", "right"], [-1, 1], [0.5, 1.0]])
def test_classes_must_be_action_numbers(classes):
    model = DecisionTreeClassifier().fit(ROWS, np.array(classes)[(ROWS[:, 0] > 0).astype(int)].astype(str))
    model.classes_ = np.array(classes)
    with pytest.raises(TeacherError, match="the classes of a teacher must be action numbers"):
        Teacher.from_predictor(model)


def test_classes_must_fit_the_number_of_actions():
    model = DecisionTreeClassifier().fit(ROWS, np.where(ROWS[:, 0] > 0, 5, 0))
    with pytest.raises(TeacherError, match=r"action numbers: .* from 0 to 2; .* the first is 5"):
        Teacher.from_predictor(model, n_actions=3)


def test_strange_predictors_are_refused():
    with pytest.raises(TeacherError, match="a int has no method predict"):
        Teacher.from_predictor(3)

    class Negative:
        classes_ = (0, 1)
        predict = None

        def predict_proba(self, rows):
            return np.full((len(rows), 2), -1.0)

    model = Negative()
    model.predict = lambda rows: np.zeros(len(rows))
    with pytest.raises(TeacherError, match=r"probabilities must not be negative, the teacher gave -1\.0"):
        Teacher.from_predictor(model).scores(ROWS)


def test_a_checked_teacher_answers_as_it_did():
    teacher = NetworkTeacher(a_network())
    same = checked(teacher, TASK)
    assert np.array_equal(same.scores(ROWS), teacher.scores(ROWS))
    assert np.array_equal(same.act(ROWS), teacher.act(ROWS))
    assert (same.n_features, same.n_actions, same.digest) == (3, 4, teacher.digest)
    assert not checked(Teacher.from_callable(lambda rows: [0] * len(rows)), TASK).has_scores


def test_all_equal_scores_are_scores():
    same = checked(Teacher.from_callable(scores=lambda rows: np.zeros((len(rows), 4))), TASK)
    assert same.act(ROWS).tolist() == [0] * len(ROWS)
    assert not same.scores(ROWS).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_features": 8}, "the teacher is for observations of 8 numbers, toy has observations of 3 numbers"),
        ({"n_actions": 2}, "the teacher is for 2 actions, toy has 4 actions"),
    ],
)
def test_a_teacher_of_another_task_is_refused_at_once(arguments, message):
    with pytest.raises(TeacherError, match=message):
        checked(Teacher.from_callable(lambda rows: rows, **arguments), TASK)


def test_only_teachers_are_checked():
    with pytest.raises(TeacherError, match=r"Teacher\.from_sb3.* got a Pipeline"):
        checked(make_pipeline(StandardScaler()), TASK)


def with_entry(value):
    scores = np.zeros((50, 4))
    scores[[7, 9], 2] = value
    return scores


class Someone(Teacher):
    """A teacher of one's own, who always answers the same."""

    def __init__(self, answer):
        self.answer = answer

    def act(self, observations):
        return self.answer

    def scores(self, observations):
        return self.answer


class NoArray:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("on another device")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (with_entry(np.nan), r"finite: NaN or infinity in 2 of 50 rows, the first is row 7: \[0\.0, 0\.0, nan, 0\.0\]"),
        (with_entry(-np.inf), "finite: NaN or infinity in 2 of 50 rows, the first is row 7"),
        (np.zeros((50, 3)), r"scores of shape \(50, 4\), got \(50, 3\)"),
        (np.zeros((49, 4)), r"scores of shape \(50, 4\), got \(49, 4\)"),
        (np.zeros(50), r"scores of shape \(50, 4\), got \(50,\)"),
        (np.full((50, 4), "high"), "scores must be real numbers, got an array of <U4"),
        (np.zeros((50, 4), complex), "scores must be real numbers, got an array of complex128"),
        ([[0.0], [1.0, 2.0]], "the teacher's scores are no array"),
        (NoArray(), "the teacher's scores are no array: on another device"),
    ],
)
def test_scores_that_are_none_are_refused(answer, message):
    with pytest.raises(TeacherError, match=message):
        checked(Someone(answer), TASK).scores(ROWS)


def actions_with(value, dtype):
    actions = np.zeros(50, dtype)
    actions[30] = value
    return actions


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (actions_with(4, int), "whole numbers from 0 to 3; the teacher gave 1 others, the first is 4 in row 30"),
        (actions_with(-1, int), "the first is -1 in row 30"),
        (actions_with(0.5, float), r"the first is 0\.5 in row 30"),
        (actions_with(np.nan, float), "the first is nan in row 30"),
        (actions_with(np.inf, float), "the first is inf in row 30"),
        (actions_with(2**64 - 1, np.uint64), "the first is 18446744073709551615 in row 30"),
        (np.zeros((50, 1), int), r"one action per observation, shape \(50,\), got \(50, 1\)"),
        (np.zeros(3, int), r"one action per observation, shape \(50,\), got \(3,\)"),
        (2, r"one action per observation, shape \(50,\), got \(\)"),
        (["left"] * 50, "actions must be numbers, counted from 0, got <U4 such as \\['left'\\]"),
        (None, r"shape \(50,\), got \(\)"),
    ],
)
def test_actions_that_are_none_are_refused(answer, message):
    with pytest.raises(TeacherError, match=message):
        checked(Someone(answer), TASK).act(ROWS)


class Scorer(Teacher):
    """A teacher of one's own, who scores and leaves the rest to the base."""

    def scores(self, observations):
        return np.hstack([observations, -observations[:, :1]])


@pytest.mark.parametrize(
    "teacher",
    [
        NetworkTeacher(a_network()),
        NetworkTeacher(a_network(meaning="logits")),
        Teacher.from_callable(scores=lambda rows: rows[:, [0, 1, 2, 0]]),
        Scorer(),
    ],
)
@pytest.mark.parametrize("ask", ["act", "scores", "act_and_score"])
def test_observations_are_checked_and_answered_once(monkeypatch, ask, teacher):
    looks, answers = [], []
    for module in (adapters, network):
        look = module.as_observations
        monkeypatch.setattr(module, "as_observations", lambda *given, look=look: looks.append(given) or look(*given))
    for owner, name in ((network.Network, "outputs"), (Scorer, "scores"), (adapters.CallableTeacher, "scores")):
        once = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, once=once: answers.append(given) or once(*given))
    getattr(checked(teacher, TASK), ask)(ROWS)
    assert len(looks) == len(answers) == 1


@pytest.mark.parametrize(
    "teacher",
    [
        NetworkTeacher(a_network(meaning="logits")),
        Teacher.from_callable(scores=lambda rows: rows[:, [0, 1, 2, 0]]),
        Teacher.from_callable(lambda rows: np.full(len(rows), 3), scores=lambda rows: rows[:, [0, 1, 2, 0]]),
        Teacher.from_predictor(DecisionTreeClassifier(max_depth=2).fit(ROWS, np.arange(len(ROWS)) % 4)),
        Scorer(),
    ],
)
def test_both_answers_at_once_are_those_of_each(teacher):
    for one in (teacher, checked(teacher, TASK)):
        actions, scores = one.act_and_score(ROWS)
        assert np.array_equal(actions, one.act(ROWS))
        assert np.array_equal(scores, one.scores(ROWS))


def test_a_task_does_not_change_the_teacher_itself():
    teacher = Teacher.from_callable(lambda rows: np.zeros(len(rows), int))
    assert (checked(teacher, TASK).n_features, checked(teacher, TASK).n_actions) == (3, 4)
    assert (teacher.n_features, teacher.n_actions) == (None, None)


@pytest.mark.parametrize(
    "teacher", [Teacher.from_callable(scores=lambda rows: np.zeros((len(rows), 4))), NetworkTeacher(a_network())]
)
@pytest.mark.parametrize("ask", ["act", "scores"])
def test_what_is_asked_is_checked_too(ask, teacher):
    ask = getattr(checked(teacher, TASK), ask)
    with pytest.raises(TeacherError, match=r"observations of shape \(rows, 3\), got \(2, 5\)"):
        ask(np.zeros((2, 5)))
    with pytest.raises(TeacherError, match="observations must be an array of numbers"):
        ask([["a", "b", "c"]])
    with pytest.raises(InputError, match="NaN or infinity in 1 of 1 rows"):
        ask([[0.0, np.nan, 0.0]])


@pytest.mark.parametrize("choose", [lambda seen: int(seen[2] > 0), lambda seen: 1, lambda seen: np.array(0)])
def test_a_function_of_one_observation_is_told_how_to_become_one_of_rows(choose):
    with pytest.raises(TeacherError, match=r"given 2 observations, one per row.*\[choose\(row\) for row in rows\]"):
        Teacher.from_callable(choose).act(np.array([[0.0, 1.0], [2.0, 3.0]]))
    rows = np.array([[0.0, 1.0, 2.0], [2.0, 3.0, -1.0]])
    assert len(Teacher.from_callable(lambda rows: [choose(row) for row in rows]).act(rows)) == 2
