"""Speed of predictions: ``Mixture.act`` on one state, and many rows at once, against one scikit-learn tree.

    python benchmarks/predict.py [--quick] [--json out.json]

The experts are scikit-learn trees of the stated depth, and the tree compared with is one of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from harness import Results, Row, console, machine, show, single_threaded
from sklearn.tree import DecisionTreeClassifier
from tasks import Floats, Ints, synthetic

from moet import Mixture

N_FEATURES, N_CLASSES = 8, 4


def best_seconds(work: Callable[[], Any], calls: int, repeat: int = 9) -> float:
    """Seconds of one call: the fewest of several rounds of ``calls`` calls."""
    rounds = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        rounds.append(time.perf_counter() - start)
    return min(rounds) / calls


def mixture_of_trees(X: Floats, y: Ints, n_experts: int, depth: int) -> tuple[Mixture, DecisionTreeClassifier]:
    """Grow every expert on its own half of the rows and put a random gate before them."""
    rng = np.random.default_rng(0)
    halves = [rng.choice(len(y), len(y) // 2, replace=False) for _ in range(n_experts)]
    trees = [DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X[half], y[half]) for half in halves]
    gate = rng.normal(size=(n_experts, X.shape[1] + 1))
    experts = [Mixture.from_sklearn(tree).trees[0] for tree in trees]
    return Mixture(gate[:, :-1], gate[:, -1], experts, trees[0].classes_), trees[0]


def prediction_time(n_experts: int, depth: int, n_rows: int) -> Row:
    """Time both models on the same rows."""
    mixture, tree = mixture_of_trees(*synthetic(20_000, N_FEATURES, N_CLASSES), n_experts, depth)
    rows, _ = synthetic(n_rows, N_FEATURES, N_CLASSES, seed=1)
    mixture.act(rows[0]), mixture.predict_hard(rows)
    return {
        "act": best_seconds(lambda: mixture.act(rows[0]), 2_000),
        "one": best_seconds(lambda: tree.predict(rows[:1]), 200),
        "batch": best_seconds(lambda: mixture.predict_hard(rows), 1),
        "tree": best_seconds(lambda: tree.predict(rows), 1),
    }


def main() -> None:
    """Print the table and the figures that the claims are about."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and sizes")
    parser.add_argument("--json", type=Path, help="keep the rows in this file; rows found there are not measured again")
    options = parser.parse_args()
    single_threaded()
    results = Results(options.json)
    sizes = [(1, 3), (2, 3), (8, 8)] if options.quick else [(E, D) for E in (1, 2, 8, 16) for D in (3, 8, 15)]
    n_rows = 10_000 if options.quick else 100_000
    rows = [results.measure(prediction_time, n_experts=E, depth=D, n_rows=n_rows) for E, D in sizes]
    console.print(machine())
    for title, unit, mine, other in (
        ("Mixture.act and tree.predict on one state, µs", 1e6, "act", "one"),
        (f"Mixture.predict_hard and tree.predict on {n_rows} rows, ms", 1e3, "batch", "tree"),
    ):
        ratios = [row[other] / row[mine] for row in rows]
        lines = [
            [row["n_experts"], row["depth"], unit * row[mine], unit * row[other], ratio]
            for row, ratio in zip(rows, ratios, strict=True)
        ]
        show(title, ["E", "depth", "mixture", "tree", "ratio"], lines)
        console.print(f"{min(ratios):.2f}x at least, {median(ratios):.2f}x in the median\n")


if __name__ == "__main__":
    main()
