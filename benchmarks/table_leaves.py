"""What hard mixtures and trees of so many leaves can reach on a table, beside the model that they learn from.

    MOET_DATA=DIR python benchmarks/table_leaves.py [--splits 5] [--made 20000 100000] [--ebm] [fetal fetal3]

Both learn what a large mixture answers (``DistilledClassifier``), of the table's rows and of as many as are ``--made``
of them; trees have 64, 128, and 1,024 leaves at most. With ``--ebm`` EBM is fitted, too, with its defaults. Accuracy on
15 % of the rows, mean over splits.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from typing import Any

import numpy as np
from harness import machine, show, single_threaded
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from moet import MoETClassifier
from moet.distill import DistilledClassifier
from moet.distill.distilled_classifier import default_teacher
from moet.study.supervised.datasets import Dataset, load
from moet.study.supervised.encode import encoder

SIZES = ((4, 5), (8, 5))
LEAVES = (64, 128, 1024)


def split(dataset: Dataset, seed: int, made: list[int], ebm: bool, found: dict[str, list[tuple[float, float]]]) -> None:
    """Add accuracy and leaves of every model on one split."""
    train, test = train_test_split(np.arange(len(dataset.y)), test_size=0.15, stratify=dataset.y, random_state=seed)
    encode = encoder(dataset).fit(dataset.X.iloc[train])
    X, X_test = encode.transform(dataset.X.iloc[train]), encode.transform(dataset.X.iloc[test])
    y, y_test = dataset.y[train], dataset.y[test]
    teacher = default_teacher(len(train)).set_params(random_state=seed).fit(X, y)
    found["large mixture"].append((float(teacher.score(X_test, y_test)), teacher.mixture_.size.leaves))
    if ebm:
        from interpret.glassbox import ExplainableBoostingClassifier

        other = ExplainableBoostingClassifier(random_state=seed, n_jobs=1).fit(X, y)
        found["EBM"].append((float(other.score(X_test, y_test)), np.nan))
    students: dict[str, Any] = {
        f"mixture E{experts}-D{depth}": MoETClassifier(experts, depth, prediction="hard", random_state=seed)
        for experts, depth in SIZES
    }
    for leaves in LEAVES:
        tree = DecisionTreeClassifier(max_leaf_nodes=leaves, min_samples_leaf=5, random_state=seed)
        students[f"tree, {leaves} leaves at most"] = tree
    for n_made in made:
        for name, student in students.items():
            model = DistilledClassifier(student, FrozenEstimator(teacher), n_made=n_made, random_state=seed).fit(X, y)
            size = model.mixture_.prune().size.leaves
            found[f"{name}, {n_made:,} rows made"].append((float(model.score(X_test, y_test)), size))


def main() -> None:
    """Print a table per data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--made", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--ebm", action="store_true")
    parser.add_argument("datasets", nargs="*", default=["fetal"])
    arguments = parser.parse_args()
    single_threaded()
    for name in arguments.datasets:
        dataset, found = load(name, arguments.data), defaultdict(list)
        for seed in range(arguments.splits):
            split(dataset, seed, arguments.made, arguments.ebm, found)
            print(name, "split", seed, {model: round(values[-1][0], 4) for model, values in found.items()}, flush=True)
        rows = [[model, *map(float, np.mean(values, axis=0))] for model, values in found.items()]
        show(f"{name}; {machine()}", ("model", "accuracy", "leaves"), rows)


if __name__ == "__main__":
    main()
