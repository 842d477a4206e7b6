"""What a teacher is asked and what it answers, checked.

A teacher may be anybody's code. Whatever it answers is turned here into the arrays that the rest of the package relies
on, or into a :class:`~moet.errors.TeacherError` that says what was wrong with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError, TeacherError
from moet.teachers.teacher import Floats


def as_observations(observations: ArrayLike, n_features: int | None = None) -> Floats:
    """Copy observations, one per row, into float64; ``n_features`` is None if any number, or an image, will do."""
    try:
        # always a new array: compiled kernels then meet one kind, and a teacher may write into what it is given
        rows = np.array(observations, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise TeacherError(f"observations must be an array of numbers: {error}") from None
    if rows.ndim < 2 or (n_features is not None and rows.shape[1:] != (n_features,)):
        size = "features" if n_features is None else n_features
        raise TeacherError(f"the teacher expects observations of shape (rows, {size}), got {rows.shape}")
    if where := _rows_that_are_not_finite(rows):
        raise InputError(f"observations must be finite: NaN or infinity in {where}")
    return rows


def as_actions(answer: Any, n_rows: int, n_actions: int | None = None) -> NDArray[np.int64]:
    """Turn a teacher's answer into one action number per row; ``n_actions`` is None if it is not known."""
    values = _array(answer, "actions")
    if values.shape != (n_rows,):
        raise TeacherError(f"the teacher must give one action per observation, shape ({n_rows},), got {values.shape}")
    if values.dtype.kind not in "biuf":
        raise TeacherError(f"actions must be numbers, counted from 0, got {values.dtype} such as {values[:1].tolist()}")
    with np.errstate(invalid="ignore"):
        actions = values.astype(np.int64)
    limit = np.inf if n_actions is None else n_actions
    wrong = np.flatnonzero((actions != values) | (actions < 0) | (actions >= limit))
    if len(wrong):
        bounds = "from 0 on" if n_actions is None else f"from 0 to {n_actions - 1}"
        raise TeacherError(
            f"actions must be whole numbers {bounds}; the teacher gave {len(wrong)} others, "
            f"the first is {values[wrong[0]]} in row {wrong[0]}"
        )
    return actions


def as_scores(answer: Any, n_rows: int, n_actions: int | None = None) -> Floats:
    """Turn a teacher's answer into one finite score per row and action; ``n_actions`` is None if it is not known."""
    values = _array(answer, "scores")
    if values.dtype.kind not in "biuf":
        raise TeacherError(f"scores must be real numbers, got an array of {values.dtype}")
    if values.ndim != 2 or len(values) != n_rows or values.shape[1] == 0 or n_actions not in (None, values.shape[1]):
        expected = f"({n_rows}, {'actions' if n_actions is None else n_actions})"
        raise TeacherError(f"the teacher must give scores of shape {expected}, got {values.shape}")
    return finite_scores(values.astype(np.float64, copy=False))


def finite_scores(scores: Floats) -> Floats:
    """Return ``scores`` if all of them are finite."""
    if where := _rows_that_are_not_finite(scores):
        raise TeacherError(f"the teacher's scores must be finite: NaN or infinity in {where}")
    return scores


def as_continuous(answer: Any, n_rows: int, n_outputs: int) -> Floats:
    """Turn a teacher's answer into one row of finite numbers per observation."""
    values = _array(answer, "actions")
    if values.dtype.kind not in "biuf" or values.shape != (n_rows, n_outputs):
        raise TeacherError(
            f"the teacher must give rows of numbers of shape ({n_rows}, {n_outputs}), got {values.dtype} of shape "
            f"{values.shape}"
        )
    return finite_actions(values.astype(np.float64))


def finite_actions(actions: Floats) -> Floats:
    """Return rows of continuous actions if all of their numbers are finite."""
    if where := _rows_that_are_not_finite(actions):
        raise TeacherError(f"the teacher's actions must be finite: NaN or infinity in {where}")
    return actions


def _array(answer: Any, what: str) -> NDArray[Any]:
    try:
        return np.asarray(answer)
    except Exception as error:  # whatever a foreign object raises when it is asked for its numbers
        raise TeacherError(f"the teacher's {what} are no array: {error}") from error


def _rows_that_are_not_finite(rows: Floats) -> str:
    finite = np.isfinite(rows)
    if finite.all():
        return ""
    wrong = np.flatnonzero(~finite.reshape(len(rows), -1).all(axis=1))
    return f"{len(wrong)} of {len(rows)} rows, the first is row {wrong[0]}: {rows[wrong[0]].tolist()}"
