"""Compiled search for inputs on which two grouped models give different groups.

A *grouped* model is a hard mixture whose classes are gathered into groups. "Is the answer always one of these?",
"do two models agree?" and "is there another answer this close?" all ask whether two grouped models differ anywhere in a
box; where there is only one model, the other is a single leaf.

The walk takes every pair of experts in turn, and for each of them both trees: first the tests of model a until all
leaves below answer with one group, then those of model b. At every step the half-spaces of the two gates and the box of
the tests so far are tested for a common point, first by intervals, then by a linear program that maximises the least
slack. A branch is cut only if multipliers prove that it has no point: λ >= 0 with

    max {Σ_i λ_i row_i·x : x in the box} < Σ_i λ_i bound_i,

where the rounding errors of this very formula are bounded and added. What is too close to call is handed back to the
caller, who decides it in exact arithmetic. The order of the walk and what is skipped without a record (empty boxes and
branches whose groups agree) is fixed, so that a checker can walk the same way:

- a record ``SPLIT``, or
- a record ``CUT`` with multipliers (see :mod:`~moet.verify.inputs.records`). Reference k is the row "at least as good
  as expert k" of model a, reference n_experts_a + k that of model b.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import OPTIONS
from moet.verify.inputs.records import CUT, SPLIT
from moet.verify.simplex import BELOW, OPTIMAL, Room, maximise

Floats = NDArray[np.float64]

DONE = 0
"""The walk is over."""
PAUSED = 1
"""The budget of nodes or the room for records is used up; call again."""
CANDIDATE = 2
"""The node on top of the stack is one where the groups differ, and its hint most likely a point of it."""
UNSURE = 3
"""The node on top of the stack could be neither cut nor be given a point."""

SP, VISITED, PROGRAMS, FORCE, N_CODES, N_REFS, N_NUMBERS = range(7)
"""Entries of ``counters``. FORCE = 1 asks to split the node on top of the stack without testing it."""

MARGIN = 1e-8
"""Least slack, as a share of the range of a row over the box, from which on a point counts as found."""

_CAP = 0.25
_TINY = 1e-290
"""More than all products that underflow can lose in a sum of terms of the gate."""
_TINY_SHARE = 1e-150
"""The same for sums that are multiplied by a coordinate afterwards; as in MARGIN, in units of the range of a row."""


class Trees(NamedTuple):
    """Trees of a model as :mod:`moet.model.prediction_kernels` has them; group of all leaves below a node, or -1."""

    nodes: NDArray[np.int32]
    threshold: Floats
    only: NDArray[np.int64]


class Problem(NamedTuple):
    """What is asked.

    Attributes
    ----------
    rows : array of float, shape (n_experts_a² + n_experts_b², d + 1)
        ``rows[i, :d]``·x >= ``rows[i, d]``, rounded to float64, where one expert is at least as good as another: row
        e·n_experts + k for expert e of model a and its rival k, then the same of model b.
    sizes : array of float, same shape
        What the absolute values of the two terms whose difference an entry is add up to.
    n_experts : array of int, shape (2,)
    a, b : Trees
    far : array of float, shape (d,)
        Stands in for infinity where a number is needed.
    """

    rows: Floats
    sizes: Floats
    n_experts: NDArray[np.int64]
    a: Trees
    b: Trees
    far: Floats


class Stack(NamedTuple):
    """Nodes that wait: their places (expert a, expert b, node a, node b, whether there is a hint), boxes and points.

    ``above`` says which lower sides are strict, ``hint`` is a point.
    """

    places: NDArray[np.int32]
    lo: Floats
    hi: Floats
    above: NDArray[np.bool_]
    hint: Floats


class Records(NamedTuple):
    """Room for records."""

    codes: NDArray[np.uint8]
    refs: NDArray[np.int32]
    numbers: Floats


class _Chosen(NamedTuple):
    """Rows that hold at a node, their references, and their multipliers."""

    rows: NDArray[np.int64]
    names: NDArray[np.int32]
    factors: Floats


class _Space(NamedTuple):
    """Scratch memory of a linear program."""

    vectors: Floats
    program: Floats
    basis: NDArray[np.int64]
    scratch: Floats


@njit(**OPTIONS)
def walk(problem: Problem, stack: Stack, counters: Any, records: Records, budget: int) -> int:
    """Walk on from the node on top of the stack until something is to be decided outside."""
    d, width = problem.rows.shape[1] - 1, problem.n_experts[0] + problem.n_experts[1]
    chosen = _Chosen(np.empty(width, np.int64), np.empty(width, np.int32), np.empty(width))
    space = _Space(
        np.empty((8, d + 2 + width)),
        np.empty((d + 1, width)),
        np.empty(d + 2, np.int64),
        np.empty((2 * d + 4, max(d + 1, width))),
    )
    end = counters[VISITED] + budget
    while counters[SP] > 0:
        top = counters[SP] - 1
        place = stack.places[top]
        group_a, group_b = problem.a.only[place[2]], problem.b.only[place[3]]
        if group_a == group_b and group_a >= 0:
            counters[SP] = top
            continue
        if counters[VISITED] >= end or _are_full(records, counters, width):
            return PAUSED
        counters[VISITED] += 1
        if counters[FORCE] == 0:
            n_used = _look(problem, stack, counters, chosen, space) if place[4] == 0 else 0
            if n_used > 0:
                _record_cut(chosen, n_used, counters, records)
                counters[SP] = top
                continue
            if place[4] == 0:
                return UNSURE
            if group_a >= 0 and group_b >= 0:
                return CANDIDATE
        counters[FORCE] = 0
        records.codes[counters[N_CODES]] = SPLIT
        counters[N_CODES] += 1
        if group_a < 0:
            _split(problem.a, 2, stack, counters)
        else:
            _split(problem.b, 3, stack, counters)
    return DONE


@njit(**OPTIONS)
def _are_full(records: Records, counters: Any, width: int) -> bool:
    return (
        counters[N_CODES] == len(records.codes)
        or counters[N_REFS] + width + 1 > len(records.refs)
        or counters[N_NUMBERS] + width > len(records.numbers)
    )


@njit(**OPTIONS)
def _look(problem: Problem, stack: Stack, counters: Any, chosen: _Chosen, space: _Space) -> int:
    """Find a proof that the node on top has no point, or a point of it.

    Returns the number of rows whose multipliers are such a proof, or 0; the node's place says whether it has a hint.
    """
    top = counters[SP] - 1
    place = stack.places[top]
    n_rows = _gather(problem.n_experts, place[0], place[1], chosen)
    lone, n_rows = _by_intervals(problem, chosen, n_rows, stack.lo[top], stack.hi[top])
    if lone >= 0:
        chosen.names[0], chosen.factors[0] = lone, 1.0
        return 1
    counters[PROGRAMS] += 1
    n_used, found = _together(problem, chosen, n_rows, stack.lo[top], stack.hi[top], stack.hint[top], space)
    place[4] = found
    return n_used


@njit(**OPTIONS)
def _gather(n_experts: Any, a: int, b: int, chosen: _Chosen) -> int:
    """Choose the rows that hold where experts a and b answer; returns their number."""
    n = 0
    for k in range(n_experts[0]):
        if k != a:
            chosen.rows[n] = a * n_experts[0] + k
            chosen.names[n] = k
            n += 1
    for k in range(n_experts[1]):
        if k != b:
            chosen.rows[n] = n_experts[0] ** 2 + b * n_experts[1] + k
            chosen.names[n] = n_experts[0] + k
            n += 1
    return n


@njit(**OPTIONS)
def _by_intervals(problem: Problem, chosen: _Chosen, n_rows: int, lo: Any, hi: Any) -> Any:
    """Reference of a row that holds nowhere in the box, or -1; and the number of those that do not hold everywhere."""
    rows, sizes, names = problem.rows, problem.sizes, chosen.names
    d = len(lo)
    n_kept = 0
    for c in range(n_rows):
        i = chosen.rows[c]
        least = most = -rows[i, d]
        size = sizes[i, d]
        for k in range(d):
            w = rows[i, k]
            if w > 0.0:
                least += w * lo[k]
                most += w * hi[k]
            elif w < 0.0:
                least += w * hi[k]
                most += w * lo[k]
            if sizes[i, k] > 0.0:
                size += sizes[i, k] * max(abs(lo[k]), abs(hi[k]))
        error = _error(d) * size + _TINY
        if most < -error:
            return names[c], n_kept
        if not least > error:
            chosen.rows[n_kept] = i
            names[n_kept] = names[c]
            n_kept += 1
    return -1, n_kept


@njit(**OPTIONS)
def _error(d: int) -> float:
    """Relative error of the sums in this module, generously."""
    return (8.0 * d + 64.0) * 2.0**-53


@njit(**OPTIONS)
def _together(problem: Problem, chosen: _Chosen, n_rows: int, lo: Any, hi: Any, hint: Any, space: _Space) -> Any:
    """Maximise the least slack of the rows over the box.

    Returns
    -------
    n_used : int
        If positive, multipliers of all rows are in ``chosen`` and prove that there is no point.
    found : int
        1 if ``hint`` holds a point, up to rounding; otherwise the least slack is largest there.
    """
    rows, factors, far = problem.rows, chosen.factors, problem.far
    vectors, program, basis = space.vectors, space.program, space.basis
    d = len(lo)
    n = d + 1
    middle, radius, z, dual = vectors[0], vectors[1], vectors[2, :n], vectors[3, : n + 1]
    objective, low, high = vectors[4, :n], vectors[5, :n], vectors[6, :n]
    scale, limits = vectors[7], factors
    flat = False
    for k in range(d):
        left, right = max(lo[k], -far[k]), min(hi[k], far[k])
        flat |= left > right
        radius[k] = (right - left) / 2.0
        middle[k] = left + radius[k]
        objective[k], low[k], high[k], z[k] = 0.0, -1.0, 1.0, 0.0
    objective[d], low[d], high[d], z[d] = 1.0, -2.0, _CAP, _CAP
    for c in range(n_rows):
        i = chosen.rows[c]
        slack = -rows[i, d]
        scale[c] = 0.0
        for k in range(d):
            scale[c] += abs(rows[i, k]) * radius[k]
            slack += rows[i, k] * middle[k]
        flat |= not _TINY < scale[c] < 1.0 / _TINY  # nor a number that is none
        for k in range(d):
            program[k, c] = -rows[i, k] * radius[k] / scale[c]
        program[d, c] = 1.0
        limits[c] = slack / scale[c]
    if flat:
        _stay(lo, hi, hint)
        return 0, 0
    if n_rows > 0:
        room = Room(basis, dual, z, space.scratch)
        status, bound = maximise(objective, program, limits, n_rows, low, high, -MARGIN, room)
        if status == BELOW or (status == OPTIMAL and bound < 0.0):
            for c in range(n_rows):
                factors[c] = 0.0
            for m in range(n):
                if basis[m] >= 0:
                    factors[basis[m]] = dual[m] / scale[basis[m]]
            if _contradictory(problem, chosen, n_rows, lo, hi):
                return n_rows, 0
        if status != OPTIMAL:
            z[d] = 0.0
    # a step towards the middle leaves the sides of the box and keeps half of the slack
    found = z[d] > MARGIN
    stay = 1.0 - z[d] / (2.0 * (1.0 + z[d])) if found else 1.0
    for k in range(d):
        hint[k] = min(max(middle[k] + stay * radius[k] * z[k], lo[k]), hi[k])
        if not math.isfinite(hint[k]):
            _stay(lo, hi, hint)
            return 0, 0
    return 0, int(found)


@njit(**OPTIONS)
def _stay(lo: Any, hi: Any, hint: Any) -> None:
    """Hint at the point of a box that is nearest to zero."""
    for k in range(len(lo)):
        hint[k] = min(max(0.0, lo[k]), hi[k])


@njit(**OPTIONS)
def _contradictory(problem: Problem, chosen: _Chosen, n_rows: int, lo: Any, hi: Any) -> bool:
    """Whether the rows times their factors add up to a condition that fails in the whole box, rounding included."""
    factors = chosen.factors
    d = len(lo)
    slack = 0.0
    size = 0.0
    for k in range(d + 1):
        total = 0.0
        total_size = 0.0
        involved = False  # a product may underflow to zero, which times infinity is no number
        for c in range(n_rows):
            i = chosen.rows[c]
            total += factors[c] * problem.rows[i, k]
            total_size += factors[c] * problem.sizes[i, k]
            involved |= factors[c] > 0.0 and problem.sizes[i, k] > 0.0
        if k == d:
            slack -= total
            size += total_size
        elif involved:
            slack += total * hi[k] if total > 0.0 else total * lo[k]
            size += total_size * max(abs(lo[k]), abs(hi[k]))
    return slack < -(_error(d) + 8.0 * n_rows * 2.0**-53) * size - _TINY_SHARE


@njit(**OPTIONS)
def _record_cut(chosen: _Chosen, n_rows: int, counters: Any, records: Records) -> None:
    n_used = 0
    for c in range(n_rows):
        if chosen.factors[c] > 0.0:
            n_used += 1
            records.refs[counters[N_REFS] + n_used] = chosen.names[c]
            records.numbers[counters[N_NUMBERS]] = chosen.factors[c]
            counters[N_NUMBERS] += 1
    records.refs[counters[N_REFS]] = n_used
    counters[N_REFS] += n_used + 1
    records.codes[counters[N_CODES]] = CUT
    counters[N_CODES] += 1


@njit(**OPTIONS)
def _split(trees: Trees, place: int, stack: Stack, counters: Any) -> None:
    """Replace the node on top of the stack by its children that are not empty, the left one on top."""
    places, lo, hi, above, hint = stack.places, stack.lo, stack.hi, stack.above, stack.hint
    top = counters[SP] - 1
    node = places[top, place]
    k, limit = trees.nodes[node, 0], trees.threshold[node]
    low, high, strict = lo[top, k], hi[top, k], above[top, k]
    has_hint, hint_is_left = places[top, 4], hint[top, k] <= limit
    counters[SP] = top
    for is_left in range(2):
        if (limit < low or (limit == low and strict)) if is_left else limit >= high:
            continue  # it is empty
        slot = counters[SP]
        if slot > top:
            for f in range(lo.shape[1]):
                lo[slot, f] = lo[top, f]
                hi[slot, f] = hi[top, f]
                above[slot, f] = above[top, f]
                hint[slot, f] = hint[top, f]
            for f in range(places.shape[1]):
                places[slot, f] = places[top, f]
        places[slot, place] = trees.nodes[node, 2 - is_left]
        places[slot, 4] = has_hint if hint_is_left == (is_left == 1) else 0
        lo[slot, k], hi[slot, k], above[slot, k] = low, high, strict
        if is_left:
            hi[slot, k] = min(high, limit)
        elif limit >= low:
            lo[slot, k], above[slot, k] = limit, True
        counters[SP] += 1
