"""How a model is tuned and tested: 70 % to train on, 15 % to choose settings by, 15 % to test on, once."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from moet.distill.distilled_classifier import DistilledClassifier
from moet.model.classifier import MoETClassifier
from moet.study.supervised.datasets import SOURCES, Dataset
from moet.study.supervised.encode import encoder
from moet.study.supervised.models import Model, Params

METRICS = ("f1", "accuracy")
"""A model is tuned and tested once for each."""


class Split(NamedTuple):
    """Row numbers."""

    train: NDArray[np.intp]
    validation: NDArray[np.intp]
    test: NDArray[np.intp]


class Choice(NamedTuple):
    """Settings, and the metric on the validation rows, unless there was nothing to choose."""

    params: Params
    validation: float | None = None


def split(dataset: Dataset, seed: int) -> Split:
    """Stratified 70/15/15."""
    y, state = dataset.y, SOURCES[dataset.name].first_split + seed
    rest, test = train_test_split(np.arange(len(y)), test_size=0.15, stratify=y, random_state=state)
    train, validation = train_test_split(rest, test_size=0.15 / 0.85, stratify=y[rest], random_state=state)
    return Split(train, validation, test)


@threadpool_limits.wrap(limits=1)  # threads that wait for each other would count as time of the model
def run(dataset: Dataset, model: Model, seed: int) -> dict[str, Any]:
    """Tune and test a model on one split; the result is one row of the benchmark, as JSON values."""
    started = time.process_time()
    test = split(dataset, seed).test
    tested: dict[int, dict[str, Any]] = {}
    tuned = {}
    for metric, choice in tune(dataset, model, seed).items():
        if id(choice.params) not in tested:  # both metrics often choose the same
            estimator, encode = refit(dataset, model, seed, choice.params)
            predicted = estimator.predict(encode.transform(dataset.X.iloc[test]))
            results = {name: score(name, dataset.y[test], predicted) for name in METRICS}
            tested[id(choice.params)] = results | {"size": _size(estimator)}
        tuned[metric] = choice._asdict() | tested[id(choice.params)]
    return {"tuned_for": tuned, "seconds": time.process_time() - started}


def tune(dataset: Dataset, model: Model, seed: int) -> dict[str, Choice]:
    """Fit every member of the grid to the training rows, and choose one per metric on the validation rows."""
    rows = split(dataset, seed)
    settings = model.grid_for(len(rows.train))
    if len(settings) == 1:
        return dict.fromkeys(METRICS, Choice(settings[0]))
    encode = encoder(dataset, model.features).fit(dataset.X.iloc[rows.train])
    X_train, X_validation = (encode.transform(dataset.X.iloc[part]) for part in (rows.train, rows.validation))
    best: dict[str, Choice] = {}
    highest = dict.fromkeys(METRICS, -1.0)
    for params in settings:
        estimator = model.build(params, seed, dataset.n_classes).fit(X_train, dataset.y[rows.train])
        predicted = estimator.predict(X_validation)
        for metric in METRICS:
            value = score(metric, dataset.y[rows.validation], predicted)
            if value > highest[metric]:
                best[metric], highest[metric] = Choice(params, value), value
    return best


def refit(dataset: Dataset, model: Model, seed: int, params: Params) -> tuple[Any, Pipeline]:
    """Fit to training and validation rows together; returns the estimator and the encoder of its features."""
    rows = split(dataset, seed)
    known = np.concatenate([rows.train, rows.validation])
    encode = encoder(dataset, model.features).fit(dataset.X.iloc[known])
    X = encode.transform(dataset.X.iloc[known])
    return model.build(params, seed, dataset.n_classes).fit(X, dataset.y[known]), encode


def score(metric: str, truth: NDArray[np.intp], predicted: NDArray[np.intp]) -> float:
    """Accuracy, or F1 of the positive class; with more than two classes the mean of F1 over the classes."""
    if metric == "accuracy":
        return float(accuracy_score(truth, predicted))
    return float(f1_score(truth, predicted, average="binary" if truth.max() == 1 else "macro"))


def _size(estimator: Any) -> dict[str, int] | None:
    """Size of a mixture, or leaves of a tree."""
    if isinstance(estimator, MoETClassifier | DistilledClassifier):
        return estimator.mixture_.size._asdict()
    return {"leaves": int(estimator.get_n_leaves())} if hasattr(estimator, "get_n_leaves") else None
