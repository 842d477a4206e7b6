"""Whether the probabilities of models of tables come true.

    MOET_DATA=DIR python benchmarks/table_probabilities.py [--splits 5] [--models soft boosted] [german fetal ...]

The calibration error is Σ share · |said - right| over ten bins of the probability of the answer, on the test rows of
all splits (30 % each) together; the one of a single split is mostly noise where tables are small. Perfect
probabilities have an error, too, for labels are few: the floor is its mean over 1,000 random labellings of the rows
that follow what was said (a row of several splits has one label), and the top of the floor what one in twenty exceeds.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
from harness import cpu_seconds, machine, show, single_threaded
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from moet import MoETClassifier
from moet.distill import DistilledClassifier
from moet.distill.distilled_classifier import default_teacher
from moet.study.supervised.datasets import SOURCES, Dataset, load
from moet.study.supervised.encode import encoder

BINS, LABELLINGS = 10, 1000
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
    place = np.minimum((said * BINS).astype(int), BINS - 1)
    return sum(abs(float((said - right)[place == k].sum())) for k in range(BINS)) / len(said)


def floor(said: NDArray[np.float64], row: NDArray[np.int64], seed: int = 0) -> tuple[float, float]:
    """Calibration error of probabilities that come true, on these rows: mean, and what one in twenty exceeds."""
    rng = np.random.default_rng(seed)
    luck = rng.random((LABELLINGS, int(row.max()) + 1))
    errors = [calibration_error(said, one[row] < said) for one in luck]
    return float(np.mean(errors)), float(np.quantile(errors, 0.95))


class Asked(NamedTuple):
    """Test rows, probabilities of the answers to them, whether they were right, and the CPU seconds of the fit."""

    row: NDArray[np.int64]
    said: NDArray[np.float64]
    right: NDArray[np.bool_]
    cpu: float


def asked(dataset: Dataset, name: str, seed: int) -> Asked:
    """Fit to 70 % of a table, and ask about the others."""
    train, test = train_test_split(np.arange(len(dataset.y)), test_size=0.3, stratify=dataset.y, random_state=seed)
    encode = encoder(dataset).fit(dataset.X.iloc[train])
    X, X_test = encode.transform(dataset.X.iloc[train]), encode.transform(dataset.X.iloc[test])
    fitted, cpu = cpu_seconds(lambda: clone(model(name, len(train), seed)).fit(X, dataset.y[train]))
    return Asked(test, fitted.predict_proba(X_test).max(axis=1), fitted.predict(X_test) == dataset.y[test], cpu)


def main() -> None:
    """Print a row per table and model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("datasets", nargs="*", default=list(SOURCES))
    arguments = parser.parse_args()
    single_threaded()
    rows = []
    for table in arguments.datasets:
        dataset = load(table, arguments.data)
        for name in arguments.models:
            splits = [asked(dataset, name, seed) for seed in range(arguments.splits)]
            row, said, right = (np.concatenate([getattr(one, part) for one in splits]) for part in Asked._fields[:3])
            errors = calibration_error(said, right), *floor(said, row)
            rows.append([table, name, float(right.mean()), *errors, float(np.mean([one.cpu for one in splits]))])
            print(*rows[-1], flush=True)
    columns = "table", "model", "accuracy", "calibration error", "floor", "top of the floor", "CPU seconds"
    show(machine(), columns, rows)


if __name__ == "__main__":
    main()
