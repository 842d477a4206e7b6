"""What hard mixtures and trees of so many leaves can reach on a table, beside EBM and the model that they learn from.

    pip install interpret
    MOET_DATA=DIR python benchmarks/table_leaves.py [--splits 8] [--first 50000] [--made 100000] [--ebm] [fetal fetal3]
    MOET_DATA=DIR python benchmarks/table_leaves.py --sizes [--splits 3] [fetal]
    MOET_DATA=DIR python benchmarks/table_leaves.py --many 12 [--drawn 20000] [fetal]

Students learn what a large mixture answers (``DistilledClassifier``), of the table's rows and of as many as are
``--made`` of them. Of each kind the student "chosen" is the one, of at most 128 leaves, that answers most of 20,000
further made rows as the large mixture does; "best on the test rows" is chosen by the labels it is judged by, among all
of them: more than any choice can reach. With ``--sizes`` there are students of 16 to 2,048 leaves instead, and the same
"of labels", fitted to the table alone; with ``--many`` so many of either kind to choose from, which learn from
``--drawn`` of the rows, drawn anew, or from all. Accuracy on 15 % of the rows, the mean over splits, told after every
split; after ± the standard error of the difference from EBM.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from harness import machine, show, single_threaded
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from moet import MoETClassifier
from moet.distill.distilled_classifier import default_teacher
from moet.distill.made_rows import neighbours, recombined
from moet.study.supervised.datasets import Dataset, load
from moet.study.supervised.encode import encoder

MOST_LEAVES = 128
FURTHER = 20_000
SIZES = ((2, 3), (4, 3), (4, 4), (8, 4), (8, 5), (16, 5), (32, 6))
STARTS = ((4, 5, 0), (4, 5, 1), (8, 5, 1), (8, 5, 2))
"""Further mixtures of at most so many leaves, as a rule: experts, depth, seed."""
MANY = ((8, 5), (4, 6), (16, 4))
"""Experts and depth of many mixtures, in turn."""
LEAVES = (16, 32, 64, 128, 256, 512, 1024, 2048)
LEAST_ROWS = (1, 20)
"""Rows that a leaf of further trees has at least; by entropy as well as by Gini's impurity."""


class Found(NamedTuple):
    """A student: its kind, leaves, accuracy, and how often it answers further made rows as the large mixture does."""

    kind: str
    leaves: int
    accuracy: float
    fidelity: float


