"""Fitting any classifier as a student."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from moet.distill.dataset import Sample
from moet.errors import InputError, ModelError
from moet.model.file import as_mixture


def check_student(student: Any, weighted: bool) -> None:
    """Complain about a student that cannot be trained, before anything is played."""
    for method in ("fit", "predict"):
        if not callable(getattr(student, method, None)):
            raise InputError(f"a student needs fit and predict; {type(student).__name__} has no {method}")
    if weighted and not has_fit_parameter(student, "sample_weight"):
        raise InputError(
            f"fit of {type(student).__name__} takes no sample_weight; distil with weighting='resample' instead"
        )


def fit_student(prototype: Any, sample: Sample, seed: int) -> Any:
    """Fit a copy of ``prototype``; ``seed`` makes a student without ``random_state`` of its own reproducible.

    Returns
    -------
    Mixture or classifier
        The mixture of trees that the student holds, if it holds one, without what decides nothing: that is what will
        be deployed, so that is what plays and is judged.
    """
    student = clone(prototype) if hasattr(prototype, "get_params") else copy.deepcopy(prototype)
    if hasattr(student, "get_params") and student.get_params().get("random_state", 0) is None:
        student.set_params(random_state=seed)
    extra: dict[str, Any] = {}
    if sample.weight is not None:
        extra["sample_weight"] = sample.weight
    if has_fit_parameter(student, "groups"):  # rows of one episode must not end up on both sides of a split
        extra["groups"] = sample.episode
    student.fit(sample.features, sample.actions, **extra)
    try:
        return as_mixture(student).prune()
    except ModelError:
        return student


def leaf_count(model: Any) -> int | None:
    """Leaves of a mixture, None for any other model."""
    try:
        return as_mixture(model).size.leaves
    except ModelError:
        return None


def weighted_error(model: Any, sample: Sample) -> float:
    """Share of the sample's weight on which ``model`` does not act as the teacher does."""
    wrong = np.asarray(model.predict(sample.features)) != sample.actions
    return float(np.average(wrong, weights=sample.weight))
