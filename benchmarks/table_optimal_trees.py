"""How much trees that are proved optimal gain over greedy ones on a table, where that can be computed.

    pip install pystreed
    MOET_DATA=DIR python benchmarks/table_optimal_trees.py [--splits 8] [--first 50000] [--made 20000] [fetal]

STreeD finds the tree of a depth that errs least on the rows it learns from, among all trees of some tests: the
thresholds that 50 random trees gain most by. Greedy trees (scikit-learn) have the same depth; "same tests" choose among
the same tests, the others among all. They learn labels, or what a large mixture answers on ``--made`` rows more
(``table_leaves.py``). Share of the rows learned from that is right, accuracy on 15 % held out, CPU seconds; means over
splits.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import cpu_seconds, machine, show, single_threaded
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from table_leaves import Rows, made_of, split

from moet.distill.distilled_classifier import default_teacher
from moet.study.supervised.datasets import load

SIZES = ((3, 100), (4, 40), (5, 20))
"""Depth, and how many tests there are to choose from: each takes some seconds."""
MOST_SECONDS = 120


def best_tests(X: Any, y: Any, n: int) -> list[tuple[int, float]]:
    """Feature and threshold of the tests that random trees gain most by."""
    gain: dict[tuple[int, float], float] = defaultdict(float)
    for grown in RandomForestClassifier(50, max_leaf_nodes=64, random_state=0).fit(X, y).estimators_:
        tree = grown.tree_
        impurity = tree.weighted_n_node_samples * tree.impurity
        for k in np.flatnonzero(tree.children_left >= 0):
            below = impurity[tree.children_left[k]] + impurity[tree.children_right[k]]
            gain[int(tree.feature[k]), float(np.float32(tree.threshold[k]))] += float(impurity[k] - below)
    return sorted(gain, key=lambda test: -gain[test])[:n]


def passed(X: Any, tests: list[tuple[int, float]]) -> Any:
    return np.column_stack([X[:, feature] <= threshold for feature, threshold in tests]).astype(int)


def compared(rows: Rows, X: Any, y: Any, depth: int, n_tests: int) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Name, share of what was learned, accuracy, leaves and CPU seconds of an optimal tree and of greedy ones."""
    from pystreed import STreeDClassifier

    tests = best_tests(X, y, n_tests)
    asked = {"all": (X, rows.X_test), "same tests": (passed(X, tests), passed(rows.X_test, tests))}
    models = (
        ("optimal", "same tests", STreeDClassifier(max_depth=depth, min_leaf_node_size=5, time_limit=MOST_SECONDS)),
        ("greedy, same tests", "same tests", DecisionTreeClassifier(max_depth=depth, min_samples_leaf=5)),
        ("greedy", "all", DecisionTreeClassifier(max_depth=depth, min_samples_leaf=5, random_state=0)),
    )
    for name, inputs, model in models:
        own, test = asked[inputs]
        _, seconds = cpu_seconds(lambda model=model, own=own: model.fit(own, y))  # type: ignore[misc]
        if name == "optimal" and not model.fit_result.is_optimal():
            name = "optimal (not proved in time)"
        learned = float(np.mean(model.predict(own) == y))
        yield name, (learned, float(np.mean(model.predict(test) == rows.y_test)), seconds)


def main() -> None:
    """Print a table per data set, after every split."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--first", type=int, default=50_000)
    parser.add_argument("--made", type=int, default=20_000)
    parser.add_argument("datasets", nargs="*", default=["fetal"])
    arguments = parser.parse_args()
    single_threaded()
    for name in arguments.datasets:
        dataset, found = load(name, arguments.data), defaultdict(list)
        for seed in range(arguments.first, arguments.first + arguments.splits):
            rows = split(dataset, seed)
            classes, y = np.unique(rows.y, return_inverse=True)
            rows = rows._replace(y=y, y_test=np.searchsorted(classes, rows.y_test))
            teacher = default_teacher(len(rows.X)).set_params(random_state=seed).fit(rows.X, rows.y)
            made = made_of(rows, arguments.made, seed, teacher)
            answers = (np.concatenate([rows.X, made[0]]), np.concatenate([teacher.predict(rows.X), made[1]]))
            for depth, n_tests in SIZES:
                for learned, (X, target) in (("labels", (rows.X, rows.y)), ("answers", answers)):
                    for model, values in compared(rows, X, target, depth, n_tests):
                        found[depth, n_tests, learned, model].append(values)
            table = [[*key, *np.mean(values, axis=0).tolist()] for key, values in found.items()]
            columns = ("depth", "tests", "learned", "tree", "right of what it learned", "accuracy", "CPU s")
            show(f"{name}, splits {arguments.first} to {seed}; {machine()}", columns, table)


if __name__ == "__main__":
    main()
