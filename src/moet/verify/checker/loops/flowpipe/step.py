"""One step of a controlled system on a box, as an affine map and how far it may be off. Standard library only."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from moet.verify.checker.documents.dynamics import ControlledAffine, ControlledEquations, Flow, Sides, Vector
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.flowpipe.integrate import moved, slopes_on, tube
from moet.verify.checker.loops.flowpipe.program import memory_of, parameters_of, program_of
from moet.verify.checker.loops.flowpipe.sets import Zonotope, whole
from moet.verify.checker.loops.intervals import BITS, ONE
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
    """One step from all states of a box, with all controls that the actuators can do, at any time."""
    system = at_any_time(system)
    dynamics = system.dynamics
    if isinstance(dynamics, ControlledAffine):
        added = [_sum(side, dynamics.schedule.get(name, [])) for name, side in zip(*_pushed(system), strict=True)]
        offset = [a + (low + high) / 2 for a, (low, high) in zip(dynamics.offset, added, strict=True)]
        rest = [(high - low) / 2 for low, high in added]
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


def at_any_time(system: PlainSystem) -> PlainSystem:
    """The system with a schedule that does not say when: numbers are anywhere between the least and the largest."""
    dynamics = system.dynamics
    if not isinstance(dynamics, ControlledAffine | ControlledEquations | Flow) or not dynamics.schedule:
        return system
    hulls = {
        name: [(min(low for low, _ in sides), max(high for _, high in sides))]
        for name, sides in dynamics.schedule.items()
    }
    return system._replace(dynamics=dynamics._replace(schedule=hulls))


def _pushed(system: PlainSystem) -> tuple[list[str], Sides]:
    return list(system.states), list(system.disturbance)


def _sum(side: tuple[Fraction, Fraction], more: Sides) -> tuple[Fraction, Fraction]:
    return side[0] + sum(low for low, _ in more), side[1] + sum(high for _, high in more)


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
    step = Step([row[:d] for row in rows], [row[d:] for row in rows], offset, rest, bend)
    return _remembered(step, system, low, high, meter)


def _remembered(step: Step, system: PlainSystem, low: list[int], high: list[int], meter: Meter) -> Step:
    """A period of a flow in which some states jump at its end: until then they are what they were."""
    program = memory_of(system)
    if program is None:
        return step
    assert isinstance(system.dynamics, Flow)
    slopes, _ = slopes_on(program, low, high, meter)
    d, m = len(system.states), len(system.controls)
    middle = [Fraction(a, ONE) for a in slopes.middle]
    radii = [Fraction(max(b - a, a - c), ONE) for a, b, c in zip(slopes.middle, high, low, strict=True)]
    for j, name in enumerate(system.dynamics.memory):
        i = system.states.index(name)
        row, value = [Fraction(a, ONE) for a in slopes.rows[j]], Fraction(slopes.values[j], ONE)
        unknown = sum((abs(a) * r for a, r in zip(row[d:-m], radii[d:-m], strict=True)), Fraction(0))
        step.matrix[i], step.inputs[i] = row[:d], row[-m:]
        step.offset[i] = value - _dot(row[:d], middle[:d]) - _dot(row[-m:], middle[-m:])
        step.rest[i] = Fraction(slopes.rests[j], ONE) + unknown
        moves = [a - (k == i) for k, a in enumerate(row)]
        reach = sum((abs(a) * r for a, r in zip(moves, radii, strict=True)), Fraction(0))
        step.bend[i] = abs(value - middle[i]) + reach + Fraction(slopes.rests[j], ONE)
    return step


def _dot(row: Vector, column: Vector) -> Fraction:
    return sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0))
