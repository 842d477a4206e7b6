"""Random small models of tables, and all possible rows of one, for brute force."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet import Column, Mixture, Schema, Tree

Floats = NDArray[np.float64]

_THRESHOLDS = (-1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.3)


def random_schema(rng: np.random.Generator, *, numbers: bool = False) -> Schema:
    """Make a few columns of all kinds, with few rows; with ``numbers`` one of reals, which has no list of rows."""
    columns = [_random_column(f"c{k}", rng) for k in range(int(rng.integers(1, 4)))]
    return Schema([*columns, *([Column("real", "number", ("real",), -1.0, 2.0)] if numbers else [])])


def _random_column(name: str, rng: np.random.Generator) -> Column:
    kind: Any = str(rng.choice(["integer", "ordered", "category", "boolean"]))
    if kind == "integer":
        low = int(rng.integers(-3, 3))
        return Column(name, "integer", (name,), low, low + int(rng.integers(0, 5)))
    if kind == "boolean":
        return Column(name, "boolean", (name,))
    values = tuple("abcd"[: int(rng.integers(1, 5))])
    return Column(
        name, kind, tuple(f"{name}={v}" for v in values) if kind == "category" else (name,), categories=values
    )


def random_tree(rng: np.random.Generator, n_features: int, n_classes: int, depth: int) -> Tree:
    """Make a tree whose thresholds lie between, and on, small whole numbers."""
    feature: list[int] = []
    threshold: list[float] = []
    left: list[int] = []
    right: list[int] = []
    value: list[Floats] = []

    def grow(level: int) -> int:
        node, row = len(feature), rng.random(n_classes) + 1e-3
        lists: tuple[list[Any], ...] = (feature, threshold, left, right, value)
        for numbers, new in zip(lists, (-1, 0.0, -1, -1, row / row.sum()), strict=True):
            numbers.append(new)
        if level and rng.random() < 0.85:
            feature[node] = int(rng.integers(n_features))
            threshold[node] = float(rng.choice(_THRESHOLDS))
            left[node] = grow(level - 1)
            right[node] = grow(level - 1)
        return node

    grow(depth)
    return Tree(feature, threshold, left, right, value)


def random_model(rng: np.random.Generator, schema: Schema, *, n_classes: int = 2) -> Mixture:
    """Make a hard mixture with that schema; its gate has small whole numbers, so that ties are common, or any."""
    d, experts = len(schema.feature_names), int(rng.integers(1, 4))
    whole = rng.random() < 0.5
    weights = rng.integers(-2, 3, (experts, d)).astype(float) if whole else rng.normal(size=(experts, d))
    bias = rng.integers(-2, 3, experts).astype(float) if whole else rng.normal(size=experts)
    trees = [random_tree(rng, d, n_classes, int(rng.integers(0, 4))) for _ in range(experts)]
    return Mixture(weights, bias, trees, ["no", "yes", "maybe"][:n_classes], schema=schema)


def random_sum(rng: np.random.Generator, schema: Schema, *, n_classes: int = 2) -> Mixture:
    """Make a sum of trees with that schema: a soft mixture with a uniform gate, whose votes often tie in one of 5."""
    d, n_trees = len(schema.feature_names), int(rng.integers(2, 8))
    trees = [random_tree(rng, d, n_classes, int(rng.integers(0, 4))) for _ in range(n_trees)]
    if rng.random() < 0.2:
        short = np.array([[0.75, 0.25, 0.0], [0.25, 0.75, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])[:, :n_classes]
        short = short[short.sum(axis=1) == 1.0]
        trees = [replace_votes(tree, short[rng.integers(len(short), size=len(tree.value))]) for tree in trees]
    names = ["no", "yes", "maybe"][:n_classes]
    return Mixture(np.zeros((n_trees, d)), np.zeros(n_trees), trees, names, prediction="soft", schema=schema)


def random_soft(rng: np.random.Generator, schema: Schema, *, n_classes: int = 2) -> Mixture:
    """Make a soft mixture with that schema and any gate; in one of 5 its votes often tie."""
    d, experts = len(schema.feature_names), int(rng.integers(2, 5))
    trees = [random_tree(rng, d, n_classes, int(rng.integers(0, 4))) for _ in range(experts)]
    weights, bias = rng.normal(size=(experts, d)) * rng.choice([0.3, 1.0, 5.0]), rng.normal(size=experts)
    if rng.random() < 0.2:
        weights, bias = rng.integers(-1, 2, (experts, d)).astype(float), np.zeros(experts)
        value = np.vstack([np.eye(n_classes), np.full((1, n_classes), 1.0 / n_classes)])
        trees = [replace_votes(tree, value[rng.integers(len(value), size=len(tree.value))]) for tree in trees]
    blind = schema.places[int(rng.integers(len(schema.places)))].features
    weights[:, list(blind)] *= rng.random() < 0.5
    return Mixture(weights, bias, trees, ["no", "yes", "maybe"][:n_classes], prediction="soft", schema=schema)


def replace_votes(tree: Tree, value: Floats) -> Tree:
    """The same tests with other votes."""
    return Tree(tree.feature, tree.threshold, tree.left, tree.right, value)


def all_cells(column: Column) -> list[list[float]]:
    """Features of all values of a column."""
    if column.kind == "category":
        return [[float(j == k) for j in range(len(column.categories))] for k in range(len(column.categories))]
    low, high = column.reach
    return [[float(v)] for v in range(int(low), int(high) + 1)]


def all_rows(schema: Schema) -> Floats:
    """Features of all possible rows."""
    return np.array([[v for cell in cells for v in cell] for cells in product(*map(all_cells, schema.columns))])
