"""Sets that a proof begins with: boxes of first states, a home, and their parts. Standard library only."""

from __future__ import annotations

from fractions import Fraction
from operator import mul
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Records
from moet.verify.checker.documents.dynamics import Sides
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.flowpipe.claims import Condition
from moet.verify.checker.loops.flowpipe.policy import Line, Multipliers
from moet.verify.checker.loops.flowpipe.sets import Matrix, Zonotope, diagonal, narrowed, whole
from moet.verify.checker.loops.intervals import BITS, ONE
from moet.verify.checker.meter import Meter


class Home(NamedTuple):
    """A parallelotope, middle + frame·[-1, 1]^d, and the inverse of its frame, near enough."""

    middle: list[int]
    frame: Matrix
    inverse: Matrix


class Numbers:
    """Numbers of the records as integers."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def take(self, count: int) -> list[int]:
        """The next ones."""
        return [whole(Fraction(value)) for value in self._records.numbers(count)]

    def matrix(self, d: int, n: int) -> Matrix:
        """A matrix of d rows and columns, in the corner of a larger one."""
        rows = [self.take(d) + [0] * (n - d) for _ in range(d)]
        return rows + [[0] * n for _ in range(n - d)]


def start_of(sides: Sides) -> Home:
    """A box of first states and of parameters."""
    return Home([whole((low + high) / 2) for low, high in sides], _square([_radius(side) for side in sides]), [])


def read_law(records: Records, n_outputs: int, n_features: int) -> tuple[list[Line], Multipliers]:
    """Read a law for several leaves, and the multipliers that bound how far these are from it."""
    numbers, lines = Numbers(records), []
    for _ in range(n_outputs):
        constant, *row = numbers.take(n_features + 1)
        lines.append(Line(row, constant))
    multipliers: Multipliers = {}
    (count,) = records.refs(1)
    for _ in range(count):
        records.meter.spend(10)
        expert, leaf, output, place, side, guard = records.refs(6)
        (factor,) = numbers.take(1)
        multipliers.setdefault((expert, leaf, output, place, side), []).append((guard, factor))
    return lines, multipliers


def read_home(records: Records, start: Home, d: int, first: int) -> Home:
    """Read a home."""
    if records.code() != first:
        raise CertificateError("a proof for ever begins with the set that runs come back to")
    return read_parallelotope(records, start, d)


def read_parallelotope(records: Records, start: Home, d: int) -> Home:
    """Read a set of states; parameters are in it whatever they are."""
    numbers = Numbers(records)
    middle = numbers.take(d) + start.middle[d:]
    n = len(middle)
    frame, inverse = numbers.matrix(d, n), numbers.matrix(d, n)
    for k in range(d, n):
        frame[k][k] = start.frame[k][k]
    return Home(middle, frame, inverse)


def where_runs_begin(
    system: PlainSystem, start: Home, box: list[tuple[int, int]], meter: Meter
) -> list[tuple[int, int]] | None:
    """The part of a box of coordinates in which the conditions of first states may hold; None if nowhere."""
    rows = []
    for half in system.first.where:
        row = [-whole(a) for a in half.coefficients]
        meter.spend(len(row) * len(box))
        level = whole(half.bound) + 1 + (sum(map(mul, row, start.middle)) >> BITS)
        columns = [sum(map(mul, row, column)) >> BITS for column in zip(*start.frame, strict=True)]
        # every number of the row is off by less than one, and so are the products
        doubt = sum(abs(m) for m in start.middle) + sum(abs(a) for line in start.frame for a in line)
        rows.append((columns, level + (doubt >> BITS) + len(box) + 3))
    return narrowed(box, rows + rows, meter)


def _radius(side: tuple[Fraction, Fraction]) -> int:
    """Half of an interval, and what rounding its middle loses; nothing for a number that is not rounded."""
    low, high = side
    return 0 if low == high and (low * ONE).denominator == 1 else whole((high - low) / 2) + 2


def _square(diagonal_of: list[int]) -> Matrix:
    return [[r if i == k else 0 for k in range(len(diagonal_of))] for i, r in enumerate(diagonal_of)]


def part_of(start: Home, box: list[tuple[int, int]]) -> Zonotope:
    """A part of a parallelotope: where its coordinates are in a box."""
    n = len(start.middle)
    centers = [(low + high) >> 1 for low, high in box]
    halves = [(high - low + 1) >> 1 for low, high in box]
    offsets = [sum(map(mul, row, centers)) // ONE for row in start.frame]
    columns = [[start.frame[i][k] * halves[k] // ONE for i in range(n)] for k in range(n)]
    return Zonotope([m + o for m, o in zip(start.middle, offsets, strict=True)], columns + diagonal([n + 2] * n, n))


def within(points: Zonotope, condition: Condition, inside: bool, meter: Meter) -> tuple[list[int], int]:
    """How far the points of a set are within a condition, or beyond it, as a row of its columns and a level."""
    sign = -1 if inside else 1
    row = [sign * whole(a) for a in condition.coefficients]
    meter.spend(2 * len(row) * (len(points.columns) + 1))
    level = (sum(map(mul, row, points.middle)) >> BITS) - sign * whole(condition.bound)
    columns = [sum(map(mul, row, column)) >> BITS for column in points.columns]
    # every number of the row is off by less than one, and so are products and the bound
    reach = sum(map(abs, points.middle)) + sum(points.radii)
    return columns, level + (reach >> BITS) + len(columns) + 4


def domain_of(system: PlainSystem) -> list[Condition]:
    """Conditions under which the description of a system holds."""
    found = []
    for k, side in enumerate(system.domain):
        if side is not None:
            for sign, bound in ((1, side[1]), (-1, -side[0])):
                row = [Fraction(sign if i == k else 0) for i in range(len(system.domain))]
                found.append(Condition(row, [], bound))
    return found
