"""The smallest size that imitates a large classifier of a table well enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from moet.distill.distilled_classifier import DistilledClassifier
from moet.model.mixture import Prediction
from moet.model.sizes import POINTS, Chosen, Contest, Tried, candidates, held_out_score

MADE_TO_COMPARE = 20_000
"""Rows that are made of a small table while sizes are compared: fewer do, and every size is fitted several times."""


def choose_distilled(
    X: Any,
    y: NDArray[Any],
    teacher: Any,
    *,
    prediction: Prediction = "hard",
    budget: float | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    verbose: int = 0,
) -> Chosen[DistilledClassifier]:
    """Distil a classifier into the smallest mixture whose fidelity is within a tolerance of the best.

    A size that suffices for labels is small, for labels are noisy and few; of a teacher's answers more can be learned.
    So sizes are compared by how often they answer as the teacher does, on rows that they were not fitted to. The
    tolerance is half a point, or one standard error of the best if that is more.

    Parameters
    ----------
    X : DataFrame or array of shape (n_rows, n_features)
    y : array of shape (n_rows,)
    teacher : classifier
        Fitted, such as :func:`moet.distill.distilled_classifier.default_teacher`.
    prediction : {"hard", "soft"}
    budget : float, optional
        Minutes after which no other size is tried. What comes out then depends on how fast the machine is.
    settings : mapping, optional
        Other parameters of the students, which are :class:`moet.MoETClassifier`.
    seed : int
        Seed of everything random.
    verbose : int
        1 shows a progress bar on stderr.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from moet.distill.table_sizes import choose_distilled
    >>> X, y = load_iris(return_X_y=True)
    >>> found = choose_distilled(X, y, RandomForestClassifier(20, random_state=0).fit(X, y))
    >>> found.front[found.taken].score > 0.9
    True
    """
    chosen = dict(settings or {}, prediction=prediction, random_state=seed)
    frozen, answers = FrozenEstimator(teacher), np.asarray(teacher.predict(X))
    usual, further = (
        [DistilledClassifier(student, frozen, random_state=seed) for student in students]
        for students in candidates(answers, chosen)
    )

    def judge(student: DistilledClassifier, parts: Sequence[NDArray[np.int64]]) -> Tried:
        quick = clone(student).set_params(n_made=max(MADE_TO_COMPARE, len(answers)))
        return held_out_score(quick, X, answers, parts)

    contest = Contest[DistilledClassifier](
        judge=judge,
        what="fidelity",
        enough=1.0,
        tolerance=lambda best: max(POINTS, best.error),
    )
    large = further if prediction == "hard" else []
    return contest.run(usual, X, y, budget=budget, seed=seed, verbose=verbose, large=large)
