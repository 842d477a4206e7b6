"""Small classifiers of tables that learn the answers of a large one, on the table's rows and on rows made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from moet.distill.made_rows import neighbours, recombined
from moet.errors import InputError
from moet.model.calibration import drawn, with_values
from moet.model.classifier import MoETClassifier
from moet.model.file import as_mixture
from moet.model.large import large_settings
from moet.model.mixture import Mixture

FEWEST_MADE = 100_000
"""Rows that are made of a small table; of a larger one, as many as it has."""


class DistilledClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A small classifier that learns what a large one answers.

    Labels are noisy and few; the answers of a model that votes well are neither. The student sees the table's rows, and
    many more that are made of them by exchanging attributes, of a small table with rows alike, all labelled by the
    teacher.

    Parameters
    ----------
    student : classifier, default=None
        What will be used; by default ``MoETClassifier(prediction="hard")``.
    teacher : classifier, default=None
        What is imitated; by default a large soft mixture trained by boosting. One that is fitted already, of any
        library, goes in as scikit-learn's ``FrozenEstimator(model)``.
    n_made : int, default=None
        Number of rows that are made; by default as many as the table has, 100,000 at least.
    random_state : int, RandomState or None, default=None
        The same seed gives the identical model. It is also given to a student or teacher that has none.

    Attributes
    ----------
    student_, teacher_ : classifier
        Both, fitted.
    mixture_ : Mixture
        The student's, if it holds one.
    classes_ : array
        Labels.

    Notes
    -----
    Columns ``name=value`` of a table with column names, and a column ``name``, say the same thing in several ways: they
    are exchanged together, so that a made row has one category as a real one has.

    References
    ----------
    - Breiman, L., N. Shang. *Born Again Trees.* Technical report, University of California, Berkeley, 1996.
    - Buciluă, C., R. Caruana, A. Niculescu-Mizil. *Model Compression.* KDD 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from moet import MoETClassifier
    >>> from moet.distill import DistilledClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> student = MoETClassifier(n_experts=2, max_depth=2, prediction="hard", random_state=0)
    >>> small = DistilledClassifier(student, RandomForestClassifier(20, random_state=0), random_state=0).fit(X, y)
    >>> small.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        student: Any = None,
        teacher: Any = None,
        *,
        n_made: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.student = student
        self.teacher = teacher
        self.n_made = n_made
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> DistilledClassifier:
        """Fit the teacher to the table, then the student to the teacher.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        """
        rows = self._teach(X, y, lambda student, rows, answers: student.fit(rows, answers))
        if isinstance(self.student_, MoETClassifier) and hasattr(self.teacher_, "predict_proba"):
            said = _probabilities(self.teacher_, rows, self.classes_)
            self.student_.mixture_ = as_sure_as(self.student_.mixture_, rows, said)
        return self

    def _fit_answers(self, X: Any, y: ArrayLike) -> DistilledClassifier:
        """Fit a :class:`~moet.MoETClassifier` without its probabilities: to compare how sizes answer."""
        self._teach(X, y, MoETClassifier._fit_answers)
        return self

    def _teach(self, X: Any, y: ArrayLike, fit: Callable[[Any, Any, NDArray[Any]], Any]) -> Any:
        """Fit teacher and student; the rows that the student learned from."""
        if self.n_made is not None and self.n_made < 0:
            raise InputError(f"n_made must not be negative, got {self.n_made}")
        X = self._checked(X)
        random_state = check_random_state(self.random_state)
        seed = int(random_state.randint(np.iinfo(np.int32).max))
        student = MoETClassifier(prediction="hard") if self.student is None else self.student
        self.teacher_ = _seeded(default_teacher(len(X)) if self.teacher is None else self.teacher, seed).fit(X, y)
        n_made = max(FEWEST_MADE, len(X)) if self.n_made is None else self.n_made
        made = recombined(X, n_made, np.random.default_rng(seed), neighbours(X))
        rows = pd.concat([X, made], ignore_index=True) if isinstance(X, pd.DataFrame) else np.concatenate([X, made])
        self.student_ = fit(_seeded(student, seed), rows, self.teacher_.predict(rows))
        self.classes_ = self.student_.classes_
        return rows

    @property
    def mixture_(self) -> Mixture:
        """The student's mixture."""
        check_is_fitted(self, "student_")
        return as_mixture(self.student_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Label of every row, as the student says."""
        X = self._checked(X, fitted=True)
        return self.student_.predict(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities of every row, as the student says.

        Leaves of a hard mixture hold the mean of the teacher's probabilities, as far as their answer stays; what other
        students say is of the teacher's answers, not of the labels.
        """
        X = self._checked(X, fitted=True)
        return self.student_.predict_proba(X)

    def _checked(self, X: Any, *, fitted: bool = False) -> Any:
        """Rows as they are, which is for student and teacher to understand."""
        if fitted:
            check_is_fitted(self, "student_")
        X = X if isinstance(X, pd.DataFrame) else check_array(X, dtype=None, ensure_all_finite=False)
        return validate_data(self, X, reset=not fitted, skip_check_array=True)


def as_sure_as(mixture: Mixture, rows: Any, said: NDArray[np.float64]) -> Mixture:
    """A hard mixture whose leaves hold the mean of what a teacher said of their rows; answers stay.

    Parameters
    ----------
    mixture : Mixture
        A soft one is returned as it is: its answers are made of all its probabilities.
    rows : DataFrame or array
    said : array of shape (n_rows, n_classes)
        Probabilities in the order of the mixture's classes.
    """
    if mixture.prediction == "soft":
        return mixture

    def value(own: NDArray[np.float64], met: NDArray[np.float64]) -> NDArray[np.float64]:
        total = met.sum(axis=1, keepdims=True)
        return drawn(own, np.where(total > 0, met / np.where(total > 0, total, 1.0), own), np.ones(len(own)))

    return with_values(mixture, rows, said, value)


def _probabilities(teacher: Any, rows: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """What a teacher says of the classes that its student knows."""
    column = {label: c for c, label in enumerate(teacher.classes_.tolist())}
    return np.asarray(teacher.predict_proba(rows))[:, [column[label] for label in classes.tolist()]]


def default_teacher(n_rows: int) -> MoETClassifier:
    """Large soft mixture for a table of so many rows."""
    return MoETClassifier(**large_settings(n_rows)[0])


def _seeded(model: Any, seed: int) -> Any:
    """Copy of a model; one without a random state of its own gets the seed."""
    model = clone(model)
    free = {name: seed for name, value in model.get_params().items() if _is_random_state(name) and value is None}
    model.set_params(**free)
    return model


def _is_random_state(parameter: str) -> bool:
    """Whether it is one, of a model or of a part of it such as a step of a pipeline."""
    return parameter.rpartition("__")[2] == "random_state"
