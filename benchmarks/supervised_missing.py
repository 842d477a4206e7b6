"""What missing numbers should become for mixtures: the median, the median and a column, or a value of their own.

    python benchmarks/supervised_missing.py [--data DIR] [--splits 10] [--share 0.3] [fetal german adult]

Takes away a share of the numbers, at random or rather the larger ones of each column, and prints F1 and accuracy on
held-out rows (means over splits) of MoËT (the first setting that the benchmark would try) and of a hard mixture of four
experts of depth 4. "own branch" is a value below all others, which a tree splits off by one test; "a column" says what
was missing. Gradient boosting, which knows missing values, and the table without holes show what could be reached.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from moet import MoETClassifier
from moet.study.supervised.datasets import SOURCES, Dataset, load
from moet.study.supervised.encode import encoder
from moet.study.supervised.models import MODELS
from moet.study.supervised.protocol import score


def with_holes(X: pd.DataFrame, columns: list[str], share: float, *, informative: bool, seed: int) -> pd.DataFrame:
    """A copy without some of the numbers: by chance, or with a chance that grows with the value."""
    rng = np.random.default_rng(seed)
    X = X.copy()
    for column in columns:
        chance = 2 * share * X[column].rank(pct=True) if informative else share
        X.loc[rng.random(len(X)) < chance, column] = np.nan
    return X


def mixtures(n_rows: int, seed: int) -> dict[str, object]:
    """Models that take no table with holes."""
    model = MODELS["moet"]
    return {
        "MoËT": model.build(model.grid_for(n_rows)[0], seed, 2),
        "hard mixture": MoETClassifier(4, 4, prediction="hard", random_state=seed),
    }


def ways(X: pd.DataFrame, seed: int) -> dict[str, object]:
    """Models that take a table with holes."""
    fills = {
        "median": SimpleImputer(strategy="median"),
        "median and a column": SimpleImputer(strategy="median", add_indicator=True),
        "own branch": SimpleImputer(strategy="constant", fill_value=float(np.nanmin(X.to_numpy())) - 1.0),
    }
    return {
        **{
            f"{name}, {fill}": make_pipeline(clone(fills[fill]), model)
            for fill in fills
            for name, model in mixtures(len(X), seed).items()
        },
        "gradient boosting": HistGradientBoostingClassifier(random_state=seed),
    }


def measure(dataset: Dataset, splits: int, share: float) -> None:
    numbers = list(SOURCES[dataset.name].numbers)
    results = defaultdict(list)
    for seed in range(splits):
        train, test = train_test_split(np.arange(len(dataset.y)), test_size=0.15, stratify=dataset.y, random_state=seed)
        features = encoder(dataset).fit(dataset.X.iloc[train]).transform(dataset.X)

        def record(name: str, model, X: pd.DataFrame, train=train, test=test) -> None:
            predicted = model.fit(X.iloc[train], dataset.y[train]).predict(X.iloc[test])
            results[name].append([score(metric, dataset.y[test], predicted) for metric in ("f1", "accuracy")])

        for name, model in mixtures(len(train), seed).items():
            record(f"nothing missing: {name}", model, features)
        for kind, informative in {"at random": False, "larger ones": True}.items():
            holes = with_holes(features, numbers, share, informative=informative, seed=seed)
            for name, model in ways(holes.iloc[train], seed).items():
                record(f"{kind}: {name}", model, holes)
    for name, values in results.items():
        f1, accuracy = np.mean(values, axis=0)
        print(f"{dataset.name:8} {name:42} F1 {f1:.4f}  accuracy {accuracy:.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--share", type=float, default=0.3)
    parser.add_argument("datasets", nargs="*", default=["fetal", "german", "adult"])
    arguments = parser.parse_args()
    for name in arguments.datasets:
        measure(load(name, arguments.data), arguments.splits, arguments.share)


if __name__ == "__main__":
    main()
