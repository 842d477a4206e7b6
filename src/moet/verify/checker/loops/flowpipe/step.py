"""One step of a controlled system on a box, as an affine map and how far it may be off. Standard library only."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from moet.verify.checker.documents.dynamics import ControlledAffine, Flow, Sides, Vector
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.equations import BITS, ONE
from moet.verify.checker.loops.flowpipe.integrate import moved, slopes_on, tube
from moet.verify.checker.loops.flowpipe.program import parameters_of, program_of
from moet.verify.checker.loops.flowpipe.sets import Zonotope, whole
from moet.verify.checker.meter import Meter


class Step(NamedTuple):
    """The next state is matrix·x + inputs·u + offset, give or take ``rest``.

    In between, it is as near as ``bend`` to a point between both states: 0 in discrete time.
    """

    matrix: list[Vector]
    inputs: list[Vector]
    offset: Vector
    rest: Vector
    bend: Vector


def step_on(system: PlainSystem, box: Sides, meter: Meter) -> Step:
    """One step from all states of a box, with all controls that the actuators can do."""
    dynamics = system.dynamics
    if isinstance(dynamics, ControlledAffine):
        shift = [(low + high) / 2 for low, high in system.disturbance]
        offset = [a + b for a, b in zip(dynamics.offset, shift, strict=True)]
        rest = [(high - low) / 2 for low, high in system.disturbance]
        return Step(dynamics.matrix, dynamics.input_matrix, offset, rest, [Fraction(0)] * len(rest))
    sides = [*box, *parameters_of(system), *system.controls.values()]
    low, high = [whole(a) for a, _ in sides], [whole(b) + 1 for _, b in sides]
    if isinstance(dynamics, Flow):
        return _flow(system, dynamics.period, low, high, meter)
    slopes, _ = slopes_on(program_of(system), low, high, meter)
    d = len(system.states)
    rows = [[Fraction(a, ONE) for a in row] for row in slopes.rows]
    middle = [Fraction(m, ONE) for m in slopes.middle]
    offset, rest = [], []
    for row, value, loss, (a, b) in zip(rows, slopes.values, slopes.rests, system.disturbance, strict=True):
        offset.append(Fraction(value, ONE) - _dot(row, middle) + (a + b) / 2)
        rest.append(Fraction(loss, ONE) + (b - a) / 2)
    return Step([row[:d] for row in rows], [row[d:] for row in rows], offset, rest, [Fraction(0)] * d)


def _flow(system: PlainSystem, period: Fraction, low: list[int], high: list[int], meter: Meter) -> Step:
    """One period of a flow: columns of a box are led through it, and become those of a matrix."""
    d, n = len(system.states), len(low)
    middle = [(a + b) >> 1 for a, b in zip(low, high, strict=True)]
    radii = [max(b - m, m - a) for a, b, m in zip(low, high, middle, strict=True)]
    columns = [[radii[k] if i == k else 0 for i in range(n)] for k in range(n)]
    slopes = tube(program_of(system), low, high, period, meter)
    ahead = moved(Zonotope(middle, columns), [0] * d, slopes, period, meter)
    first_control = n - len(system.controls)
    rows, offset, rest = [], [], []
    for i in range(d):
        row = [(ahead.points.columns[k][i] << BITS) // radii[k] for k in range(n)]
        loss = ahead.box[i] + sum((r >> BITS) + 1 for r in radii)
        loss += sum(abs(ahead.points.columns[k][i]) for k in range(d, first_control))
        kept = [*range(d), *range(first_control, n)]
        shift = sum((row[k] * middle[k]) for k in kept)
        offset.append(Fraction((ahead.points.middle[i] << BITS) - shift, ONE * ONE))
        rest.append(Fraction(loss, ONE))
        rows.append([Fraction(row[k], ONE) for k in kept])
    # the ends of the affine part are off by the rest, and so is what is between them
    bend = [Fraction(a + b, ONE) for a, b in zip(ahead.bend, ahead.box, strict=True)]
    return Step([row[:d] for row in rows], [row[d:] for row in rows], offset, rest, bend)


def _dot(row: Vector, column: Vector) -> Fraction:
    return sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0))
