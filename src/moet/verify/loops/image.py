"""Where a closed loop leads from a polytope in a few steps: the compiled search over the paths it may take.

The state after t steps of one path is matrixᵗ·x + c, give or take a spread, for the first states x from which the path
can be taken. Those x form a polytope: the source cut by the guards of the path, each loosened by the spread at its
step. A depth-first search enumerates the paths; linear programs over their polytopes decide which branches are
possible, bound what is watched at every step, and bound the template rows of the target at the end.

A target is a family of polytopes, one per interval of a linear function (the slice): a final state must lie in the
polytope of the interval it falls into. The same code runs in two modes. Growing raises the limits of the target and of
what is watched until they hold. Proving leaves them as they are and writes down why they hold: multipliers, in the
order in which :mod:`moet.verify.checker.check_invariant` walks through the same tree.

Polytopes are stored in coordinates in which the box of the source is [−1, 1]ᵈ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import OPTIONS
from moet.verify.loops.image_rows import (
    Book,
    Scratch,
    Source,
    put_row,
    set_row,
    take_row,
    upper_bound,
    write,
    write_proof,
    write_ref,
)
from moet.verify.simplex import EMPTY

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DONE, LIMIT, FULL, FAILED = range(4)
"""How a search ends: complete, out of nodes, out of room for the proof, or with something that does not hold."""

KNOWN = 0
"""Code of a claim that holds for the whole source or by definition; a code n > 0 is a proof of n multipliers."""
EMPTY_HERE = 64
"""Code, plus the number of multipliers, of a proof that no state gets here."""
POSSIBLE = 128
"""Code of a leaf or a cell of the target that states may reach."""


class Loop(NamedTuple):
    """Dynamics and policy.

    Everything linear is a row of ``directions``; ``powers[t]`` holds those rows times matrixᵗ. A step with action a
    from a state in piece p (an interval of the variable ``piece_sides``, between two of ``edges``) leads to matrix·x
    plus something from ``residual_low[p, a]`` to ``residual_high[p, a]``. A leaf is taken only where all its guards
    hold: directions[guard]·x <= guard_limit.
    """

    directions: Floats
    powers: Floats
    matrix: Floats
    piece_sides: Ints
    edges: Floats
    residual_low: Floats
    residual_high: Floats
    watched: Ints
    leaf_start: Ints
    guards: Ints
    guard_limits: Floats
    leaf_action: Ints


class Target(NamedTuple):
    """Template rows, and the intervals of the slice (``slice_sides``: it and its negative) that make the cells."""

    rows: Ints
    slice_sides: Ints
    low: Floats
    high: Floats


class _Path(NamedTuple):
    """The path that is being looked at: its step and number of guards (rows and names), its offset, its spread."""

    at: Ints
    offset: Floats
    radii: Floats


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
            watch_roots[t, i] = _root(loop.powers[t, loop.watched[i]], source, lp, proving, book)
    for j in range(len(target.rows)):
        target_roots[j] = _root(loop.powers[n_steps, target.rows[j]], source, lp, proving, book)

    capacity = n_steps * n_leaves + 1
    stack_at = np.zeros((capacity, 3), np.int64)
    stack_offset = np.zeros((capacity, d))
    stack_radii = np.zeros((capacity, n_steps + 1, d))
    stack_guards = np.zeros((capacity, room, d + 3))
    leaf_guards = np.zeros((n_leaves, room, d + 3))
    leaf_rows = np.zeros(n_leaves, np.int64)
    pieces = np.zeros(2, np.int64)
    path = _Path(np.zeros(3, np.int64), np.zeros(d), np.zeros((n_steps + 1, d)))
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
        if counts[0] > max_nodes:
            return LIMIT

        if t > 0:
            status = _watch(source, loop, path, watch_roots[t], watch_limits, lp, proving, book)
            if status == FAILED:
                return FAILED
            if status == EMPTY:
                continue
        if t == n_steps:
            counts[1] += 1
            for cell in range(len(target.low)):
                if not _arrive(source, loop, target, path, cell, target_roots, target_limits[cell], lp, proving, book):
                    return FAILED
            continue
        if not _locate(source, loop, path, pieces, lp, proving, book):
            continue

        common = -1  # the action of all possible leaves; -2 if they differ
        for leaf in range(n_leaves):
            leaf_rows[leaf] = _reach_leaf(source, loop, path, leaf, lp, proving, book)
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
def _root(direction: Any, source: Source, lp: Scratch, proving: bool, book: Book) -> float:
    """Bound of a direction over the whole source."""
    status, bound, weight = upper_bound(direction, 1.0, source, source.n_rows, -np.inf, lp)
    if status == EMPTY:  # nothing was claimed about it, so nothing is known
        bound = np.inf
    if proving:
        write_proof(book, 0, source, lp, weight if bound < np.inf else 0.0, -1)
    return bound


@njit(**OPTIONS)
def _watch(
    source: Source, loop: Loop, path: _Path, roots: Any, limits: Any, lp: Scratch, proving: bool, book: Book
) -> int:
    """See that everything watched is within its limits: DONE, FAILED, or EMPTY if no state takes this path."""
    t = path.at[0]
    for i in range(len(loop.watched)):
        q = loop.watched[i]
        shift = _centre(loop, path, q) + _spread(loop, path, q)
        if roots[i] + shift <= limits[i]:
            if proving:
                write(book, KNOWN)
            continue
        n_rows = source.n_rows + path.at[1]
        status, bound, weight = upper_bound(loop.powers[t, q], 1.0, source, n_rows, limits[i] - shift, lp)
        if status == EMPTY:
            if proving:
                write_proof(book, EMPTY_HERE, source, lp, 1.0, -1)
            return EMPTY
        if bound + shift <= limits[i]:
            if proving:
                write_proof(book, 0, source, lp, weight, -1)
        elif proving or not bound + shift < np.inf:
            return FAILED
        else:
            limits[i] = bound + shift
    return DONE


@njit(**OPTIONS)
def _arrive(
    source: Source,
    loop: Loop,
    target: Target,
    path: _Path,
    cell: int,
    roots: Any,
    limits: Any,
    lp: Scratch,
    proving: bool,
    book: Book,
) -> bool:
    """See that states that end in a cell of the target are in its polytope; False if that fails."""
    t = path.at[0]
    n_rows = source.n_rows + path.at[1]
    for side in range(2):
        edge = target.high[cell] if side == 0 else -target.low[cell]
        if edge < np.inf:
            q = target.slice_sides[side]
            limit = edge - _centre(loop, path, q) + _spread(loop, path, q)
            set_row(source, n_rows, loop.powers[t, q], limit, path.at[2] + side)
            n_rows += 1
    opened = False
    for j in range(len(target.rows)):
        q = target.rows[j]
        shift = _centre(loop, path, q) + _spread(loop, path, q)
        known = roots[j] + shift
        if q == target.slice_sides[0]:
            known = min(known, target.high[cell])
        elif q == target.slice_sides[1]:
            known = min(known, -target.low[cell])
        if opened and known <= limits[j]:
            if proving:
                write(book, KNOWN)
            continue
        status, bound, weight = upper_bound(
            loop.powers[t, q], 1.0, source, n_rows, limits[j] - shift if opened else -np.inf, lp
        )
        if status == EMPTY:
            if proving:
                write_proof(book, EMPTY_HERE, source, lp, 1.0, -1)
            return True
        if proving and not opened:
            write(book, POSSIBLE)
        opened = True
        if known <= limits[j]:
            if proving:
                write(book, KNOWN)
        elif bound + shift <= limits[j]:
            if proving:
                write_proof(book, 0, source, lp, weight, -1)
        elif proving or not bound + shift < np.inf:
            return False
        else:
            limits[j] = min(bound + shift, known)
    return True


@njit(**OPTIONS)
def _locate(source: Source, loop: Loop, path: _Path, pieces: Any, lp: Scratch, proving: bool, book: Book) -> bool:
    """Find the first and the last piece that states may be in; False if no state takes this path."""
    last = len(loop.edges) - 2
    pieces[0], pieces[1] = 0, last
    if last == 0:
        return True
    for side in range(2):
        q = loop.piece_sides[side]
        n_rows = source.n_rows + path.at[1]
        status, bound, weight = upper_bound(loop.powers[path.at[0], q], 1.0, source, n_rows, -np.inf, lp)
        if status == EMPTY:
            if proving:
                write_proof(book, EMPTY_HERE, source, lp, 1.0, -1)
            return False
        extent = bound + _centre(loop, path, q) + _spread(loop, path, q)
        if side == 0:
            while pieces[1] > 0 and loop.edges[pieces[1]] >= extent:
                pieces[1] -= 1
        else:
            while pieces[0] < pieces[1] and -loop.edges[pieces[0] + 1] >= extent:
                pieces[0] += 1
        if proving:
            write_proof(book, 0, source, lp, weight, -1)
            write_ref(book, pieces[1] if side == 0 else pieces[0])
    return True


@njit(**OPTIONS)
def _reach_leaf(source: Source, loop: Loop, path: _Path, leaf: int, lp: Scratch, proving: bool, book: Book) -> int:
    """Cut the source by the guards of a leaf: the number of guards of the path then, or −1 if nothing is left."""
    t = path.at[0]
    n_rows = source.n_rows + path.at[1]
    first = loop.leaf_start[leaf]
    for g in range(first, loop.leaf_start[leaf + 1]):
        q = loop.guards[g]
        name = path.at[2] + g - first
        limit = loop.guard_limits[g] - _centre(loop, path, q) + _spread(loop, path, q)
        status, bound, weight = upper_bound(loop.powers[t, q], -1.0, source, n_rows, -limit, lp)
        if status == EMPTY or bound < -limit:
            if proving:
                if status == EMPTY:
                    write_proof(book, EMPTY_HERE, source, lp, 1.0, -1)
                else:
                    write_proof(book, EMPTY_HERE, source, lp, weight, name)
            return -1
        status, bound, weight = upper_bound(loop.powers[t, q], 1.0, source, n_rows, limit, lp)
        if not bound <= limit:
            set_row(source, n_rows, loop.powers[t, q], limit, name)
            n_rows += 1
    if proving:
        write(book, POSSIBLE)
    return n_rows - source.n_rows


@njit(**OPTIONS)
def _step(loop: Loop, path: _Path, action: int, pieces: Any, offset: Any, radii: Any) -> None:
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


@njit(**OPTIONS)
def _centre(loop: Loop, path: _Path, q: int) -> float:
    """Direction q of the path's offset."""
    total = 0.0
    for k in range(len(path.offset)):
        total += loop.directions[q, k] * path.offset[k]
    return total


@njit(**OPTIONS)
def _spread(loop: Loop, path: _Path, q: int) -> float:
    """How far direction q may be from where the offset says."""
    total = 0.0
    for i in range(path.at[0]):
        for k in range(len(path.offset)):
            total += abs(loop.powers[path.at[0] - 1 - i, q, k]) * path.radii[i, k]
    return total
