"""What the records of a frame need not say, once all that follows from it has been proved. Compiled.

Proofs below a frame rest on some rows of its pieces, and on some pieces not being there. Nothing else has to be known
of who is not there: names that neither bring back a piece nor weaken a row that was used are taken out again.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from moet.jit import INLINED
from moet.verify.loops.paths.state import (
    BOTH,
    COARSE,
    CODES,
    CODES_FROM,
    CODES_TO,
    DEAD,
    N_PIECES,
    REFS,
    REFS_FROM,
    REFS_TO,
    USED,
)
from moet.verify.loops.paths.tables import ACROSS


@njit(**INLINED)
def shorten(policy: Any, s: Any, frame: int) -> None:
    """Say no more of a frame than its proofs need."""
    if s.frames[frame, CODES_FROM] < 0:
        return
    if not _free(s, frame) and s.counts[COARSE] == ACROSS:
        _take_names_out(policy, s, frame)


@njit(**INLINED)
def _free(s: Any, frame: int) -> bool:
    """Say that all actions are possible, if they are, no proof rests on how, and that is shorter."""
    order = s.order[frame]
    code, after_codes, ref, after_refs = s.frames[frame, CODES_FROM : REFS_TO + 1]
    saved = (after_codes - code) + (after_refs - ref) - (1 + len(order))
    if s.frames[frame, USED] != 0 or order[0] < 0 or saved < 0:
        return False
    s.codes[code] = BOTH + 8 * len(order)
    _close(s, frame, code + 1, ref + len(order))
    for i in range(len(order)):
        s.refs[ref + i], s.numbers[ref + i] = order[i], 1.0
    return True


@njit(**INLINED)
def _take_names_out(policy: Any, s: Any, frame: int) -> None:
    """Take out the names that no proof below a frame needs."""
    to, to_ref = s.frames[frame, CODES_FROM], s.frames[frame, REFS_FROM]
    ref = to_ref
    for code in range(to, s.frames[frame, CODES_TO]):
        kind, end, kept = s.codes[code] % 8, ref + s.codes[code] // 8, to_ref
        if kind == DEAD:
            if _needed(policy, s, frame, s.refs[ref]):
                for i in range(ref, end):
                    s.refs[kept], s.numbers[kept] = s.refs[i], s.numbers[i]
                    kept += 1
        else:
            for i in range(ref, end):
                if _needed(policy, s, frame, s.refs[i]):
                    s.refs[kept], s.numbers[kept] = s.refs[i], 1.0
                    kept += 1
        if kind != DEAD or kept > to_ref:
            s.codes[to] = kind + 8 * (kept - to_ref)
            to += 1
        ref, to_ref = end, kept
    _close(s, frame, to, to_ref)


@njit(**INLINED)
def _needed(policy: Any, s: Any, frame: int, name: int) -> bool:
    """Whether those with a name would bring back a piece, weaken a row that was used, or change the order of pieces."""
    n_experts = len(policy.roots)
    node = name - n_experts**2 if name >= n_experts**2 else policy.roots[name // n_experts]
    for a in range(policy.first_leaf.shape[1]):
        leaf = policy.first_leaf[node, a]
        if leaf == len(policy.nodes):
            continue
        first = s.firsts[frame, a]
        if first == len(policy.nodes) or (leaf < first and s.frames[frame, N_PIECES] > 1):
            return True
        used = s.used[frame, a]
        if used[-1]:
            return True
        for k in range(policy.loosest.shape[2]):
            for side in range(2):
                if used[2 * k + side] and policy.loosest[node, a, k, side] > s.bounds[frame, a, k, side]:
                    return True
    return False


@njit(**INLINED)
def _close(s: Any, frame: int, code: int, ref: int) -> None:
    """Let the records of a frame end here, and those that follow move up."""
    counts, after_codes, after_refs = s.counts, s.frames[frame, CODES_TO], s.frames[frame, REFS_TO]
    _move(s.codes, after_codes, counts[CODES], code)
    _move(s.refs, after_refs, counts[REFS], ref)
    _move(s.numbers, after_refs, counts[REFS], ref)
    counts[CODES] += code - after_codes
    counts[REFS] += ref - after_refs


@njit(**INLINED)
def _move(values: Any, first: int, end: int, to: int) -> None:
    """Move a part of an array within it."""
    if to < first:
        for i in range(end - first):
            values[to + i] = values[first + i]
    elif to > first:
        for i in range(end - first - 1, -1, -1):
            values[to + i] = values[first + i]
