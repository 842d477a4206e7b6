"""Rows and linear programs of the compiled search, and the records of what they prove."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from moet.jit import INLINED
from moet.verify.loops.paths.state import (
    CODES,
    DEAD,
    HIGH,
    LOW,
    MOST_NAMED,
    N_OUT,
    NOW,
    OBJECTIVE,
    OPEN,
    PER_STEP,
    PROGRAMS,
    REFS,
    SHORT,
    SHORT_UNITS,
    SILENT,
    TAKEN,
    TIME,
    USED,
    VOID,
    WAYS,
    X,
)
from moet.verify.simplex import BELOW, EMPTY, Room, maximise


@njit(**INLINED)
def constant_part(tables: Any, s: Any, frame: int, i: int) -> float:
    """Constant part of linear function i in a frame."""
    total = tables.constants[i]
    for k in range(tables.matrix.shape[0]):
        total += tables.coefficients[i, k] * s.constants[frame, k]
    return total


@njit(**INLINED)
def aim(tables: Any, s: Any, time: int, i: int, sign: float) -> None:
    """Make linear function i, or its negative, the objective."""
    for k in range(tables.matrix.shape[0]):
        s.vectors[OBJECTIVE, k] = sign * tables.rows[time, i, k]


@njit(**INLINED)
def _row_name(tables: Any, time: int, which: int) -> int:
    """What the certificate calls a row of some time; rows of one name differ in their limits only."""
    return time * (tables.n_experts**2 + 2 * tables.matrix.shape[0] + tables.n_goals) + which


@njit(**INLINED)
def rival_name(tables: Any, time: int, e: int, j: int) -> int:
    """Name of the row that says that expert e, not j, is chosen."""
    return _row_name(tables, time, tables.n_experts * e + j)


@njit(**INLINED)
def test_name(tables: Any, time: int, k: int, side: float) -> int:
    """Name of a test of state k: x_k <= threshold (side 1), or x_k > threshold (side -1)."""
    return _row_name(tables, time, tables.n_experts**2 + 2 * k + (0 if side > 0.0 else 1))


@njit(**INLINED)
def goal_name(tables: Any, time: int, i: int) -> int:
    """Name of condition i of the goal, missed."""
    return _row_name(tables, time, tables.n_experts**2 + 2 * tables.matrix.shape[0] + i)


@njit(**INLINED)
def add_gate(tables: Any, s: Any, frame: int, e: int, skipped: int, n: int) -> int:
    """Add rows "expert e is possible" for all rivals but one, except those that hold in the whole box."""
    time = s.frames[frame, TIME]
    d = tables.matrix.shape[0]
    for j in range(tables.n_experts):
        limit = s.constants[frame, d + e] - s.constants[frame, d + j] + tables.pair_slack[time, e, j]
        if j == e or j == skipped or limit >= tables.pair_span[time, e, j]:
            continue
        for k in range(d):
            s.vectors[OBJECTIVE, k] = tables.rows[time, j, k] - tables.rows[time, e, k]
        n = add_row(s, n, tables.pair_span[time, e, j], limit, rival_name(tables, time, e, j))
    return n


@njit(**INLINED)
def add_test(tables: Any, s: Any, frame: int, k: int, side: float, threshold: float, n: int) -> int:
    """Add the row x_k <= threshold (side 1), or x_k > threshold (side -1), unless it holds in the whole box."""
    time = s.frames[frame, TIME]
    row = tables.n_experts + k
    limit = tables.limit[time, row] - side * (s.constants[frame, k] - threshold)
    if limit >= tables.span[time, row]:
        return n
    aim(tables, s, time, row, side)
    return add_row(s, n, tables.span[time, row], limit, test_name(tables, time, k, side))


@njit(**INLINED)
def add_row(s: Any, n: int, span: float, limit: float, name: int) -> int:
    """Append the row objective·y <= limit."""
    scale = span if span > 0.0 else 1.0
    for k in range(s.vectors.shape[1]):
        s.rows[k, n] = s.vectors[OBJECTIVE, k] / scale
    s.limits[n] = limit / scale
    s.scales[n] = scale
    s.names[n] = name
    s.place[name] = n
    return n + 1


@njit(**INLINED)
def solve(s: Any, name: int, n: int, span: float, enough: float) -> Any:
    """Maximise the objective over the first ``n`` rows; return the status and the scale of the multipliers.

    ``name`` is that of the objective, with which proofs are remembered.
    """
    scale = span if span > 0.0 else 1.0
    vectors = s.vectors
    if _known(s, name, n, enough / scale):
        return BELOW, scale
    for k in range(vectors.shape[1]):
        vectors[OBJECTIVE, k] /= scale
    s.counts[PROGRAMS] += 1
    room = Room(s.basis, s.dual, vectors[X], s.work)
    status, _ = maximise(vectors[OBJECTIVE], s.rows, s.limits, n, vectors[LOW], vectors[HIGH], enough / scale, room)
    if status == BELOW:
        _round(s, scale, 1.0, enough / scale)
        _keep(s, name)
    elif status == EMPTY:
        _round(s, 1.0, 0.0, 0.0)
    return status, 1.0 if status == EMPTY else scale


@njit(**INLINED)
def _round(s: Any, scale: float, aimed: float, enough: float) -> None:
    """Shorten the multipliers that a certificate will hold as far as they still prove their bound.

    That is: multipliers times the rows' limits, and what of the objective (if it was ``aimed`` at) the rows leave to
    the box, are below ``enough``.
    """
    width = len(s.basis)
    most = 0.0
    for i in range(width):
        s.exact[i] = s.dual[i]
        if s.basis[i] >= 0:
            most = max(most, s.dual[i] * scale / s.scales[s.basis[i]])
    if not 0.0 < most < np.inf:
        return
    for digits in SHORT:
        unit = 2.0 ** (np.floor(np.log2(most)) - digits)
        for i in range(width):
            if s.basis[i] >= 0:
                factor = scale / s.scales[s.basis[i]]
                s.dual[i] = np.rint(max(0.0, s.exact[i]) * factor / unit) * unit / factor
        if _bound(s, aimed) < enough:
            return
    for i in range(width):
        s.dual[i] = s.exact[i]


@njit(**INLINED)
def _bound(s: Any, aimed: float) -> float:
    """What the multipliers prove the objective, or 0, to be at most."""
    bound = 0.0
    for i in range(len(s.basis)):
        if s.basis[i] >= 0 and s.dual[i] > 0.0:
            bound += s.dual[i] * s.limits[s.basis[i]]
    return bound + _rest(s, aimed)


@njit(**INLINED)
def _known(s: Any, name: int, n: int, enough: float) -> bool:
    """Whether a proof of another frame holds here: rows of the same names have the same multipliers, other limits."""
    width = len(s.basis)
    for way in range(WAYS):
        bound = s.proof_rest[name, way]
        for i in range(width):
            row = s.proof_rows[name, way, i]
            if row < 0:
                break
            place = s.place[row]
            if place >= n or s.names[place] != row:
                bound = np.inf
                break
            bound += s.proof_numbers[name, way, i] * s.limits[place]
        if bound < enough:
            for i in range(width):
                row = s.proof_rows[name, way, i]
                s.basis[i] = s.place[row] if row >= 0 else -1
                s.dual[i] = s.proof_numbers[name, way, i]
            return True
    return False


@njit(**INLINED)
def _keep(s: Any, name: int) -> None:
    """Remember the proof that the last linear program found."""
    way = s.proof_next[name]
    s.proof_next[name] = (way + 1) % WAYS
    width = len(s.basis)
    used = 0
    for i in range(width):
        s.proof_rows[name, way, i] = -1
        if s.basis[i] >= 0 and s.dual[i] > 0.0:
            s.proof_rows[name, way, used] = s.names[s.basis[i]]
            s.proof_numbers[name, way, used] = s.dual[i]
            used += 1
    s.proof_rest[name, way] = _rest(s, 1.0)


@njit(**INLINED)
def _rest(s: Any, aimed: float) -> float:
    """Most that is left of the objective in the box, once the multipliers' rows are taken off."""
    rest = 0.0
    for k in range(s.vectors.shape[1]):
        left = aimed * s.vectors[OBJECTIVE, k]
        for i in range(len(s.basis)):
            if s.basis[i] >= 0 and s.dual[i] > 0.0:
                left -= s.dual[i] * s.rows[k, s.basis[i]]
        rest += abs(left)
    return rest


