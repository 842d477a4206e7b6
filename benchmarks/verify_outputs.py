"""CPU seconds of questions about models that answer with numbers, by size; search and check apart.

    python benchmarks/verify_outputs.py [--seeds 3]

Random mixtures of affine laws on [-1, 1]^d, two outputs, every other seed clipped: `range`, `closest` (an output that
is off by more than 0.5) and `equivalent` (with the same model, its laws begun 0.001 higher, and a tolerance of 0.01).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from harness import show

from moet import RegressionMixture, RegressionTree
from moet.verify import Box, Proved, closest, equivalent
from moet.verify import range as range_of

SIZES = [(2, 1, 4), (4, 2, 8), (8, 4, 8), (8, 5, 8)]
"""Experts, depth, features."""


def random_laws(seed: int, n_experts: int, depth: int, n_features: int) -> RegressionMixture:
    """Complete trees with random tests and affine laws behind a random gate."""
    rng = np.random.default_rng(seed)
    n_inner, trees = 2**depth - 1, []
    inner, n_nodes = np.arange(n_inner), 2 * n_inner + 1
    for _ in range(n_experts):
        feature, left, right = (np.full(n_nodes, -1) for _ in range(3))
        feature[:n_inner], left[:n_inner] = rng.integers(n_features, size=n_inner), 2 * inner + 1
        right[:n_inner] = 2 * inner + 2
        laws = rng.normal(size=(n_nodes, 2)), rng.normal(size=(n_nodes, 2, n_features))
        trees.append(RegressionTree(feature, rng.uniform(-1, 1, n_nodes), left, right, *laws))
    gate = rng.normal(size=(n_experts, n_features + 1))
    low, high = ([-1.0, -np.inf], [np.inf, 1.5]) if seed % 2 else (None, None)
    return RegressionMixture(gate[:, 1:], gate[:, 0] / 3, trees, ["u", "w"], low, high)


def timed(ask: Callable[[], Any]) -> tuple[str, float]:
    """Kind of the verdict, and CPU seconds of search and check together."""
    start = time.process_time()
    verdict = ask()
    return ("proved" if isinstance(verdict, Proved) else "unknown"), time.process_time() - start


def questions(model: RegressionMixture, other: RegressionMixture, box: Box) -> dict[str, Callable[[], Any]]:
    """What is asked of a model."""
    return {
        "range": lambda: range_of(model, box),
        "closest": lambda: closest(model, np.zeros(model.n_features), domain=box, tolerance=0.5),
        "equivalent": lambda: equivalent(model, other, box, tolerance=0.01),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warm = random_laws(0, 2, 1, 2)  # compiling does not count
    square = Box.from_bounds([-1, -1], [1, 1])
    range_of(warm, square), closest(warm, [0, 0], tolerance=0.5), equivalent(warm, warm, square)
    rows = []
    for size in SIZES:
        found: dict[str, list[tuple[str, float]]] = {"range": [], "closest": [], "equivalent": []}
        cube = Box.from_bounds(-np.ones(size[2]), np.ones(size[2]))
        for seed in range(options.seeds):
            model = random_laws(seed, *size)
            other = replace(model, trees=tuple(replace(tree, value=tree.value + 0.001) for tree in model.trees))
            for question, ask in questions(model, other, cube).items():
                found[question].append(timed(ask))
        for question, verdicts in found.items():
            proved = sum(kind == "proved" for kind, _ in verdicts)
            seconds = [s for _, s in verdicts]
            rows.append((*size, question, f"{proved} of {len(verdicts)}", min(seconds), max(seconds)))
    show(
        "questions about numbers, CPU s", ["experts", "depth", "features", "question", "proved", "least", "most"], rows
    )


if __name__ == "__main__":
    main()
