"""Whether the probabilities of models of tables come true.

    MOET_DATA=DIR python benchmarks/table_probabilities.py [--splits 5] [--models soft boosted] [german fetal ...]

The calibration error is Σ share · |said - right| over ten bins of the probability of the answer, on the test rows of
all splits (30 % each) together; the one of a single split is mostly noise where tables are small.
"""

from __future__ import annotations

import argparse
from typing import Any

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

BINS = 10
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


def asked(dataset: Dataset, name: str, seed: int) -> tuple[NDArray[np.float64], NDArray[np.bool_], float]:
    """Probabilities of the answers to test rows, whether they were right, and the CPU seconds of the fit."""
    train, test = train_test_split(np.arange(len(dataset.y)), test_size=0.3, stratify=dataset.y, random_state=seed)
    encode = encoder(dataset).fit(dataset.X.iloc[train])
    X, X_test = encode.transform(dataset.X.iloc[train]), encode.transform(dataset.X.iloc[test])
    fitted, cpu = cpu_seconds(lambda: clone(model(name, len(train), seed)).fit(X, dataset.y[train]))
    return fitted.predict_proba(X_test).max(axis=1), fitted.predict(X_test) == dataset.y[test], cpu


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
            said, right = (np.concatenate(part) for part in list(zip(*splits, strict=True))[:2])
            error = calibration_error(said, right)
            rows.append([table, name, float(right.mean()), error, float(np.mean([cpu for *_, cpu in splits]))])
            print(*rows[-1], flush=True)
    show(machine(), ("table", "model", "accuracy", "calibration error", "CPU seconds"), rows)


if __name__ == "__main__":
    main()
