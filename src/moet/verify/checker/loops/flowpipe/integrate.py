"""The flow of differential equations over a short time, enclosed. Standard library only.

With J the slopes of the equations on a box that no solution leaves (a *tube*), x' = J·(x - middle) + value + rest. The
affine part is solved by the exponential of a matrix, the rest is bounded through that of its absolute values.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain
from operator import mul
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.loops.flowpipe.forms import Forms, up
from moet.verify.checker.loops.flowpipe.program import AffineProgram, Program
from moet.verify.checker.loops.flowpipe.sets import Matrix, Zonotope, mapped, scaled
from moet.verify.checker.loops.intervals import BITS, ONE, Undefined
from moet.verify.checker.meter import Meter, cost

MOST_TUBES = 12
MOST_TERMS = 60
_LARGEST_NORM = 16 * ONE
"""Of the slopes times the time; beyond it, more and shorter steps are due."""


class Slopes(NamedTuple):
    """Derivatives on a tube: rows of slopes, values in its middle, and how far they may be off."""

    middle: list[int]
    radii: list[int]
    rows: Matrix
    values: list[int]
    rests: list[int]


class Moved(NamedTuple):
    """Where a set is after a time: with a box that is added to it, and how far from the chord it may be in between."""

    points: Zonotope
    box: list[int]
    bend: list[int]


def slopes_on(
    program: Program | AffineProgram, low: list[int], high: list[int], meter: Meter
) -> tuple[Slopes, list[tuple[int, int]]]:
    """Slopes of equations on a box, and the least and largest of their values."""
    middle = [(a + b) >> 1 for a, b in zip(low, high, strict=True)]
    radii = [b - a - (b - a) // 2 + 1 for a, b in zip(low, high, strict=True)]
    try:
        forms = program.forms(middle, radii, meter)
        ends = [Forms(radii).ends(form) for form in forms]
    except Undefined as error:
        raise CertificateError(str(error)) from None
    rows = [[form.slopes.get(k, 0) for k in range(len(middle))] for form in forms]
    return Slopes(middle, radii, rows, [form.center for form in forms], [form.radius for form in forms]), ends


def tube(program: Program | AffineProgram, low: list[int], high: list[int], time: Fraction, meter: Meter) -> Slopes:
    """Slopes on a box that no solution which begins between ``low`` and ``high`` leaves within a time.

    By Picard: if the box, times all derivatives in a candidate, stays in the candidate, so do the solutions.
    """
    wide_low, wide_high = low, high
    for _ in range(MOST_TUBES):
        slopes, rates = slopes_on(program, wide_low, wide_high, meter)
        least = [a + min(0, scaled(rate[0], time)) - 1 for a, rate in zip(low, rates, strict=False)]
        most = [b + max(0, -scaled(-rate[1], time)) + 1 for b, rate in zip(high, rates, strict=False)]
        inside = (a <= c and d <= b for a, b, c, d in zip(wide_low, wide_high, least, most, strict=False))
        if all(inside):
            return slopes
        room = [(d - c + b - a) // 32 + 4 for a, b, c, d in zip(low, high, least, most, strict=False)]
        wide_low = [a - r for a, r in zip(least, room, strict=True)] + low[len(room) :]
        wide_high = [b + r for b, r in zip(most, room, strict=True)] + high[len(room) :]
    raise CertificateError("the flow cannot be bounded for so long a time; take shorter steps")


def moved(points: Zonotope, box: list[int], slopes: Slopes, time: Fraction, meter: Meter) -> Moved:
    """Solutions after a time; of the variables of ``points`` the first ones move, and ``box`` is added to these."""
    d, n = len(slopes.rows), len(points.middle)
    system = [[scaled(a, time) for a in row] for row in slopes.rows]
    square = [row[:d] for row in system]
    norm = max(sum(map(abs, row)) for row in square) + d
    if norm > _LARGEST_NORM:
        raise CertificateError("the flow changes too fast for so long a time; take shorter steps")
    forcing = [[*row, scaled(value, time)] for row, value in zip(system, slopes.values, strict=True)]
    series, doubt = _series(square, forcing, norm, meter)
    away = [a - b for a, b in zip(points.middle, slopes.middle, strict=True)]
    radii = points.radii
    reach = sum(abs(a) + r for a, r in zip(away, radii, strict=True)) + sum(box) + ONE

    matrix = [[value + (ONE if i == k else 0) for k, value in enumerate(row[:n])] for i, row in enumerate(series)]
    middle, columns, loss = mapped(matrix, Zonotope(away, points.columns), meter)
    ahead = [a + row[n] + b for a, row, b in zip(middle, series, slopes.middle, strict=False)]
    rests = _absolute_series(square, [up(r * -scaled(-ONE, time)) + 1 for r in slopes.rests], norm)
    carried = [up(sum(abs(m) * b for m, b in zip(row[:d], box, strict=True))) for row in matrix]
    error = up(doubt * reach) + loss + 2
    after = [a + b + error for a, b in zip(carried, rests, strict=True)]
    bend = _bend(square, forcing, away, radii, box, norm)
    return Moved(
        Zonotope(ahead + points.middle[d:], [c + p[d:] for c, p in zip(columns, points.columns, strict=True)]),
        after,
        [b + r + 1 for b, r in zip(bend, rests, strict=True)],
    )


def _series(square: Matrix, forcing: Matrix, norm: int, meter: Meter) -> tuple[Matrix, int]:
    """Σ square^(k-1)·forcing / k! for k from 1 on, and by how much every entry may be off.

    ``square`` and ``forcing`` are rounded, too: both by less than one.
    """
    d = len(square)
    term, total = forcing, forcing
    error = doubt = 1
    for k in range(2, MOST_TERMS + 2):
        largest = max(map(abs, chain.from_iterable(term)))
        if k * ONE >= 2 * norm and largest <= 4:
            return total, doubt + largest + error + 2
        meter.spend(cost(d * (d + 1) * len(term[0]), 2 * BITS))
        columns = list(zip(*term, strict=True))
        term = [[(sum(map(mul, row, column)) >> BITS) // k for column in columns] for row in square]
        error = (up(norm * error) + up(d * largest)) // k + 3
        doubt += error
        total = [list(map(int.__add__, a, b)) for a, b in zip(total, term, strict=True)]
    raise CertificateError("the flow changes too fast for so long a time; take shorter steps")


def _absolute_series(square: Matrix, vector: list[int], norm: int) -> list[int]:
    """Σ |square|^k·vector / (k+1)! for k from 0 on, rounded up."""
    absolute = [[abs(a) + 1 for a in row] for row in square]
    term = total = vector
    for k in range(2, MOST_TERMS + 2):
        term = [up(sum(map(mul, row, term))) // k + 1 for row in absolute]
        total = list(map(int.__add__, total, term))
        if (k + 1) * ONE >= 2 * norm and max(term) <= 2 + max(vector) // 2**20:
            break
    # what is left out is a geometric series that is at least halved from term to term
    return [a + 2 * max(term) + 2 for a in total]


def _bend(square: Matrix, forcing: Matrix, away: list[int], radii: list[int], box: list[int], norm: int) -> list[int]:
    """How far the affine solution may be from the chord between its ends: time²/8 times its second derivative.

    That is exp(square·s)·square·forcing·(x, 1) for s from 0 to 1, bounded by absolute values.
    """
    wide = [r + (box[k] if k < len(square) else 0) for k, r in enumerate(radii)]
    loss = (sum(map(abs, away)) + sum(wide)) // ONE + len(wide) + 2  # the forcing is rounded
    first = []
    for row in forcing:
        center = abs(sum(map(mul, row, (*away, ONE))))
        first.append(up(center + sum(abs(a) * r for a, r in zip(row, wide, strict=False))) + loss)
    second = [up(sum((abs(a) + 1) * v for a, v in zip(row, first, strict=True))) for row in square]
    # exp(|square|) v <= v + |square|·Σ |square|^k v / (k+1)!
    inner = _absolute_series(square, second, norm)
    growth = [up(sum((abs(a) + 1) * b for a, b in zip(row, inner, strict=True))) for row in square]
    return [(v + g) // 8 + 2 for v, g in zip(second, growth, strict=True)]
