"""A closed loop as the search wants it: all that is asked about a state, affine in the first state.

The dynamics are x' = matrix·x + offset(action) ± radius, so, whatever the actions were, x_t = linear_t·x_0 + constant
± spread_t, where only the constant depends on the actions. Tables are over the scaled first state y in [-1, 1]^d,
x_0 = middle + radius·y.

All of it is float64 and slightly wrong. Nothing is claimed by less than the ``margin`` of a table, which is a thousand
times the error of a row, and a certificate is checked with exact numbers in any case.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import OPTIONS
from moet.model.mixture import Mixture
from moet.model.tree import LEAF

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROW_MARGIN = 2e-12
"""Share of the terms of a row by which a claim must hold in floats to be made."""

MIXED = -1
"""Action of a node whose leaves do not agree."""

FEATURE, LEFT_CHILD, RIGHT_CHILD, ACTION = range(4)
"""Columns of ``Policy.nodes``."""

FINE, WITHIN, ACROSS = range(3)
"""Which pieces of the same action a search merges though they are no convex set: none; those of one expert; all."""


class AffineLoop(NamedTuple):
    """Dynamics and conditions of a closed loop with d states.

    Attributes
    ----------
    low, high : (d,)
        Box of first states.
    powers : (n_steps + 1, d, d), offsets : (n_actions, d), radius : (d,)
        Dynamics, with the powers of the matrix.
    need_rows : (n, d), need_limits : (n,)
        What must hold after every step: a·x <= b.
    goal_rows : (n, d), goal_limits : (n,)
        Where a run may stop: a·x <= b for all of them. If there are none, all runs go on to the end.
    later : (n_steps + 1, n, d), worst : (n_steps + 1, n)
        What must hold some steps later, as functions of the state now, and the most that actions of these steps add.
    observation_error : (d,)
        How far what the policy sees may be from the state.
    magnitude : (d,)
        Bounds of the absolute value of what the policy sees.
    """

    low: Floats
    high: Floats
    powers: Floats
    offsets: Floats
    radius: Floats
    need_rows: Floats
    need_limits: Floats
    goal_rows: Floats
    goal_limits: Floats
    later: Floats
    worst: Floats
    observation_error: Floats
    magnitude: Floats


class Policy(NamedTuple):
    """A hard mixture whose classes are actions, all its nodes in one table; for compiled code.

    States of node n have x_k <= tests[n, k, 0] and −x_k <= tests[n, k, 1], the tightest of the tests that lead there.
    Of the leaves of action a below it, loosest[n, a] are the largest of these numbers (−inf if there is none), and
    first_leaf[n, a] is the number of the first one from the left.
    """

    weights: Floats
    bias: Floats
    roots: Ints
    nodes: Ints
    threshold: Floats
    tests: Floats
    loosest: Floats
    first_leaf: Ints
    actions: Ints
    depth: int

    @classmethod
    def of(cls, mixture: Mixture, actions: tuple[int, ...]) -> Policy:
        """Join the trees of a mixture; ``actions`` has the action of every class."""
        sizes = [tree.n_nodes for tree in mixture.trees]
        roots = np.array([0, *accumulate(sizes[:-1])])
        first = np.repeat(roots, sizes)
        feature, threshold, left, right, value = (
            np.concatenate([getattr(tree, name) for tree in mixture.trees])
            for name in ("feature", "threshold", "left", "right", "value")
        )
        nodes = np.stack([feature, left + first, right + first, np.array(actions)[value.argmax(axis=1)]], axis=1)
        tests = np.full((len(nodes), mixture.n_features, 2), np.inf)
        n_actions = 1 + max(actions)
        loosest = np.empty((len(nodes), n_actions, mixture.n_features, 2))
        first_leaf = np.empty((len(nodes), n_actions), np.int64)
        depth = _complete(nodes, threshold, tests)
        _gather(nodes, tests, roots, loosest, first_leaf)
        used = np.unique(nodes[nodes[:, FEATURE] == LEAF, ACTION])
        gate = mixture.gate_weights.copy(), mixture.gate_bias.copy()
        return cls(*gate, roots, nodes, threshold, tests, loosest, first_leaf, used, depth)

    @property
    def mergers(self) -> list[int]:
        """Which pieces of a search to try and merge, the most of them first."""
        actions = self.nodes[self.roots, ACTION].tolist()
        if MIXED not in actions:
            return [ACROSS, FINE] if len(set(actions)) < len(actions) else [FINE]
        return [ACROSS, WITHIN, FINE] if len(actions) > 1 else [WITHIN, FINE]


@njit(**OPTIONS)
def _complete(nodes: Ints, threshold: Floats, tests: Floats) -> int:
    """Fill in the tests of every node and the actions of inner ones; return the depth."""
    depth = np.zeros(len(nodes), np.int64)
    for node in range(len(nodes)):  # parents come first
        if nodes[node, FEATURE] < 0:
            continue
        for side in range(2):
            child = nodes[node, LEFT_CHILD + side]
            for k in range(tests.shape[1]):
                tests[child, k, 0], tests[child, k, 1] = tests[node, k, 0], tests[node, k, 1]
            k, limit = nodes[node, FEATURE], threshold[node] if side == 0 else -threshold[node]
            tests[child, k, side] = min(tests[child, k, side], limit)
            depth[child] = depth[node] + 1
    for node in range(len(nodes) - 1, -1, -1):
        if nodes[node, FEATURE] >= 0:
            left, right = nodes[nodes[node, LEFT_CHILD], ACTION], nodes[nodes[node, RIGHT_CHILD], ACTION]
            nodes[node, ACTION] = left if left == right else MIXED
    return depth.max()


@njit(**OPTIONS)
def _gather(nodes: Ints, tests: Floats, roots: Ints, loosest: Floats, first_leaf: Ints) -> None:
    """Fill in what is known of the leaves below every node."""
    below = np.ones(len(nodes), np.int64)
    for node in range(len(nodes) - 1, -1, -1):
        if nodes[node, FEATURE] >= 0:
            below[node] = below[nodes[node, LEFT_CHILD]] + below[nodes[node, RIGHT_CHILD]]
    before = np.zeros(len(nodes), np.int64)
    for e in range(1, len(roots)):
        before[roots[e]] = before[roots[e - 1]] + below[roots[e - 1]]
    for node in range(len(nodes)):
        if nodes[node, FEATURE] >= 0:
            before[nodes[node, LEFT_CHILD]] = before[node]
            before[nodes[node, RIGHT_CHILD]] = before[node] + below[nodes[node, LEFT_CHILD]]
    loosest[:], first_leaf[:] = -np.inf, len(nodes)
    for node in range(len(nodes) - 1, -1, -1):
        if nodes[node, FEATURE] < 0:
            loosest[node, nodes[node, ACTION]] = tests[node]
            first_leaf[node, nodes[node, ACTION]] = before[node]
            continue
        for side in range(2):
            child = nodes[node, LEFT_CHILD + side]
            for a in range(first_leaf.shape[1]):
                first_leaf[node, a] = min(first_leaf[node, a], first_leaf[child, a])
                for k in range(tests.shape[1]):
                    for end in range(2):
                        loosest[node, a, k, end] = max(loosest[node, a, k, end], loosest[child, a, k, end])


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
    later: Floats
    worst: Floats
    """Needs some steps later as functions of the state now, and the most that actions of these steps add to them."""
    pair_span: Floats
    pair_slack: Floats
    """How far logit i may be below logit j when expert i is chosen."""
    pair_margin: Floats


def look_ahead(need_rows: Floats, powers: Floats, offsets: Floats) -> tuple[Floats, Floats]:
    """Conditions some steps later, as functions of the state now, and the most that actions of these steps add."""
    later = need_rows @ powers
    pushed = (later[:-1] @ offsets.T).max(axis=2)
    pushed += ROW_MARGIN * (np.abs(later[:-1]) @ np.abs(offsets).T).max(axis=2)
    return later, np.concatenate([np.zeros((1, len(need_rows))), np.cumsum(pushed, axis=0)])


def tabulate(loop: AffineLoop, policy: Policy, gate_errors: Floats) -> Tables:
    """Fill the tables; ``gate_errors`` bounds the error of each expert's logit during the whole run."""
    d, n_experts = len(loop.low), len(policy.bias)

    def disturbed(coefficients: Floats) -> Floats:
        """Most that disturbances before each time add to linear functions of the state."""
        if not loop.radius.any():
            return np.zeros((len(loop.powers), len(coefficients)))
        of_one_step = np.abs(coefficients @ loop.powers[:-1]) @ loop.radius
        return np.concatenate([np.zeros((1, len(coefficients))), np.cumsum(of_one_step, axis=0)])

    coefficients = np.concatenate([policy.weights, np.eye(d), loop.need_rows, loop.goal_rows])
    constants = np.concatenate([policy.bias, np.zeros(len(coefficients) - n_experts)])
    limits = np.concatenate([loop.need_limits, loop.goal_limits])
    rows = coefficients @ loop.powers * ((loop.high - loop.low) / 2)
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
        matrix=loop.powers[min(1, len(loop.powers) - 1)],  # without steps, it is not used
        offsets=loop.offsets,
        coefficients=coefficients,
        constants=constants,
        rows=rows,
        span=np.abs(rows).sum(axis=2),
        limit=limit,
        margin=ROW_MARGIN * terms,
        later=loop.later,
        worst=loop.worst,
        pair_span=np.abs(logits[:, :, None] - logits[:, None, :]).sum(axis=3),
        pair_slack=pair_slack.reshape(-1, n_experts, n_experts) + np.add.outer(gate_errors, gate_errors),
        pair_margin=ROW_MARGIN * np.add.outer(terms[:n_experts], terms[:n_experts]),
    )
