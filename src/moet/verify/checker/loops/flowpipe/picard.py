"""The flow of differential equations over a short time, as polynomials in time. Standard library only.

A polynomial give or take a remainder, put into the equations and integrated, is the same polynomial give or take
something. If that is no more than the remainder, all solutions are there (Picard). Where the polynomial comes from does
not matter.
"""

from __future__ import annotations

from fractions import Fraction

from moet.errors import CertificateError
from moet.verify.checker.loops.flowpipe.curves import Curve, Curves
from moet.verify.checker.loops.flowpipe.forms import LARGEST, up
from moet.verify.checker.loops.flowpipe.integrate import Moved
from moet.verify.checker.loops.flowpipe.program import Program
from moet.verify.checker.loops.flowpipe.series import Term, solution
from moet.verify.checker.loops.flowpipe.sets import Zonotope, mapped, scaled
from moet.verify.checker.loops.intervals import ONE, Undefined
from moet.verify.checker.meter import Meter

MOST_TRIES = 12
LEAST_DEGREE, MOST_DEGREE = 2, 20


def curved(program: Program, points: Zonotope, box: list[int], time: Fraction, degree: int, meter: Meter) -> Moved:
    """Where a set is after a time, with a box that is added to it."""
    d, n = len(box), len(points.middle)
    radii = [r + b for r, b in zip(points.radii, box + [0] * (n - d), strict=True)]
    first = [[middle, *(ONE if i == j else 0 for j in range(n))] for i, middle in enumerate(points.middle)]
    meter.spend(len(program.entries) * (degree + 1) ** 2 * (n + 1))
    try:
        paths = solution(program, first, lambda a: scaled(a, time), d, degree)
        rests = _remainders(program, Curves(radii, degree), first, paths, time, meter)
    except Undefined as error:
        raise CertificateError(str(error)) from None
    matrix = [[sum(term[1 + j] for term in path) for j in range(n)] for path in paths]
    _, columns, loss = mapped(matrix, Zonotope([0] * n, points.columns), meter)
    carried = [up(sum(abs(m) * b for m, b in zip(row, box, strict=False))) for row in matrix]
    middle = [sum(term[0] for term in path) for path in paths] + points.middle[d:]
    return Moved(
        Zonotope(middle, [c + p[d:] for c, p in zip(columns, points.columns, strict=True)]),
        [a + b + loss + 1 for a, b in zip(carried, rests, strict=True)],
        [_bend(path, radii) + rest for path, rest in zip(paths, rests, strict=True)],
    )


def _bend(path: list[Term], radii: list[int]) -> int:
    """How far a path may be from the chord between its ends: s - s² is at most 1/4, s less a higher power at most 1."""
    sizes = [abs(term[0]) + sum(up(abs(s) * r) for s, r in zip(term[1:], radii, strict=True)) for term in path[2:]]
    return sizes[0] // 4 + 1 + sum(sizes[1:])


def _remainders(
    program: Program, arithmetic: Curves, first: list[Term], paths: list[list[Term]], time: Fraction, meter: Meter
) -> list[int]:
    """How far solutions may be from their paths."""
    rests = [0] * len(paths)
    held = [_curve([term], 0) for term in first[len(paths) :]]
    if max(abs(a) for path in paths for term in path for a in term) > LARGEST:
        raise Undefined("the equations may grow beyond all bounds")
    for _ in range(MOST_TRIES):
        meter.spend(2 * len(program.entries) * (arithmetic.degree + 1) ** 2 * len(first[0]))
        values = program.computed(arithmetic, [*map(_curve, paths, rests), *held])
        needed = [
            _off(values[place], path, time, arithmetic.radii) for place, path in zip(program.wanted, paths, strict=True)
        ]
        if all(a <= b for a, b in zip(needed, rests, strict=True)):
            return needed
        rests = [a + a // 8 + 16 for a in needed]
    raise CertificateError("the flow cannot be bounded for so long a time; take shorter steps")


def _curve(path: list[Term], rest: int) -> Curve:
    center, *slopes = ([*numbers] for numbers in zip(*path, strict=True))
    return Curve(center, {j: slope for j, slope in enumerate(slopes) if any(slope)}, rest)


def _off(rate: Curve, path: list[Term], time: Fraction, radii: list[int]) -> int:
    """How far the path may be from where it begins plus the rate, integrated."""
    center, *slopes = ([*numbers] for numbers in zip(*path, strict=True))
    total = _distance(rate.center, center, time) - scaled(-rate.radius, time) + 1
    for j, (slope, radius) in enumerate(zip(slopes, radii, strict=True)):
        total += up(_distance(rate.slopes.get(j, []), slope, time) * radius)
    return total


def _distance(rate: list[int], path: list[int], time: Fraction) -> int:
    """Bound of a polynomial, integrated, less another one, whose first numbers are the same."""
    made = [scaled(a, time) // k for k, a in enumerate(rate, start=1)]  # each is off by less than 2
    longest = max(len(made), len(path) - 1)
    wanted = path[1:] + [0] * (longest - len(path) + 1)
    return sum(abs(a - b) + 2 for a, b in zip(made + [0] * (longest - len(made)), wanted, strict=True))
