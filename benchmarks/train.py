"""Training: time per epoch, accuracy and time end to end, and growth with the size of the problem.

    python benchmarks/train.py [epoch] [quality] [growth] [--quick] [--seeds 0 1 2] [--json out.json]
    python benchmarks/train.py quality --tasks mountaincar --experts 4 8 --depths 3 5 8

Both sides run in one process, on one thread, and are measured in CPU seconds; ours is compiled before it is measured.
With ``--json`` every row is written as soon as it is measured, and rows found there are not measured again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import lru_cache
from itertools import product
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import reference
from harness import Results, Row, console, cpu_seconds, machine, show, single_threaded
from sklearn.tree import DecisionTreeClassifier
from tasks import TASKS, Floats, Ints, Unavailable, adult, imitation, synthetic

from moet import Mixture, MoETClassifier, Tree
from moet.model.bins import bin_table
from moet.model.em import Bench, em_round
from moet.model.gate import Scaler
from moet.model.grow import GrowOptions
from moet.model.recipe import SMOOTHING
from moet.model.solve import GateStep
from moet.model.table import canonical_table

PUBLISHED: dict[str, Any] = {
    "init": "random",
    "n_init": 1,
    "gate_solver": "adam",
    "gate_l2": 0.0,
    "learning_rate": 0.3,
    "learning_rate_decay": 0.97,
    "max_iter": 50,
    "tol": 0.0,
    "hard_iter": 0,
    "min_samples_leaf": 1,
}
"""The paper's procedure in our own terms."""

MODES = ("hard", "soft")

TABLES: dict[str, Callable[[], tuple[Floats, Ints]]] = {
    "20,000 × 4": lambda: synthetic(20_000, 4, 2),
    "200,000 × 4": lambda: synthetic(200_000, 4, 2),
    "200,000 × 8": lambda: synthetic(200_000, 8, 4),
    "one-hot": adult,
}
"""What the time of an epoch is measured on."""


@lru_cache(maxsize=1)
def table_of(name: str) -> tuple[Floats, Ints]:
    """One of ``TABLES``."""
    return TABLES[name]()


# --- time per epoch -----------------------------------------------------------------------------------------------


def our_epoch(X: Floats, y: Ints, theta: Floats, likelihood: Floats, max_depth: int) -> tuple[Mixture, float]:
    """One EM epoch of ours and its CPU seconds, with leaves as small as the reference's: one row of any weight."""
    table = canonical_table(X, y.astype(np.int32), np.ones(len(y)), int(y.max()) + 1)
    bench = Bench(table, bin_table(table), Scaler.of(table), max_depth, SMOOTHING)
    share, _ = bench.responsibilities(theta, likelihood[:, table.rows].astype(np.float32))
    gate, options = GateStep("likelihood", 1e-4, 0.3, 0.97), GrowOptions(max_depth, min_samples_leaf=0.0)
    em_round(bench, theta, share, options, gate, steps=5)  # compiles what is not compiled
    after, cpu = cpu_seconds(lambda: em_round(bench, theta, share, options, gate, steps=5), repeat=3)
    trees = [Tree(t.feature, t.threshold, t.left, t.right, t.value) for t in after.experts.trees]
    return Mixture(*bench.gate_rows.scaler.fold(after.theta), trees, range(table.n_classes), prediction="soft"), cpu


def epoch_time(table: str, n_experts: int, depth: int) -> Row:
    """Let both sides take one epoch from the same state: a random gate after one epoch."""
    X, y = table_of(table)
    rows = reference.Rows.standardised(X, y)
    gate = np.random.default_rng(0).normal(size=(n_experts, rows.inputs.shape[1]))
    start, likelihood = reference.em_epoch(rows, gate, np.ones((n_experts, len(y))), depth, skip=True)
    mixture, ours = our_epoch(X, y, start.gate, likelihood, depth)
    (model, _), plain = cpu_seconds(lambda: reference.em_epoch(rows, start.gate, likelihood, depth))
    _, skipping = cpu_seconds(lambda: reference.em_epoch(rows, start.gate, likelihood, depth, skip=True))
    accuracy, plain_accuracy = (
        float((answer == y).mean()) for answer in (mixture.predict(X), model.predict_soft(rows))
    )
    return {"ours": ours, "plain": plain, "skipping": skipping, "accuracy": accuracy, "plain_accuracy": plain_accuracy}


def epoch(results: Results, options: argparse.Namespace) -> None:
    """Print the time of one EM epoch of ours and of the reference."""
    grid = list(product((2, 8), (3, 8)) if options.quick else product((2, 8, 16), (3, 8, 15)))
    for group in (["20,000 × 4"],) if options.quick else (["200,000 × 4", "200,000 × 8"], ["one-hot"]):
        try:
            rows = [results.measure(epoch_time, table=table, n_experts=E, depth=D) for table in group for E, D in grid]
        except Unavailable as reason:
            console.print(f"skipped {', '.join(group)}: {reason}")
            continue
        columns = ["table", "E", "depth", "ours s", "reference s", "ratio", "ratio, skipping", "train accuracy %", "pp"]
        show("CPU seconds of one EM epoch", columns, [_epoch_line(row) for row in rows])
        for label, other in (("reference", "plain"), ("reference that skips negligible rows", "skipping")):
            ratios = [row[other] / row["ours"] for row in rows]
            console.print(f"{label}: {min(ratios):.1f}x at least, {median(ratios):.1f}x in the median")


