"""Fitting any classifier, or regressor where actions are numbers, as a student."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.validation import has_fit_parameter

from moet.distill.dataset import Sample
from moet.envs.box import ActionBox
from moet.envs.task import Task
from moet.errors import InputError, RareClassWarning
from moet.model.file import model_or_none


def check_student(student: Any, task: Task, weighted: bool) -> None:
    """Complain about a student that cannot be trained, before anything is played."""
    for method in ("fit", "predict"):
        if not callable(getattr(student, method, None)):
            raise InputError(f"a student needs fit and predict; {type(student).__name__} has no {method}")
    name = type(student).__name__
    tagged = hasattr(student, "__sklearn_tags__")  # others do not say what they answer with
    if task.box is not None and tagged and is_classifier(student):
        raise InputError(
            f"a {name} answers with labels, {task.name} takes {task.box.in_words()}; take a moet.MoETRegressor"
        )
    if task.box is None and tagged and is_regressor(student):
        raise InputError(
            f"a {name} answers with numbers, {task.name} takes one of {len(task.action_names)} actions; "
            "take a moet.MoETClassifier"
        )
    if weighted and not has_fit_parameter(student, "sample_weight"):
        raise InputError(
            f"fit of {type(student).__name__} takes no sample_weight; distil with weighting='resample' instead"
        )


def fit_student(prototype: Any, sample: Sample, seed: int, box: ActionBox | None = None) -> Any:
    """Fit a copy of ``prototype``; ``seed`` makes a student without ``random_state`` of its own reproducible.

    A student with bounds ``low`` and ``high`` that are not set gets those of ``box``.

    Returns
    -------
    Mixture or classifier
        The mixture of trees that the student holds, if it holds one, without what decides nothing: that is what will
        be deployed, so that is what plays and is judged.
    """
    student = clone(prototype) if hasattr(prototype, "get_params") else copy.deepcopy(prototype)
    if hasattr(student, "get_params") and student.get_params().get("random_state", 0) is None:
        student.set_params(random_state=seed)
    if box is not None and hasattr(student, "get_params"):
        bounds = {"low": list(box.low), "high": list(box.high)}
        free = {name: bound for name, bound in bounds.items() if student.get_params().get(name, 0) is None}
        student.set_params(**free)
    extra: dict[str, Any] = {}
    if sample.weight is not None:
        extra["sample_weight"] = sample.weight
    if has_fit_parameter(student, "groups"):  # rows of one episode must not end up on both sides of a split
        extra["groups"] = sample.episode
    with warnings.catch_warnings(action="ignore", category=RareClassWarning):  # a policy is judged by its reward
        student.fit(sample.features, sample.actions, **extra)
    model = model_or_none(student)
    return student if model is None else model.prune()


def leaf_count(model: Any) -> int | None:
    """Leaves of a mixture, None for any other model."""
    held = model_or_none(model)
    return None if held is None else held.size.leaves


def weighted_error(model: Any, sample: Sample, box: ActionBox | None = None) -> float:
    """Share of the sample's weight on which ``model`` does not act as the teacher does.

    Where actions are numbers: weighted mean difference from the teacher's, in units of their range.
    """
    answers = np.asarray(model.predict(sample.features))
    if box is None:
        return float(np.average(answers != sample.actions, weights=sample.weight))
    differences = np.abs(box.in_ranges(box.clipped(answers.reshape(sample.actions.shape)) - sample.actions))
    return float(np.average(differences.mean(axis=1), weights=sample.weight))
