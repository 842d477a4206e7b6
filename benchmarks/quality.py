"""What a mixture can express that one tree cannot: diagonals, linear policies, curved boundaries.

python benchmarks/quality.py [--quick] [--seeds 10] [--json out.json]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean

import numpy as np
from harness import Results, Row, console, machine, show, single_threaded
from sklearn.tree import DecisionTreeClassifier
from tasks import Floats, Ints, imitation

from moet import MoETClassifier


def gridworld(n: int) -> tuple[Floats, Ints]:
    """Cells of an n×n grid off its anti-diagonal; below it (0) the left door is nearer, above it (1) the right one."""
    cells = np.stack(np.meshgrid(np.arange(n), np.arange(n)), axis=-1).reshape(-1, 2).astype(float)
    side = cells.sum(axis=1) - (n - 1)
    return cells[side != 0], (side[side != 0] > 0).astype(np.int64)


def linear_policy(n_rows: int, seed: int) -> tuple[Floats, Ints]:
    """States of a cart-pole, and the side on which a linear policy puts them."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 4)) * (0.5, 0.6, 0.08, 0.5)
    return X, (X @ (2.18, 7.22, 20.6, 25.3) + 1.0 > 0).astype(np.int64)


def diagonal(n: int, seed: int) -> Row:
    """Fit the grid by default, and by five epochs alone: no race before them, no hard phase after them."""
    X, y = gridworld(n)
    default = MoETClassifier(2, 0, prediction="hard", random_state=seed).fit(X, y)
    only = {"init": "random", "n_init": 1, "max_iter": 4, "hard_iter": 0}  # a single start has an epoch before the four
    brief = MoETClassifier(2, 0, prediction="hard", random_state=seed, **only).fit(X, y)
    tree = DecisionTreeClassifier(random_state=seed).fit(X, y)
    return {
        "default": float(default.score(X, y)),
        "five_epochs": float(brief.score(X, y)),
        "epochs": int(default.n_iter_),
        "leaves": default.mixture_.size.leaves,
        "tree_leaves": int(tree.get_n_leaves()),
    }


def linear(seed: int) -> Row:
    """Fit one linear boundary with two leaves behind a gate."""
    model = MoETClassifier(2, 0, prediction="hard", random_state=seed).fit(*linear_policy(10_000, seed))
    return {"accuracy": float(model.score(*linear_policy(100_000, 1_000 + seed))), "epochs": int(model.n_iter_)}


def curved(task: str, n_experts: int, depth: int, seed: int) -> Row:
    """Fit a random network's labels, and give one tree as many leaves."""
    split = imitation(task, seed)
    model = MoETClassifier(n_experts, depth, prediction="hard", random_state=seed).fit(*split.fit_rows)
    leaves = model.mixture_.size.leaves
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=seed).fit(*split.fit_rows)
    accuracy, of_tree = (float(m.score(split.Xte, split.yte)) for m in (model, tree))
    return {"leaves": leaves, "accuracy": accuracy, "tree": of_tree}


def show_diagonals(results: Results, sizes: range, seeds: range) -> None:
    """Print the share of seeds that get every cell right."""
    lines = []
    for n in sizes:
        rows = [results.measure(diagonal, n=n, seed=seed) for seed in seeds]
        right = [f"{sum(row[name] == 1.0 for row in rows)} of {len(rows)}" for name in ("default", "five_epochs")]
        lines.append([n, *right, max(row["epochs"] for row in rows), rows[0]["leaves"], rows[0]["tree_leaves"]])
    show(
        "Gridworld diagonals, E = 2, depth 0: seeds with every cell right",
        ["N", "default", "five epochs, one start", "default epochs at most", "leaves", "leaves of one tree"],
        lines,
    )


def show_linear(results: Results, seeds: range) -> None:
    """Print the accuracy on a linear boundary."""
    rows = [results.measure(linear, seed=seed) for seed in seeds]
    accuracies = [100 * row["accuracy"] for row in rows]
    show(
        "Linear boundary of a cart-pole policy, E = 2, depth 0: held-out accuracy %",
        ["seeds", "worst", "mean", "epochs at most"],
        [[len(rows), f"{min(accuracies):.2f}", f"{mean(accuracies):.2f}", max(row["epochs"] for row in rows)]],
    )


def show_curved(results: Results, sizes: list[tuple[int, int]], seeds: range) -> None:
    """Print the accuracy on curved boundaries beside that of one tree."""
    lines = []
    for task in ("mlp6", "mlp8"):
        for n_experts, depth in sizes:
            rows = [results.measure(curved, task=task, n_experts=n_experts, depth=depth, seed=seed) for seed in seeds]
            leaves, ours, tree = (mean(row[name] for row in rows) for name in ("leaves", "accuracy", "tree"))
            accuracies = (f"{100 * ours:.2f}", f"{100 * tree:.2f}", f"{100 * (ours - tree):+.2f}")
            lines.append([task, n_experts, depth, f"{leaves:.0f}", *accuracies])
    show(
        "Labels of a random network: held-out accuracy % of a hard mixture and of one tree with as many leaves",
        ["task", "E", "depth", "leaves", "MoET", "tree", "pp"],
        lines,
    )


def main() -> None:
    """Print one table per claim."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="three seeds, fewer sizes")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--json", type=Path, help="keep the rows in this file; rows found there are not measured again")
    options = parser.parse_args()
    single_threaded()
    results = Results(options.json)
    seeds = range(3 if options.quick else options.seeds)
    console.print(machine())
    show_diagonals(results, range(5, 7 if options.quick else 11), seeds)
    show_linear(results, seeds)
    show_curved(results, [(4, 3)] if options.quick else [(4, 3), (8, 3), (8, 5)], seeds[:3])


if __name__ == "__main__":
    main()
