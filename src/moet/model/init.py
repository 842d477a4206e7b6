"""Where the gate starts: parameters θ_g in standardised units, before any tree exists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moet.model.solve import GateRows
from moet.model.table import Table

Init = Literal["race", "random", "kmeans", "linear"]

Floats = NDArray[np.float64]


def random_gate(rows: GateRows, n_experts: int, rng: np.random.Generator) -> Floats:
    """Draw all parameters from a standard normal distribution, as the paper does."""
    return rng.normal(size=(n_experts, rows.table.X.shape[1] + 1))


def wide_gate(rows: GateRows, n_experts: int, rng: np.random.Generator) -> Floats:
    """Draw parameters from a wide normal distribution: sharp boundaries from the start."""
    return 2.5 * random_gate(rows, n_experts, rng)


def kmeans_gate(rows: GateRows, n_experts: int, rng: np.random.Generator) -> Floats:
    """Give each expert the Voronoi cell of one cluster of x."""
    return _voronoi(_standardised(rows), rows.table.weight, n_experts, rng)


def labelled_kmeans_gate(rows: GateRows, n_experts: int, rng: np.random.Generator) -> Floats:
    """Give each expert the Voronoi cell (in x) of one cluster of (x, one-hot y)."""
    x = _standardised(rows)
    one_hot = np.eye(rows.table.n_classes)[rows.table.y]
    return _voronoi(np.hstack([x, 2.0 * one_hot]), rows.table.weight, n_experts, rng, x.shape[1])


def linear_gate(rows: GateRows, n_experts: int, rng: np.random.Generator) -> Floats:
    """Fit a linear policy (multinomial logistic regression) and hand its classes to the experts in turn."""
    n_classes = rows.table.n_classes
    target = np.ascontiguousarray(np.eye(n_classes, dtype=np.float32)[rows.table.y].T)
    start = np.zeros((n_classes, rows.table.X.shape[1] + 1))
    policy = rows.maximize_expected(start, target, l2=1e-4, steps=30)
    classes = np.arange(n_experts) % n_classes
    noise = 0.1 if n_experts <= n_classes else 1.0
    return policy[classes] + noise * random_gate(rows, n_experts, rng)


def sliced_gates(rows: GateRows, n_experts: int) -> list[Floats]:
    """Cut one feature into intervals of equal weight, one per expert: a gate for every feature that can be cut so.

    Behind such a gate trees are one deeper tree, which a mixture should not fall behind. Of many features only those
    are cut whose intervals are purest, as a greedy tree would choose them.
    """
    x = _standardised(rows)
    cuts = {k: found for k in range(x.shape[1]) if (found := _cuts(x[:, k], rows.table.weight, n_experts)) is not None}
    purest = sorted(cuts, key=lambda k: -_purity(np.searchsorted(cuts[k], x[:, k]), rows.table, n_experts))
    gates = []
    for k in sorted(purest[: max(FEWEST_SLICED, SLICED_PAIRS // x.shape[1])]):
        gate = np.zeros((n_experts, x.shape[1] + 1))
        gate[:, k] = np.arange(n_experts)
        gate[1:, -1] = -np.cumsum(cuts[k])
        gates.append(SLICE_SHARPNESS * gate)
    return gates


def _cuts(column: Floats, weight: Floats, n_parts: int) -> Floats | None:
    """Values that cut a column into intervals of equal weight, if its values are not too few for that."""
    order = np.argsort(column)
    mass = np.cumsum(weight[order])
    cuts = column[order[np.searchsorted(mass, mass[-1] * np.arange(1, n_parts) / n_parts)]]
    return cuts if (np.diff(cuts) > 0).all() and (n_parts == 1 or cuts[-1] < column[order[-1]]) else None


def _purity(part: NDArray[np.intp], table: Table, n_parts: int) -> float:
    """Σ over parts of Σ_c a_c²/a, where a_c is the weight of class c in a part: what Gini's splits raise."""
    shape = n_parts, table.n_classes
    weights = np.bincount(part * table.n_classes + table.y, table.weight, n_parts * table.n_classes).reshape(shape)
    return float(((weights**2).sum(axis=1) / weights.sum(axis=1)).sum())


FEWEST_SLICED, SLICED_PAIRS = 16, 12_000
"""Features that are cut: behind each gate trees are grown on all features, so the time grows with the pairs of them. So
many pairs at most are tried, and all pairs of up to 109 features, but never fewer gates than the first number."""

SLICE_SHARPNESS = 3.0
"""Slope of the gates between intervals: so steep that most rows are in one of them, and can still move."""

RACE: tuple[Callable[[GateRows, int, np.random.Generator], Floats], ...] = (
    random_gate,
    wide_gate,
    kmeans_gate,
    labelled_kmeans_gate,
)
"""The starts of ``init="race"``, taken in turn."""

STARTS: dict[Init, tuple[Callable[[GateRows, int, np.random.Generator], Floats], ...]] = {
    "race": RACE,
    "random": (random_gate,),
    "kmeans": (labelled_kmeans_gate,),
    "linear": (linear_gate,),
}


def initial_gates(init: Init, n_init: int, rows: GateRows, n_experts: int, rng: np.random.Generator) -> list[Floats]:
    """Compute ``n_init`` starting points."""
    starts = STARTS[init]
    return [starts[r % len(starts)](rows, n_experts, rng) for r in range(n_init)]


def _standardised(rows: GateRows) -> Floats:
    return (rows.table.X[rows.table.rows] - rows.scaler.mean) * rows.scaler.inverse_scale


def _voronoi(
    points: Floats, weight: Floats, n_experts: int, rng: np.random.Generator, n_features: int | None = None
) -> Floats:
    """Gate whose argmax is the nearest cluster centre, seen in the first ``n_features`` coordinates."""
    centres = cluster_centres(points, weight, n_experts, rng, rounds=3)[:, :n_features]
    return np.hstack([centres, -0.5 * (centres**2).sum(axis=1, keepdims=True)])


def cluster_centres(points: Floats, weight: Floats, how_many: int, rng: np.random.Generator, rounds: int) -> Floats:
    """Weighted k-means: a k-means++ start and some rounds of Lloyd; a few are enough for a starting point.

    (scikit-learn's KMeans adds partial sums in an order that depends on its threads: a seed would not fix the model.)
    """
    centres = _spread(points, weight, how_many, rng)
    for _ in range(rounds):
        nearest = nearest_centre(points, centres)
        for j in range(how_many):
            mine = nearest == j
            if mine.any():
                own = weight[mine]
                centres[j] = (points[mine] * own[:, None]).sum(axis=0) / own.sum()
    return centres


def nearest_centre(points: Floats, centres: Floats) -> NDArray[np.intp]:
    """Index of the nearest centre of every point."""
    return (points @ centres.T - 0.5 * (centres**2).sum(axis=1)).argmax(axis=1)


def _spread(points: Floats, weight: Floats, n_experts: int, rng: np.random.Generator) -> Floats:
    """k-means++: each centre drawn with probability weight · (squared distance to the nearest centre so far)."""
    chosen = [int(rng.choice(len(points), p=weight / weight.sum()))]
    distance = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < n_experts:
        chance = weight * distance if distance.max() > 0 else weight
        chosen.append(int(rng.choice(len(points), p=chance / chance.sum())))
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return points[chosen].copy()