@njit(**INLINED)
def _short(number: float) -> float:
    """A multiplier that was rounded to a short number, without what scaling it there and back has changed."""
    near = np.rint(number * SHORT_UNITS) / SHORT_UNITS
    return near if abs(near - number) <= 1e-15 * number else number


@njit(**INLINED)
def record(s: Any, kind: int, guard: int, status: int, scale: float) -> None:
    """Write a record: its kind, the guard it rules out (multiplier 1), and the rows that prove it."""
    if s.counts[SILENT] == 0:
        guarded = guard >= 0 and status != EMPTY
        if guarded:
            s.refs[s.counts[REFS]], s.numbers[s.counts[REFS]] = guard, 1.0
        _prove(s, kind, 1 if guarded else 0, status, scale)


@njit(**INLINED)
def rule_out_together(s: Any, name: int, status: int, scale: float) -> None:
    """Write that nobody with a name is there, by rows that exclude one another, or that of the name."""
    if s.counts[SILENT] == 0:
        s.refs[s.counts[REFS]], s.numbers[s.counts[REFS]] = name, 0.0 if status == EMPTY else 1.0
        _prove(s, DEAD, 1, status, scale)


@njit(**INLINED)
def rule_out_alone(s: Any, name: int) -> None:
    """Note that nobody with a name is there, by its row alone; such names are written together."""
    s.out[s.counts[N_OUT]] = name
    s.counts[N_OUT] += 1


