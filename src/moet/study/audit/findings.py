"""What is asked about a model of a table, and measured on its rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.dataframes import as_pandas
from moet.model.file import as_mixture
from moet.model.mixture import Mixture
from moet.progress import progress_bar
from moet.verify.findings import Robust
from moet.verify.result import Verdict
from moet.verify.rows.pairs import Direction, ignores, monotone
from moet.verify.rows.robustness import robust

RADII = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Shares of the ranges by which the columns of a row may change."""

SHARE_ROWS = 4_000
"""So many rows of the table say how often a change of a column changes the answer."""

MOST_GROUPS = 12
BINS = 10
_DIRECTIONS: tuple[tuple[Direction, str], ...] = (("increasing", "More"), ("decreasing", "Less"))


@dataclass(frozen=True)
class Finding:
    """A question in words, and its verdict."""

    question: str
    verdict: Verdict


@dataclass(frozen=True)
class Audit:
    """All that a page tells.

    Attributes
    ----------
    mixture : Mixture
    findings : list of Finding
    curve : list of (radius, Robust)
        How many of some rows keep their answers.
    accuracy : float or None
        On the table; None without labels.
    calibration : list of (share, predicted, actual)
        Rows by the probability of their answer: how many, what the model says, how often it is right.
    groups : list of (column, value, rows, {answer: share}, accuracy)
    labels : array or None
    """

    mixture: Mixture
    findings: list[Finding]
    curve: list[tuple[float, Robust]]
    accuracy: float | None
    calibration: list[tuple[float, float, float]]
    groups: list[tuple[str, str, int, dict[str, float], float | None]]
    labels: NDArray[Any] | None


def audit(
    model: Any,
    table: Any,
    labels: Any = None,
    *,
    answer: Any = None,
    columns: Iterable[str] | None = None,
    rows: int = 200,
    cpu_limit: float = 10.0,
    seed: int = 0,
    verbose: bool = False,
) -> Audit:
    """Ask a model of a table what an auditor asks.

    Parameters
    ----------
    model : Mixture, classifier or model file
        With a schema.
    table : DataFrame
        Rows in the columns of the schema.
    labels : array, optional
        What they should be answered.
    answer : label, optional
        The answer that monotony is asked about; the first class by default.
    columns : iterable of str, optional
        Columns to ask about; all by default.
    rows : int
        Rows whose robustness is certified, chosen at random.
    cpu_limit : float
        Seconds of CPU time for every question.
    seed : int
        Seed of everything random.
    verbose : bool
        Whether to show progress on stderr.
    """
    mixture = as_mixture(model)
    if mixture.schema is None:
        raise InputError("this model has no schema: fit it to a table with `moet fit`, or to a DataFrame")
    X = mixture.schema.encode(table)
    truth = None if labels is None else np.asarray(labels)
    wanted = mixture.classes.tolist()[0] if answer is None else answer
    names = [column.name for column in mixture.schema.columns] if columns is None else list(columns)
    limits: dict[str, Any] = {"cpu_limit": cpu_limit, "seed": seed}
    draw = np.random.default_rng(seed).permutation(len(X))
    findings, some = [], as_pandas(table).iloc[np.sort(draw[:SHARE_ROWS])]
    with progress_bar("moet audit", len(names) + len(RADII), shown=verbose) as advance:
        for name in names:
            verdict: Verdict = ignores(mixture, [name], table=some, **limits)
            findings.append(Finding(f"A change of {name} alone never changes the answer.", verdict))
            if mixture.schema.place(name).column.kind != "category":
                for direction, more in (("increasing", "more"), ("decreasing", "less")):
                    verdict = monotone(mixture, name, direction=direction, answer=wanted, **limits)  # type: ignore[arg-type]
                    findings.append(
                        Finding(f"{more.capitalize()} {name} never takes the answer {wanted} away.", verdict)
                    )
            advance(name)
        chosen = np.sort(draw[:rows])
        curve = []
        for radius in RADII:
            curve.append((radius, robust(mixture, X[chosen], radius, **limits)))
            advance(f"radius {radius:g}")
    answers = mixture.predict(X)
    right = None if truth is None else answers == truth
    return Audit(
        mixture,
        findings,
        curve,
        None if right is None else float(right.mean()),
        [] if right is None else calibration(mixture.predict_proba(X).max(axis=1), right),
        groups(mixture, X, answers, right),
        None if truth is None else truth[chosen],
    )


def calibration(said: NDArray[np.float64], right: NDArray[np.bool_]) -> list[tuple[float, float, float]]:
    """Rows by the probability of their answer."""
    place = np.minimum((said * BINS).astype(int), BINS - 1)
    return [
        (float(np.mean(place == k)), float(said[place == k].mean()), float(right[place == k].mean()))
        for k in range(BINS)
        if np.any(place == k)
    ]


def groups(
    mixture: Mixture, X: NDArray[np.float64], answers: NDArray[Any], right: NDArray[np.bool_] | None
) -> list[tuple[str, str, int, dict[str, float], float | None]]:
    """How the rows of every category are answered."""
    assert mixture.schema is not None
    found = []
    for column, features in mixture.schema.places:
        if not column.labels or len(column.labels) > MOST_GROUPS:
            continue
        place = X[:, list(features)].argmax(axis=1) if column.kind == "category" else X[:, features[0]].astype(int)
        for k, value in enumerate(column.labels):
            own = place == k
            if own.any():
                shares = {str(label): float(np.mean(answers[own] == label)) for label in mixture.classes.tolist()}
                found.append(
                    (column.name, value, int(own.sum()), shares, None if right is None else float(right[own].mean()))
                )
    return found
