"""The questions of an auditor about models of German credit, Adult and Fetal health, over all possible rows.

    MOET_DATA=folder python benchmarks/verify_tables.py [--rows 100] [--boosted TREES] [--tables "German credit"]

Every column is asked about: whether the answer ignores it and, unless it is a category, whether it is monotone in it,
in both directions and for every answer; then recourse for the first rows, and robustness within 1 % and 5 % of every
range; at last, whether the same model ignores a column that no tree tests once the gate is made blind to it. Prints
verdicts and CPU seconds, of search and check together; kernels are compiled beforehand. With ``--boosted`` models are
sums of so many trees of the same depth; of columns that no tree tests nothing is asked twice.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from moet import Mixture, MoETClassifier, verify
from moet.csv_file import read_csv
from moet.model.digits import simplify

SETS = {
    "German credit": ("german_credit_kaggle.csv", "Risk", (), 4, 3),
    "Adult": ("adult.csv", "income", ("split", "fnlwgt"), 4, 4),
    "Fetal health": ("fetal_health.csv", "fetal_health", (), 8, 5),
}
"""File, label, columns that are left out, experts and depth."""


def fitted(
    file: str, target: str, dropped: tuple[str, ...], experts: int, depth: int, trees: int | None
) -> tuple[Mixture, pd.DataFrame]:
    """Fit a hard mixture as ``moet fit`` does: pruned, with short numbers; or a sum of trees."""
    table = read_csv(Path(os.environ["MOET_DATA"]) / file).drop(columns=list(dropped))
    features = table.drop(columns=target)
    labels = table[target].astype(str)
    if trees is not None:
        boosted = MoETClassifier(
            n_experts=trees, max_depth=depth, training="boosting", prediction="soft", max_iter=0, random_state=0
        )
        return boosted.fit(features, labels).mixture_, features
    classifier = MoETClassifier(n_experts=experts, max_depth=depth, prediction="hard", random_state=0)
    mixture = classifier.fit(features, labels).mixture_
    assert mixture.schema is not None
    return simplify(mixture, mixture.schema.encode(features)), features


def asked(question: Callable[[], Any]) -> tuple[str, float]:
    """Verdict and CPU seconds of a question."""
    start = time.process_time()
    verdict = question()
    return type(verdict).__name__, time.process_time() - start


def blinded(model: Mixture) -> list[tuple[Mixture, str]]:
    """The model with a gate that has no weight for a column that no tree tests; once per such column."""
    tested = {int(k) for tree in model.trees for k in tree.feature}
    assert model.schema is not None
    found = []
    for column, features in model.schema.places:
        if not tested & set(features):
            weights = model.gate_weights.copy()
            weights[:, list(features)] = 0.0
            found.append((model.rebuilt(weights, model.gate_bias, model.trees), column.name))
    return found


def tell(name: str, outcomes: list[tuple[str, float]]) -> None:
    """Print verdicts and times of one kind of question."""
    counts = Counter(verdict for verdict, _ in outcomes)
    seconds = [second for _, second in outcomes]
    verdicts = ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items()))
    print(f"  {name:<10} {verdicts:<40} median {np.median(seconds):.3f} s, largest {max(seconds):.3f} s", flush=True)


def main() -> None:
    """Ask everything about all three."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--boosted", type=int, metavar="TREES", help="sums of trees instead of hard mixtures")
    parser.add_argument("--tables", nargs="+", default=list(SETS), choices=list(SETS))
    arguments = parser.parse_args()
    n = arguments.rows
    for name in arguments.tables:
        file, target, dropped, experts, depth = SETS[name]
        model, table = fitted(file, target, dropped, experts, depth, arguments.boosted)
        verify.robust(model, table.iloc[:1], 0.01)  # compiles
        print(f"{name}: {model}")
        schema = model.schema
        assert schema is not None
        labels, columns = model.classes.tolist(), [column.name for column in schema.columns]
        tell("ignores", [asked(partial(verify.ignores, model, [c])) for c in columns])
        ordered = [column.name for column in schema.columns if column.kind != "category"]
        questions: list[tuple[str, Any, str]] = [
            (c, d, a) for c in ordered for d in ("increasing", "decreasing") for a in labels
        ]
        tell(
            "monotone",
            [asked(partial(verify.monotone, model, c, direction=d, answer=a)) for c, d, a in questions],
        )
        if arguments.boosted is None and (blind := blinded(model)):
            tell("blind to", [asked(partial(verify.ignores, other, [c])) for other, c in blind])
        rows = [table.iloc[i] for i in range(n)]
        tell("recourse", [asked(partial(verify.recourse, model, row)) for row in rows])
        for radius in (0.01, 0.05):
            start = time.process_time()
            found = verify.robust(model, table.iloc[:n], radius)
            seconds = time.process_time() - start
            print(
                f"  robust {radius:g}: {int(found.kept.sum())} keep their answers, {len(found.changed)} do not, "
                f"{len(found.unknown)} undecided, {seconds / n:.3f} s a row"
            )


if __name__ == "__main__":
    main()
