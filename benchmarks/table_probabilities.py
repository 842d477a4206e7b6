"""Whether the probabilities of models of tables come true.

    MOET_DATA=DIR python benchmarks/table_probabilities.py [--repeats 2] [--models soft boosted] [german fetal ...]

The calibration error is Σ share · |said - right| over ten bins of the probability of the answer, of rows that a model
was not fitted to: five folds, so that every row is asked once in every repeat. Perfect probabilities have an error,
too, for labels are few: the floor is its median over 1,000 random labellings of the rows that follow what was said (a
row has one label in all repeats), and the top of the floor what one in twenty exceeds; the floor of a split is the
median if 30 % of the rows were asked once. The last column is free of that
noise: the root of Σ share · (mean said - mean right)², with every product of a row with itself left out (Kumar, Liang,
Ma, Verified uncertainty calibration, 2019), which no mean distance exceeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from harness import cpu_seconds, machine, show, single_threaded
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold

from moet import MoETClassifier
from moet.distill import DistilledClassifier
from moet.distill.distilled_classifier import default_teacher
from moet.study.supervised.datasets import SOURCES, Dataset, load
from moet.study.supervised.encode import encoder

BINS, LABELLINGS, FOLDS, SPLIT = 10, 1000, 5, 0.3
MODELS = ("soft", "hard", "boosted", "large", "distilled", "gradient boosting")


def model(name: str, n_rows: int, seed: int) -> Any:
    """One of ``MODELS``, unfitted."""
    return {
        "soft": MoETClassifier(random_state=seed),
        "hard": MoETClassifier(prediction="hard", random_state=seed),
        "boosted": MoETClassifier(32, training="boosting", random_state=seed),
        "large": default_teacher(n_rows).set_params(random_state=seed),
        "distilled": DistilledClassifier(random_state=seed),
        "gradient boosting": HistGradientBoostingClassifier(random_state=seed),
    }[name]


def calibration_error(said: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Mean distance between what was said of answers and how often they were right, bin by bin."""
    return float(np.abs(np.bincount(bins(said), said - right, BINS)).sum()) / len(said)


def bins(said: NDArray[np.float64]) -> NDArray[np.int64]:
    """Bin of every probability."""
    return np.minimum((said * BINS).astype(np.int64), BINS - 1)


def debiased_error(said: NDArray[np.float64], right: NDArray[np.bool_], row: NDArray[np.int64]) -> float:
    """Root mean square of the distance, bin by bin, without what the luck of labels adds; a row has one label."""
    place, n_rows = bins(said), int(row.max()) + 1
    squares = 0.0
    for k in range(BINS):
        each = np.bincount(row[place == k], (said - right)[place == k], n_rows)
        if (place == k).any():
            squares += (each.sum() ** 2 - (each**2).sum()) / (place == k).sum() / len(said)
    return float(np.sqrt(max(squares, 0.0)))


def floor(said: NDArray[np.float64], row: NDArray[np.int64], seed: int = 0) -> tuple[float, float]:
    """Calibration error of probabilities that come true, on these rows: median, and what one in twenty exceeds."""
    rng = np.random.default_rng(seed)
    luck = rng.random((LABELLINGS, int(row.max()) + 1))
    errors = [calibration_error(said, one[row] < said) for one in luck]
    return float(np.median(errors)), float(np.quantile(errors, 0.95))


class Asked(NamedTuple):
    """Test rows, probabilities of the answers to them, whether they were right, and the CPU seconds of the fit."""

    row: NDArray[np.int64]
    said: NDArray[np.float64]
    right: NDArray[np.bool_]
    cpu: float


def repeats(dataset: Dataset, name: str, n_repeats: int) -> Iterator[Asked]:
    """Cross-validation, so many times."""
    for seed in range(n_repeats):
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        for train, test in folds.split(dataset.y, dataset.y):
            yield asked(dataset, name, seed, train, test)


def asked(dataset: Dataset, name: str, seed: int, train: NDArray[np.int64], test: NDArray[np.int64]) -> Asked:
    """Fit to some rows of a table, and ask about the others."""
    encode = encoder(dataset).fit(dataset.X.iloc[train])
    X, X_test = encode.transform(dataset.X.iloc[train]), encode.transform(dataset.X.iloc[test])
    fitted, cpu = cpu_seconds(lambda: clone(model(name, len(train), seed)).fit(X, dataset.y[train]))
    return Asked(test, fitted.predict_proba(X_test).max(axis=1), fitted.predict(X_test) == dataset.y[test], cpu)


def main() -> None:
    """Print a row per table and model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("datasets", nargs="*", default=list(SOURCES))
    arguments = parser.parse_args()
    single_threaded()
    rows = []
    for table in arguments.datasets:
        dataset = load(table, arguments.data)
        for name in arguments.models:
            parts = list(repeats(dataset, name, arguments.repeats))
            row, said, right = (np.concatenate([getattr(one, part) for one in parts]) for part in Asked._fields[:3])
            part = np.random.default_rng(0).permutation(len(dataset.y))[: int(SPLIT * len(dataset.y))]
            of_split = floor(said[part], row[part])[0]  # the first repeat comes first
            errors = calibration_error(said, right), of_split, *floor(said, row), debiased_error(said, right, row)
            rows.append([table, name, float(right.mean()), *errors, float(np.mean([one.cpu for one in parts]))])
            print(*rows[-1], flush=True)
    columns = (
        "table",
        "model",
        "accuracy",
        "calibration error",
        "floor of a split",
        "floor",
        "top of the floor",
        "debiased",
        "CPU seconds",
    )
    show(machine(), columns, rows)


if __name__ == "__main__":
    main()
