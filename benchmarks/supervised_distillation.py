"""What distillation is worth to small models of tables: learning from the labels, or from a large mixture's answers.

    python benchmarks/supervised_distillation.py [--data DIR] [--splits 10] [german german9 fetal fetal3 adult]

Prints accuracy and F1 on held-out rows, leaves and CPU seconds of a fit (means over splits) of a hard mixture and of a
tree, both ways; and the large mixture's own.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from moet import MoETClassifier
from moet.distill import DistilledClassifier
from moet.distill.distilled_classifier import default_teacher
from moet.study.supervised.datasets import SOURCES, Dataset, load
from moet.study.supervised.encode import encoder
from moet.study.supervised.protocol import score


def models(n_rows: int, seed: int) -> dict[str, object]:
    """Every model by its name; mixtures of 4 experts, trees of about as many leaves."""
    depth = 2 if n_rows <= 1000 else 4
    mixture = MoETClassifier(n_experts=4, max_depth=depth, prediction="hard", random_state=seed)
    tree = DecisionTreeClassifier(max_leaf_nodes=4 * 2**depth, min_samples_leaf=5, random_state=seed)
    students = {"mixture": mixture, "tree": tree}
    return {
        "large mixture": default_teacher(n_rows).set_params(random_state=seed),
        **{f"{name}, labels": student for name, student in students.items()},
        **{f"{name}, distilled": DistilledClassifier(student, random_state=seed) for name, student in students.items()},
    }


def measure(dataset: Dataset, splits: int) -> None:
    results = defaultdict(list)
    for seed in range(splits):
        train, test = train_test_split(np.arange(len(dataset.y)), test_size=0.15, stratify=dataset.y, random_state=seed)
        encode = encoder(dataset).fit(dataset.X.iloc[train])
        X, X_test = encode.transform(dataset.X.iloc[train]), encode.transform(dataset.X.iloc[test])
        for name, model in models(len(train), seed).items():
            started = time.process_time()
            fitted = clone(model).fit(X, dataset.y[train])
            seconds = time.process_time() - started
            predicted = fitted.predict(X_test)
            scores = [score(metric, dataset.y[test], predicted) for metric in ("accuracy", "f1")]
            results[name].append([*scores, leaves(fitted), seconds])
    for name, values in results.items():
        accuracy, f1, size, seconds = np.mean(values, axis=0)
        print(
            f"{dataset.name:8} {name:20} accuracy {accuracy:.4f}  F1 {f1:.4f}  {size:6.0f} leaves  {seconds:6.2f} s",
            flush=True,
        )


def leaves(model) -> int:
    model = getattr(model, "student_", model)
    return model.get_n_leaves() if hasattr(model, "tree_") else model.mixture_.size.leaves


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("datasets", nargs="*", default=list(SOURCES))
    arguments = parser.parse_args()
    for name in arguments.datasets:
        measure(load(name, arguments.data), arguments.splits)


if __name__ == "__main__":
    main()