@njit(**INLINED)
def write_names(s: Any) -> None:
    """Write all names that were noted, in as few records as they fit in."""
    counts = s.counts
    if counts[SILENT] != 0:
        return
    for i in range(counts[N_OUT]):
        s.refs[counts[REFS] + i], s.numbers[counts[REFS] + i] = s.out[i], 1.0
    counts[REFS] += counts[N_OUT]
    left = counts[N_OUT]
    while left > MOST_NAMED:
        s.codes[counts[CODES]] = VOID + 8 * MOST_NAMED
        counts[CODES] += 1
        left -= MOST_NAMED
    s.codes[counts[CODES]] = OPEN + 8 * left
    counts[CODES] += 1


@njit(**INLINED)
def _prove(s: Any, kind: int, written: int, status: int, scale: float) -> None:
    """Finish a record that has some references already: the rows that prove it."""
    counts = s.counts
    first = counts[REFS] + written
    at = first
    if status == BELOW or status == EMPTY:
        for i in range(len(s.basis)):
            row = s.basis[i]
            if row >= 0 and s.dual[i] > 0.0:
                s.refs[at] = s.names[row]
                s.numbers[at] = _short(s.dual[i] * scale / s.scales[row])
                at += 1
    for i in range(first, at):
        time = s.refs[i] // counts[PER_STEP]
        if time < counts[NOW]:
            s.frames[time, USED] = 1
            gate = s.used.shape[2] - 1
            row = s.refs[i] % counts[PER_STEP] - (counts[PER_STEP] - gate)
            s.used[time, s.frames[time + 1, TAKEN], row if row >= 0 else gate] = True
    s.codes[counts[CODES]] = kind + 8 * (at - counts[REFS])
    counts[REFS] = at
    counts[CODES] += 1
