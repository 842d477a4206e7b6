"""The compiled depth-first search over what a policy may do from a set of first states.

A *frame* is a set of first states that share their actions so far: a time, the constant part of the state, and the rows
that the decisions so far have added to the box. Expanding a frame asks for every expert, and for every side of every
split of its tree, whether any first state of the frame leads there. That gives *pieces*: (expert, node, action), merged
where all that can be reached below a node (or by an expert, or by all experts) is one action. A piece with its action
is the next frame.

A *coarse* search also merges pieces that agree on the action but are no convex set, those of an expert or those of all
experts: what remains of their tests is what they have in common, and of several experts no comparison of logits. It
follows fewer paths, and some that nobody takes.

Everything that is ruled out is recorded with the multipliers that prove it, in the order of the search (see
:mod:`moet.verify.checker.loops.paths.proof` for the grammar). What cannot be ruled out is explored, whatever the
reason.

Points that are known to lie in a frame save most linear programs: where one of them goes, the others need not be asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from moet.jit import BORROWING, INLINED
from moet.verify.loops.paths.choices import (
    ASKED,
    NONE,
    OUT,
    VISITED,
    agree,
    expert_possible,
    remember,
    rule_out,
    walk_tree,
)
from moet.verify.loops.paths.needs import meets_needs, needs_no_search
from moet.verify.loops.paths.rows import (
    add_gate,
    add_row,
    add_test,
    aim,
    constant_part,
    goal_name,
    record,
    solve,
    write_names,
)
from moet.verify.loops.paths.shortening import shorten
from moet.verify.loops.paths.state import (
    ASKING,
    COARSE,
    CODES,
    CODES_FROM,
    CODES_TO,
    CONDITION,
    DEAD,
    DEEPEST,
    EVERYONE,
    EXHAUSTED,
    EXPERT,
    MET,
    MOST_DOUBTFUL,
    N_OUT,
    N_PIECES,
    N_POINTS,
    N_ROWS,
    NOBODY,
    NOW,
    OPEN,
    PATHS,
    PAUSED,
    PIECES,
    REFS,
    REFS_FROM,
    REFS_TO,
    RESOLVED,
    STACK,
    START,
    TAKEN,
    TIME,
    USED,
)
from moet.verify.loops.paths.tables import ACROSS, WITHIN
from moet.verify.simplex import BELOW, EMPTY, OPTIMAL, TOLERANCE


@njit(**BORROWING)
def run(policy: Any, tables: Any, s: Any, budget: int) -> int:
    """Visit up to ``budget`` pieces; EXHAUSTED, PAUSED, or ASKING about the piece on top of the stack.

    When ASKING, condition ``counts[CONDITION]`` (the needs, then those of the goal) of that piece may be violated at
    the scaled first state in ``vectors``. The caller decides that piece, writes its records, sets
    ``counts[RESOLVED]`` and goes on, or ends the search.
    """
    counts = s.counts
    last = len(tables.rows) - 1
    most = tables.n_needs + tables.n_experts + len(policy.nodes) + tables.n_goals + MOST_DOUBTFUL + 1
    room, room_for_refs = len(s.codes) - most, len(s.refs) - most * (tables.matrix.shape[0] + 2)
    s.frames[:, CODES_FROM] = NONE  # earlier records are out of reach
    while counts[STACK] > 0:
        if budget == 0 or counts[CODES] > room or counts[REFS] > room_for_refs:
            return PAUSED
        budget -= 1
        counts[PIECES] += 1
        top = counts[STACK] - 1
        frame, expert, action = s.stack[top, 0], s.stack[top, 1], s.stack[top, 2]
        _leave(policy, s, frame)
        codes, refs = counts[CODES], counts[REFS]
        resolved, counts[RESOLVED] = counts[RESOLVED], 0
        counts[STACK] = top
        if expert != START:
            frame += 1
            _enter(tables, s, frame, expert, action, s.stack_tests[top])
        time = counts[NOW] = s.frames[frame, TIME]
        sure = True
        empty = resolved == NOBODY or (resolved == MET and time == last)
        if expert >= EVERYONE and resolved == 0:
            if tables.n_goals == 0 and needs_no_search(tables, s, frame):
                counts[PATHS] += 1
                continue
            sure, empty = meets_needs(tables, s, frame)
        if sure and not empty:
            if tables.n_goals > 0 and expert >= START:
                sure = _miss_goal(tables, s, frame)
            elif time < last:
                _expand(policy, tables, s, frame)
            else:
                counts[PATHS] += 1
        if not sure:  # as if the piece had not been visited
            if expert != START:
                frame -= 1
            s.stack[top, 0], s.stack[top, 1], s.stack[top, 2] = frame, expert, action
            counts[STACK], counts[CODES], counts[REFS] = top + 1, codes, refs
            return ASKING
    _leave(policy, s, NONE)
    return EXHAUSTED


@njit(**INLINED)
def _leave(policy: Any, s: Any, frame: int) -> None:
    """Come back to a frame: of those beyond it all has been seen."""
    while s.counts[DEEPEST] > frame:
        shorten(policy, s, s.counts[DEEPEST])
        s.counts[DEEPEST] -= 1


@njit(**INLINED)
def _miss_goal(tables: Any, s: Any, frame: int) -> bool:
    """Push a piece for every condition of the goal that may be missed; False if there is one at the end of time."""
    time = s.frames[frame, TIME]
    first = tables.coefficients.shape[0] - tables.n_goals
    s.frames[frame, N_PIECES] = 0
    for i in range(tables.n_goals):
        constant = constant_part(tables, s, frame, first + i)
        enough = tables.limit[time, first + i] - tables.margin[first + i] - constant
        span = tables.span[time, first + i]
        name = goal_name(tables, time, i)
        if span < enough:
            record(s, DEAD, name, NONE, 1.0)
            continue
        aim(tables, s, time, first + i, 1.0)
        status, scale = solve(s, name, s.frames[frame, N_ROWS], span, enough)
        if status == BELOW or status == EMPTY:
            record(s, DEAD, name, status, scale)
            continue
        if time == len(tables.rows) - 1:
            s.counts[CONDITION] = tables.n_needs + i
            return False
        record(s, OPEN, NONE, NONE, 1.0)
        if status == OPTIMAL:
            remember(s, frame)
        _push(s, frame, START - 1 - i, NONE)
        s.frames[frame, N_PIECES] += 1
    return True


@njit(**INLINED)
def _enter(tables: Any, s: Any, child: int, expert: int, action: int, tests: Any) -> None:
    """Make the frame of a piece: its rows, its state, and the points of its parent that lie in it."""
    frame = child - 1
    time, before = s.frames[frame, TIME], s.frames[frame, N_ROWS]
    d = tables.matrix.shape[0]
    n = before
    if expert < START:
        goal = START - 1 - expert
        i = tables.coefficients.shape[0] - tables.n_goals + goal
        aim(tables, s, time, i, -1.0)
        limit = constant_part(tables, s, frame, i) - tables.limit[time, i]
        n = add_row(s, n, tables.span[time, i], limit, goal_name(tables, time, goal))
        s.frames[child, TIME] = time
        for k in range(d):
            s.constants[child, k] = s.constants[frame, k]
    else:
        if expert >= 0:
            n = add_gate(tables, s, frame, expert, NONE, n)
        _copy(tests, s.tests[child])
        for k in range(d):
            if tests[k, 0] < np.inf:
                n = add_test(tables, s, frame, k, 1.0, tests[k, 0], n)
            if tests[k, 1] < np.inf:
                n = add_test(tables, s, frame, k, -1.0, -tests[k, 1], n)
        s.frames[child, TIME] = time + 1
        for k in range(d):
            total = tables.offsets[action, k]
            for q in range(d):
                total += tables.matrix[k, q] * s.constants[frame, q]
            s.constants[child, k] = total
    s.frames[child, N_ROWS] = n
    s.frames[child, EXPERT], s.frames[child, TAKEN] = expert, action
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


@njit(**INLINED)
def _expand(policy: Any, tables: Any, s: Any, frame: int) -> None:
    """Push the pieces of a frame."""
    time, n_rows = s.frames[frame, TIME], s.frames[frame, N_ROWS]
    d, n_experts = tables.matrix.shape[0], tables.n_experts
    s.frames[frame, CODES_FROM], s.frames[frame, REFS_FROM] = s.counts[CODES], s.counts[REFS]
    if tables.n_goals > 0:  # a time has two frames then, and what proofs rest on is noted by time
        s.frames[frame, CODES_FROM] = NONE
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

    s.possible[:] = VISITED if n_experts == 1 else ASKED
    for p in range(s.frames[frame, N_POINTS]):
        s.possible[s.places[p, 0]] = VISITED
    s.counts[N_OUT] = 0
    s.firsts[frame], s.used[frame] = len(policy.nodes), False
    rule_out(tables, s, frame)
    n_pieces: Any = 1 + NONE
    for e in range(n_experts):
        known = s.possible[e]
        if known == OUT or (known == ASKED and not expert_possible(policy, tables, s, frame, e)):
            continue
        n = add_gate(tables, s, frame, e, NONE, n_rows)
        first = n_pieces
        n_pieces = walk_tree(policy, tables, s, frame, e, n, first)
        for i in range(first, n_pieces):
            _copy(policy.tests[s.pieces[i, 1]], s.piece_tests[i])
        if s.counts[COARSE] == WITHIN:
            n_pieces = _merge(s, first, n_pieces)
        elif s.counts[COARSE] == ACROSS:
            n_pieces = _merge(s, 1 + NONE, n_pieces)
    write_names(s)
    if n_pieces > 1 and agree(s, 1 + NONE, n_pieces):
        n_pieces = 1
        s.pieces[0, 0] = EVERYONE
        for k in range(d):
            s.piece_tests[0, k, 0] = s.piece_tests[0, k, 1] = np.inf
    s.frames[frame, N_PIECES] = n_pieces
    s.frames[frame, CODES_TO], s.frames[frame, REFS_TO] = s.counts[CODES], s.counts[REFS]
    s.frames[frame, USED], s.counts[DEEPEST] = 0, frame
    _order(policy, tables, s, frame)
    for i in range(n_pieces):
        _copy(s.piece_tests[i], s.bounds[frame, s.pieces[i, 2]])
    for i in range(n_pieces - 1, -1, -1):
        _copy(s.piece_tests[i], s.stack_tests[s.counts[STACK]])
        _push(s, frame, s.pieces[i, 0], s.pieces[i, 2])


@njit(**INLINED)
def _order(policy: Any, tables: Any, s: Any, frame: int) -> None:
    """Note the actions of a frame's pieces if that are all actions, each once; not of those who miss a goal."""
    n_pieces, order = s.frames[frame, N_PIECES], s.order[frame]
    order[0] = -1
    if n_pieces != len(policy.actions) or n_pieces > tables.matrix.shape[0] or tables.n_goals > 0:
        return
    for i in range(n_pieces):
        for j in range(i):
            if s.pieces[i, 2] == s.pieces[j, 2]:
                return
    for i in range(n_pieces):
        order[i] = s.pieces[i, 2]


