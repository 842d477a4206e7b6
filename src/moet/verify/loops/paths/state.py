"""What the compiled search of :mod:`moet.verify.loops.paths.kernel` works on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.verify.loops.paths.tables import FINE, Policy, Tables

# Integers of NumPy are no literals to numba, which would compile a function anew for every literal it is called with.
OPEN, DEAD, BOTH, _, _, BOUND, VOID, SURE = np.arange(8)
"""Kinds of records; a code is its kind plus eight times the number of its multipliers."""

START, EVERYONE = np.array([-2, -1])
"""In place of the expert of a piece: all first states; what several experts agree on. The piece that misses condition
i of the goal has START − 1 − i there."""

EXHAUSTED, PAUSED, ASKING = range(3)
"""Why the search returned: nothing is left, its budget is spent, or a condition may be violated."""

STACK, CODES, REFS, RESOLVED, SILENT, COARSE, CONDITION, PIECES, PROGRAMS, PATHS, NOW, DEEPEST, PER_STEP = range(13)
N_OUT = 13
"""Places in ``Search.counts``: lengths of the stack and of the records; orders of the caller (the piece on top of the
stack has been decided; write no records; which pieces to merge); the condition in question; what has been done so
far; the time of the frame at hand, and the last frame that was expanded; how many names of rows a time has; and how
many nodes of the tree at hand are ``out``, or a negative number if one of them takes more than its last test."""

MET, NOBODY = 1, 2
"""What the caller says in ``counts[RESOLVED]``: all conditions are met (at the last step, the goal too); or the piece
is empty."""

TIME, N_ROWS, N_POINTS, N_PIECES, EXPERT, TAKEN, USED, CODES_FROM, CODES_TO, REFS_FROM, REFS_TO = range(11)
"""Columns of ``Search.frames``. EXPERT and TAKEN, and ``Search.tests``, say which piece of the frame before it it is;
USED, whether a proof rests on what its pieces are; the last four, where the records of its expansion are, from -1 if
they stay as they are."""

OBJECTIVE, X, LOW, HIGH = range(4)
"""Rows of ``Search.vectors``."""

WAYS = 3
"""Proofs of one objective that are remembered."""

SHORT = (3, 8, 16)
"""Binary digits of multipliers that are tried, from short to long."""

SHORT_UNITS = 2.0**24
"""The checker takes multiples of one over this as they are, which keeps its integers short."""

MOST_NAMED = 31
"""References of one record."""

MOST_DOUBTFUL = MOST_NAMED
"""Conditions that a record may name which hold from a frame on only of the first states that are left."""

MOST_POINTS = 8
"""Known points that a frame can keep."""


class Search(NamedTuple):
    """Everything the search remembers between two slices of its work; all arrays are changed in place."""

    # rows of the frame at hand, scaled to a span of 1, and what the certificate calls them
    rows: NDArray[np.float64]
    limits: NDArray[np.float64]
    scales: NDArray[np.float64]
    names: NDArray[np.int64]
    # by name, where a row was last; by name of an objective, multipliers that proved a bound, what the box adds to
    # them, and which to forget next
    place: NDArray[np.int64]
    proof_rows: NDArray[np.int64]
    proof_numbers: NDArray[np.float64]
    proof_rest: NDArray[np.float64]
    proof_next: NDArray[np.int64]
    # frames, by depth: numbers of things (see above); tests as in Policy; the constant part of the state, then of the
    # logits; known points
    frames: NDArray[np.int64]
    tests: NDArray[np.float64]
    constants: NDArray[np.float64]
    points: NDArray[np.float64]
    # pieces to visit: (frame, expert, action), and their tests
    stack: NDArray[np.int64]
    stack_tests: NDArray[np.float64]
    # of the frame that is being expanded: pieces (expert, node, action) and their tests, of every frame the actions of
    # its pieces if all actions are among them, each once; the way down a tree (node,
    # visits, number of rows, first piece); where the points are (expert, node)
    pieces: NDArray[np.int64]
    order: NDArray[np.int64]
    # by frame and action, the first leaf that is left (the number of nodes if none is), the tests of the piece, and
    # which of its rows proofs rest on: of a test (2·state, and one more if it is from below), at last of the gate
    firsts: NDArray[np.int64]
    bounds: NDArray[np.float64]
    used: NDArray[np.bool_]
    piece_tests: NDArray[np.float64]
    walk: NDArray[np.int64]
    places: NDArray[np.int64]
    # by time and expert, the rival that was last ahead of it the most; what is known of every expert in the frame at
    # hand; names of those who are not in that frame by a row of theirs alone
    rival: NDArray[np.int64]
    possible: NDArray[np.int64]
    out: NDArray[np.int64]
    # linear programs: (objective, x, low, high); multipliers, rounded and not
    vectors: NDArray[np.float64]
    basis: NDArray[np.int64]
    dual: NDArray[np.float64]
    exact: NDArray[np.float64]
    work: NDArray[np.float64]
    # records of the certificate
    codes: NDArray[np.uint8]
    refs: NDArray[np.int32]
    numbers: NDArray[np.float64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, policy: Policy, tables: Tables, middle: NDArray[np.float64], coarse: int = FINE) -> Search:
        """Prepare a search; ``middle`` is that of the box of first states."""
        n_times, _, d = tables.rows.shape
        n_nodes, n_frames = len(policy.nodes), n_times * (2 if tables.n_goals else 1) + 1
        n_rows = n_times * (tables.n_experts + 2 * d + tables.n_goals) + policy.depth
        n_names = n_times * (tables.n_experts**2 + 2 * d + tables.n_goals)
        n_objectives = n_names + n_times * tables.n_needs
        n_stacked = n_frames * (n_nodes + tables.n_goals + 1)
        n_codes = 4 * most_records(policy, tables) + 2048
        n_actions = len(policy.actions)
        vectors = np.zeros((4, d))
        vectors[LOW], vectors[HIGH] = -1.0, 1.0
        search = cls(
            rows=np.zeros((d, n_rows)),
            limits=np.zeros(n_rows),
            scales=np.ones(n_rows),
            names=np.zeros(n_rows, np.int64),
            place=np.zeros(n_names, np.int64),
            proof_rows=np.zeros((n_objectives, WAYS, d + 1), np.int64),
            proof_numbers=np.zeros((n_objectives, WAYS, d + 1)),
            proof_rest=np.full((n_objectives, WAYS), np.inf),
            proof_next=np.zeros(n_objectives, np.int64),
            frames=np.zeros((n_frames, 11), np.int64),
            tests=np.full((n_frames, d, 2), np.inf),
            constants=np.zeros((n_frames, d + tables.n_experts)),
            points=np.zeros((n_frames, MOST_POINTS, d)),
            stack=np.zeros((n_stacked, 3), np.int64),
            stack_tests=np.empty((n_stacked, d, 2)),
            pieces=np.zeros((n_nodes, 3), np.int64),
            order=np.full((n_frames, n_actions), -1),
            firsts=np.zeros((n_frames, policy.first_leaf.shape[1]), np.int64),
            bounds=np.empty((n_frames, *policy.loosest.shape[1:])),
            used=np.zeros((n_frames, policy.first_leaf.shape[1], 2 * d + 1), np.bool_),
            piece_tests=np.empty((n_nodes, d, 2)),
            walk=np.zeros((policy.depth + 1, 4), np.int64),
            places=np.zeros((MOST_POINTS, 2), np.int64),
            rival=np.zeros((n_times, tables.n_experts), np.int64),
            possible=np.zeros(tables.n_experts, np.int64),
            out=np.zeros(tables.n_experts + n_nodes, np.int64),
            vectors=vectors,
            basis=np.zeros(d + 1, np.int64),
            dual=np.zeros(d + 1),
            exact=np.zeros(d + 1),
            work=np.zeros((2 * d + 2, max(d, n_rows))),
            codes=np.zeros(n_codes, np.uint8),
            refs=np.zeros(n_codes * (d + 2), np.int32),
            numbers=np.zeros(n_codes * (d + 2)),
            counts=np.zeros(14, np.int64),
        )
        search.constants[0, :d] = middle
        search.stack[0] = 0, START, -1
        search.counts[STACK], search.counts[COARSE], search.counts[PER_STEP] = 1, coarse, n_names // n_times
        return search


def most_records(policy: Policy, tables: Tables) -> int:
    """Records that one piece can need."""
    return tables.n_needs + tables.n_experts + len(policy.nodes) + tables.n_goals + MOST_DOUBTFUL + 1
