"""Where a closed loop leads from a polytope in a few steps: the compiled search over the paths it may take.

The state after t steps of one path is matrixᵗ·x + c, give or take a spread, for the first states x from which the path
can be taken. Those x form a polytope: the source cut by the guards of the path, each loosened by the spread at its
step. A depth-first search enumerates the paths; linear programs over their polytopes decide which branches are
possible, bound what is watched at every step, and bound the template rows of the target at the end.

A target is a family of polytopes, one per interval of a linear function (the slice): a final state must lie in the
polytope of the interval it falls into. The same code runs in two modes. Growing raises the limits of the target and of
what is watched until they hold. Proving leaves them as they are and writes down why they hold: multipliers, in the
order in which :mod:`moet.verify.checker.loops.sets.proof` walks through the same tree.

Polytopes are stored in coordinates in which the box of the source is [−1, 1]ᵈ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import OPTIONS
from moet.verify.loops.sets.claims import (
    DONE,
    FAILED,
    FULL,
    LIMIT,
    MERGED,
    SPLIT,
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
from moet.verify.loops.sets.rows import Book, Scratch, Source, put_row, take_row, write
from moet.verify.simplex import EMPTY


class Stack(NamedTuple):
    """Paths that wait to be looked at; each has room for its guards."""

    at: NDArray[np.int64]
    offset: NDArray[np.float64]
    radii: NDArray[np.float64]
    guards: NDArray[np.float64]


class Leaves(NamedTuple):
    """What the leaves need at the present node: their number of guards (−1 if nobody gets there), and the new ones."""

    n_rows: NDArray[np.int64]
    guards: NDArray[np.float64]


class Rooms(NamedTuple):
    """Room for the paths that wait, and for the leaves of the present node."""

    stack: Stack
    leaves: Leaves


class Budget(NamedTuple):
    """How much a search may do.

    Attributes
    ----------
    counts : array of int, shape (3,)
        Counts nodes, paths and linear programs.
    max_nodes : int
    stop : array of bool, shape (1,)
        Raised by another thread when time is up.
    """

    counts: NDArray[np.int64]
    max_nodes: int
    stop: NDArray[np.bool_]


@njit(**OPTIONS)
def explore(
    source: Source,
    loop: Loop,
    target: Target,
    watch_limits: Any,
    target_limits: Any,
    most_splits: int,
    proving: bool,
    book: Book,
    budget: Budget,
) -> int:
    """Follow all paths of ``len(powers) − 1`` steps from one polytope.

    Parameters
    ----------
    source, loop, target : Source, Loop, Target
    watch_limits : float64 (n_watched,)
        Limits of what is watched at every step but the first; raised when growing.
    target_limits : float64 (n_cells, n_target_rows)
        Limits of the template rows; raised when growing.
    most_splits : int
        How often a path may split. Where it may no more, one path stands for all actions that are possible.
    proving : bool
        Whether the limits are to be proved, or raised to where they hold.
    book : Book
        Where the proof goes.
    budget : Budget

    Returns
    -------
    status : int
        DONE, LIMIT, FULL or FAILED. Unless DONE, nothing is claimed.
    """
    d = len(loop.matrix)
    n_steps = len(loop.powers) - 1
    counts = budget.counts
    lp = _scratch(d, source.rows.shape[1], counts)
    watch_roots, target_roots = _roots(source, loop, target, lp, proving, book)
    rooms = _rooms(source, loop, min(most_splits, n_steps))
    pieces = np.zeros(2, np.int64)
    path = Path(np.zeros(4, np.int64), np.zeros(d), np.zeros((n_steps + 1, d)))
    size = 1
    while size > 0:
        size -= 1
        _pop(rooms.stack, size, source, path)
        counts[0] += 1
        if counts[0] > budget.max_nodes or budget.stop[0]:
            return LIMIT
        t = path.at[0]
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
        elif locate(source, loop, path, pieces, lp, proving, book):
            size = _branch(source, loop, path, pieces, most_splits, rooms, size, lp, proving, book)
    fits = book.used[0] <= len(book.codes) and book.used[1] <= len(book.refs) and book.used[2] <= len(book.numbers)
    return DONE if fits else FULL


@njit(**OPTIONS)
def _scratch(d: int, width: int, counts: Any) -> Scratch:
    return Scratch(
        np.empty(d),
        np.empty(d + 1, np.int64),
        np.empty(d + 1),
        np.empty(d),
        np.empty((2 * d + 2, max(d, width))),
        np.full(d, -1.0),
        np.full(d, 1.0),
        counts,
    )


@njit(**OPTIONS)
def _roots(source: Source, loop: Loop, target: Target, lp: Scratch, proving: bool, book: Book) -> Any:
    """Bounds over the whole source: of everything watched at every step, and of the target's rows at the end."""
    n_steps = len(loop.powers) - 1
    watch_roots = np.empty((n_steps + 1, len(loop.watched)))
    target_roots = np.empty(len(target.rows))
    for t in range(1, n_steps + 1):
        for i in range(len(loop.watched)):
            watch_roots[t, i] = root(loop.powers[t, loop.watched[i]], source, lp, proving, book)
    for j in range(len(target.rows)):
        target_roots[j] = root(loop.powers[n_steps, target.rows[j]], source, lp, proving, book)
    return watch_roots, target_roots