class Rows(NamedTuple):
    """One split of a table as numbers."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def split(dataset: Dataset, seed: int) -> Rows:
    train, test = train_test_split(np.arange(len(dataset.y)), test_size=0.15, stratify=dataset.y, random_state=seed)
    encode = encoder(dataset).fit(dataset.X.iloc[train])
    X, X_test = encode.transform(dataset.X.iloc[train]), encode.transform(dataset.X.iloc[test])
    return Rows(np.asarray(X, float), dataset.y[train], np.asarray(X_test, float), dataset.y[test])


def mixture(experts: int, depth: int, seed: int) -> MoETClassifier:
    return MoETClassifier(experts, depth, prediction="hard", random_state=seed)


def tree(leaves: int, least: int = 5, criterion: str = "gini") -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_leaf_nodes=leaves, min_samples_leaf=least, criterion=criterion, random_state=0)


def small_students() -> Iterator[tuple[str, Any]]:
    """Name of its row, if it has one, and the student."""
    yield "mixture E8-D5", mixture(8, 5, 0)
    yield f"tree of {MOST_LEAVES}", tree(MOST_LEAVES)
    for start in STARTS:
        yield "", mixture(*start)
    for least in LEAST_ROWS:
        for criterion in ("gini", "entropy"):
            yield "", tree(MOST_LEAVES, least, criterion)


def many_students(n: int) -> Iterator[tuple[str, Any]]:
    """So many mixtures and as many trees, of several shapes."""
    for k in range(n):
        yield "", mixture(*MANY[k % len(MANY)], k)
        yield "", tree(MOST_LEAVES, (1, 2, 5, 10)[k % 4], ("gini", "entropy")[k // 4 % 2])


def students_of_all_sizes() -> Iterator[tuple[str, Any]]:
    for experts, depth in SIZES:
        yield f"mixture E{experts}-D{depth}", mixture(experts, depth, 0)
    for leaves in LEAVES:
        yield f"tree of {leaves:,}", tree(leaves)


def judged(
    dataset: Dataset, seed: int, n_made: int, sizes: bool, many: int, drawn: int, ebm: bool
) -> dict[str, tuple[float, float]]:
    """Accuracy and leaves of every row of the result, on one split."""
    rows = split(dataset, seed)
    teacher = default_teacher(len(rows.X)).set_params(random_state=seed).fit(rows.X, rows.y)
    result = {"large mixture": (float(teacher.score(rows.X_test, rows.y_test)), float(teacher.mixture_.size.leaves))}
    if ebm:
        from interpret.glassbox import ExplainableBoostingClassifier

        other = ExplainableBoostingClassifier(random_state=seed, n_jobs=1).fit(rows.X, rows.y)
        result["EBM"] = (float(other.score(rows.X_test, rows.y_test)), np.nan)
    made, further = (made_of(rows, n, seed + k, teacher) for k, n in enumerate((n_made, FURTHER)))
    X, y = np.concatenate([rows.X, made[0]]), np.concatenate([teacher.predict(rows.X), made[1]])
    all_found = []
    rng = np.random.default_rng(seed)
    for name, student in students_of_all_sizes() if sizes else many_students(many) if many else small_students():
        kind = "tree" if isinstance(student, DecisionTreeClassifier) else "mixture"
        own = rng.choice(len(X), drawn, replace=False) if drawn else slice(None)
        model = clone(student).fit(X[own], y[own])
        one = Found(kind, leaves_of(model), float(model.score(rows.X_test, rows.y_test)), float(model.score(*further)))
        all_found.append(one)
        if name:
            result[name] = (one.accuracy, one.leaves)
        if sizes:
            alone = clone(student).fit(rows.X, rows.y)
            result[f"{name}, of labels"] = (float(alone.score(rows.X_test, rows.y_test)), leaves_of(alone))
    for kind in () if sizes else ("mixture", "tree"):
        small = [one for one in all_found if one.kind == kind and one.leaves <= MOST_LEAVES]
        result[f"{kind}, chosen"] = max(small, key=lambda one: one.fidelity)[1:3][::-1]
        result[f"{kind}, best on the test rows"] = max(small, key=lambda one: one.accuracy)[1:3][::-1]
        result[f"{kind}, to choose from"] = (float(np.mean([one.accuracy for one in small])), len(small))
    return result


def made_of(rows: Rows, n_rows: int, seed: int, teacher: MoETClassifier) -> tuple[Any, Any]:
    """Rows made of those of a table, and what the teacher answers."""
    X = recombined(rows.X, n_rows, np.random.default_rng(seed), neighbours(rows.X))
    return X, teacher.predict(X)


def leaves_of(model: Any) -> int:
    return int(
        model.get_n_leaves() if isinstance(model, DecisionTreeClassifier) else model.mixture_.prune().size.leaves
    )


def main() -> None:
    """Print a table per data set, after every split."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--first", type=int, default=50_000)
    parser.add_argument("--made", type=int, default=100_000)
    parser.add_argument("--sizes", action="store_true")
    parser.add_argument("--many", type=int, default=0)
    parser.add_argument("--drawn", type=int, default=0)
    parser.add_argument("--ebm", action="store_true")
    parser.add_argument("datasets", nargs="*", default=["fetal"])
    arguments = parser.parse_args()
    single_threaded()
    for name in arguments.datasets:
        dataset, found = load(name, arguments.data), defaultdict(list)
        for seed in range(arguments.first, arguments.first + arguments.splits):
            settings = arguments.made, arguments.sizes, arguments.many, arguments.drawn, arguments.ebm
            result = judged(dataset, seed, *settings)
            print(name, "split", seed, {row: round(values[0], 4) for row, values in result.items()}, flush=True)
            for row, values in result.items():
                found[row].append(values)
            table = [line(row, values, found) for row, values in found.items()]
            title = f"{name}, splits {arguments.first} to {seed}; {machine()}"
            show(title, ("model", "accuracy", "leaves", "against EBM", "±"), table)


def line(name: str, values: list[tuple[float, float]], found: dict[str, list[tuple[float, float]]]) -> list[Any]:
    """Mean accuracy and leaves, and the difference from EBM with its standard error."""
    accuracy, leaves = map(float, np.mean(values, axis=0))
    if "EBM" not in found or len(values) < 2:
        return [name, accuracy, leaves, "", ""]
    lead = np.array([own[0] - other[0] for own, other in zip(values, found["EBM"], strict=True)])
    return [name, accuracy, leaves, float(lead.mean()), float(lead.std(ddof=1) / len(lead) ** 0.5)]


if __name__ == "__main__":
    main()
