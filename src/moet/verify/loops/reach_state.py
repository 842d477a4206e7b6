"""What the compiled search of :mod:`moet.verify.loops.reach_kernel` works on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.verify.loops.reach_tables import Policy, Tables

# Integers of NumPy are no literals to numba, which would compile a function anew for every literal it is called with.
OPEN, DEAD, BOTH, LEFT, RIGHT, BOUND, VOID = np.arange(7)
"""Kinds of records; a code is its kind plus eight times the number of its multipliers."""

START, EVERYONE = np.array([-2, -1])
"""In place of the expert of a piece: all first states; what all experts agree on. The piece that misses condition i of
the goal has START − 1 − i there."""

DONE, PAUSED, ASKING = range(3)
"""Why the search returned: nothing is left, its budget is spent, or a condition may be violated."""

STACK, CODES, REFS, RESOLVED, SILENT, CONDITION, PIECES, PROGRAMS, PATHS, MOST_ROWS = range(10)
"""Places in ``Search.counts``: lengths of the stack and of the records; orders of the caller (the piece on top of the
stack has been decided; write no records); the condition in question; and what has been done so far."""

MET, NOBODY = 1, 2
"""What the caller says in ``counts[RESOLVED]``: all conditions are met (at the last step, the goal too); or the piece
is empty."""

TIME, N_ROWS, N_POINTS, N_PIECES, EXPERT, NODE, TAKEN = range(7)
"""Columns of ``Search.frames``; the last three say which piece of the frame before it a frame is."""

OBJECTIVE, X, LOW, HIGH = range(4)
"""Rows of ``Search.vectors``."""

MOST_POINTS = 16
"""Known points that a frame can keep."""


class Search(NamedTuple):
    """Everything the search remembers between two slices of its work; all arrays are changed in place."""

    # rows of the frame at hand, scaled to a span of 1, and what the certificate calls them
    rows: NDArray[np.float64]
    limits: NDArray[np.float64]
    scales: NDArray[np.float64]
    names: NDArray[np.int32]
    # frames, by depth: numbers of things (see above); the constant part of the state, then of the logits; known points
    frames: NDArray[np.int64]
    constants: NDArray[np.float64]
    points: NDArray[np.float64]
    # pieces to visit: (frame, expert, node, action)
    stack: NDArray[np.int64]
    # of the frame that is being expanded: pieces (expert, node, action); the way down a tree (node, visits, number of
    # rows, first piece); where the points are (expert, node)
    pieces: NDArray[np.int64]
    walk: NDArray[np.int64]
    places: NDArray[np.int64]
    # linear programs: (objective, x, low, high)
    vectors: NDArray[np.float64]
    basis: NDArray[np.int64]
    dual: NDArray[np.float64]
    work: NDArray[np.float64]
    # records of the certificate
    codes: NDArray[np.uint8]
    refs: NDArray[np.int32]
    numbers: NDArray[np.float64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, policy: Policy, tables: Tables, middle: NDArray[np.float64]) -> Search:
        """Prepare a search; ``middle`` is that of the box of first states."""
        n_times, _, d = tables.rows.shape
        n_nodes, n_frames = len(policy.nodes), n_times * (2 if tables.n_goals else 1) + 1
        n_rows = n_times * (tables.n_experts + policy.depth + tables.n_goals)
        n_codes = 4 * most_records(policy, tables) + 2048
        vectors = np.zeros((4, d))
        vectors[LOW], vectors[HIGH] = -1.0, 1.0
        search = cls(
            rows=np.zeros((d, n_rows)),
            limits=np.zeros(n_rows),
            scales=np.ones(n_rows),
            names=np.zeros(n_rows, np.int32),
            frames=np.zeros((n_frames, 7), np.int64),
            constants=np.zeros((n_frames, d + tables.n_experts)),
            points=np.zeros((n_frames, MOST_POINTS, d)),
            stack=np.zeros((n_frames * (n_nodes + tables.n_goals + 1), 4), np.int64),
            pieces=np.zeros((n_nodes, 3), np.int64),
            walk=np.zeros((policy.depth + 1, 4), np.int64),
            places=np.zeros((MOST_POINTS, 2), np.int64),
            vectors=vectors,
            basis=np.zeros(d + 1, np.int64),
            dual=np.zeros(d + 1),
            work=np.zeros((2 * d + 2, max(d, n_rows))),
            codes=np.zeros(n_codes, np.uint8),
            refs=np.zeros(n_codes * (d + 2), np.int32),
            numbers=np.zeros(n_codes * (d + 2)),
            counts=np.zeros(10, np.int64),
        )
        search.constants[0, :d] = middle
        search.stack[0] = 0, START, -1, -1
        search.counts[STACK] = 1
        return search


def most_records(policy: Policy, tables: Tables) -> int:
    """Records that one piece can need."""
    return tables.n_needs + tables.n_experts + len(policy.nodes) + tables.n_goals