@njit(**OPTIONS)
def _rooms(source: Source, loop: Loop, n_splits: int) -> Rooms:
    """Room for the paths that wait, the whole source being the first of them, and for the leaves of a node."""
    d, n_leaves = len(loop.matrix), len(loop.leaf_action)
    capacity = n_splits * n_leaves + 1
    room = source.rows.shape[1] - source.n_rows
    stack = Stack(
        np.zeros((capacity, 4), np.int64),
        np.zeros((capacity, d)),
        np.zeros((capacity, len(loop.powers), d)),
        np.zeros((capacity, room, d + 3)),
    )
    return Rooms(stack, Leaves(np.zeros(n_leaves, np.int64), np.zeros((n_leaves, room, d + 3))))


@njit(**OPTIONS)
def _pop(stack: Stack, place: int, source: Source, path: Path) -> None:
    """Make the path at a place of the stack the present one, its guards the rows of the source."""
    for i in range(len(path.at)):
        path.at[i] = stack.at[place, i]
    for k in range(len(path.offset)):
        path.offset[k] = stack.offset[place, k]
        for i in range(path.at[0]):
            path.radii[i, k] = stack.radii[place, i, k]
    for i in range(path.at[1]):
        put_row(source, source.n_rows + i, stack.guards[place, i])


@njit(**OPTIONS)
def _branch(
    source: Source,
    loop: Loop,
    path: Path,
    pieces: Any,
    most_splits: int,
    rooms: Rooms,
    size: int,
    lp: Scratch,
    proving: bool,
    book: Book,
) -> int:
    """Put the paths on the stack that go on from here, and return its size."""
    stack, leaves = rooms
    agree = _find_leaves(source, loop, path, leaves, lp, proving, book)
    n_leaves = len(leaves.n_rows)
    merged = path.at[3] >= most_splits
    if not agree and proving:
        write(book, MERGED if merged else SPLIT)
    if agree or merged:
        stack.at[size, 1] = path.at[1]
        stack.at[size, 2] = path.at[2]
        stack.at[size, 3] = path.at[3]
        for i in range(path.at[1]):
            take_row(source, source.n_rows + i, stack.guards[size, i])
        return _push(loop, path, leaves, 0, n_leaves, pieces, stack, size)
    for leaf in range(n_leaves - 1, -1, -1):  # the last one first: the stack turns the order round
        if leaves.n_rows[leaf] < 0:
            continue
        stack.at[size, 1] = leaves.n_rows[leaf]
        stack.at[size, 2] = path.at[2] + loop.leaf_start[leaf + 1] - loop.leaf_start[leaf]
        stack.at[size, 3] = path.at[3] + 1
        for i in range(leaves.n_rows[leaf]):
            if i < path.at[1]:
                take_row(source, source.n_rows + i, stack.guards[size, i])
            else:
                stack.guards[size, i] = leaves.guards[leaf, i]
        size = _push(loop, path, leaves, leaf, leaf + 1, pieces, stack, size)
    return size


@njit(**OPTIONS)
def _find_leaves(
    source: Source, loop: Loop, path: Path, leaves: Leaves, lp: Scratch, proving: bool, book: Book
) -> bool:
    """Find the leaves that states of a path may be in; whether they agree on the action (also if there are none)."""
    common = -1
    agree = True
    for leaf in range(len(leaves.n_rows)):
        n_rows = reach_leaf(source, loop, path, leaf, lp, proving, book)
        leaves.n_rows[leaf] = n_rows
        if n_rows < 0:
            continue
        for i in range(path.at[1], n_rows):
            take_row(source, source.n_rows + i, leaves.guards[leaf, i])
        agree = agree and (common == -1 or common == loop.leaf_action[leaf])
        common = loop.leaf_action[leaf]
    return agree


@njit(**OPTIONS)
def _push(loop: Loop, path: Path, leaves: Leaves, first: int, stop: int, pieces: Any, stack: Stack, size: int) -> int:
    """Let the path on top of the stack take one more step, with the action of any possible leaf from first to stop."""
    t = path.at[0]
    stack.at[size, 0] = t + 1
    possible = False
    for k in range(len(path.offset)):
        low, high = np.inf, -np.inf
        for leaf in range(first, stop):
            if leaves.n_rows[leaf] >= 0:
                possible = True
                for p in range(pieces[0], pieces[1] + 1):
                    low = min(low, loop.residual_low[p, loop.leaf_action[leaf], k])
                    high = max(high, loop.residual_high[p, loop.leaf_action[leaf], k])
        total = 0.5 * (low + high)
        for j in range(len(path.offset)):
            total += loop.matrix[k, j] * path.offset[j]
        stack.offset[size, k] = total
        for i in range(t):
            stack.radii[size, i, k] = path.radii[i, k]
        stack.radii[size, t, k] = 0.5 * (high - low)
    return size + 1 if possible else size
