"""Whether a set of states meets a condition, surely. Standard library only."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import ceil, isqrt
from operator import mul
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.loops.flowpipe.claims import Condition, Norm
from moet.verify.checker.loops.flowpipe.forms import up
from moet.verify.checker.loops.flowpipe.integrate import Slopes
from moet.verify.checker.loops.flowpipe.sets import Zonotope, whole
from moet.verify.checker.loops.flowpipe.turning import Beginning
from moet.verify.checker.loops.intervals import BITS, ONE, over, wave_at
from moet.verify.checker.meter import Meter

DIRECTIONS = 64
"""Half-spaces in place of a norm that must not be large; the polygon is wider than the circle by one in a thousand."""

SECTORS = 8
"""A few half-spaces that are tried first; that polygon is wider by one in twelve."""

_WEIGHTS = ((1, 1), (1, 2), (2, 1), (1, 4), (4, 1))
"""Two faces of a set are added with these to separate what neither separates alone."""


class Row(NamedTuple):
    """row·x <= bound, rounded down, and by how much every number may be off."""

    row: list[int]
    bound: int
    doubt: int = 1


class Where:
    """Where states are over some time: on chords between two sets, give or take a box.

    Of a flow, ``slopes`` are known on all of it; ``beginning`` is given up to its end in the first period.
    """

    def __init__(
        self,
        ends: list[tuple[Zonotope, list[int]]],
        bend: list[int],
        meter: Meter,
        slopes: Slopes | None = None,
        beginning: Beginning | None = None,
    ) -> None:
        self._ends, self._bend, self._meter, self._slopes = ends, bend, meter, slopes
        self._beginning = beginning
        self._size = max(_size(points, box) for points, box in ends) + 4

    def largest(self, row: list[int], doubt: int) -> int:
        """Bound of row·x, where every number of the row may be off by so much."""
        values = []
        for points, box in self._ends:
            self._meter.spend(len(points.columns) * (len(row) + 2))
            center, radius = points.extent(row)
            values.append(center + radius + up(sum(abs(a) * b for a, b in zip(row, box, strict=False))))
        return max(values) + up(sum(abs(a) * b for a, b in zip(row, self._bend, strict=False))) + doubt * self._size

    def falls(self, row: list[int]) -> bool:
        """Whether row·x surely does not rise all the time."""
        if self._slopes is None:
            return False
        _, radii, rows, values, rests = self._slopes
        total = sum(map(mul, row, values)) + sum(map(abs, values))  # every number of the row may be off by one
        for column, radius in zip(zip(*rows, strict=True), radii, strict=True):
            total += (abs(sum(map(mul, row, column)) >> BITS) + up(sum(map(abs, column))) + 2) * radius
        return total + sum((abs(a) + 1) * rest for a, rest in zip(row, rests, strict=False)) <= 0

    def turns_down(self, condition: Condition) -> bool:
        """Whether the left side of a linear condition surely does not rise, level at first and ever less after."""
        return self._beginning is not None and self._beginning.falls(condition.coefficients)

    def box(self, d: int) -> tuple[list[int], list[int]]:
        """Least and largest value of every state."""
        low, high = [], []
        ends = [(p.middle, p.radii, box) for p, box in self._ends]
        for k in range(d):
            reach = [(middle[k], radii[k] + box[k]) for middle, radii, box in ends]
            low.append(min(m - r for m, r in reach) - self._bend[k])
            high.append(max(m + r for m, r in reach) + self._bend[k])
        return low, high

    @property
    def middle(self) -> list[int]:
        """A point among them."""
        return self._ends[0][0].middle


def holds(where: Where, conditions: list[Condition], n: int, known: bool = False) -> str | None:
    """None if all conditions hold; otherwise what does not.

    If they are ``known`` to hold at first, a linear one holds as long as it does not get worse.
    """
    for k, condition in enumerate(conditions):
        line = _line(where, condition, n)
        wide = [norm for norm in condition.norms if norm.factor > 0]
        if len(wide) > 1:
            raise CertificateError("a condition has more than one norm that must be small")
        if wide:
            is_met = _is_met_all_around(where, line, wide[0])
        else:
            is_met = _is_met(where, line)
            if not is_met and known and not condition.norms:
                is_met = where.falls(line.row) or where.turns_down(condition)
        if not is_met:
            return f"condition {k + 1} may not hold"
    return None


def _is_met(where: Where, line: Row) -> bool:
    return where.largest(line.row, line.doubt) <= line.bound


def _is_met_all_around(where: Where, line: Row, norm: Norm) -> bool:
    """Whether a condition holds whichever way the vector of its norm points: a sector at a time, then in parts."""
    for sector, parts in _SECTORS:
        if not _is_met(where, line._replace(row=_plus(line.row, norm, sector))) and not all(
            _is_met(where, line._replace(row=_plus(line.row, norm, part))) for part in parts
        ):
            return False
    return True


def is_outside(where: Where, conditions: list[Condition], n: int) -> bool:
    """Whether some condition of a set, or a sum of two, holds nowhere: then nobody is in it."""
    rows = []
    for condition in conditions:
        if condition.norms:
            raise CertificateError("a set that is to be avoided has conditions that are linear")
        rows.append(_line(where, condition, n))
    if any(_fails(where, row) for row in rows):
        return True
    for a, b in combinations(rows, 2):
        for p, q in _WEIGHTS:
            both = [p * x + q * y for x, y in zip(a.row, b.row, strict=True)]
            if _fails(where, Row(both, p * a.bound + q * b.bound, p + q)):
                return True
    return False


def is_violated(where: Where, condition: Condition, n: int) -> bool:
    """Whether a condition holds nowhere."""
    row, bound = [whole(a) for a in condition.coefficients], whole(condition.bound)
    row += [0] * (n - len(row))
    doubt = 1 + sum(_doubt(norm) for norm in condition.norms)
    rows = [row]
    for norm in condition.norms:  # a norm is at least its part along any direction, at most the largest of many
        directions = [_towards(norm, where.middle)] if norm.factor > 0 else _POLYGON
        rows = [_plus(line, norm, direction) for line in rows for direction in directions]
    return all(_fails(where, Row(line, bound, doubt)) for line in rows)


def _fails(where: Where, row: Row) -> bool:
    """Whether row·x > bound everywhere."""
    return -where.largest([-a for a in row.row], row.doubt) > row.bound + row.doubt


def _size(points: Zonotope, box: list[int]) -> int:
    """What row·x is off if every number of the row is off by one."""
    reach = sum(abs(m) + r for m, r in zip(points.middle, points.radii, strict=True)) + sum(box)
    return reach >> BITS


def _line(where: Where, condition: Condition, n: int) -> Row:
    """A linear condition that makes one true, but for norms that must be small; coefficients beyond states are 0."""
    row, bound = [whole(a) for a in condition.coefficients], whole(condition.bound)
    row += [0] * (n - len(row))
    for norm in condition.norms:
        if norm.factor < 0:
            row = _plus(row, norm, _towards(norm, where.middle))
    return Row(row, bound, 1 + sum(_doubt(norm) for norm in condition.norms))


def _doubt(norm: Norm) -> int:
    """By how much :func:`_plus` may be off in every number, for directions that are at most 1.1 long."""
    return 4 + 5 * ceil(max(abs(norm.factor), *(abs(a) for line in norm.rows for a in line)))


def _plus(row: list[int], norm: Norm, direction: tuple[int, int]) -> list[int]:
    """Add factor·direction·(rows of a norm) to a row."""
    factors = [whole(norm.factor * Fraction(part, ONE)) for part in direction]
    added = list(row)
    for factor, line in zip(factors, norm.rows, strict=True):
        for k, a in enumerate(line):
            added[k] += factor * whole(a) >> BITS
    return added


def _towards(norm: Norm, middle: list[int]) -> tuple[int, int]:
    """A direction, at most of length one, along which a norm is nearly what it is at a point."""
    x, y = (sum(map(mul, (whole(a) for a in line), middle)) >> BITS for line in norm.rows)
    length = isqrt(x * x + y * y) + 1
    return (x << BITS) // length * 9999999 // 10000000, (y << BITS) // length * 9999999 // 10000000


def _polygon(count: int) -> list[tuple[int, int]]:
    """Directions, each a little longer than one, such that a norm is at most its largest part along one of them.

    A vector is no longer than its part along the direction that it is nearest to.
    """
    turn = Fraction("6.283185307179586476925286766559")
    angles = [whole(turn * k / count) for k in range(count)]
    widest = over((ONE, ONE), wave_at(whole(turn / (2 * count)), 0))[1] + (ONE >> 60)
    return [tuple(wave_at(angle, first)[1] * widest >> BITS for first in (0, 1)) for angle in angles]  # type: ignore[misc]


_POLYGON = _polygon(DIRECTIONS)
_PARTS = DIRECTIONS // SECTORS
_SECTORS = [
    (wide, [_POLYGON[(k * _PARTS + part) % DIRECTIONS] for part in range(-_PARTS // 2, _PARTS // 2 + 1)])
    for k, wide in enumerate(_polygon(SECTORS))
]
"""A direction for all vectors that point roughly there, and finer ones that together stand for the same vectors."""
