"""Checker of the numbers with which a shield decides. Standard library only; ``docs/shields.md`` has the proof.

A shield follows an estimate z of the state x by a program in float64. What is shown here, with exact numbers:

- after k steps, ``|x_i − z_i| <= errors[k]·shape_i``, less a share of SLACK that makes up for the float64 arithmetic of
  the comparisons: at first by what sensors and rounding do to what is seen, then by growth and what every step adds;
- where z passes a test of the shield against ``limits``, x is in the polytope of the invariant, or in the goal, and
  where it passes ``safe_limits``, it keeps the conditions of several states; the box of the shield keeps those of one
  (all of this of the domain alone, where a goal is all that counts);
- where z is clear of a boundary of the policy's gate by ``gate_spreads`` and ``gate_errors``, the deployed policy
  chooses the same expert at x, whatever it sees of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Vector
from moet.verify.checker.documents.model import PlainModel
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.geometry import action_number
from moet.verify.checker.loops.observation import Observation
from moet.verify.checker.loops.sets.claim import Conditions, Template
from moet.verify.checker.loops.sets.enclosures import BITS
from moet.verify.checker.loops.sets.roundoff import FloatStep
from moet.verify.checker.loops.shield_claims import GoalShield, Margins, Shield
from moet.verify.checker.meter import Meter

UNIT = Fraction(1, 2**53)
SLACK = Fraction(1, 2**50)
"""Share by which errors are larger than what is shown of them, for products and differences are rounded."""

TINY = Fraction(1, 2**300)
"""More than all numbers that underflow."""


def check_shield(claim: Shield, model: PlainModel, system: PlainSystem, meter: Meter) -> None:
    """Confirm every number of a shield that keeps to an invariant; raises CertificateError if one fails."""
    proof, conditions = claim.invariant, Conditions(system)
    rows = Template(proof.slice, proof.edges, proof.directions).rows
    _check_margins(claim.margins, conditions, rows, proof.blocks[-1].target, model, meter)


def check_goal_shield(claim: GoalShield, model: PlainModel, system: PlainSystem, meter: Meter) -> None:
    """Confirm every number of a shield that keeps a goal within reach; raises CertificateError if one fails."""
    if claim.within < claim.arrival.steps:
        raise CertificateError(f"{claim.within} steps are claimed, and the policy may need {claim.arrival.steps}")
    goal, conditions = claim.arrival.goal, Conditions(system, must_be_safe=False)
    rows, bounds = [half.coefficients for half in goal], [half.bound for half in goal]
    _check_margins(claim.margins, conditions, rows, [bounds], model, meter)


def _check_margins(
    claim: Margins,
    conditions: Conditions,
    rows: Sequence[Vector],
    target: Sequence[Vector | None],
    model: PlainModel,
    meter: Meter,
) -> None:
    """Confirm every number with which a policy is followed into a set: polytopes of these rows, one per cell."""
    system = conditions.system
    for label in model.classes:
        action_number(label, system.actions)
    _check_box(claim, conditions)
    _check_errors(claim, system, meter)
    largest = [max(abs(low), abs(high)) for low, high in claim.box]
    last = max(claim.errors)
    for cell, limits in zip(target, claim.limits, strict=True):
        if cell is None and limits is not None:
            raise CertificateError("a shield takes a cell that is empty for one that is not")
        if cell is not None and limits is not None:
            for row, spread, limit, bound in zip(rows, claim.spreads, limits, cell, strict=True):
                _check_row(row, spread, limit, bound, claim.shape, largest, last)
    rows_of_safe = zip(conditions.slanted, claim.safe_spreads, claim.safe_limits, strict=True)
    for half, spread, limit in rows_of_safe:
        _check_row(half.coefficients, spread, limit, half.bound, claim.shape, largest, last)
    _check_gate(claim, model, system, largest)


def _check_box(claim: Margins, conditions: Conditions) -> None:
    if not all(low < high for low, high in claim.box):
        raise CertificateError("the box of the shield is empty")
    conditions.check_box(claim.box, "states in the box of the shield")


def _check_errors(claim: Margins, system: PlainSystem, meter: Meter) -> None:
    """See that the errors are as large as what sensors, rounding and disturbances add up to."""
    if min(claim.shape) <= 0 or min(claim.errors) <= 0 or min(claim.growth, claim.added) < 0:
        raise CertificateError("shape and errors of a shield are positive, growth and what is added not negative")
    largest = [max(abs(low), abs(high)) for low, high in claim.box]
    seen = Observation(system.noise, system.float32).errors(largest)
    if any(e > claim.errors[0] * v * (1 - SLACK) for e, v in zip(seen, claim.shape, strict=True)):
        raise CertificateError("what is seen may be further from the state than the shield says")
    step = FloatStep(system, claim.box, claim.terms, meter)
    for error, disturbance, v in zip(step.errors(), system.disturbance, claim.shape, strict=True):
        if Fraction(error, 1 << BITS) + max(map(abs, disturbance)) > claim.added * v:
            raise CertificateError("rounding and disturbance may add more to a step than the shield says")
    step.check_growth(claim.shape, claim.growth)
    for before, after in pairwise(claim.errors):
        if claim.growth * before + claim.added > after * (1 - SLACK):
            raise CertificateError("the errors of a shield do not grow as fast as it says itself")


def _check_row(
    row: Vector,
    spread: Fraction,
    limit: Fraction,
    bound: Fraction,
    shape: Vector,
    largest: Sequence[Fraction],
    last: Fraction,
) -> None:
    """See that row·z + spread·error <= limit, all of it rounded to float64, implies row·x <= bound."""
    computed = [Fraction(float(a)) for a in row]
    if spread < sum(abs(a) * v for a, v in zip(row, shape, strict=True)):
        raise CertificateError("the spread of a direction is less than its errors add up to")
    size = sum((abs(a) * x for a, x in zip(computed, largest, strict=True)), Fraction(0)) + spread * last
    misread = sum(abs(a - b) * x for a, b, x in zip(row, computed, largest, strict=True))
    if limit + (len(row) + 6) * UNIT * size + misread + TINY > bound:
        raise CertificateError("a limit of the shield is too close to that of its set")


def _check_gate(claim: Margins, model: PlainModel, system: PlainSystem, largest: Sequence[Fraction]) -> None:
    """See that an expert that is ahead at z by the margins is chosen at what is seen of x."""
    seen = Observation(system.noise, system.float32).errors(largest)
    reach = [x + e for x, e in zip(largest, seen, strict=True)]
    weights = [[Fraction(weight) for weight in row] for row in model.weights]
    sizes = [
        abs(Fraction(b)) + sum(abs(w) * x for w, x in zip(row, reach, strict=True))
        for row, b in zip(weights, model.bias, strict=True)
    ]
    if max(sizes) >= 2**1020:
        raise CertificateError("the gate's logits may overflow")
    errors = [(len(reach) + 2) * UNIT * size + TINY for size in sizes]
    for i, row in enumerate(weights):
        for j, other in enumerate(weights):
            spread = sum(abs(a - b) * v for a, b, v in zip(row, other, claim.shape, strict=True))
            if i != j and claim.gate_spreads[i][j] < spread:
                raise CertificateError("the spread of two experts is less than their errors add up to")
            if i != j and claim.gate_errors[i][j] < 2 * (errors[i] + errors[j]) * (1 + Fraction(1, 2**40)):
                raise CertificateError("two experts are taken to be told apart where rounding may swap them")
