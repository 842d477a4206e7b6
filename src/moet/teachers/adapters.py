"""Anybody's agent as a teacher, and any teacher checked against a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.envs.box import ActionBox
from moet.errors import TeacherError
from moet.teachers.checks import as_actions, as_continuous, as_observations, as_scores
from moet.teachers.teacher import CheckedTeacher, Floats, Teacher, first_best

if TYPE_CHECKING:
    from moet.envs.task import Task


class CallableTeacher(CheckedTeacher):
    """Functions of batches as a teacher; see :meth:`Teacher.from_callable`."""

    def __init__(
        self,
        act: Callable[[Floats], Any] | None = None,
        *,
        scores: Callable[[Floats], Any] | None = None,
        n_features: int | None = None,
        n_actions: int | None = None,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
    ) -> None:
        if not callable(act) and not callable(scores):
            raise TeacherError(f"a teacher needs a function that acts or one that scores, got {act!r} and {scores!r}")
        if low is not None or high is not None:
            self._set_bounds(act, low, high)
        self.n_features = n_features
        self.n_actions = n_actions
        self.has_scores = scores is not None
        self._act = act
        self._scores = scores

    def scores(self, observations: Floats) -> Floats:
        """What the scoring function says."""
        if self._scores is None:
            raise TeacherError("this teacher has no scores: it was made from a function that acts")
        rows = as_observations(observations, self.n_features)
        return as_scores(_asked(self._scores, rows), len(rows), self.n_actions)

    def act(self, observations: Floats) -> NDArray[Any]:
        """What the acting function says, or the action of largest score if there is none."""
        if self._act is None:
            return super().act(observations)
        rows = as_observations(observations, self.n_features)
        if self.low is not None:
            return np.clip(as_continuous(_asked(self._act, rows), len(rows), len(self.low)), self.low, self.high)
        return as_actions(_asked(self._act, rows), len(rows), self.n_actions)

    def act_and_score(self, observations: Floats) -> tuple[NDArray[Any], Floats]:
        """Both; the scoring function is asked once if it alone decides."""
        if self._act is not None:
            return super().act_and_score(observations)
        scores = self.scores(observations)
        return first_best(scores), scores

    def _set_bounds(self, act: Any, low: ArrayLike | None, high: ArrayLike | None) -> None:
        if act is None or low is None or high is None:
            raise TeacherError("continuous actions need a function that acts, and both their bounds: low= and high=")
        self.continuous = True
        self.low, self.high = np.atleast_1d(np.array(low, np.float64)), np.atleast_1d(np.array(high, np.float64))
        if self.low.ndim != 1 or self.low.shape != self.high.shape or not np.all(self.low < self.high):
            raise TeacherError(f"the bounds of continuous actions must be two ordered rows, got {low!r} and {high!r}")


def _asked(function: Callable[[Floats], Any], rows: Floats) -> Any:
    """What a function of many observations answers; one that is made for a single observation is told so."""
    given = f"the teacher's function was given {len(rows)} observations, one per row,"
    advice = "If it takes one observation, write a second one: def act(rows): return [choose(row) for row in rows]"
    try:
        answer = function(rows)
    except Exception as error:
        raise TeacherError(f"{given} and raised {type(error).__name__}: {error}. {advice}") from error
    if np.isscalar(answer) or getattr(answer, "ndim", 1) == 0:
        raise TeacherError(f"{given} and answered {answer!r}. {advice}")
    return answer


class PredictorTeacher(CheckedTeacher):
    """A fitted classifier as a teacher; see :meth:`Teacher.from_predictor`.

    Its scores are log(p + 1e-10) of its ``predict_proba``, each in the column of the action that ``classes_`` names;
    actions it never saw have probability 0. Without ``predict_proba`` and ``classes_`` it has none.
    """

    def __init__(self, model: Any, *, n_actions: int | None = None) -> None:
        if not callable(getattr(model, "predict", None)):
            raise TeacherError(f"a {type(model).__name__} has no method predict")
        classes = getattr(model, "classes_", None)
        self.has_scores = classes is not None and hasattr(model, "predict_proba")
        self.n_features = getattr(model, "n_features_in_", None)
        self.n_actions = n_actions
        self._model = model
        if classes is not None:
            self._columns = _action_numbers(classes, n_actions)
            self.n_actions = int(self._columns.max()) + 1 if n_actions is None else n_actions

    def scores(self, observations: Floats) -> Floats:
        """Clipped log-probabilities."""
        if not self.has_scores:
            raise TeacherError(f"a {type(self._model).__name__} has no scores: it lacks predict_proba or classes_")
        rows = as_observations(observations, self.n_features)
        known = as_scores(self._model.predict_proba(rows), len(rows), len(self._columns))
        if np.any(known < 0):
            raise TeacherError(f"probabilities must not be negative, the teacher gave {known.min()}")
        probabilities = np.zeros((len(rows), self.n_actions or 0))
        probabilities[:, self._columns] = known
        return np.log(probabilities + 1e-10)

    def act(self, observations: Floats) -> NDArray[np.int64]:
        """What the model predicts."""
        rows = as_observations(observations, self.n_features)
        return as_actions(self._model.predict(rows), len(rows), self.n_actions)


class _ForeignTeacher(CheckedTeacher):
    """A teacher of somebody else's making, whose every answer is checked."""

    def __init__(self, teacher: Teacher, n_features: int | None, n_actions: int) -> None:
        self.n_features = n_features
        self.n_actions = n_actions
        self.has_scores = teacher.has_scores
        self.digest = teacher.digest
        self._teacher = teacher

    def scores(self, observations: Floats) -> Floats:
        rows = as_observations(observations, self.n_features)
        return as_scores(self._teacher.scores(rows), len(rows), self.n_actions)

    def act(self, observations: Floats) -> NDArray[np.int64]:
        rows = as_observations(observations, self.n_features)
        return as_actions(self._teacher.act(rows), len(rows), self.n_actions)

    def act_and_score(self, observations: Floats) -> tuple[NDArray[np.int64], Floats]:
        rows = as_observations(observations, self.n_features)
        actions, scores = self._teacher.act_and_score(rows)
        return as_actions(actions, len(rows), self.n_actions), as_scores(scores, len(rows), self.n_actions)


