"""Experts grown one after another, each for what those before it get wrong; then gate and leaves are fitted together.

A leaf holds a vote, one score per class. The score of the mixture is Σ_j g_j(x)·vote_j(x), and the softmax of it is
taken for the probabilities of the classes. While the trees grow, the gate stays as it is, uniform or carrying a linear
model: this is gradient boosting. A joint fit of gate and votes then makes a mixture of it. Because the weights of a
gate add up to 1, an affine map that turns all votes into probabilities changes no answer: the result is an ordinary
soft mixture, whose leaves hold shares of votes; its sharpness undoes the map, so that its probabilities are those of
the softmax.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from moet.model.bins import bin_table
from moet.model.flat import read_only_view
from moet.model.gate import Scaler
from moet.model.grow import Grower, GrownTree
from moet.model.mixture import Mixture
from moet.model.recipe import Trained, Watch, grow_options
from moet.model.settings import Settings
from moet.model.solve import GateRows
from moet.model.table import Table
from moet.model.tree import LEAF, Tree

Floats = NDArray[np.float64]

LEAF_L2 = 1.0
"""Ridge of the step of a leaf while trees are grown, in rows."""

JOINT_LEAF_L2 = 10.0
"""The same for how far the joint fit moves a vote."""

LINEAR_STEPS, INTERCEPT_STEPS = 50, 5
"""Iterations of the logistic regression that a linear start begins with, and of its intercept afterwards."""

LINEAR_RANGE = 0.5
"""Largest logit of the gate that carries it: the softmax is still nearly linear there."""

RARE = 1e-9
"""Share of a class without rows."""


class Voters(NamedTuple):
    """Trees whose nodes hold votes, shape (n_nodes, n_classes) each, and the leaf of every training row in each."""

    trees: list[GrownTree]
    votes: list[Floats]
    leaf: NDArray[np.int32]


def train_boosted(table: Table, settings: Settings, rng: np.random.Generator, watch: Watch) -> Trained:
    """Fit a soft mixture whose classes are the class indices of the table; its weights have mean 1."""
    rows = GateRows(table, settings.scaler(table))
    log_likelihoods: list[float] = []

    def record(log_likelihood: float, model: Callable[[], Mixture]) -> None:
        log_likelihoods.append(log_likelihood)
        watch(log_likelihood, model)

    theta = np.zeros((settings.n_experts, table.X.shape[1] + 1))
    first = Voters([], [], np.empty((0, len(table)), dtype=np.int32))
    if settings.init == "linear":
        theta, first = linear_start(rows, settings)
    voters = boost(rows, theta, first, settings, rng)
    theta, voters, converged = joint_fit(rows, theta, voters, settings, record)
    return Trained(freeze(rows.scaler, theta, voters), log_likelihoods[-1], log_likelihoods, converged)


def linear_start(rows: GateRows, settings: Settings) -> tuple[Floats, Voters]:
    """Gate and one leaf per class that together vote as logistic regression does; the others have a gate of 0.

    For logits a·u_c near 0 the gate is about 1/E + a·u_c/E, u centred, so a leaf that votes E/a for its class adds u_c.
    """
    n_classes, table = rows.table.n_classes, rows.table
    target = np.ascontiguousarray(np.eye(n_classes, dtype=np.float32)[table.y].T)
    start = np.zeros((n_classes, table.X.shape[1] + 1))
    linear = rows.maximize_expected(start, target, l2=settings.gate_l2, steps=LINEAR_STEPS)
    X, share = standardised(rows), table.weight / table.weight.sum()
    for _ in range(INTERCEPT_STEPS):  # the ridge is not meant for the intercept: probabilities must have the right mean
        linear[:, -1] += log_shares(table) - np.log(share @ softmax(X @ linear.T, axis=1))
    linear -= linear.mean(axis=0)
    slope = LINEAR_RANGE / max(float(np.abs(X @ linear.T).max()), LINEAR_RANGE)
    theta = np.zeros((settings.n_experts, start.shape[1]))
    theta[:n_classes] = slope * linear
    votes = settings.n_experts / slope * (np.eye(n_classes) - 1.0 / n_classes)
    none = np.array([LEAF], dtype=np.int32)
    leaf = GrownTree(none, np.zeros(1), none, none, np.zeros((1, n_classes)))
    return theta, Voters([leaf] * n_classes, list(votes[:, None]), np.zeros((n_classes, len(table)), dtype=np.int32))


def boost(rows: GateRows, theta: Floats, first: Voters, settings: Settings, rng: np.random.Generator) -> Voters:
    """Grow the experts after the first ones, each on rows weighted by how wrong the vote of those before it is.

    Each has its own draw of rows and features, if the settings want that: trees that differ more vote better together.
    """
    table = rows.table
    grow = grow_on_some_features(table, settings, rng)
    gate = softmax(theta @ standardised(rows).T, axis=0)
    n_first = len(first.trees)
    base = np.zeros(table.n_classes) if n_first else log_shares(table)
    score = np.tile(base[:, None], len(table))  # a row per class: sums over few classes are quick that way
    for g, votes in zip(gate[:n_first], first.votes, strict=True):
        score += g * votes.T
    leaf = np.vstack([first.leaf, np.empty((len(gate) - n_first, len(table)), dtype=np.int32)])
    voters = Voters([*first.trees], [*first.votes], leaf)
    for g, leaf in zip(gate[n_first:], voters.leaf[n_first:], strict=True):
        probability = softmax(score, axis=0)
        drawn = replace(table, weight=table.weight * (rng.random(len(table)) < settings.max_samples))
        wrong = drawn.weight * (1.0 - probability[table.y, np.arange(len(table))])
        wrong = wrong / wrong.mean() if wrong.any() else table.weight
        tree = grow(wrong, leaf)
        step = settings.learning_rate * newton_step(drawn, probability, leaf, len(tree.feature))
        votes = len(gate) * step  # which count about one E-th
        score += g * votes.T[:, leaf]
        voters.trees.append(tree)
        voters.votes.append(votes + base)
    return voters


def grow_on_some_features(
    table: Table, settings: Settings, rng: np.random.Generator
) -> Callable[[Floats, NDArray[np.int32]], GrownTree]:
    """Return a function that grows a tree on weighted rows and new features, and writes the leaf of every row."""
    bins = bin_table(table)
    options = grow_options(settings, len(table))
    n_features = table.X.shape[1]
    n_drawn = int(np.ceil(settings.max_features * n_features))
    if n_drawn == n_features:
        grower = Grower(table, bins, settings.max_depth)
        return lambda weight, leaf: grower.grow(weight, options, leaf)

    def grow(weight: Floats, leaf: NDArray[np.int32]) -> GrownTree:
        drawn = np.sort(rng.choice(n_features, n_drawn, replace=False))
        part = replace(table, X=read_only_view(table.X.take(drawn, axis=1)))
        tree = Grower(part, bins.columns(drawn), settings.max_depth).grow(weight, options, leaf)
        feature = np.where(tree.feature == LEAF, LEAF, drawn[tree.feature]).astype(np.int32)
        return tree._replace(feature=feature)

    return grow


def log_shares(table: Table) -> Floats:
    """Logarithms of the class shares, centred; a class whose rows all have weight 0 counts as very rare."""
    logarithms = np.log(np.maximum(table.class_shares, RARE))
    return logarithms - logarithms.mean()


def newton_step(table: Table, probability: Floats, leaf: NDArray[np.int32], n_nodes: int) -> Floats:
    """Change of the scores of every leaf that raises the log-likelihood, curvature taken class by class.

    ``probability`` has a row per class.
    """
    n_classes = table.n_classes
    step = np.empty((n_nodes, n_classes))
    for c, p in enumerate(probability):
        slope = np.bincount(leaf, table.weight * ((table.y == c) - p), n_nodes)
        curvature = np.bincount(leaf, table.weight * p * (1.0 - p), n_nodes)
        step[:, c] = slope / (curvature + LEAF_L2)
    step -= step.mean(axis=1, keepdims=True)
    return step * (n_classes - 1) / n_classes


def joint_fit(
    rows: GateRows,
    theta: Floats,
    voters: Voters,
    settings: Settings,
    record: Callable[[float, Callable[[], Mixture]], None],
) -> tuple[Floats, Voters, bool]:
    """Raise the likelihood of gate and votes together by L-BFGS, with a ridge on what changes."""
    table, X = rows.table, standardised(rows)
    share = table.weight / table.weight.sum()
    unit = len(voters.trees)  # votes in units of what they count at a uniform gate: all parameters on one scale
    first_theta, first_votes = theta, np.concatenate(voters.votes) / unit
    node_offset = np.cumsum([0] + [len(votes) for votes in voters.votes])
    leaf_l2 = JOINT_LEAF_L2 / table.weight.sum()

    def unpacked(parameters: Floats) -> tuple[Floats, Floats]:
        return parameters[: theta.size].reshape(theta.shape), parameters[theta.size :].reshape(first_votes.shape)

    def voters_with(votes: Floats) -> Voters:
        return voters._replace(votes=np.split(unit * votes, node_offset[1:-1]))

    log_likelihood = -np.inf

    def objective(parameters: Floats) -> tuple[float, Floats]:
        nonlocal log_likelihood
        theta, votes = unpacked(parameters)
        log_likelihood, along_theta, along_votes = likelihood(table, X, share, theta, voters_with(votes))
        moved = theta - first_theta, votes - first_votes
        loss = -log_likelihood + 0.5 * settings.gate_l2 * np.sum(moved[0] ** 2) + 0.5 * leaf_l2 * np.sum(moved[1] ** 2)
        slope = settings.gate_l2 * moved[0] - along_theta, leaf_l2 * moved[1] - unit * along_votes
        return loss, np.concatenate([part.ravel() for part in slope])

    def after_step(parameters: Floats) -> None:  # a line search ends with the point that it accepts
        theta, votes = unpacked(parameters)
        record(log_likelihood, lambda: freeze(rows.scaler, theta, voters_with(votes)))

    first = np.concatenate([theta.ravel(), first_votes.ravel()])
    objective(first)
    after_step(first)
    if settings.max_iter == 0:
        return theta, voters, False
    found = minimize(
        objective,
        first,
        jac=True,
        method="L-BFGS-B",
        callback=after_step,
        options={"maxiter": settings.max_iter, "ftol": settings.tol, "gtol": 0.0},
    )
    theta, votes = unpacked(found.x)
    return theta, voters_with(votes), bool(found.success)


def standardised(rows: GateRows) -> Floats:
    """Features as the gate sees them, and a column of ones."""
    table, scaler = rows.table, rows.scaler
    X = np.ones((len(table), table.X.shape[1] + 1))
    X[:, :-1] = (table.X[table.rows] - scaler.mean) * scaler.inverse_scale
    return X


def likelihood(table: Table, X: Floats, share: Floats, theta: Floats, voters: Voters) -> tuple[float, Floats, Floats]:
    """Mean log-likelihood of the rows and its derivatives by the gate's parameters and by the votes of all nodes."""
    gate = softmax(theta @ X.T, axis=0)
    vote = [votes.T[:, leaf] for votes, leaf in zip(voters.votes, voters.leaf, strict=True)]
    score = np.zeros((table.n_classes, len(table)))
    for g, v in zip(gate, vote, strict=True):
        score += g * v
    log_probability = log_softmax(score, axis=0)
    residual = (np.eye(table.n_classes)[:, table.y] - np.exp(log_probability)) * share
    mean = (residual * score).sum(axis=0)
    along_votes = []
    along_logits = np.empty_like(gate)
    for j, (g, v) in enumerate(zip(gate, vote, strict=True)):
        along_logits[j] = g * ((residual * v).sum(axis=0) - mean)
        n_nodes = len(voters.votes[j])
        along_votes.append(np.stack([np.bincount(voters.leaf[j], r, n_nodes) for r in g * residual], axis=1))
    total = float(share @ log_probability[table.y, np.arange(len(table))])
    return total, along_logits @ X, np.concatenate(along_votes)


def freeze(scaler: Scaler, theta: Floats, voters: Voters) -> Mixture:
    """Return the mixture in raw units, votes turned into shares of votes: 1/C + vote/scale, the same scale for all."""
    n_classes = voters.votes[0].shape[1]
    centred = [
        np.where((tree.feature == LEAF)[:, None], votes - votes.mean(axis=1, keepdims=True), 0.0)
        for tree, votes in zip(voters.trees, voters.votes, strict=True)
    ]
    scale = n_classes * max(-votes.min() for votes in centred) or 1.0
    trees = [
        Tree(tree.feature, tree.threshold, tree.left, tree.right, np.maximum(1.0 / n_classes + votes / scale, 0.0))
        for tree, votes in zip(voters.trees, centred, strict=True)
    ]
    return Mixture(*scaler.fold(theta), trees, np.arange(n_classes), prediction="soft", sharpness=scale)
