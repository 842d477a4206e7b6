"""Linear conditions of the first states and of steps that no control has reached yet, exactly. Standard library only.

Sets of states are rounded outwards, so that a limit that is met exactly cannot be seen with them. Of the first states,
and of an affine system as long as the policy has no say in a condition, it can be seen in fractions.
"""

from __future__ import annotations

from fractions import Fraction
from operator import mul

from moet.verify.checker.documents.dynamics import ControlledAffine, Vector
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.flowpipe.claims import Condition, Requirement
from moet.verify.checker.loops.geometry import most_in
from moet.verify.checker.meter import Meter


class Left:
    """Requirements, without what is known exactly of the states after some steps from the first ones.

    Parameters
    ----------
    spec : list of Requirement
    system : PlainSystem or None
        None if sets do not begin with the first states: then nothing is known.
    meter : Meter
    """

    def __init__(self, spec: list[Requirement], system: PlainSystem | None, meter: Meter) -> None:
        self.spec = spec
        self._from_first = system is not None
        self._shown = []
        if system is not None:
            self._shown = [[_shown(c, system, meter) for c in part.conditions] for part in spec]

    def at(self, step: int) -> list[Requirement]:
        """What is left to look at after a step."""
        if not self._from_first or step > max((most for shown in self._shown for most in shown), default=0):
            return self.spec
        return [self._left(k, step) for k in range(len(self.spec))]

    def _left(self, k: int, step: int) -> Requirement:
        part = self.spec[k]
        if part.kind != "hold" or (not step and part.start):
            return part
        pairs = zip(part.conditions, self._shown[k], strict=True)
        return part._replace(conditions=[c for c, most in pairs if step > most])


def _shown(condition: Condition, system: PlainSystem, meter: Meter) -> int:
    """Number of steps up to which a condition surely holds of every state that follows on the first ones.

    It is -1 if that is not seen here even of the first states.
    """
    row, bound = condition.coefficients, condition.bound
    if condition.norms or most_of_first(system, row, meter) > bound:
        return -1
    dynamics = system.dynamics
    if not isinstance(dynamics, ControlledAffine) or dynamics.schedule:
        return 0
    for step in range(len(row)):
        if any(_dot(row, column) for column in zip(*dynamics.input_matrix, strict=True)):
            return step
        bound -= _dot(row, dynamics.offset) + most_in(system.disturbance, row)
        row = [_dot(row, column) for column in zip(*dynamics.matrix, strict=True)]
        if most_of_first(system, row, meter) > bound:
            return step
    return len(row)


def most_of_first(system: PlainSystem, row: Vector, meter: Meter) -> Fraction:
    """A bound of row·x for first states, exact if they are all of some boxes.

    Any multiple λ >= 0 of a condition gives one: row·x <= (row - λ·coefficients)·x + λ·bound. Those are tried that make
    a coefficient 0, for one of them is best.
    """
    d, first = len(row), system.first
    meter.spend(len(first.boxes) * d * (1 + len(first.where) * d))
    rows = [(row, Fraction(0))]
    for half in first.where:
        for factor in {a / c for a, c in zip(row, half.coefficients, strict=True) if c and a / c > 0}:
            rest = [a - factor * c for a, c in zip(row, half.coefficients, strict=True)]
            rows.append((rest, factor * half.bound))
    return max(min(most_in(box, rest) + bound for rest, bound in rows) for box in first.boxes)


def _dot(a: list[Fraction], b: list[Fraction] | tuple[Fraction, ...]) -> Fraction:
    return sum(map(mul, a, b), Fraction(0))