class _BoundedTeacher(CheckedTeacher):
    """A teacher whose every row of numbers is checked, and brought between the task's bounds."""

    continuous = True
    has_scores = False

    def __init__(self, teacher: Teacher, n_features: int | None, box: ActionBox) -> None:
        self.n_features = n_features
        self.digest = teacher.digest
        self.low, self.high = np.array(box.low), np.array(box.high)
        self.critic = teacher.critic
        self._teacher = teacher.told(n_features, None) if isinstance(teacher, CheckedTeacher) else teacher
        self._box = box

    def scores(self, observations: Floats) -> Floats:
        raise TeacherError("a teacher with continuous actions has no scores")

    def act(self, observations: Floats) -> Floats:
        if isinstance(self._teacher, CheckedTeacher):
            return self._box.clipped(self._teacher.act(observations))
        rows = as_observations(observations, self.n_features)
        return self._box.clipped(as_continuous(self._teacher.act(rows), len(rows), len(self._box)))


def checked(teacher: Teacher, task: Task) -> Teacher:
    """Return ``teacher`` as one whose every answer is checked against ``task``.

    Raises
    ------
    TeacherError
        Now, if the teacher says that it is for another task. Later, if it answers with anything but one action number
        (or row of numbers, if these are the actions) per observation, or one finite score per observation and action.
    """
    if not isinstance(teacher, Teacher):
        raise TeacherError(
            "a teacher is made with Teacher.from_sb3, from_onnx, from_torch, from_folder, from_arrays, from_callable "
            f"or from_predictor, or moet.teachers.load; got a {type(teacher).__name__}"
        )
    if task.box is not None:
        return _checked_continuous(teacher, task.name, task.box, len(task.observation_names) or None)
    if teacher.continuous:
        raise TeacherError(
            f"the teacher's actions are rows of numbers, {task.name} takes one of {len(task.action_names)}; name the "
            "environment with the settings it was trained in, such as 'LunarLander-v3(continuous=True)', or take the "
            "nearest: Teacher.from_callable(lambda rows: np.abs(teacher.act(rows) - levels).argmin(axis=1)), where "
            "levels are the numbers that the actions of the task stand for"
        )
    n_features = len(task.observation_names) or None  # an image has no names
    n_actions = len(task.action_names)
    _check_count("observations of {} numbers", teacher.n_features, n_features, task.name)
    _check_count("{} actions", teacher.n_actions, n_actions, task.name)
    if isinstance(teacher, CheckedTeacher):
        return teacher.told(n_features, n_actions)
    return _ForeignTeacher(teacher, n_features, n_actions)


def _check_count(noun: str, known: int | None, needed: int | None, name: str) -> None:
    if known is not None and needed is not None and known != needed:
        raise TeacherError(
            f"the teacher is for {noun.format(known)}, {name} has {noun.format(needed)}; "
            "take a teacher that was trained on this task"
        )


def _checked_continuous(teacher: Teacher, name: str, box: ActionBox, n_features: int | None) -> Teacher:
    if not teacher.continuous or teacher.low is None or teacher.high is None:
        raise TeacherError(
            f"the teacher chooses one of a few actions, {name} takes {box.in_words()}; take an agent that was trained "
            "on it, or name the bounds of what a function answers: Teacher.from_callable(act, low=..., high=...)"
        )
    _check_count("observations of {} numbers", teacher.n_features, n_features, name)
    _check_count("actions of {} numbers", len(teacher.low), len(box), name)
    for mine, theirs in ((teacher.low, box.low), (teacher.high, box.high)):
        if not np.all(np.isinf(mine) | np.isclose(mine, theirs)):
            own = ActionBox(tuple(teacher.low.tolist()), tuple(teacher.high.tolist()), (len(box),))
            raise TeacherError(
                f"the teacher answers with {own.in_words()}, {name} takes {box.in_words()}; take an agent that was "
                "trained on it, or convert what it answers: Teacher.from_callable(act, low=..., high=...)"
            )
    return _BoundedTeacher(teacher, n_features, box)


def _action_numbers(classes: Any, n_actions: int | None) -> NDArray[np.int64]:
    values = np.asarray(classes)
    try:
        return as_actions(values, len(np.atleast_1d(values)), n_actions)
    except TeacherError as error:
        raise TeacherError(f"the classes of a teacher must be action numbers: {error}") from None
