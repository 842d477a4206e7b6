"""Sets of states: a middle, and columns of which each may be added and subtracted up to once. Standard library only.

Numbers are integers over 2^BITS. Maps are rounded; what that loses becomes a column of its own.
"""

from __future__ import annotations

from fractions import Fraction
from operator import mul
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.loops.flowpipe.forms import up
from moet.verify.checker.loops.intervals import BITS, ONE
from moet.verify.checker.meter import Meter, cost

Columns = list[list[int]]
Matrix = list[list[int]]


class Zonotope(NamedTuple):
    """All points middle + Σ t_j·columns[j] with every t_j from -1 to 1."""

    middle: list[int]
    columns: Columns

    @property
    def radii(self) -> list[int]:
        """How far every coordinate may be from its middle."""
        return (
            [sum(map(abs, row)) for row in zip(*self.columns, strict=True)] if self.columns else [0] * len(self.middle)
        )

    def extent(self, row: list[int]) -> tuple[int, int]:
        """Middle and radius of row·x, rounded down and up."""
        middle = sum(map(mul, row, self.middle)) >> BITS
        used = [k for k, a in enumerate(row) if a]
        if len(used) <= 1:  # limits of one state, and laws that do not differ, are what is mostly asked about
            radius = sum(abs(row[k]) * sum(abs(column[k]) for column in self.columns) for k in used)
        else:
            radius = sum(abs(sum(map(mul, row, column))) for column in self.columns)
        return middle, up(radius) + 1


def whole(value: Fraction) -> int:
    """A number, rounded down."""
    return (value.numerator << BITS) // value.denominator


def scaled(value: int, factor: Fraction) -> int:
    """A product, rounded down."""
    return value * factor.numerator // factor.denominator


def diagonal(radii: list[int], n: int, first: int = 0) -> Columns:
    """A column for every radius but 0."""
    return [[r if i == first + k else 0 for i in range(n)] for k, r in enumerate(radii) if r]


def mapped(matrix: Matrix, points: Zonotope, meter: Meter) -> tuple[list[int], Columns, int]:
    """Middle and columns of matrix·x; every coordinate is off by at most the third number in all."""
    meter.spend(cost(len(matrix) * (len(points.columns) + 1) * (len(points.middle) + 4), 2 * BITS))
    middle = [sum(map(mul, row, points.middle)) >> BITS for row in matrix]
    columns = [[sum(map(mul, row, column)) >> BITS for row in matrix] for column in points.columns]
    return middle, columns, len(columns) + 1


def reduced(points: Zonotope, first: int, last: int, frame: Matrix, inverse: Matrix, meter: Meter) -> Zonotope:
    """Put a box in the coordinates of a frame in place of the columns from ``first`` to ``last``.

    A column g is frame·y + rest for y near inverse·g: whatever ``inverse`` is, the rest is accounted for.
    """
    n = len(points.middle)
    meter.spend(cost(2 * (last - first) * n * (n + 4), 2 * BITS))
    sizes, rests = [0] * n, [0] * n
    for column in points.columns[first:last]:
        y = [sum(map(mul, row, column)) >> BITS for row in inverse]
        sizes = [a + abs(b) for a, b in zip(sizes, y, strict=True)]
        for i, row in enumerate(frame):
            rests[i] += abs(column[i] - (sum(map(mul, row, y)) >> BITS)) + 1
    box = [[frame[i][k] * sizes[k] >> BITS for i in range(n)] for k in range(n)]
    merged = [column for column in box if any(column)] + diagonal([rest + n for rest in rests], n)
    return Zonotope(points.middle, points.columns[:first] + merged + points.columns[last:])


def narrowed(
    sides: list[tuple[int, int]], rows: list[tuple[list[int], int]], meter: Meter
) -> list[tuple[int, int]] | None:
    """Sides of t, of which row·t + level >= 0 is known for each of the rows; None if that leaves nobody.

    Each row moves the sides of one variable after the other to where the others, at their best, just make up for it.
    """
    sides = list(sides)
    for row, level in rows:
        meter.spend(4 * len(sides))
        best = [s * (high if s > 0 else low) for s, (low, high) in zip(row, sides, strict=True)]
        room = sum(best) + (level << BITS)
        if room < 0:
            return None
        for j, s in enumerate(row):
            low, high = sides[j]
            if s > 0 and best[j] - room > low * s:
                sides[j] = ((best[j] - room) // s, high)
            elif s < 0 and best[j] - room > high * s:
                sides[j] = (low, -((best[j] - room) // -s))
    return sides


def cut(points: Zonotope, sides: list[tuple[int, int]], meter: Meter) -> Zonotope:
    """The points for which every t_j is between its sides."""
    n = len(points.middle)
    meter.spend(4 * n * len(sides))
    centers = [(low + high) >> 1 for low, high in sides]
    halves = [(high - low + 1) >> 1 for low, high in sides]
    moves = [sum(map(mul, row, centers)) >> BITS for row in zip(*points.columns, strict=True)]
    columns = [[a * half >> BITS for a in column] for column, half in zip(points.columns, halves, strict=True)]
    middle = [m + move for m, move in zip(points.middle, moves, strict=True)]
    return Zonotope(middle, columns + diagonal([len(sides) + 2] * n, n))  # every number is off by less than one


def fits(points: Zonotope, middle: list[int], inverse: Matrix, frame: Matrix) -> bool:
    """Whether all points are in middle + frame·[-1, 1]^d, where ``inverse`` is close to that of ``frame``.

    With D = 1 - inverse·frame and |D| <= δ < 1, coordinates are at most |inverse·(x - middle)| / (1 - δ).
    """
    doubt = 0
    for i, row in enumerate(inverse):
        product = [sum(map(mul, row, column)) for column in zip(*frame, strict=True)]
        doubt = max(doubt, sum(abs((ONE if i == k else 0) - (p >> BITS)) + 1 for k, p in enumerate(product)))
    if doubt >= ONE >> 10:
        raise CertificateError("the inverse of a frame is none")
    moved = Zonotope([a - b for a, b in zip(points.middle, middle, strict=True)], points.columns)
    for row in inverse:
        center, radius = moved.extent(row)
        if abs(center) + 1 + radius > ONE - doubt:
            return False
    return True
