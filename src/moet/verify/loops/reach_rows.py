"""Rows and linear programs of the compiled search, and the records of what they prove."""

from __future__ import annotations

from typing import Any

from numba import njit

from moet.verify.loops.reach_state import (
    CODES,
    HIGH,
    LOW,
    OBJECTIVE,
    PROGRAMS,
    REFS,
    SILENT,
    TIME,
    X,
)
from moet.verify.loops.reach_tables import DEPTH, FEATURE
from moet.verify.simplex import BELOW, BORROWING, EMPTY, maximise

INTERNAL = {**BORROWING, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Never called from Python: without the code that unpacks Python's arguments, compiling takes a third of the time."""


@njit(**INTERNAL)
def constant_part(tables: Any, s: Any, frame: int, i: int) -> float:
    """Constant part of linear function i in a frame."""
    total = tables.constants[i]
    for k in range(tables.matrix.shape[0]):
        total += tables.coefficients[i, k] * s.constants[frame, k]
    return total


@njit(**INTERNAL)
def aim(tables: Any, s: Any, time: int, i: int, sign: float) -> None:
    """Make linear function i, or its negative, the objective."""
    for k in range(tables.matrix.shape[0]):
        s.vectors[OBJECTIVE, k] = sign * tables.rows[time, i, k]


@njit(**INTERNAL)
def row_name(policy: Any, tables: Any, time: int, which: int) -> int:
    """What the certificate calls a row that is added at some time: a rival, a split or a condition of the goal."""
    return time * (tables.n_experts + policy.depth + tables.n_goals) + which


@njit(**INTERNAL)
def add_gate(policy: Any, tables: Any, s: Any, frame: int, e: int, skipped: int, n: int) -> int:
    """Add rows "expert e is possible" for all rivals but one, except those that hold in the whole box."""
    time = s.frames[frame, TIME]
    d = tables.matrix.shape[0]
    for j in range(tables.n_experts):
        limit = s.constants[frame, d + e] - s.constants[frame, d + j] + tables.pair_slack[time, e, j]
        if j == e or j == skipped or limit >= tables.pair_span[time, e, j]:
            continue
        for k in range(d):
            s.vectors[OBJECTIVE, k] = tables.rows[time, j, k] - tables.rows[time, e, k]
        n = add_row(s, n, tables.pair_span[time, e, j], limit, row_name(policy, tables, time, j))
    return n


@njit(**INTERNAL)
def add_split(policy: Any, tables: Any, s: Any, frame: int, node: int, side: float, n: int) -> int:
    """Add the row of one side of a split (1 is left, -1 right) unless it holds in the whole box."""
    time, f = s.frames[frame, TIME], policy.nodes[node, FEATURE]
    row = tables.n_experts + f
    limit = tables.limit[time, row] - side * (s.constants[frame, f] - policy.threshold[node])
    if limit >= tables.span[time, row]:
        return n
    aim(tables, s, time, row, side)
    name = row_name(policy, tables, time, tables.n_experts + policy.nodes[node, DEPTH])
    return add_row(s, n, tables.span[time, row], limit, name)


@njit(**INTERNAL)
def add_row(s: Any, n: int, span: float, limit: float, name: int) -> int:
    """Append the row objective·y <= limit."""
    scale = span if span > 0.0 else 1.0
    for k in range(s.vectors.shape[1]):
        s.rows[k, n] = s.vectors[OBJECTIVE, k] / scale
    s.limits[n] = limit / scale
    s.scales[n] = scale
    s.names[n] = name
    return n + 1


@njit(**INTERNAL)
def solve(s: Any, n: int, span: float, enough: float) -> Any:
    """Maximise the objective over the first ``n`` rows; return the status and the scale of the multipliers."""
    scale = span if span > 0.0 else 1.0
    vectors = s.vectors
    for k in range(vectors.shape[1]):
        vectors[OBJECTIVE, k] /= scale
    s.counts[PROGRAMS] += 1
    status, _ = maximise(
        vectors[OBJECTIVE],
        s.rows,
        s.limits,
        n,
        vectors[LOW],
        vectors[HIGH],
        enough / scale,
        s.basis,
        s.dual,
        vectors[X],
        s.work,
    )
    return status, 1.0 if status == EMPTY else scale


@njit(**INTERNAL)
def record(s: Any, kind: int, guard: int, status: int, scale: float) -> None:
    """Write a record: its kind, the guard it rules out (multiplier 1), and the rows that prove it."""
    counts = s.counts
    if counts[SILENT] != 0:
        return
    first = counts[REFS]
    at = first
    if guard >= 0 and status != EMPTY:
        s.refs[at] = guard
        s.numbers[at] = 1.0
        at += 1
    if status == BELOW or status == EMPTY:
        for i in range(len(s.basis)):
            row = s.basis[i]
            if row >= 0 and s.dual[i] > 0.0:
                s.refs[at] = s.names[row]
                s.numbers[at] = s.dual[i] * scale / s.scales[row]
                at += 1
    s.codes[counts[CODES]] = kind + 8 * (at - first)
    counts[REFS] = at
    counts[CODES] += 1