@njit(**INLINED)
def _copy(source: Any, target: Any) -> None:
    for k in range(len(source)):
        target[k, 0], target[k, 1] = source[k, 0], source[k, 1]


@njit(**INLINED)
def _merge(s: Any, first: int, end: int) -> int:
    """Make one piece of all pieces with the same action, from ``first`` on; return the number of pieces then."""
    kept = first
    for i in range(first, end):
        place = first
        while place < kept and s.pieces[place, 2] != s.pieces[i, 2]:
            place += 1
        if place == kept:
            s.pieces[kept, 0], s.pieces[kept, 2] = s.pieces[i, 0], s.pieces[i, 2]
            _copy(s.piece_tests[i], s.piece_tests[kept])
            kept += 1
            continue
        if s.pieces[place, 0] != s.pieces[i, 0]:
            s.pieces[place, 0] = EVERYONE
        for k in range(s.piece_tests.shape[1]):
            for side in range(2):
                s.piece_tests[place, k, side] = max(s.piece_tests[place, k, side], s.piece_tests[i, k, side])
    return kept


@njit(**INLINED)
def _push(s: Any, frame: int, expert: int, action: int) -> None:
    top = s.counts[STACK]
    s.stack[top, 0], s.stack[top, 1], s.stack[top, 2] = frame, expert, action
    s.counts[STACK] = top + 1