def _epoch_line(row: Row) -> list[Any]:
    times = (row["ours"], row["plain"], row["plain"] / row["ours"], row["skipping"] / row["ours"])
    accuracies = (f"{100 * row['accuracy']:.2f}", f"{100 * (row['accuracy'] - row['plain_accuracy']):+.2f}")
    return [row["table"], row["n_experts"], row["depth"], *times, *accuracies]


# --- accuracy and time end to end ---------------------------------------------------------------------------------


def ours(task: str, n_experts: int, depth: int, mode: str, seed: int, **options: Any) -> Row:
    """Fit a default classifier on the rows that the published procedure gets."""
    split = imitation(task, seed)
    X, y = split.fit_rows
    model = MoETClassifier(n_experts, depth, prediction=mode, random_state=seed, **options)
    _, cpu = cpu_seconds(lambda: model.fit(X, y, groups=split.fit_groups), repeat=3)  # short ones are noisy
    accuracy = float((model.predict(split.Xte) == split.yte).mean())
    return {"accuracy": accuracy, "cpu": cpu, "leaves": model.mixture_.size.leaves, "epochs": int(model.n_iter_)}


def published_on_our_core(task: str, n_experts: int, depth: int, mode: str, seed: int) -> Row:
    """Run the paper's procedure with our trees."""
    return ours(task, n_experts, depth, mode, seed, **PUBLISHED)


def published(task: str, n_experts: int, depth: int, seed: int) -> Row:
    """Run the paper's procedure with scikit-learn's trees; it gives the best model of both modes."""
    split = imitation(task, seed)
    arrays = (split.Xtr, split.ytr, split.Xva, split.yva)
    best, cpu = cpu_seconds(lambda: reference.published(*arrays, n_experts, depth, seed))
    test = reference.Rows.standardised(split.Xte, split.yte, like=split.Xtr)
    answers = {"hard": best["hard"].predict_hard(test), "soft": best["soft"].predict_soft(test)}
    return {"cpu": cpu, **{mode: float((answers[mode] == split.yte).mean()) for mode in MODES}}


def tree_of_size(task: str, leaves: int, seed: int) -> Row:
    """Fit one scikit-learn tree with that many leaves."""
    split = imitation(task, seed)
    tree = DecisionTreeClassifier(max_leaf_nodes=max(leaves, 2), random_state=seed).fit(*split.fit_rows)
    return {"accuracy": float(tree.score(split.Xte, split.yte))}


def tuned_tree(task: str, seed: int) -> Row:
    """Fit one scikit-learn tree whose number of leaves the validation rows choose."""
    split = imitation(task, seed)

    def validated(leaves: int) -> float:
        tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=seed).fit(split.Xtr, split.ytr)
        return tree.score(split.Xva, split.yva)

    leaves = max([2**k for k in range(1, 12)], key=validated)
    return {"leaves": leaves, **tree_of_size(task, leaves, seed)}


def compare(results: Results, task: str, n_experts: int, depth: int, mode: str, seed: int) -> dict[str, float]:
    """Accuracy, size and time of all methods on one task, size and seed."""
    size = {"task": task, "n_experts": n_experts, "depth": depth, "seed": seed}
    mine = results.measure(ours, **size, mode=mode)
    core = results.measure(published_on_our_core, **size, mode=mode)
    paper = results.measure(published, **size)
    tree = results.measure(tree_of_size, task=task, leaves=mine["leaves"], seed=seed)
    tuned = results.measure(tuned_tree, task=task, seed=seed)
    return {
        "ours": 100 * mine["accuracy"],
        "published": 100 * paper[mode],
        "on our core": 100 * core["accuracy"],
        "tree": 100 * tree["accuracy"],
        "tuned": 100 * tuned["accuracy"],
        "leaves": mine["leaves"],
        "tuned leaves": tuned["leaves"],
        "cpu": mine["cpu"],
        "cpu on our core": core["cpu"],
        "cpu published": paper["cpu"],
    }


def quality(results: Results, options: argparse.Namespace) -> None:
    """Print the held-out accuracy and the CPU seconds of ours, of the published procedure and of single trees."""
    tasks = []
    for task in options.tasks:
        try:
            imitation(task, 0)
            tasks.append(task)
        except Unavailable as reason:
            console.print(f"skipped {task}: {reason}")
    sizes = list(product((2, 4), (0, 3)) if options.quick else product(options.experts, options.depths))
    seeds = options.seeds
    for mode in MODES:
        cells = []
        for task, (n_experts, depth) in product(tasks, sizes):
            rows = [compare(results, task, n_experts, depth, mode, seed) for seed in seeds]
            averages = {name: mean(row[name] for row in rows) for name in rows[0]}
            cells.append({"task": task, "E": n_experts, "depth": depth, **averages})
        show_cells(f"Held-out accuracy %, {mode} prediction, mean of the seeds {seeds}", cells)
        summarise(mode, cells)


