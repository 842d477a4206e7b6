"""The questions of an auditor about models of German credit, Adult and Fetal health, over all possible rows.

    MOET_DATA=folder python benchmarks/verify_tables.py [--rows 100] [--boosted TREES | --default] [--tables Adult]

Every column is asked about: whether the answer ignores it and, unless it is a category, whether it is monotone in it,
in both directions and for every answer; then recourse for the first rows, and robustness within 1 % and 5 % of every
range; at last, whether the same model ignores a column that no tree tests once the gate is made blind to it. Prints
verdicts and CPU seconds, of search and check together, and of one more check of what was proved; kernels are compiled
beforehand. With ``--boosted`` models are sums of so many trees of the same depth, of which nothing is asked twice; with
``--default`` they are what ``MoETClassifier()`` makes, soft ones with a gate.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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
    file: str, target: str, dropped: tuple[str, ...], experts: int, depth: int, trees: int | None, is_default: bool
) -> tuple[Mixture, pd.DataFrame]:
    """Fit a hard mixture as ``moet fit`` does: pruned, with short numbers; or a sum of trees, or the default."""
    table = read_csv(Path(os.environ["MOET_DATA"]) / file).drop(columns=list(dropped))
    features = table.drop(columns=target)
    labels = table[target].astype(str)
    if is_default:
        return MoETClassifier(random_state=0).fit(features, labels).mixture_, features
    if trees is not None:
        boosted = MoETClassifier(
            n_experts=trees, max_depth=depth, training="boosting", prediction="soft", max_iter=0, random_state=0
        )
        return boosted.fit(features, labels).mixture_, features
    classifier = MoETClassifier(n_experts=experts, max_depth=depth, prediction="hard", random_state=0)
    mixture = classifier.fit(features, labels).mixture_
    assert mixture.schema is not None
    return simplify(mixture, mixture.schema.encode(features)), features


class Answered(NamedTuple):
    """Verdict and CPU seconds of a question, and of another check of its certificate."""

    verdict: str
    seconds: float
    check: float | None


def asked(model: Mixture, question: Callable[[], Any]) -> Answered:
    """Ask, and have what is proved checked once more."""
    start = time.process_time()
    verdict = question()
    seconds = time.process_time() - start
    return Answered(type(verdict).__name__, seconds, checked(verdict, model))


def checked(verdict: Any, model: Mixture) -> float | None:
    """CPU seconds of a check, if something was proved."""
    certificate = getattr(verdict, "certificate", None)
    if certificate is None:
        return None
    start = time.process_time()
    verify.check(certificate, model)
    return time.process_time() - start


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


def tell(name: str, outcomes: list[Answered]) -> None:
    """Print verdicts and times of one kind of question."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    seconds = [outcome.seconds for outcome in outcomes]
    verdicts = ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items()))
    line = f"  {name:<10} {verdicts:<40} median {np.median(seconds):.3f} s, largest {max(seconds):.3f} s"
    if checks := [outcome.check for outcome in outcomes if outcome.check is not None]:
        proved = sum(outcome.seconds for outcome in outcomes if outcome.check is not None)
        line += f"; of proofs {sum(checks) / proved:.0%} is the check, largest {max(checks):.3f} s"
    print(line, flush=True)


def main() -> None:
    """Ask everything about all three."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--boosted", type=int, metavar="TREES", help="sums of trees instead of hard mixtures")
    kinds.add_argument("--default", action="store_true", help="what MoETClassifier() makes")
    parser.add_argument("--tables", nargs="+", default=list(SETS), choices=list(SETS))
    arguments = parser.parse_args()
    n = arguments.rows
    for name in arguments.tables:
        file, target, dropped, experts, depth = SETS[name]
        model, table = fitted(file, target, dropped, experts, depth, arguments.boosted, arguments.default)
        verify.robust(model, table.iloc[:1], 0.01)  # compiles
        print(f"{name}: {model}")
        schema = model.schema
        assert schema is not None
        labels, columns = model.classes.tolist(), [column.name for column in schema.columns]
        tell("ignores", [asked(model, partial(verify.ignores, model, [c])) for c in columns])
        ordered = [column.name for column in schema.columns if column.kind != "category"]
        questions: list[tuple[str, Any, str]] = [
            (c, d, a) for c in ordered for d in ("increasing", "decreasing") for a in labels
        ]
        tell(
            "monotone",
            [asked(model, partial(verify.monotone, model, c, direction=d, answer=a)) for c, d, a in questions],
        )
        if arguments.boosted is None and (blind := blinded(model)):
            tell("blind to", [asked(other, partial(verify.ignores, other, [c])) for other, c in blind])
        rows = [table.iloc[i] for i in range(n)]
        tell("recourse", [asked(model, partial(verify.recourse, model, row)) for row in rows])
        for radius in (0.01, 0.05):
            start = time.process_time()
            found = verify.robust(model, table.iloc[:n], radius)
            seconds = time.process_time() - start
            check = checked(found, model) or 0.0
            print(
                f"  robust {radius:g}: {int(found.kept.sum())} keep their answers, {len(found.changed)} do not, "
                f"{len(found.unknown)} undecided, {seconds / n:.4f} s a row, check {check / n:.4f}"
            )


if __name__ == "__main__":
    main()
