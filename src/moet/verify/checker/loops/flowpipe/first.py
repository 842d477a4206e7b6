"""Linear conditions of the first states and of steps that no control has reached yet, exactly. Standard library only.

Sets of states are rounded outwards, so that a limit that is met exactly cannot be seen with them. Of the first states,
and of an affine system as long as the policy has no say in a condition, it can be seen in fractions.
"""

from __future__ import annotations

from fractions import Fraction
from operator import mul

from moet.errors import CertificateError
from moet.verify.checker.documents.system import ControlledAffine, PlainSystem
from moet.verify.checker.loops.flowpipe.claims import Condition, FlowpipeClaim, Requirement
from moet.verify.checker.loops.geometry import most_in


def check_first_states(claim: FlowpipeClaim, system: PlainSystem) -> None:
    """Complain unless linear conditions that hold from the start hold of all first states, exactly."""
    for part in claim.spec:
        if part.kind == "hold" and not part.start:
            for condition in part.conditions:
                if not condition.norms and most_in(system.initial, condition.coefficients) > condition.bound:
                    raise CertificateError("a condition does not hold of all first states")


class Left:
    """Requirements, without what is known exactly of the states after some steps from the first ones.

    Parameters
    ----------
    spec : list of Requirement
    system : PlainSystem or None
        None if sets do not begin with the first states: then nothing is known.
    """

    def __init__(self, spec: list[Requirement], system: PlainSystem | None) -> None:
        self.spec = spec
        self._from_first = system is not None
        self._shown = [[_shown(c, system) for c in part.conditions] for part in spec] if system is not None else []

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


def _shown(condition: Condition, system: PlainSystem) -> int:
    """Number of steps up to which a condition holds of every state that follows on the first ones; -1 with norms."""
    if condition.norms:
        return -1
    dynamics = system.dynamics
    if not isinstance(dynamics, ControlledAffine):
        return 0
    row, bound = condition.coefficients, condition.bound
    for step in range(len(row)):
        if any(_dot(row, column) for column in zip(*dynamics.input_matrix, strict=True)):
            return step
        bound -= _dot(row, dynamics.offset) + most_in(system.disturbance, row)
        row = [_dot(row, column) for column in zip(*dynamics.matrix, strict=True)]
        if most_in(system.initial, row) > bound:
            return step
    return len(row)


def _dot(a: list[Fraction], b: list[Fraction] | tuple[Fraction, ...]) -> Fraction:
    return sum(map(mul, a, b), Fraction(0))
