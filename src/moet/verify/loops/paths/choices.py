"""Who may be chosen in a frame of the compiled search: experts, and the sides of the splits of their trees.

What is ruled out is recorded with its proof; the points that linear programs find are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from moet.jit import INLINED
from moet.verify.loops.paths.rows import (
    add_gate,
    add_test,
    aim,
    rival_name,
    rule_out_alone,
    rule_out_together,
    solve,
    test_name,
)
from moet.verify.loops.paths.state import (
    MOST_POINTS,
    N_POINTS,
    N_ROWS,
    OBJECTIVE,
    TIME,
    X,
)
from moet.verify.loops.paths.tables import ACTION, FEATURE, LEFT_CHILD, MIXED, RIGHT_CHILD
from moet.verify.simplex import BELOW, EMPTY, OPTIMAL

NONE = np.int64(-1)
"""No row, no expert, no status."""

ASKED, VISITED, OUT = np.arange(3)
"""What is known of an expert in a frame: nothing; that somebody chooses it; or that nobody does."""


@njit(**INLINED)
def rule_out(tables: Any, s: Any, frame: int) -> None:
    """Give experts that have a rival ahead of them everywhere the place OUT, and note it."""
    time = s.frames[frame, TIME]
    for e in range(tables.n_experts):
        if s.possible[e] != ASKED:
            continue
        rival, most = s.rival[time, e], np.inf
        if rival != e:
            most = _most_ahead(tables, s, frame, e, rival)
        if most >= 0.0:
            rival, most = _strongest(tables, s, frame, e)
        s.rival[time, e] = rival
        if most < 0.0:
            s.possible[e] = OUT
            rule_out_alone(s, tables.n_experts * e + rival)


@njit(**INLINED)
def _most_ahead(tables: Any, s: Any, frame: int, e: int, j: int) -> float:
    """How far expert e may be ahead of expert j somewhere in the box, at most."""
    time, d = s.frames[frame, TIME], tables.matrix.shape[0]
    most = s.constants[frame, d + e] - s.constants[frame, d + j]
    return most + tables.pair_span[time, e, j] + tables.pair_slack[time, e, j] + tables.pair_margin[e, j]


@njit(**INLINED)
def _strongest(tables: Any, s: Any, frame: int, e: int) -> Any:
    """The rival that an expert is the least ahead of, and by how much at most."""
    rival: Any = 1 + NONE
    least = np.inf
    for j in range(tables.n_experts):
        if j != e:
            most = _most_ahead(tables, s, frame, e, j)
            if most < least:
                least = most
                rival = j
    return rival, least


@njit(**INLINED)
def expert_possible(policy: Any, tables: Any, s: Any, frame: int, e: int) -> bool:
    """Whether an expert may be chosen somewhere in a frame; if not, the proof is recorded."""
    time = s.frames[frame, TIME]
    d = tables.matrix.shape[0]
    rival = s.rival[time, e]
    least = _most_ahead(tables, s, frame, e, rival)
    name = rival_name(tables, time, e, rival)
    n = add_gate(tables, s, frame, e, rival, s.frames[frame, N_ROWS])
    for k in range(d):
        s.vectors[OBJECTIVE, k] = tables.rows[time, e, k] - tables.rows[time, rival, k]
    span = tables.pair_span[time, e, rival]
    status, scale = solve(s, name, n, span, span - least)
    if status == BELOW or status == EMPTY:
        rule_out_together(s, tables.n_experts * e + rival, status, scale)
        return False
    if status == OPTIMAL:
        p = remember(s, frame)
        if p >= 0:
            s.places[p, 0], s.places[p, 1] = e, policy.roots[e]
    return True


@njit(**INLINED)
def walk_tree(policy: Any, tables: Any, s: Any, frame: int, e: int, n: int, n_pieces: int) -> int:
    """Add the pieces of an expert whose region is the first ``n`` rows; return the number of pieces."""
    walk, pieces, nodes = s.walk, s.pieces, policy.nodes
    depth = 0
    walk[0, 0], walk[0, 1], walk[0, 2], walk[0, 3] = policy.roots[e], 0, n, n_pieces
    while depth >= 0:
        node, visits, n, first = walk[depth, 0], walk[depth, 1], walk[depth, 2], walk[depth, 3]
        if nodes[node, ACTION] != MIXED:
            action = nodes[node, ACTION]
            pieces[n_pieces, 0], pieces[n_pieces, 1], pieces[n_pieces, 2] = e, node, action
            s.firsts[frame, action] = min(s.firsts[frame, action], policy.first_leaf[node, action])
            n_pieces += 1
            depth -= 1
            continue
        if visits == 2:
            if agree(s, first, n_pieces):
                n_pieces = first + 1
                pieces[first, 1] = node
            depth -= 1
            continue
        side = 1.0
        both = True
        if visits == 0:
            side, both = _sides_possible(policy, tables, s, frame, e, node, n)
        else:
            side = -1.0
        walk[depth, 1] = 1 if visits == 0 and both else 2
        if both:
            n = add_test(tables, s, frame, nodes[node, FEATURE], side, policy.threshold[node], n)
        child = nodes[node, LEFT_CHILD] if side > 0.0 else nodes[node, RIGHT_CHILD]
        depth += 1
        walk[depth, 0], walk[depth, 1], walk[depth, 2], walk[depth, 3] = child, 0, n, n_pieces
    return n_pieces


@njit(**INLINED)
def _sides_possible(policy: Any, tables: Any, s: Any, frame: int, e: int, node: int, n: int) -> Any:
    """Find the side of a split to visit first (1 is left, -1 right), and whether the other must be visited too.

    That is in the region of the first ``n`` rows. Records why, if not both.
    """
    time = s.frames[frame, TIME]
    d = tables.matrix.shape[0]
    f = policy.nodes[node, FEATURE]
    row = tables.n_experts + f
    constant = s.constants[frame, f] - policy.threshold[node]
    left = False
    right = False
    for p in range(s.frames[frame, N_POINTS]):
        if s.places[p, 0] == e and s.places[p, 1] == node:
            value = constant
            for k in range(d):
                value += tables.rows[time, row, k] * s.points[frame, p, k]
            left |= value <= 0.0
            right |= value > 0.0
            s.places[p, 1] = policy.nodes[node, LEFT_CHILD if value <= 0.0 else RIGHT_CHILD]
    span = tables.span[time, row]
    for turn in range(2):
        side = -1.0 if turn == 0 else 1.0
        if right if turn == 0 else left:
            continue
        # the side is reached where −side·(x_f − threshold) >= 0, give or take the slack
        enough = side * constant - tables.limit[time, row] - tables.margin[row]
        status = NONE
        scale = 1.0
        name = test_name(tables, time, f, side)
        if span >= enough:
            aim(tables, s, time, row, -side)
            status, scale = solve(s, name, n, span, enough)
            if status != BELOW and status != EMPTY:
                if status == OPTIMAL:
                    p = remember(s, frame)
                    if p >= 0:
                        s.places[p, 0], s.places[p, 1] = e, policy.nodes[node, RIGHT_CHILD if turn == 0 else LEFT_CHILD]
                continue
        # should the other side be empty too, then so is the region, and nothing is lost by going there
        nobody = tables.n_experts**2 + policy.nodes[node, RIGHT_CHILD if turn == 0 else LEFT_CHILD]
        if status == NONE:
            rule_out_alone(s, nobody)
        else:
            rule_out_together(s, nobody, status, scale)
        return -side, False
    return 1.0, True


@njit(**INLINED)
def agree(s: Any, first: int, end: int) -> bool:
    """Whether pieces from ``first`` on take the same action."""
    for i in range(first + 1, end):
        if s.pieces[i, 2] != s.pieces[first, 2]:
            return False
    return end > first


@njit(**INLINED)
def remember(s: Any, frame: int) -> int:
    """Keep the point of the last linear program; its index, or -1 if there is no room."""
    p = s.frames[frame, N_POINTS]
    if p == MOST_POINTS:
        return -1
    for k in range(s.points.shape[2]):
        s.points[frame, p, k] = s.vectors[X, k]
    s.frames[frame, N_POINTS] = p + 1
    return p
