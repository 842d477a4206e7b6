"""What each slider spans, and which two features are worth a map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.file import Model
from moet.model.regression.mixture import RegressionMixture
from moet.model.schema import Column

_LIMIT = 1e300
"""Ranges end here, so that their lengths are finite."""


class Range(NamedTuple):
    """Values that a slider goes through.

    Attributes
    ----------
    low, high : float
        Its ends.
    whole : bool
        Whether it goes through whole numbers only.
    """

    low: float
    high: float
    whole: bool


def slider_ranges(mixtures: Sequence[Model], rows: NDArray[np.float64] | None) -> list[Range]:
    """Range of every feature.

    With rows: the values in them, widened to thresholds of the models beyond. Without: the thresholds and a quarter of
    their span on either side. A feature that only the gates look at spans as much as moves their scores by 4 more than
    their biases differ, around zero. Of a model with a schema: the possible values, whatever rows and tests there are.
    """
    schema = mixtures[0].schema
    if schema is not None:
        return [_of_column(column) for column, features in schema.places for _ in features]
    return [_range(mixtures, k, None if rows is None else rows[:, k]) for k in range(mixtures[0].n_features)]


def _of_column(column: Column) -> Range:
    if column.kind == "category":
        return Range(0.0, 1.0, True)
    low, high = column.reach
    if low == high:  # a slider needs a length
        low, high = low - 1.0, high + 1.0
    return Range(low, high, column.is_whole)


def possible_ends(mixture: Model) -> list[tuple[float | None, float | None]]:
    """Least and largest possible value of every feature, of a model with a schema; None of others."""
    if mixture.schema is None:
        return [(None, None)] * mixture.n_features
    return [
        (float(len(features) == 1), 1.0) if column.kind == "category" else column.reach
        for column, features in mixture.schema.places
        for _ in features
    ]


def choice_columns(names: Sequence[str], ranges: Sequence[Range]) -> list[tuple[str, str] | None]:
    """Column and value of the features that a table's text became, None for numbers.

    These are the features of 0 and 1 named ``column=value`` that share their column with another one.
    """
    split = [
        (column, value) if equals and (r.low, r.high, r.whole) == (0, 1, True) else None
        for (column, equals, value), r in zip((name.partition("=") for name in names), ranges, strict=True)
    ]
    shared = Counter(choice[0] for choice in split if choice)
    return [choice if choice and shared[choice[0]] > 1 else None for choice in split]


def start_between(
    mixtures: Sequence[Model], ranges: Sequence[Range], choices: Sequence[tuple[str, str] | None]
) -> NDArray[np.float64]:
    """Where to begin without rows: the middle of every range, but between thresholds; first values of text columns."""
    columns = [None if choice is None else choice[0] for choice in choices]
    return np.array(
        [
            _between(_thresholds(mixtures, k), r) if column is None else float(columns.index(column) == k)
            for k, (r, column) in enumerate(zip(ranges, columns, strict=True))
        ]
    )


def _thresholds(mixtures: Sequence[Model], k: int) -> NDArray[np.float64]:
    """What trees compare feature ``k`` with."""
    return np.concatenate([tree.threshold[tree.feature == k] for mixture in mixtures for tree in mixture.trees])


def _between(thresholds: NDArray[np.float64], r: Range) -> float:
    """The middle of the widest gap between thresholds among those that the middle of the range is in or beside."""
    middle = r.low / 2 + r.high / 2
    edges = np.unique(np.clip([r.low, r.high, *thresholds], r.low, r.high))
    if r.whole or len(edges) < 2:
        return round(middle) if r.whole else middle
    gaps = [(low, high) for low, high in pairwise(edges) if low <= middle <= high]
    low, high = max(gaps, key=lambda gap: gap[1] - gap[0])
    return float(low / 2 + high / 2)


def telling_features(mixture: Model, ranges: Sequence[Range], rows: NDArray[np.float64]) -> list[int]:
    """Features in the order of how often moving one of them alone changes the answer to one of ``rows``.

    Of numbers: of how much it does, each output measured by its spread.
    """
    answers = answers_of(mixture, rows)
    changes = []
    for k, (low, high, _) in enumerate(ranges):
        values = np.linspace(low, high, 25)
        moved = np.repeat(rows, len(values), axis=0)
        moved[:, k] = np.tile(values, len(rows))
        after, before = answers_of(mixture, moved), np.repeat(answers, len(values), axis=0)
        changes.append(_change(before, after) if isinstance(mixture, RegressionMixture) else np.mean(after != before))
    return sorted(range(len(ranges)), key=lambda k: -changes[k])


def answers_of(mixture: Model, rows: NDArray[np.float64]) -> NDArray[Any]:
    """Answers to all rows; NaN for each whose sums overflow."""
    if not isinstance(mixture, RegressionMixture):
        return mixture.predict(rows)
    try:
        return mixture.predict(rows)
    except InputError:
        return np.concatenate([_answer(mixture, row) for row in rows])


def _answer(mixture: RegressionMixture, row: NDArray[np.float64]) -> NDArray[np.float64]:
    try:
        return mixture.predict(row[None])
    except InputError:
        return np.full((1, mixture.n_outputs), np.nan)


def _change(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Mean change of outputs, each measured by its spread."""
    spread = np.nanstd(after, axis=0)
    return float(np.nan_to_num(np.abs(after - before) / np.where(spread > 0, spread, 1.0)).mean())


def _range(mixtures: Sequence[Model], feature: int, values: NDArray[np.float64] | None) -> Range:
    thresholds = np.unique(_thresholds(mixtures, feature))
    if values is not None:
        low, high = np.min([*values, *thresholds]), np.max([*values, *thresholds])
        whole = bool(np.all(values == np.round(values)))
    elif "=" in mixtures[0].feature_names[feature] and np.all((thresholds >= 0) & (thresholds < 1)):
        low, high, whole = 0.0, 1.0, True  # "column=value" is how a table's text becomes numbers
    elif len(thresholds):
        margin = np.ptp(thresholds / 4) or max(1.0, abs(thresholds[0]))
        low, high, whole = thresholds[0] - margin, thresholds[-1] + margin, False
    else:
        reach = min(_gate_reach(mixture, feature) for mixture in mixtures)
        low, high, whole = (-reach, reach, False) if np.isfinite(reach) else (-1.0, 1.0, False)
    if low == high:
        low, high = low - max(1.0, abs(low)), high + max(1.0, abs(high))
    if whole:
        low, high = np.floor(low), np.ceil(high)
    return Range(float(np.clip(low, -_LIMIT, _LIMIT)), float(np.clip(high, -_LIMIT, _LIMIT)), whole)


def _gate_reach(mixture: Model, feature: int) -> float:
    """How far from zero a feature alone has moved the gate's scores apart; infinite if it never does."""
    weights = mixture.gate_weights[:, feature]
    slope = float(np.max(np.abs(weights - weights.mean())))
    return (4.0 + float(np.ptp(mixture.gate_bias))) / slope if slope > 0 else np.inf
