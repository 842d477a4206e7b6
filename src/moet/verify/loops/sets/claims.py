"""What is claimed of one path of a closed loop: bounds over the first states from which it can be taken.

Each is found by a linear program or, when proving, confirmed by one whose multipliers are written down, in the order in
which :mod:`moet.verify.checker.loops.sets.walk` reads them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import OPTIONS
from moet.verify.loops.sets.rows import (
    Book,
    Scratch,
    Source,
    set_row,
    upper_bound,
    write,
    write_proof,
    write_ref,
)
from moet.verify.simplex import EMPTY

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DONE, LIMIT, FULL, FAILED = range(4)
"""How a search ends: complete, out of nodes or time, out of room for the proof, or with what does not hold."""

KNOWN = 0
"""Code of a claim that holds for the whole source or by definition; a code n > 0 is a proof of n multipliers."""
EMPTY_HERE = 64
"""Code, plus the number of multipliers, of a proof that no state gets here."""
POSSIBLE = 128
"""Code of a leaf or a cell of the target that states may reach, and of a path that is not surely in the goal."""
ARRIVED = 192
"""Code of a path that is in the goal; the proofs of its conditions follow."""
MERGED, SPLIT = 0, 1
"""Codes of a node whose leaves differ in action: one node follows for all of them, or one for each."""


class Loop(NamedTuple):
    """Enclosures and policy.

    Everything linear is a row of ``directions``; ``powers[t]`` holds those rows times matrixᵗ. A step with action a
    from a state in piece p (an interval of the variable ``piece_sides``, between two of ``edges``) leads to matrix·x
    plus something from ``residual_low[p, a]`` to ``residual_high[p, a]``. A leaf is taken only where all its guards
    hold: directions[guard]·x <= guard_limit. A path ends in the goal, if there is one: all directions[goal]·x <=
    goal_limit.
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
    goals: Ints
    goal_limits: Floats


class Target(NamedTuple):
    """Template rows, and the intervals of the slice (``slice_sides``: it and its negative) that make the cells."""

    rows: Ints
    slice_sides: Ints
    low: Floats
    high: Floats


class Path(NamedTuple):
    """The path that is being looked at: its step, numbers of guards (rows, names) and splits; its offset and spread."""

    at: Ints
    offset: Floats
    radii: Floats


@njit(**OPTIONS)
def root(direction: Any, source: Source, lp: Scratch, proving: bool, book: Book) -> float:
    """Bound of a direction over the whole source."""
    status, bound, weight = upper_bound(direction, 1.0, source, source.n_rows, -np.inf, lp)
    if status == EMPTY:  # nothing was claimed about it, so nothing is known
        bound = np.inf
    if proving:
        write_proof(book, 0, source, lp, weight if bound < np.inf else 0.0, -1)
    return bound


@njit(**OPTIONS)
def watch(
    source: Source, loop: Loop, path: Path, roots: Any, limits: Any, lp: Scratch, proving: bool, book: Book
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
def arrived(source: Source, loop: Loop, path: Path, lp: Scratch, proving: bool, book: Book) -> bool:
    """Whether all states of a path are in the goal, or there are none."""
    before = book.used.copy()
    if proving:
        write(book, ARRIVED)
    for i in range(len(loop.goals)):
        q = loop.goals[i]
        limit = loop.goal_limits[i] - _centre(loop, path, q) - _spread(loop, path, q)
        n_rows = source.n_rows + path.at[1]
        status, bound, weight = upper_bound(loop.powers[path.at[0], q], 1.0, source, n_rows, limit, lp)
        if status != EMPTY and bound <= limit:
            if proving:
                write_proof(book, 0, source, lp, weight, -1)
            continue
        for k in range(3):
            book.used[k] = before[k]
        if proving:
            if status == EMPTY:
                write_proof(book, EMPTY_HERE, source, lp, 1.0, -1)
            else:
                write(book, POSSIBLE)
        return status == EMPTY
    return True


@njit(**OPTIONS)
def arrive(
    source: Source,
    loop: Loop,
    target: Target,
    path: Path,
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
def locate(source: Source, loop: Loop, path: Path, pieces: Any, lp: Scratch, proving: bool, book: Book) -> bool:
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
def reach_leaf(source: Source, loop: Loop, path: Path, leaf: int, lp: Scratch, proving: bool, book: Book) -> int:
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
def _centre(loop: Loop, path: Path, q: int) -> float:
    """Direction q of the path's offset."""
    total = 0.0
    for k in range(len(path.offset)):
        total += loop.directions[q, k] * path.offset[k]
    return total


@njit(**OPTIONS)
def _spread(loop: Loop, path: Path, q: int) -> float:
    """How far direction q may be from where the offset says."""
    total = 0.0
    for i in range(path.at[0]):
        for k in range(len(path.offset)):
            total += abs(loop.powers[path.at[0] - 1 - i, q, k]) * path.radii[i, k]
    return total
