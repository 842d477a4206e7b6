"""Where a closed loop leads from a polytope in a few steps: the compiled search over the paths it may take.

The state after t steps of one path is matrixᵗ·x + c, give or take a spread, for the first states x from which the path
can be taken. Those x form a polytope: the source cut by the guards of the path, each loosened by the spread at its
step. A depth-first search enumerates the paths; linear programs over their polytopes decide which branches are
possible, bound what is watched at every step, and bound the template rows of the target at the end.

A target is a family of polytopes, one per interval of a linear function (the slice): a final state must lie in the
polytope of the interval it falls into. The same code runs in two modes. Growing raises the limits of the target and of
what is watched until they hold. Proving leaves them as they are and writes down why they hold: multipliers, in the
order in which :mod:`moet.verify.checker.sets` walks through the same tree.

Polytopes are stored in coordinates in which the box of the source is [−1, 1]ᵈ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from moet.jit import OPTIONS
from moet.verify.loops.sets.claims import (
    DONE,
    FAILED,
    FULL,
    LIMIT,
    Loop,
    Path,
    Target,
    arrive,
    arrived,
    locate,
    reach_leaf,
    root,
    watch,
)
from moet.verify.loops.sets.rows import Book, Scratch, Source, put_row, take_row
from moet.verify.simplex import EMPTY


@njit(**OPTIONS)
def explore(
    source: Source,
    loop: Loop,
    target: Target,
    watch_limits: Any,
    target_limits: Any,
    proving: bool,
    book: Book,
    counts: Any,
    max_nodes: int,
    stop: Any,
) -> int:
    """Follow all paths of ``len(powers) − 1`` steps from one polytope.

    Parameters
    ----------
    source, loop, target : Source, Loop, Target
    watch_limits : float64 (n_watched,)
        Limits of what is watched at every step but the first; raised when growing.
    target_limits : float64 (n_cells, n_target_rows)
        Limits of the template rows; raised when growing.
    proving : bool
        Whether the limits are to be proved, or raised to where they hold.
    book : Book
        Where the proof goes.
    counts : int64 (3,)
        Counts nodes, paths and linear programs.
    max_nodes : int
    stop : bool (1,)
        Raised by another thread when time is up.

    Returns
    -------
    status : int
        DONE, LIMIT, FULL or FAILED. Unless DONE, nothing is claimed.
    """
    d = len(loop.matrix)
    n_steps = len(loop.powers) - 1
    n_leaves = len(loop.leaf_action)
    base = source.n_rows
    room = source.rows.shape[1] - base
    width = source.rows.shape[1]
    lp = Scratch(
        np.empty(d),
        np.empty(d + 1, np.int64),
        np.empty(d + 1),
        np.empty(d),
        np.empty((2 * d + 2, max(d, width))),
        np.full(d, -1.0),
        np.full(d, 1.0),
        counts,
    )
    watch_roots = np.empty((n_steps + 1, len(loop.watched)))
    target_roots = np.empty(len(target.rows))
    for t in range(1, n_steps + 1):
        for i in range(len(loop.watched)):
            watch_roots[t, i] = root(loop.powers[t, loop.watched[i]], source, lp, proving, book)
    for j in range(len(target.rows)):
        target_roots[j] = root(loop.powers[n_steps, target.rows[j]], source, lp, proving, book)

    capacity = n_steps * n_leaves + 1
    stack_at = np.zeros((capacity, 3), np.int64)
    stack_offset = np.zeros((capacity, d))
    stack_radii = np.zeros((capacity, n_steps + 1, d))
    stack_guards = np.zeros((capacity, room, d + 3))
    leaf_guards = np.zeros((n_leaves, room, d + 3))
    leaf_rows = np.zeros(n_leaves, np.int64)
    pieces = np.zeros(2, np.int64)
    path = Path(np.zeros(3, np.int64), np.zeros(d), np.zeros((n_steps + 1, d)))
    size = 1
    while size > 0:
        size -= 1
        for i in range(3):
            path.at[i] = stack_at[size, i]
        t, used = path.at[0], path.at[1]
        for k in range(d):
            path.offset[k] = stack_offset[size, k]
            for i in range(t):
                path.radii[i, k] = stack_radii[size, i, k]
        for i in range(used):
            put_row(source, base + i, stack_guards[size, i])
        counts[0] += 1
        if counts[0] > max_nodes or stop[0]:
            return LIMIT

        if t > 0:
            status = watch(source, loop, path, watch_roots[t], watch_limits, lp, proving, book)
            if status == FAILED:
                return FAILED
            if status == EMPTY:
                continue
            if len(loop.goals) > 0 and arrived(source, loop, path, lp, proving, book):
                continue
        if t == n_steps:
            counts[1] += 1
            for cell in range(len(target.low)):
                if not arrive(source, loop, target, path, cell, target_roots, target_limits[cell], lp, proving, book):
                    return FAILED
            continue
        if not locate(source, loop, path, pieces, lp, proving, book):
            continue

        common = -1  # the action of all possible leaves; -2 if they differ
        for leaf in range(n_leaves):
            leaf_rows[leaf] = reach_leaf(source, loop, path, leaf, lp, proving, book)
            if leaf_rows[leaf] >= 0:
                for i in range(used, leaf_rows[leaf]):
                    take_row(source, base + i, leaf_guards[leaf, i])
                action = loop.leaf_action[leaf]
                common = action if common == -1 or common == action else -2
        # the last one first: the stack turns the order round
        for leaf in range(n_leaves - 1, -1, -1):
            if leaf_rows[leaf] < 0:
                continue
            stack_at[size, 0] = t + 1
            stack_at[size, 1] = used if common >= 0 else leaf_rows[leaf]
            n_guards = loop.leaf_start[leaf + 1] - loop.leaf_start[leaf]
            stack_at[size, 2] = path.at[2] if common >= 0 else path.at[2] + n_guards
            for i in range(stack_at[size, 1]):
                if i < used:
                    take_row(source, base + i, stack_guards[size, i])
                else:
                    for k in range(d + 3):
                        stack_guards[size, i, k] = leaf_guards[leaf, i, k]
            _step(loop, path, loop.leaf_action[leaf], pieces, stack_offset[size], stack_radii[size])
            size += 1
            if common >= 0:
                break
    fits = book.used[0] <= len(book.codes) and book.used[1] <= len(book.refs) and book.used[2] <= len(book.numbers)
    return DONE if fits else FULL


@njit(**OPTIONS)
def _step(loop: Loop, path: Path, action: int, pieces: Any, offset: Any, radii: Any) -> None:
    """Offset and radii of the path that takes one more step."""
    t = path.at[0]
    for k in range(len(offset)):
        low, high = np.inf, -np.inf
        for p in range(pieces[0], pieces[1] + 1):
            low = min(low, loop.residual_low[p, action, k])
            high = max(high, loop.residual_high[p, action, k])
        total = 0.5 * (low + high)
        for j in range(len(offset)):
            total += loop.matrix[k, j] * path.offset[j]
        offset[k] = total
        for i in range(t):
            radii[i, k] = path.radii[i, k]
        radii[t, k] = 0.5 * (high - low)
