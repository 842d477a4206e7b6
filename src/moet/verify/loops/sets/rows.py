"""Rows and linear programs over the polytopes of a search over sets, and the records of what they prove."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import OPTIONS
from moet.verify.simplex import EMPTY, UNSURE, Room, maximise, proven_bound

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MARGIN = 1e-10
"""By how much claims are stronger than needed, relative to their scale, so that they survive the exact check."""


class Source(NamedTuple):
    """A polytope in the coordinates of its box: ``n_rows`` template rows, then room for the guards of a path.

    ``scales`` turns multipliers of rows into those of rows in raw units; ``names`` is what proofs call a row.
    """

    rows: Floats
    limits: Floats
    scales: Floats
    names: Ints
    n_rows: int
    middle: Floats
    half: Floats


class Book(NamedTuple):
    """Room for a proof; ``used`` counts codes, references and numbers, also those that found no room."""

    codes: NDArray[np.uint8]
    refs: NDArray[np.int32]
    numbers: Floats
    used: Ints


class Scratch(NamedTuple):
    """Room for a linear program, the box [−1, 1]ᵈ, and the counters of the search."""

    objective: Floats
    basis: Ints
    dual: Floats
    point: Floats
    work: Floats
    low: Floats
    high: Floats
    counts: Ints


@njit(**OPTIONS)
def upper_bound(direction: Any, sign: float, source: Source, n_rows: int, enough: float, lp: Scratch) -> Any:
    """Status, bound of sign·direction·x over the first ``n_rows`` rows, and the factor of its multipliers."""
    d = len(direction)
    lp.counts[2] += 1
    weight = 0.0
    middle = 0.0
    for k in range(d):
        lp.objective[k] = sign * direction[k] * source.half[k]
        weight += abs(lp.objective[k])
        middle += sign * direction[k] * source.middle[k]
    if weight == 0.0:
        weight = 1.0
    for k in range(d):
        lp.objective[k] /= weight
    wanted = (enough - middle) / weight - MARGIN
    room = Room(lp.basis, lp.dual, lp.point, lp.work)
    status, bound = maximise(lp.objective, source.rows, source.limits, n_rows, lp.low, lp.high, wanted, room)
    if status == EMPTY:
        return status, np.inf, weight
    if status == UNSURE:  # the multipliers it ended with still prove something
        bound = proven_bound(lp.objective, source.rows, source.limits, lp.low, lp.high, lp.basis, lp.dual)
        if not bound < 1.0:
            bound = 1.0
            for i in range(d + 1):
                lp.dual[i] = 0.0
    return status, (bound + MARGIN) * weight + middle, weight


@njit(**OPTIONS)
def set_row(source: Source, place: int, direction: Any, limit: float, name: int) -> None:
    """Write direction·x <= limit as a row, and what proofs call it."""
    scale = 0.0
    middle = 0.0
    for k in range(len(direction)):
        scale += abs(direction[k]) * source.half[k]
        middle += direction[k] * source.middle[k]
    if scale == 0.0:
        scale = 1.0
    for k in range(len(direction)):
        source.rows[k, place] = direction[k] * source.half[k] / scale
    source.limits[place] = (limit - middle) / scale
    source.scales[place] = scale
    source.names[place] = source.n_rows + name


@njit(**OPTIONS)
def take_row(source: Source, place: int, kept: Any) -> None:
    """Copy a row to ``kept``."""
    d = len(source.rows)
    for k in range(d):
        kept[k] = source.rows[k, place]
    kept[d], kept[d + 1], kept[d + 2] = source.limits[place], source.scales[place], source.names[place]


@njit(**OPTIONS)
def put_row(source: Source, place: int, kept: Any) -> None:
    """Put a row back that :func:`take_row` copied."""
    d = len(source.rows)
    for k in range(d):
        source.rows[k, place] = kept[k]
    source.limits[place], source.scales[place], source.names[place] = kept[d], kept[d + 1], int(kept[d + 2])


@njit(**OPTIONS)
def write(book: Book, code: int) -> None:
    """Write a code."""
    if book.used[0] < len(book.codes):
        book.codes[book.used[0]] = code
    book.used[0] += 1


@njit(**OPTIONS)
def write_ref(book: Book, ref: int) -> None:
    """Write a reference."""
    if book.used[1] < len(book.refs):
        book.refs[book.used[1]] = ref
    book.used[1] += 1


@njit(**OPTIONS)
def _write_multiplier(book: Book, name: int, number: float) -> None:
    write_ref(book, name)
    if book.used[2] < len(book.numbers):
        book.numbers[book.used[2]] = number
    book.used[2] += 1


@njit(**OPTIONS)
def write_proof(book: Book, code: int, source: Source, lp: Scratch, weight: float, guard: int) -> None:
    """Write the multipliers of the last linear program, in raw units, and 1 for a guard if its name is given."""
    count = 1 if guard >= 0 else 0
    for i in range(len(lp.basis)):
        if lp.basis[i] >= 0 and lp.dual[i] * weight > 0.0:
            count += 1
    write(book, code + count)
    for i in range(len(lp.basis)):
        if lp.basis[i] >= 0 and lp.dual[i] * weight > 0.0:
            row = lp.basis[i]
            _write_multiplier(book, source.names[row], lp.dual[i] * weight / source.scales[row])
    if guard >= 0:
        _write_multiplier(book, source.n_rows + guard, 1.0)
