"""Checker of the numbers with which a shield for controls decides. Standard library only.

The shield allows controls u at what is seen, y, if every tests_i·(y, u), added from left to right in float64, is at
most limits_i. What is shown here, with exact numbers: then the next state is in the polytope of the proof, whatever
sensors, rounding and disturbance do; ``docs/shields.md`` has the proof.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.documents.dynamics import Vector
from moet.verify.checker.documents.laws import PlainLaws
from moet.verify.checker.documents.reading import doubles, items, members, plain
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.flowpipe.admissible import (
    TINY,
    UNIT,
    AdmissibleClaim,
    dot,
    errors_of_seen,
    held,
    read_admissible,
)
from moet.verify.checker.loops.flowpipe.step import Step
from moet.verify.checker.meter import Meter


class ControlShield(NamedTuple):
    """A proof for ever by a polytope, and a test for each of its conditions."""

    proof: AdmissibleClaim
    tests: list[Vector]
    limits: Vector


def control_shield(claim: Any, model: PlainLaws, system: PlainSystem) -> ControlShield:
    """Read the claim of a shield for controls."""
    if type(claim) is not dict or "shield" not in claim:
        raise CertificateError("the claim of a shield lacks shield")
    proof = read_admissible({key: value for key, value in claim.items() if key != "shield"}, model, system)
    numbers = members(claim["shield"], "the shield", ("tests", "limits"))
    count = 2 * len(proof.box) + len(proof.rows)
    width = len(system.states) + len(system.controls)
    tests = [doubles(row, "tests", width) for row in items(numbers["tests"], "tests", count)]
    return ControlShield(proof, tests, doubles(numbers["limits"], "limits", count))


def check_control_shield(certificate: Certificate, model: PlainLaws, system: PlainSystem, meter: Meter) -> None:
    """Confirm a proof and the numbers of its shield; raises CertificateError with the reason if one fails."""
    claim = control_shield(plain(certificate.claim), model, system)
    step = held(certificate, claim.proof, model, system, meter)
    wrong = errors_of_seen(system, claim.proof.box)
    seen = [max(abs(low), abs(high)) + e for (low, high), e in zip(claim.proof.box, wrong, strict=True)]
    sizes = [*seen, *(max(map(abs, side)) for side in system.controls.values())]
    for (row, most), test, limit in zip(claim.proof.sides, claim.tests, claim.limits, strict=True):
        meter.spend(20 * len(sizes))
        if limit + _slack(row, step, test, wrong, sizes) > most:
            raise CertificateError("a limit of the shield is too close to the edge of its polytope")


def _slack(row: Vector, step: Step, test: Vector, wrong: Vector, sizes: Vector) -> Fraction:
    """How much more than the computed test row·x may be, of the next state x."""
    ahead = [dot(row, column) for column in zip(*step.matrix, strict=True)]
    pushes = [dot(row, column) for column in zip(*step.inputs, strict=True)]
    slack = dot(row, step.offset) + sum(abs(a) * e for a, e in zip(row, step.rest, strict=True))
    slack += sum(abs(a) * e for a, e in zip(ahead, wrong, strict=True))
    slack += sum(abs(a - b) * x for a, b, x in zip([*ahead, *pushes], test, sizes, strict=True) if a != b)
    return slack + 2 * (len(test) + 1) * UNIT * sum(abs(b) * x for b, x in zip(test, sizes, strict=True)) + TINY
