"""Whether the conditions that must always hold do so in a frame, or whatever is done from there on. Compiled."""

from __future__ import annotations

from typing import Any

from numba import njit

from moet.jit import INLINED
from moet.verify.loops.paths.choices import NONE, remember
from moet.verify.loops.paths.rows import aim, constant_part, record, solve
from moet.verify.loops.paths.state import (
    BOUND,
    CODES,
    CONDITION,
    MOST_DOUBTFUL,
    N_POINTS,
    N_ROWS,
    OPEN,
    REFS,
    SURE,
    TIME,
    VOID,
)
from moet.verify.loops.paths.tables import ROW_MARGIN
from moet.verify.simplex import BELOW, EMPTY, OPTIMAL


@njit(**INLINED)
def needs_no_search(tables: Any, s: Any, frame: int) -> bool:
    """Whether all conditions hold from a frame on to the end, whatever is done; then that is recorded."""
    first = tables.coefficients.shape[0] - tables.n_needs - tables.n_goals
    codes, refs, n_doubtful = s.counts[CODES], s.counts[REFS], 0
    for then in range(len(tables.rows) - 1, s.frames[frame, TIME] - 1, -1):  # what will go wrong does so late
        for i in range(tables.n_needs):
            enough = _room(tables, s, frame, then, i)
            if tables.span[then, first + i] < enough:
                continue
            if n_doubtful == MOST_DOUBTFUL or _exceeds(tables, s, frame, then, first + i, enough):
                s.counts[REFS] = refs
                return False
            s.refs[s.counts[REFS]], s.numbers[s.counts[REFS]] = then * tables.n_needs + i, 1.0
            s.counts[REFS] += 1
            n_doubtful += 1
    s.codes[codes] = SURE + 8 * n_doubtful
    s.counts[CODES] += 1
    for at in range(refs, refs + n_doubtful):
        then, i = s.refs[at] // tables.n_needs, s.refs[at] % tables.n_needs
        aim(tables, s, then, first + i, 1.0)
        span, enough = tables.span[then, first + i], _room(tables, s, frame, then, i)
        status, scale = solve(s, len(s.place) + s.refs[at], s.frames[frame, N_ROWS], span, enough)
        if status == BELOW:
            record(s, BOUND, NONE, status, scale)
            continue
        s.counts[CODES], s.counts[REFS] = codes, refs
        if status == EMPTY:
            record(s, VOID, NONE, status, scale)
            return True
        if status == OPTIMAL:
            remember(s, frame)
        return False
    return True


@njit(**INLINED)
def _room(tables: Any, s: Any, frame: int, then: int, i: int) -> float:
    """What is left to a need at a later time, whatever is done until then, for the part that depends on x_0."""
    ahead = then - s.frames[frame, TIME]
    first = tables.coefficients.shape[0] - tables.n_needs - tables.n_goals
    value = tables.worst[ahead, i]
    for k in range(tables.matrix.shape[0]):
        term = tables.later[ahead, i, k] * s.constants[frame, k]
        value += term + ROW_MARGIN * abs(term)
    return tables.limit[then, first + i] - tables.margin[first + i] - value


@njit(**INLINED)
def _exceeds(tables: Any, s: Any, frame: int, then: int, function: int, most: float) -> bool:
    """Whether the part of a function that depends on x_0 is too large at one of a frame's points."""
    for p in range(s.frames[frame, N_POINTS]):
        value = 0.0
        for k in range(tables.matrix.shape[0]):
            value += tables.rows[then, function, k] * s.points[frame, p, k]
        if value >= most:
            return True
    return False


@njit(**INLINED)
def meets_needs(tables: Any, s: Any, frame: int) -> Any:
    """Whether all conditions hold in a frame, and whether the frame was found to be empty on the way."""
    time = s.frames[frame, TIME]
    first = tables.coefficients.shape[0] - tables.n_needs - tables.n_goals
    codes, outright = s.counts[CODES], 0
    for i in range(tables.n_needs):
        constant = constant_part(tables, s, frame, first + i)
        enough = tables.limit[time, first + i] - tables.margin[first + i] - constant
        span = tables.span[time, first + i]
        if span < enough:
            record(s, BOUND, NONE, NONE, 1.0)
            outright += 1
            continue
        aim(tables, s, time, first + i, 1.0)
        status, scale = solve(s, len(s.place) + time * tables.n_needs + i, s.frames[frame, N_ROWS], span, enough)
        if status == BELOW:
            record(s, BOUND, NONE, status, scale)
        elif status == EMPTY:
            record(s, VOID, NONE, status, scale)
            return True, True
        else:
            s.counts[CONDITION] = i
            return False, False
    if outright == tables.n_needs and outright > 1:
        s.counts[CODES] = codes
        record(s, OPEN, NONE, NONE, 1.0)
    return True, False
