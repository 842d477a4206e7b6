"""Robustness of sums of trees beside Veritas (Devos et al.): the same trees, the same rows, in one process.

    pip install dtai-veritas
    python benchmarks/verify_ensembles.py [--rows 100] [--trees 50 200] [--tables fetal adult] [--seed 0]

MoET boosts trees of depth 5 with a uniform gate on a table whose features are scaled to [0, 1]. Of every row that was
held out both sides are asked how far the nearest row with another answer is, by the largest change of a feature.
Veritas halves the radius ten times, as its own robustness search does; MoET finds the radius itself, and its proof that
nothing is nearer is checked with integers in the same call. A row is decided if the lower bound of its radius and the
distance of a row with another answer, which is tried on the model, differ by no more than Veritas' last step (1/512),
or by a hundredth. Seconds are of CPU time, exports of the trees to Veritas not included.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from moet import Mixture, MoETClassifier, verify
from moet.verify import Unknown

Floats = NDArray[np.float64]

DEPTH, LIMIT = 5, 10.0
CLOSE, STEP = 0.01, 2.0**-9


class Answer(NamedTuple):
    """Lower bound of a radius, the nearest row with another answer, how far it is, and seconds, checks included."""

    low: float
    high: float
    row: Floats | None
    seconds: float


def table_of(name: str) -> tuple[Floats, NDArray[np.int64]]:
    """Features of a table, from 0 to 1, and its classes: two of them."""
    folder = Path(os.environ.get("MOET_DATA", "data"))
    if name == "fetal":
        table = pd.read_csv(folder / "fetal_health.csv")
        y = (table.pop("fetal_health") > 1).to_numpy()
    else:
        table = pd.read_csv(folder / "adult.csv")
        y = (table.pop("income") == ">50K").to_numpy()
        table = table.drop(columns="split")
    X = pd.get_dummies(table).to_numpy(dtype=np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1.0), y.astype(np.int64)


def boosted(X: Floats, y: NDArray[np.int64], n_trees: int, seed: int) -> Mixture:
    """A sum of trees."""
    model = MoETClassifier(
        n_experts=n_trees, max_depth=DEPTH, training="boosting", prediction="soft", max_iter=0, random_state=seed
    )
    return model.fit(X, y).mixture_


def add_tree(mixture: Mixture) -> Any:
    """The lead of the second class over the first, as Veritas has it: it goes left if x < threshold."""
    from veritas import AddTree, AddTreeType

    ensemble = AddTree(1, AddTreeType.REGR)
    for tree in mixture.trees:
        into = ensemble.add_tree()
        stack = [(0, into.root())]
        while stack:
            node, place = stack.pop()
            if tree.feature[node] < 0:
                into.set_leaf_value(place, 0, float(tree.value[node][1] - tree.value[node][0]))
                continue
            above = float(np.nextafter(tree.threshold[node], np.inf))  # x <= t is x < the number after t
            into.split(place, int(tree.feature[node]), above)
            stack += [(int(tree.left[node]), into.left(place)), (int(tree.right[node]), into.right(place))]
    return ensemble


def by_veritas(ensemble: Any, x: Floats, is_second: bool) -> Answer:
    """Veritas' own robustness search: the other class has to get ahead."""
    from veritas import VeritasRobustnessSearch

    start = time.process_time()
    source, target = (ensemble, None) if is_second else (None, ensemble)
    search = VeritasRobustnessSearch(x, 1.0, source, target, num_steps=10, max_time=LIMIT, silent=True)
    _, low, _ = search.search()
    seconds = time.process_time() - start
    examples = [np.array(example, dtype=np.float64) for example in search.generated_examples]
    row = min(examples, key=lambda y: _away(x, y), default=None)
    return Answer(float(low), 1.0 if row is None else _away(x, row), row, seconds)


def by_moet(mixture: Mixture, x: Floats) -> Answer:
    """The nearest row with another answer; what is checked is that there is none nearer."""
    start = time.process_time()
    found = verify.closest(mixture, x, cpu_limit=LIMIT)
    seconds = time.process_time() - start
    if isinstance(found, Unknown):
        return Answer(0.0, 1.0, None, seconds)
    assert found.checked
    return Answer(found.distance, found.point_distance, found.point, seconds)


def _away(x: Floats, y: Floats) -> float:
    return float(np.abs(x - y).max())


def is_decided(answer: Answer) -> bool:
    """Whether the bounds of a radius are as good as one number, or nothing is within 1."""
    return answer.high - answer.low <= max(STEP, CLOSE * answer.high)


def told(name: str, mixture: Mixture, X: Floats, answers: list[Answer]) -> str:
    """One line about all rows."""
    own = mixture.predict(X)
    shown = [
        a.row is not None and mixture.predict(a.row[None, :])[0] != label for a, label in zip(answers, own, strict=True)
    ]
    seconds = np.array([answer.seconds for answer in answers])
    return (
        f"  {name:<8} decided {sum(map(is_decided, answers)):3} of {len(answers)}, shown by a row {sum(shown):3}, "
        f"seconds a row: mean {seconds.mean():.4f}, median {np.median(seconds):.4f}, worst {seconds.max():.3f}"
    )


def disagreements(ours: list[Answer], theirs: list[Answer]) -> int:
    """Rows of which one side has a lower bound above what the other side shows."""
    slack = 1e-9
    return sum(a.low > b.high + slack or b.low > a.high + slack for a, b in zip(ours, theirs, strict=True))


def lines(name: str, n_trees: int, n_rows: int, seed: int) -> Iterator[str]:
    """What both sides say about one ensemble."""
    X, y = table_of(name)
    order = np.random.default_rng(seed).permutation(len(X))
    held_out, rest = order[:n_rows], order[n_rows:]
    mixture = boosted(X[rest], y[rest], n_trees, seed)
    right = float(np.mean(mixture.predict(X[held_out]) == y[held_out]))
    yield f"{name}, {n_trees} trees of depth {DEPTH}, {mixture.size.leaves} leaves, {right:.2f} of the rows are right"
    ensemble, asked = add_tree(mixture), X[held_out]
    by_moet(mixture, asked[0])  # compiles, and reads the model
    ours = [by_moet(mixture, x) for x in asked]
    yield told("MoET", mixture, asked, ours)
    second = mixture.predict(asked) == 1
    theirs = [by_veritas(ensemble, x, bool(is_second)) for x, is_second in zip(asked, second, strict=True)]
    yield told("Veritas", mixture, asked, theirs)
    ratio = sum(answer.seconds for answer in theirs) / sum(answer.seconds for answer in ours)
    yield f"  Veritas takes {ratio:.1f} times as long; disagreements: {disagreements(ours, theirs)}"


def main(say: Callable[[str], None] = print) -> None:
    """Ask both."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--trees", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--tables", nargs="+", default=["fetal", "adult"], choices=["fetal", "adult"])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for name in arguments.tables:
        for n_trees in arguments.trees:
            for line in lines(name, n_trees, arguments.rows, arguments.seed):
                say(line)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
