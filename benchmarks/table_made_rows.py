"""Rows made of a small table for a student to learn from: attributes of near rows, or of any rows.

    MOET_DATA=DIR python benchmarks/table_made_rows.py [--splits 8] [--made 40000] [--experts 4] [--depth 4] [german]

Students of the same settings learn what the same large mixture answers, on the table's rows and on ``--made`` of them,
and are judged on 30 % of the rows: accuracy, and how often they answer as the large mixture does; after ± the standard
error of the difference.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from unittest.mock import patch

import numpy as np
from harness import machine, show, single_threaded
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from moet import MoETClassifier
from moet.distill import DistilledClassifier
from moet.distill.distilled_classifier import default_teacher
from moet.study.supervised.datasets import Dataset, load
from moet.study.supervised.encode import encoder

ANY = "moet.distill.distilled_classifier.neighbours"


def judged(dataset: Dataset, seed: int, student: MoETClassifier, n_made: int) -> dict[str, tuple[float, float]]:
    """Accuracy and fidelity on one split."""
    train, test = train_test_split(np.arange(len(dataset.y)), test_size=0.3, stratify=dataset.y, random_state=seed)
    encode = encoder(dataset).fit(dataset.X.iloc[train])
    X, X_test = encode.transform(dataset.X.iloc[train]), encode.transform(dataset.X.iloc[test])
    y, y_test = dataset.y[train], dataset.y[test]
    teacher = default_teacher(len(X)).set_params(random_state=seed).fit(X, y)
    answers = teacher.predict(X_test)
    model = DistilledClassifier(student, FrozenEstimator(teacher), n_made=n_made, random_state=seed)
    said = {"near rows": model.fit(X, y).predict(X_test)}
    with patch(ANY, lambda X: None):
        said["any rows"] = model.fit(X, y).predict(X_test)
    found = {name: (float(np.mean(own == y_test)), float(np.mean(own == answers))) for name, own in said.items()}
    return {"large mixture": (float(np.mean(answers == y_test)), 1.0)} | found


def main() -> None:
    """Print a table per data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--first", type=int, default=60_000)
    parser.add_argument("--made", type=int, default=40_000)
    parser.add_argument("--experts", type=int, default=4)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("datasets", nargs="*", default=["german", "german9"])
    arguments = parser.parse_args()
    single_threaded()
    student = MoETClassifier(arguments.experts, arguments.depth, prediction="hard", random_state=0)
    for name in arguments.datasets:
        dataset, found = load(name, arguments.data), defaultdict(list)
        for seed in range(arguments.first, arguments.first + arguments.splits):
            for row, values in judged(dataset, seed, student, arguments.made).items():
                found[row].append(values)
        leads = np.array(found["near rows"]) - found["any rows"]
        errors = (leads.std(axis=0, ddof=1) / len(leads) ** 0.5).tolist()
        rows = [[row, *np.mean(values, axis=0).tolist()] for row, values in found.items()]
        rows += [["near less any", *leads.mean(axis=0).tolist()], ["±", *errors]]
        show(f"{name}; {machine()}", ("model", "accuracy", "fidelity"), rows)


if __name__ == "__main__":
    main()
