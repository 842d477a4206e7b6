"""A closed loop as the search wants it: all that is asked about a state, affine in the first state.

The dynamics are x' = matrix·x + offset(action) ± radius, so, whatever the actions were, x_t = linear_t·x_0 + constant
± spread_t, where only the constant depends on the actions. Tables are over the scaled first state y in [-1, 1]^d,
x_0 = middle + radius·y.

All of it is float64 and slightly wrong. Nothing is claimed by less than the ``margin`` of a table, which is a thousand
times the error of a row, and a certificate is checked with exact numbers in any case.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.model.tree import LEAF, Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MARGIN = 2e-12
"""Share of the terms of a row by which a claim must hold in floats to be made."""

MIXED = -1
"""Action of a node whose leaves do not agree."""

FEATURE, LEFT_CHILD, RIGHT_CHILD, PARENT, DEPTH, ACTION = range(6)
"""Columns of ``Policy.nodes``."""


class Loop(NamedTuple):
    """Dynamics and conditions of a closed loop with d states.

    Attributes
    ----------
    steps : int
    low, high : (d,)
        Box of first states.
    matrix : (d, d), offsets : (n_actions, d), radius : (d,)
        Dynamics.
    need_rows : (n, d), need_limits : (n,)
        What must hold after every step: a·x <= b.
    goal_rows : (n, d), goal_limits : (n,)
        Where a run may stop: a·x <= b for all of them. If there are none, all runs go on to the end.
    observation_error : (d,)
        How far what the policy sees may be from the state.
    magnitude : (d,)
        Bounds of the absolute value of what the policy sees.
    """

    steps: int
    low: Floats
    high: Floats
    matrix: Floats
    offsets: Floats
    radius: Floats
    need_rows: Floats
    need_limits: Floats
    goal_rows: Floats
    goal_limits: Floats
    observation_error: Floats
    magnitude: Floats


class Policy(NamedTuple):
    """A hard mixture whose classes are actions, all its nodes in one table; for compiled code."""

    weights: Floats
    bias: Floats
    roots: Ints
    nodes: Ints
    threshold: Floats
    depth: int

    @classmethod
    def of(cls, mixture: Mixture, actions: tuple[int, ...]) -> Policy:
        """Join the trees of a mixture; ``actions`` has the action of every class."""
        roots = np.cumsum([0, *(tree.n_nodes for tree in mixture.trees)])[:-1].astype(np.int64)
        nodes = np.concatenate([_nodes(*pair, np.array(actions)) for pair in zip(mixture.trees, roots, strict=True)])
        threshold = np.concatenate([tree.threshold for tree in mixture.trees])
        weights, bias = mixture.gate_weights.copy(), mixture.gate_bias.copy()
        return cls(weights, bias, roots, nodes, threshold, int(nodes[:, DEPTH].max()))


def _nodes(tree: Tree, root: int, actions: Ints) -> Ints:
    nodes = np.zeros((tree.n_nodes, 6), np.int64)
    nodes[:, FEATURE] = tree.feature
    nodes[:, LEFT_CHILD] = tree.left + root
    nodes[:, RIGHT_CHILD] = tree.right + root
    nodes[:, ACTION] = actions[tree.value.argmax(axis=1)]
    nodes[0, PARENT] = -1
    inner = np.flatnonzero(tree.feature != LEAF)
    for node in inner:  # parents come first
        children = [tree.left[node], tree.right[node]]
        nodes[children, PARENT] = node + root
        nodes[children, DEPTH] = nodes[node, DEPTH] + 1
    for node in inner[::-1]:
        left, right = nodes[[tree.left[node], tree.right[node]], ACTION]
        nodes[node, ACTION] = left if left == right else MIXED
    return nodes


class Tables(NamedTuple):
    """Everything linear that the search asks about, and its dynamics.

    The linear functions are numbered: the logits of the experts, the states, the needs, then the conditions of the
    goal. Function i of the state at time t is

        coefficients[i]·constant + constants[i] + rows[t, i]·y ± (what disturbances do to it),

    where rows[t, i]·y ranges over ± span[t, i].
    """

    n_experts: int
    n_needs: int
    n_goals: int
    matrix: Floats
    offsets: Floats
    coefficients: Floats
    constants: Floats
    rows: Floats
    span: Floats
    limit: Floats
    """States: how far what the policy sees may be from the undisturbed state. Needs and goals: their limits, less what
    disturbances do. (Logits: unused.)"""
    margin: Floats
    pair_span: Floats
    pair_slack: Floats
    """How far logit i may be below logit j when expert i is chosen."""
    pair_margin: Floats


def tabulate(loop: Loop, policy: Policy, gate_errors: Floats) -> Tables:
    """Fill the tables; ``gate_errors`` bounds the error of each expert's logit during the whole run."""
    d, n_experts = len(loop.low), len(policy.bias)
    powers = [np.eye(d)]
    for _ in range(loop.steps):
        powers.append(loop.matrix @ powers[-1])
    linear = np.stack(powers)

    def disturbed(coefficients: Floats) -> Floats:
        """Most that disturbances before each time add to linear functions of the state."""
        of_one_step = np.abs(coefficients @ linear[:-1]) @ loop.radius
        return np.concatenate([np.zeros((1, len(coefficients))), np.cumsum(of_one_step, axis=0)])

    coefficients = np.concatenate([policy.weights, np.eye(d), loop.need_rows, loop.goal_rows])
    constants = np.concatenate([policy.bias, np.zeros(len(coefficients) - n_experts)])
    limits = np.concatenate([loop.need_limits, loop.goal_limits])
    rows = coefficients @ linear * ((loop.high - loop.low) / 2)
    slack = disturbed(coefficients)
    limit = np.concatenate(
        [
            slack[:, :n_experts],
            slack[:, n_experts:][:, :d] + loop.observation_error,
            limits - slack[:, n_experts + d :],
        ],
        axis=1,
    )
    tested = policy.nodes[:, FEATURE] != LEAF
    largest_threshold = np.zeros(d)
    np.maximum.at(largest_threshold, policy.nodes[tested, FEATURE], np.abs(policy.threshold[tested]))
    terms = np.abs(coefficients) @ loop.magnitude
    terms += np.concatenate([np.abs(policy.bias), largest_threshold, np.abs(limits)])

    pairs = (policy.weights[:, None] - policy.weights[None, :]).reshape(-1, d)
    logits = rows[:, :n_experts]
    pair_slack = disturbed(pairs) + np.abs(pairs) @ loop.observation_error
    return Tables(
        n_experts=n_experts,
        n_needs=len(loop.need_rows),
        n_goals=len(loop.goal_rows),
        matrix=loop.matrix,
        offsets=loop.offsets,
        coefficients=coefficients,
        constants=constants,
        rows=rows,
        span=np.abs(rows).sum(axis=2),
        limit=limit,
        margin=MARGIN * terms,
        pair_span=np.abs(logits[:, :, None] - logits[:, None, :]).sum(axis=3),
        pair_slack=pair_slack.reshape(-1, n_experts, n_experts) + np.add.outer(gate_errors, gate_errors),
        pair_margin=MARGIN * np.add.outer(terms[:n_experts], terms[:n_experts]),
    )