def show_cells(title: str, cells: list[Row]) -> None:
    """Print one line per task and size."""
    methods = ("ours", "published", "on our core", "tree", "tuned")
    lines = []
    for cell in cells:
        accuracies = (f"{cell[name]:.2f}" for name in methods)
        leaves = (f"{cell[name]:.0f}" for name in ("leaves", "tuned leaves"))
        ahead = f"{cell['ours'] - cell['published']:+.2f}"
        times = (cell["cpu"], cell["cpu published"] / cell["cpu"])
        lines.append([cell["task"], cell["E"], cell["depth"], *accuracies, ahead, *leaves, *times])
    show(title, ["task", "E", "depth", *methods, "pp", "leaves", "tuned", "CPU s", "ratio"], lines)


def summarise(mode: str, cells: list[Row]) -> None:
    """Print the figures that the claims are about."""

    def ahead(other: str, chosen: list[Row]) -> list[float]:
        return [cell["ours"] - cell[other] for cell in chosen]

    gains = ahead("published", cells)
    worst = cells[int(np.argmin(gains))]
    where = f"{worst['task']}, E = {worst['E']}, depth {worst['depth']}"
    console.print(
        f"{mode}: {mean(gains):+.2f} pp over the published procedure on average, worst {min(gains):+.2f} ({where})"
    )
    console.print(f"{mode}: {mean(ahead('on our core', cells)):+.2f} pp over the published procedure on our own core")
    for depth in sorted({cell["depth"] for cell in cells}):
        gains = ahead("tree", [cell for cell in cells if cell["depth"] == depth])
        console.print(f"{mode}: {mean(gains):+.2f} pp over one tree with as many leaves, depth {depth}")
    large = [cell for cell in cells if cell["E"] >= 4 and cell["depth"] >= 3] or cells
    for who, name in (("ours", "cpu"), ("the published procedure on our core", "cpu on our core")):
        ratios = [cell["cpu published"] / cell[name] for cell in large]
        console.print(f"{mode}: {who} takes {min(ratios):.1f}x less CPU at least, {median(ratios):.1f}x in the median")


# --- growth -------------------------------------------------------------------------------------------------------


def fit_time(n_rows: int, n_experts: int, depth: int) -> Row:
    """Fit a default classifier once."""
    X, y = synthetic(n_rows, 20, 4)
    model = MoETClassifier(n_experts, depth, random_state=0)
    _, cpu = cpu_seconds(lambda: model.fit(X, y))
    return {"cpu": cpu, "epochs": int(model.n_iter_)}


def growth(results: Results, options: argparse.Namespace) -> None:
    """Print how the time of a fit grows with the rows, the experts and the depth, one at a time."""
    base = {"n_rows": 5_000 if options.quick else 100_000, "n_experts": 4, "depth": 5}
    variations = {
        "n_rows": [5_000, 20_000] if options.quick else [10_000, 30_000, 100_000, 300_000, 1_000_000],
        "n_experts": [2, 4, 8, 16],
        "depth": [0, 3, 5, 8, 15],
    }
    for name, values in variations.items():
        cpu = [results.measure(fit_time, **(base | {name: value}))["cpu"] for value in values]
        exponents = ["", *(np.diff(np.log(cpu)) / np.diff(np.log(np.maximum(values, 1)))).tolist()]
        fixed = ", ".join(f"{key} = {value}" for key, value in base.items() if key != name)
        lines = list(zip(values, cpu, exponents, strict=True))
        show(f"CPU seconds of a fit, 20 features, {fixed}", [name, "CPU s", f"exponent of {name}"], lines)


# ------------------------------------------------------------------------------------------------------------------


def warm_up() -> None:
    """Compile every kernel before anything is measured."""
    X, y = synthetic(2_000, 4, 3)
    for mode, options, depth in product(MODES, ({}, PUBLISHED), (0, 3)):
        MoETClassifier(2, depth, prediction=mode, random_state=0, **options).fit(X, y).predict(X)


SECTIONS = {"epoch": epoch, "quality": quality, "growth": growth}


def main() -> None:
    """Run the sections asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sections", nargs="*", help=f"any of {', '.join(SECTIONS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="a smaller grid, for a first look")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), help="of the quality section")
    parser.add_argument("--experts", type=int, nargs="+", default=[2, 4, 8], help="of the quality section")
    parser.add_argument("--depths", type=int, nargs="+", default=[0, 3, 5, 8], help="of the quality section")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="of the quality section")
    parser.add_argument("--json", type=Path, help="keep the rows in this file; rows found there are not measured again")
    options = parser.parse_args()
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"unknown section: {', '.join(sorted(unknown))}")
    single_threaded()
    console.print(machine())
    warm_up()
    results = Results(options.json)
    for name in options.sections or SECTIONS:
        SECTIONS[name](results, options)


if __name__ == "__main__":
    main()
