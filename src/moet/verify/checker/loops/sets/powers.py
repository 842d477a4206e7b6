"""Powers of a matrix, applied to directions, as integers with bounded errors. Standard library only."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain
from math import floor
from operator import mul

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Vector
from moet.verify.checker.loops.sets.enclosures import BITS
from moet.verify.checker.meter import Meter, cost

MOST_SPARE_BITS = 2**12
"""Bits that powers of a matrix may lose to rounding before they are refused."""

Powers = list[list[list[int]]]
"""By step and direction, over 2^BITS."""


def up_to_sign(rows: list[Vector]) -> list[int]:
    """For every row the first that is equal to it or to its negative.

    Examples
    --------
    >>> up_to_sign([[Fraction(1), Fraction(2)], [Fraction(3), Fraction(0)], [Fraction(-1), Fraction(-2)]])
    [0, 1, 0]
    """
    first: dict[tuple[Fraction, ...], int] = {}
    for i, row in enumerate(rows):
        if tuple(row) not in first:
            first[tuple(row)] = first[tuple(-value for value in row)] = i
    return [first[tuple(row)] for row in rows]


def powers_of(matrix: list[Vector], directions: list[Vector], n_steps: int, meter: Meter) -> Powers:
    """Directions times powers 0, ..., ``n_steps`` of a matrix; every number is off by less than one.

    They are computed with more bits, as many as their errors take up.
    """
    spare = 32
    while spare <= MOST_SPARE_BITS:
        powers = _rounded_powers(matrix, directions, n_steps, spare, meter)
        if powers is not None:
            return powers
        spare *= 2
    raise CertificateError(f"the matrix of an enclosure is too large for {n_steps} steps")


def _rounded_powers(
    matrix: list[Vector], directions: list[Vector], n_steps: int, spare: int, meter: Meter
) -> Powers | None:
    """Those powers, computed with spare bits; None if these are too few.

    With M the matrix, each step makes an error of its own, which u further steps multiply by the power u of M. Its
    columns are known, for the unit vectors are among the rows.
    """
    d, unit, half = len(matrix), 1 << (BITS + spare), 1 << (spare - 1)
    columns = [[floor(value * unit) for value in column] for column in zip(*matrix, strict=True)]
    rows = [[unit * (i == k) for k in range(d)] for i in range(d)]
    rows += [[floor(value * unit) for value in row] for row in directions]
    made: list[int] = []  # errors of every step, at most
    growth = [1]  # sums of the columns of every power of M, at most
    error = 0  # of the powers of M
    powers: Powers = []
    for t in range(n_steps + 1):
        size = max(map(abs, chain.from_iterable(rows)))
        meter.hold(len(directions) * d, size.bit_length() - spare)
        if t:
            meter.spend(cost(len(rows) * d * d, size.bit_length()))
            made.append(size * d // unit + 2)  # the matrix is rounded, too
            rows = [[sum(map(mul, row, column)) // unit for column in columns] for row in rows]
            error = sum(map(mul, made, reversed(growth)))
            sums = [sum(map(abs, column)) for column in zip(*rows[:d], strict=True)]
            growth.append((max(sums) + d * error) // unit + 1)
        if error + growth[t] >= half:  # rounding the directions made an error of one, which has grown, too
            return None
        powers.append([[(value + half) >> spare for value in row] for row in rows[d:]])
    return powers
