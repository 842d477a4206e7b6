"""The compiled depth-first search over what a policy may do from a set of first states.

A *frame* is a set of first states that share their actions so far: a time, the constant part of the state, and the rows
that the decisions so far have added to the box. Expanding a frame asks for every expert, and for every side of every
split of its tree, whether any first state of the frame leads there. That gives *pieces*: (expert, node, action), merged
where all that can be reached below a node (or by an expert, or by all experts) is one action. A piece with its action
is the next frame.

Everything that is ruled out is recorded with the multipliers that prove it, in the order of the search (see
:mod:`moet.verify.checker.check_reach` for the grammar). What cannot be ruled out is explored, whatever the reason.

Points that are known to lie in a frame save most linear programs: where one of them goes, the others need not be asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from moet.verify.loops.reach_rows import (
    INTERNAL,
    add_gate,
    add_row,
    add_split,
    aim,
    constant_part,
    record,
    row_name,
    solve,
)
from moet.verify.loops.reach_state import (
    ASKING,
    BOTH,
    BOUND,
    CODES,
    CONDITION,
    DEAD,
    DONE,
    EVERYONE,
    EXPERT,
    LEFT,
    MET,
    MOST_POINTS,
    MOST_ROWS,
    N_PIECES,
    N_POINTS,
    N_ROWS,
    NOBODY,
    NODE,
    OBJECTIVE,
    OPEN,
    PATHS,
    PAUSED,
    PIECES,
    REFS,
    RESOLVED,
    RIGHT,
    STACK,
    START,
    TAKEN,
    TIME,
    VOID,
    X,
)
from moet.verify.loops.reach_tables import ACTION, DEPTH, FEATURE, LEFT_CHILD, MIXED, PARENT, RIGHT_CHILD
from moet.verify.simplex import BELOW, BORROWING, EMPTY, OPTIMAL, TOLERANCE

_NONE = np.int64(-1)


@njit(**BORROWING)
def run(policy: Any, tables: Any, s: Any, budget: int) -> int:
    """Visit up to ``budget`` pieces; DONE, PAUSED, or ASKING about the piece on top of the stack.

    When ASKING, condition ``counts[CONDITION]`` of that piece may be violated at the scaled first state in ``vectors``.
    The caller decides that piece, writes its records, sets ``counts[RESOLVED]`` and goes on, or ends the search.
    """
    counts = s.counts
    last = len(tables.rows) - 1
    room = len(s.codes) - (tables.n_needs + tables.n_experts + len(policy.nodes) + tables.n_goals)
    while counts[STACK] > 0:
        if budget == 0 or counts[CODES] > room:
            return PAUSED
        budget -= 1
        counts[PIECES] += 1
        top = counts[STACK] - 1
        frame, expert, node, action = s.stack[top, 0], s.stack[top, 1], s.stack[top, 2], s.stack[top, 3]
        codes, refs = counts[CODES], counts[REFS]
        resolved, counts[RESOLVED] = counts[RESOLVED], 0
        counts[STACK] = top
        if expert != START:
            frame += 1
            _enter(policy, tables, s, frame, expert, node, action)
        time = s.frames[frame, TIME]
        sure = True
        empty = resolved == NOBODY or (resolved == MET and time == last)
        if expert >= EVERYONE and resolved == 0:
            sure, empty = _meets_needs(policy, tables, s, frame)
        if sure and not empty:
            if tables.n_goals > 0 and expert >= START:
                sure = _miss_goal(policy, tables, s, frame)
            elif time < last:
                _expand(policy, tables, s, frame)
            else:
                counts[PATHS] += 1
        if not sure:  # as if the piece had not been visited
            if expert != START:
                frame -= 1
            s.stack[top, 0], s.stack[top, 1], s.stack[top, 2], s.stack[top, 3] = frame, expert, node, action
            counts[STACK], counts[CODES], counts[REFS] = top + 1, codes, refs
            return ASKING
    return DONE


@njit(**INTERNAL)
def _meets_needs(policy: Any, tables: Any, s: Any, frame: int) -> Any:
    """Whether all conditions hold in a frame, and whether the frame was found to be empty on the way."""
    time = s.frames[frame, TIME]
    first = tables.coefficients.shape[0] - tables.n_needs - tables.n_goals
    for i in range(tables.n_needs):
        constant = constant_part(tables, s, frame, first + i)
        enough = tables.limit[time, first + i] - tables.margin[first + i] - constant
        span = tables.span[time, first + i]
        if span < enough:
            record(s, BOUND, _NONE, _NONE, 1.0)
            continue
        aim(tables, s, time, first + i, 1.0)
        status, scale = solve(s, s.frames[frame, N_ROWS], span, enough)
        if status == BELOW:
            record(s, BOUND, _NONE, status, scale)
        elif status == EMPTY:
            record(s, VOID, _NONE, status, scale)
            return True, True
        else:
            s.counts[CONDITION] = i
            return False, False
    return True, False


@njit(**INTERNAL)
def _miss_goal(policy: Any, tables: Any, s: Any, frame: int) -> bool:
    """Push a piece for every condition of the goal that may be missed; False if there is one at the end of time."""
    time = s.frames[frame, TIME]
    first = tables.coefficients.shape[0] - tables.n_goals
    s.frames[frame, N_PIECES] = 0
    for i in range(tables.n_goals):
        constant = constant_part(tables, s, frame, first + i)
        enough = tables.limit[time, first + i] - tables.margin[first + i] - constant
        span = tables.span[time, first + i]
        name = row_name(policy, tables, time, tables.n_experts + policy.depth + i)
        if span < enough:
            record(s, DEAD, name, _NONE, 1.0)
            continue
        aim(tables, s, time, first + i, 1.0)
        status, scale = solve(s, s.frames[frame, N_ROWS], span, enough)
        if status == BELOW or status == EMPTY:
            record(s, DEAD, name, status, scale)
            continue
        if time == len(tables.rows) - 1:
            s.counts[CONDITION] = i
            return False
        record(s, OPEN, _NONE, _NONE, 1.0)
        if status == OPTIMAL:
            _remember(s, frame)
        _push(s, frame, START - 1 - i, _NONE, _NONE)
        s.frames[frame, N_PIECES] += 1
    return True


@njit(**INTERNAL)
def _enter(policy: Any, tables: Any, s: Any, child: int, expert: int, node: int, action: int) -> None:
    """Make the frame of a piece: its rows, its state, and the points of its parent that lie in it."""
    frame = child - 1
    time, before = s.frames[frame, TIME], s.frames[frame, N_ROWS]
    d = tables.matrix.shape[0]
    n = before
    leaf = node
    if expert < START:
        goal = START - 1 - expert
        i = tables.coefficients.shape[0] - tables.n_goals + goal
        aim(tables, s, time, i, -1.0)
        limit = constant_part(tables, s, frame, i) - tables.limit[time, i]
        n = add_row(
            s, n, tables.span[time, i], limit, row_name(policy, tables, time, tables.n_experts + policy.depth + goal)
        )
        s.frames[child, TIME] = time
        for k in range(d):
            s.constants[child, k] = s.constants[frame, k]
    else:
        if expert >= 0:
            n = add_gate(policy, tables, s, frame, expert, _NONE, n)
            while policy.nodes[node, PARENT] >= 0:
                split = policy.nodes[node, PARENT]
                n = add_split(
                    policy, tables, s, frame, split, 1.0 if policy.nodes[split, LEFT_CHILD] == node else -1.0, n
                )
                node = split
        s.frames[child, TIME] = time + 1
        for k in range(d):
            total = tables.offsets[action, k]
            for q in range(d):
                total += tables.matrix[k, q] * s.constants[frame, q]
            s.constants[child, k] = total
    s.frames[child, N_ROWS] = n
    s.frames[child, EXPERT], s.frames[child, NODE], s.frames[child, TAKEN] = expert, leaf, action
    s.counts[MOST_ROWS] = max(s.counts[MOST_ROWS], n)
    kept = 0
    for p in range(s.frames[frame, N_POINTS]):
        inside = True
        for i in range(before, n):
            excess = -s.limits[i]
            for k in range(d):
                excess += s.rows[k, i] * s.points[frame, p, k]
            if excess > TOLERANCE:
                inside = False
                break
        if inside:
            for k in range(d):
                s.points[child, kept, k] = s.points[frame, p, k]
            kept += 1
    s.frames[child, N_POINTS] = kept


@njit(**INTERNAL)
def _expand(policy: Any, tables: Any, s: Any, frame: int) -> None:
    """Push the pieces of a frame."""
    time, n_rows = s.frames[frame, TIME], s.frames[frame, N_ROWS]
    d, n_experts = tables.matrix.shape[0], tables.n_experts
    for e in range(n_experts):
        s.constants[frame, d + e] = constant_part(tables, s, frame, e)
    for p in range(s.frames[frame, N_POINTS]):
        best = 0
        most = -np.inf
        for e in range(n_experts):
            value = s.constants[frame, d + e]
            for k in range(d):
                value += tables.rows[time, e, k] * s.points[frame, p, k]
            if value > most:
                most = value
                best = e
        s.places[p, 0], s.places[p, 1] = best, policy.roots[best]

    n_pieces: Any = 1 + _NONE
    for e in range(n_experts):
        visited = n_experts == 1
        for p in range(s.frames[frame, N_POINTS]):
            visited |= s.places[p, 0] == e
        if not visited and not _expert_possible(policy, tables, s, frame, e):
            continue
        record(s, OPEN, _NONE, _NONE, 1.0)
        n = add_gate(policy, tables, s, frame, e, _NONE, n_rows)
        n_pieces = _walk_tree(policy, tables, s, frame, e, n, n_pieces)
    if n_pieces > 1 and _agree(s, 1 + _NONE, n_pieces):
        n_pieces = 1
        s.pieces[0, 0], s.pieces[0, 1] = EVERYONE, -1
    s.frames[frame, N_PIECES] = n_pieces
    for i in range(n_pieces - 1, -1, -1):
        _push(s, frame, s.pieces[i, 0], s.pieces[i, 1], s.pieces[i, 2])


@njit(**INTERNAL)
def _expert_possible(policy: Any, tables: Any, s: Any, frame: int, e: int) -> bool:
    """Whether an expert may be chosen somewhere in a frame; if not, the proof is recorded."""
    time = s.frames[frame, TIME]
    d = tables.matrix.shape[0]
    rival: Any = 1 + _NONE
    least = np.inf
    for j in range(tables.n_experts):
        if j == e:
            continue
        most = s.constants[frame, d + e] - s.constants[frame, d + j]
        most += tables.pair_span[time, e, j] + tables.pair_slack[time, e, j] + tables.pair_margin[e, j]
        if most < least:
            least = most
            rival = j
    name = row_name(policy, tables, time, rival)
    if least < 0.0:
        record(s, DEAD, name, _NONE, 1.0)
        return False
    n = add_gate(policy, tables, s, frame, e, rival, s.frames[frame, N_ROWS])
    for k in range(d):
        s.vectors[OBJECTIVE, k] = tables.rows[time, e, k] - tables.rows[time, rival, k]
    span = tables.pair_span[time, e, rival]
    status, scale = solve(s, n, span, span - least)
    if status == BELOW or status == EMPTY:
        record(s, DEAD, name, status, scale)
        return False
    if status == OPTIMAL:
        p = _remember(s, frame)
        if p >= 0:
            s.places[p, 0], s.places[p, 1] = e, policy.roots[e]
    return True


@njit(**INTERNAL)
def _walk_tree(policy: Any, tables: Any, s: Any, frame: int, e: int, n: int, n_pieces: int) -> int:
    """Add the pieces of an expert whose region is the first ``n`` rows; return the number of pieces."""
    walk, pieces, nodes = s.walk, s.pieces, policy.nodes
    depth = 0
    walk[0, 0], walk[0, 1], walk[0, 2], walk[0, 3] = policy.roots[e], 0, n, n_pieces
    while depth >= 0:
        node, visits, n, first = walk[depth, 0], walk[depth, 1], walk[depth, 2], walk[depth, 3]
        if nodes[node, ACTION] != MIXED:
            pieces[n_pieces, 0], pieces[n_pieces, 1], pieces[n_pieces, 2] = e, node, nodes[node, ACTION]
            n_pieces += 1
            depth -= 1
            continue
        if visits == 2:
            if _agree(s, first, n_pieces):
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
            n = add_split(policy, tables, s, frame, node, side, n)
        child = nodes[node, LEFT_CHILD] if side > 0.0 else nodes[node, RIGHT_CHILD]
        depth += 1
        walk[depth, 0], walk[depth, 1], walk[depth, 2], walk[depth, 3] = child, 0, n, n_pieces
    return n_pieces


@njit(**INTERNAL)
def _sides_possible(policy: Any, tables: Any, s: Any, frame: int, e: int, node: int, n: int) -> Any:
    """Find the side of a split to visit first (1 is left, -1 right), and whether the other must be visited too.

    That is in the region of the first ``n`` rows. Records which, and why not both.
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
        status = _NONE
        scale = 1.0
        if span >= enough:
            aim(tables, s, time, row, -side)
            status, scale = solve(s, n, span, enough)
            if status != BELOW and status != EMPTY:
                if status == OPTIMAL:
                    p = _remember(s, frame)
                    if p >= 0:
                        s.places[p, 0], s.places[p, 1] = e, policy.nodes[node, RIGHT_CHILD if turn == 0 else LEFT_CHILD]
                continue
        # should the other side be empty too, then so is the region, and nothing is lost by going there
        name = row_name(policy, tables, time, tables.n_experts + policy.nodes[node, DEPTH])
        record(s, LEFT if turn == 0 else RIGHT, name, status, scale)
        return -side, False
    record(s, BOTH, _NONE, _NONE, 1.0)
    return 1.0, True


@njit(**INTERNAL)
def _agree(s: Any, first: int, end: int) -> bool:
    for i in range(first + 1, end):
        if s.pieces[i, 2] != s.pieces[first, 2]:
            return False
    return end > first


@njit(**INTERNAL)
def _push(s: Any, frame: int, expert: int, node: int, action: int) -> None:
    top = s.counts[STACK]
    s.stack[top, 0], s.stack[top, 1], s.stack[top, 2], s.stack[top, 3] = frame, expert, node, action
    s.counts[STACK] = top + 1


@njit(**INTERNAL)
def _remember(s: Any, frame: int) -> int:
    """Keep the point of the last linear program; its index, or -1 if there is no room."""
    p = s.frames[frame, N_POINTS]
    if p == MOST_POINTS:
        return -1
    for k in range(s.points.shape[2]):
        s.points[frame, p, k] = s.vectors[X, k]
    s.frames[frame, N_POINTS] = p + 1
    return p
