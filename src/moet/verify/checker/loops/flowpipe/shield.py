"""Checker of the numbers with which a shield for controls decides. Standard library only.

The shield computes where a control leads from what is seen, z, and allows it if every |rows_i·(z − middle)| is at most
limits_i in float64. What is shown here, with exact numbers: then the true next state is in the home of the proof,
whatever sensors, rounding and disturbance do; ``docs/shields.md`` has the proof.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.documents.laws import PlainLaws
from moet.verify.checker.documents.reading import doubles, items, members, plain
from moet.verify.checker.documents.system import ControlledAffine, PlainSystem, Vector
from moet.verify.checker.loops.equations import ONE
from moet.verify.checker.loops.flowpipe.claims import FlowpipeClaim, flowpipe
from moet.verify.checker.loops.flowpipe.walk import Home, followed
from moet.verify.checker.loops.observation import Observation
from moet.verify.checker.meter import Meter

UNIT = Fraction(1, 2**53)
TINY = Fraction(1, 2**300)
"""More than all numbers that underflow."""

SHARE = Fraction(1, 2**40)
"""Sizes are taken this much larger than those of exact numbers, for computed ones are rounded."""


class ControlShield(NamedTuple):
    """A proof for ever, and the numbers of a shield: the box of what may be seen, and the test."""

    proof: FlowpipeClaim
    largest: Vector
    middle: Vector
    rows: list[Vector]
    limits: Vector


def control_shield(claim: Any, model: PlainLaws, system: PlainSystem) -> ControlShield:
    """Read the claim of a shield for controls."""
    if type(claim) is not dict or "shield" not in claim:
        raise CertificateError("the claim of a shield lacks shield")
    proof = flowpipe({key: value for key, value in claim.items() if key != "shield"}, model, system)
    numbers = members(claim["shield"], "the shield", ("largest", "middle", "rows", "limits"))
    d = len(system.states)
    return ControlShield(
        proof,
        doubles(numbers["largest"], "largest", d),
        doubles(numbers["middle"], "middle", d),
        [doubles(row, "rows", d) for row in items(numbers["rows"], "rows", d)],
        doubles(numbers["limits"], "limits", d),
    )


def check_control_shield(certificate: Certificate, model: PlainLaws, system: PlainSystem, meter: Meter) -> None:
    """Confirm a proof and the numbers of its shield; raises CertificateError with the reason if one fails."""
    claim = control_shield(plain(certificate.claim), model, system)
    if any(part.kind == "reach" or part.end is not None or part.start for part in claim.proof.spec):
        raise CertificateError("a shield is for what holds at all times, from the start and for ever")
    if not isinstance(system.dynamics, ControlledAffine) or system.observe:
        raise CertificateError("a shield for controls is about an affine system in discrete time that shows its states")
    home, _ = followed(certificate, claim.proof, model, system, meter)
    if home is None:
        raise CertificateError("a shield needs a proof that ends in a set of its own")
    _check_limits(claim, home, system, system.dynamics)


def _check_limits(claim: ControlShield, home: Home, system: PlainSystem, dynamics: ControlledAffine) -> None:
    """See that the test, passed in float64, means that the next state is in the home."""
    if min(claim.largest) < 0:
        raise CertificateError("sizes of what is seen are not negative")
    d = len(system.states)
    seen = _errors_of_seen(claim.largest, system)
    sizes = _sizes(claim, system, dynamics)
    skewed = _skew(claim.rows, [[Fraction(value, ONE) for value in row[:d]] for row in home.frame[:d]])
    off_middle = [abs(Fraction(a, ONE) - b) for a, b in zip(home.middle, claim.middle, strict=False)]
    count = len(system.states) + len(system.controls)
    for row, limit in zip(claim.rows, claim.limits, strict=True):
        moved = [_dot(row, [line[j] for line in dynamics.matrix]) for j in range(d)]
        spread = sum((abs(a) * e for a, e in zip(moved, seen, strict=True)), Fraction(0))
        spread += sum(abs(a) * max(map(abs, side)) for a, side in zip(row, system.disturbance, strict=True))
        spread += sum(abs(a) * gap for a, gap in zip(row, off_middle, strict=True))
        rounding = 4 * (count + 8) * UNIT * sum(abs(a) * size for a, size in zip(row, sizes, strict=True)) + TINY
        if limit + spread + rounding > 1 - skewed:
            raise CertificateError("a limit of the shield is too close to the edge of its set")


def _errors_of_seen(largest: Vector, system: PlainSystem) -> Vector:
    """How far a state may be from what is seen of it, of at most these sizes; it is at most twice as large itself."""
    noise = system.noise
    states = [2 * (size + e) + 1 for size, e in zip(largest, noise, strict=True)]
    return Observation(noise, system.float32).errors(states)


def _sizes(claim: ControlShield, system: PlainSystem, dynamics: ControlledAffine) -> Vector:
    """Sum of the absolute values of all terms of a next state, and of the middle."""
    controls = [max(map(abs, side)) for side in system.controls.values()]
    found = []
    for row, gains, offset, middle in zip(
        dynamics.matrix, dynamics.input_matrix, dynamics.offset, claim.middle, strict=True
    ):
        size = abs(offset) + abs(middle)
        size += sum(abs(a) * x for a, x in zip(row, claim.largest, strict=True))
        size += sum(abs(b) * u for b, u in zip(gains, controls, strict=True))
        found.append(size * (1 + SHARE) + TINY)
    return found


def _skew(rows: list[Vector], frame: list[Vector]) -> Fraction:
    """Largest row sum of |rows·frame − 1|: how far the rows are from the inverse of the frame."""
    worst = Fraction(0)
    for i, row in enumerate(rows):
        products = [_dot(row, [line[j] for line in frame]) - (i == j) for j in range(len(row))]
        worst = max(worst, sum(map(abs, products), Fraction(0)))
    if worst >= 1:
        raise CertificateError("the rows of the shield are not those of its set")
    return worst


def _dot(row: Vector, column: Vector) -> Fraction:
    return sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0))
