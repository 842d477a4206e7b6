"""Tables that nobody tuned anything for: what is chosen when the size is left to us, beside gradient boosting.

python benchmarks/table_defaults.py [--json rows.json] [--models soft hard ...] [digits wine ...]

``soft`` and ``hard`` are ``choose_size``, as `moet fit` calls it, and ``distilled`` is ``choose_distilled``, as
`moet fit --distill` does; the others are defaults of scikit-learn, and ``large`` is the
teacher of ``DistilledClassifier``. Accuracy on 30 % of the rows, seed 0; CPU seconds of all that is tried.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import Results, Row, cpu_seconds, machine, show, single_threaded
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from moet.distill.distilled_classifier import default_teacher
from moet.distill.table_sizes import choose_distilled
from moet.model.sizes import choose_size

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MODELS = ("gradient boosting", "tree", "large", "soft", "hard", "distilled")


def in_classes(score: Floats, n_classes: int) -> Ints:
    """Quantiles of a number as classes."""
    return np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def friedman(which: int, n_classes: int) -> tuple[Floats, Ints]:
    """One of Friedman's functions with noise, cut at its quantiles."""
    make = {1: datasets.make_friedman1, 2: datasets.make_friedman2, 3: datasets.make_friedman3}[which]
    X, score = make(5_000, noise=0.1 if which == 3 else 1.0, random_state=0)
    return X, in_classes(score, n_classes)


def blobs(n_rows: int, n_classes: int, n_clusters: int) -> tuple[Floats, Ints]:
    """Gaussian clusters on the corners of a cube, some columns noise or copies."""
    X, y = datasets.make_classification(
        n_rows, 20, n_informative=8, n_redundant=4, n_classes=n_classes, n_clusters_per_class=n_clusters,
        flip_y=0.05, random_state=0,
    )  # fmt: skip
    return X, y


def land_cover(n_rows: int = 20_000) -> tuple[Floats, Ints]:
    """Ten numbers, one of 4 areas and one of 40 soils as zeros and ones; seven classes."""
    rng = np.random.default_rng(0)
    number, area, soil = rng.normal(size=(n_rows, 10)), rng.integers(4, size=n_rows), rng.integers(40, size=n_rows)
    number[:, 0] += 0.8 * area + 0.03 * soil
    score = rng.normal(size=(10, 7)) @ np.eye(7) * 0.6
    logits = number @ score + rng.normal(size=(4, 7))[area] * 2 + rng.normal(size=(40, 7))[soil] * 1.5
    logits += np.stack([np.sin(2 * number[:, k]) * number[:, (k + 1) % 10] for k in range(7)], axis=1) * 1.5
    logits += np.log([0.36, 0.49, 0.06, 0.01, 0.02, 0.03, 0.03]) + rng.gumbel(size=(n_rows, 7))
    return np.hstack([number, np.eye(4)[area], np.eye(40)[soil]]), logits.argmax(axis=1)


def interactions(n_rows: int = 10_000) -> tuple[Floats, Ints]:
    """Products, thresholds and a parity of columns of numbers and categories, with noise."""
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(n_rows, 6)), rng.integers(0, 3, size=(n_rows, 6))])
    score = X[:, 0] * X[:, 1] + 2 * ((X[:, 6] == X[:, 7]) & (X[:, 2] > 0)) - X[:, 3] * (X[:, 8] == 1)
    return X, (score + 0.5 * rng.normal(size=n_rows) > 0.4).astype(np.int64)


TABLES: dict[str, Callable[[], tuple[Floats, Ints]]] = {
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "breast cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "friedman 1": lambda: friedman(1, 2),
    "friedman 2": lambda: friedman(2, 4),
    "friedman 3": lambda: friedman(3, 3),
    "clusters, 2 classes": lambda: blobs(10_000, 2, 4),
    "clusters, 5 classes": lambda: blobs(5_000, 5, 2),
    "land cover": land_cover,
    "interactions": interactions,
}


def fitted(model: str, X: Floats, y: Ints) -> tuple[Any, int | None]:
    """A fitted model and its leaves, if it is one of ours."""
    if model in ("soft", "hard"):
        mixture = choose_size(X, y, prediction=model).estimator.mixture_.prune()  # type: ignore[arg-type]
        return mixture, mixture.size.leaves
    if model == "distilled":
        teacher = default_teacher(len(y)).set_params(random_state=0).fit(X, y)
        mixture = choose_distilled(X, y, teacher).estimator.mixture_.prune()
        return mixture, mixture.size.leaves
    if model == "large":
        large = default_teacher(len(y)).set_params(random_state=0).fit(X, y)
        return large, large.mixture_.size.leaves
    kind = HistGradientBoostingClassifier if model == "gradient boosting" else DecisionTreeClassifier
    return kind(random_state=0).fit(X, y), None


def measure(table: str, model: str) -> Row:
    """Accuracy, leaves and CPU seconds of one model of one table."""
    X, y = TABLES[table]()
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    (found, leaves), cpu = cpu_seconds(lambda: fitted(model, X, y))
    return {"accuracy": float(np.mean(found.predict(X_test) == y_test)), "leaves": leaves, "cpu": cpu}


def main() -> None:
    """Print a row per table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    arguments = parser.parse_args()
    single_threaded()
    results = Results(arguments.json)
    lines = []
    for table in arguments.tables:
        rows = [results.measure(measure, table=table, model=model) for model in arguments.models]
        lines.append([table, *(f"{row['accuracy']:.3f} ({row['leaves'] or ''}) {row['cpu']:.1f} s" for row in rows)])
        print(*lines[-1], sep=" | ", flush=True)
    show(f"accuracy (leaves), CPU seconds; {machine()}", ("table", *arguments.models), lines)


if __name__ == "__main__":
    main()
