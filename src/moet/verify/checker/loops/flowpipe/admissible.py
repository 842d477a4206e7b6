"""Checker of proofs for ever by a polytope in which one affine law holds a system. Standard library only.

P is a box, cut by half-spaces. Shown are, with exact numbers: all first states are in P; in P all requirements hold,
and between two states of P at all times; the law is not clipped in P; and it leads from P into P. Each of these is an
inequality g·x <= b for all x in P. Given multipliers λ >= 0 of the half-spaces rows·x <= limits, g·x is at most
λ·limits + max over the box of (g - λ·rows)·x: true for all multipliers, and tight for good ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate, Records
from moet.verify.checker.documents.dynamics import Sides, Vector
from moet.verify.checker.documents.laws import PlainLaws
from moet.verify.checker.documents.reading import interval, items, plain, vector
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.flowpipe.claims import FlowpipeClaim, flowpipe
from moet.verify.checker.loops.flowpipe.step import Step, step_on
from moet.verify.checker.loops.geometry import most_in
from moet.verify.checker.loops.observation import Observation
from moet.verify.checker.meter import Meter

MOST_ROWS = 5000
UNIT = Fraction(1, 2**53)
TINY = Fraction(1, 2**300)
"""More than all numbers that underflow."""

OWN = ("box", "rows", "limits")
"""Keys of the claim besides those of a flowpipe."""


class AdmissibleClaim(NamedTuple):
    """Every run meets all requirements, for it stays in the polytope."""

    proof: FlowpipeClaim
    box: Sides
    rows: list[Vector]
    limits: Vector

    @property
    def sides(self) -> Iterator[tuple[Vector, Fraction]]:
        """All conditions of the polytope: those of the box, state by state, then its half-spaces."""
        d = len(self.box)
        for k, (low, high) in enumerate(self.box):
            for sign, bound in ((1, high), (-1, -low)):
                yield [Fraction(sign if i == k else 0) for i in range(d)], bound
        yield from zip(self.rows, self.limits, strict=True)


class Law(NamedTuple):
    """Controls gain·x + constant, give or take ``error`` for what is seen wrongly and rounded."""

    gain: list[Vector]
    constant: Vector
    error: Vector


def read_admissible(claim: Any, model: PlainLaws, system: PlainSystem) -> AdmissibleClaim:
    """Read the claim of such a proof."""
    if type(claim) is not dict or any(key not in claim for key in OWN):
        raise CertificateError(f"the claim lacks {', '.join(OWN)}")
    proof = flowpipe({key: value for key, value in claim.items() if key not in OWN}, model, system)
    d = len(system.states)
    box = [interval(side, "box") for side in items(claim["box"], "box", d)]
    rows = [vector(row, "rows", d) for row in items(claim["rows"], "rows")]
    if len(rows) > MOST_ROWS:
        raise CertificateError(f"the polytope has more than {MOST_ROWS} half-spaces")
    return AdmissibleClaim(proof, box, rows, vector(claim["limits"], "limits", len(rows)))


def check_admissible(certificate: Certificate, model: PlainLaws, system: PlainSystem, meter: Meter) -> None:
    """Confirm a proof of this kind; raises CertificateError with the reason if it fails."""
    held(certificate, read_admissible(plain(certificate.claim), model, system), model, system, meter)


def held(certificate: Certificate, claim: AdmissibleClaim, model: PlainLaws, system: PlainSystem, meter: Meter) -> Step:
    """Confirm that the law holds the system in the polytope; returns one step from there."""
    _check_kind(claim, model, system)
    records = certificate.records(meter)
    inside = _Inside(claim, records)
    meter.spend(10 * len(claim.rows) * len(claim.box) ** 2)
    for row, limit in claim.sides:
        if most_in(system.initial, row) > limit:
            raise CertificateError("the polytope does not have all first states")
    step = step_on(system, claim.box, meter)
    for part in claim.proof.spec:
        for condition in part.conditions:
            bend = sum((abs(a) * b for a, b in zip(condition.coefficients, step.bend, strict=True)), Fraction(0))
            inside.show(condition.coefficients, condition.bound - bend, "a requirement may be missed in the polytope")
    _check_domain(claim, system, step)
    law = _law(claim, model, system, inside)
    _check_invariant(claim, step, law, inside)
    records.finish()
    return step


def _check_kind(claim: AdmissibleClaim, model: PlainLaws, system: PlainSystem) -> None:
    for part in claim.proof.spec:
        if part.kind != "hold" or part.start or part.end is not None or any(c.norms for c in part.conditions):
            raise CertificateError("a polytope is about linear conditions that hold from the start and for ever")
    if system.observe:
        raise CertificateError("a polytope is about policies that see the states themselves")
    if model.labels or len(model.trees) != 1 or model.trees[0].feature[0] >= 0:
        raise CertificateError("a polytope is about one affine law, and the model has several")


def _check_domain(claim: AdmissibleClaim, system: PlainSystem, step: Step) -> None:
    for side, (low, high), bend in zip(system.domain, claim.box, step.bend, strict=True):
        if side is not None and not (side[0] <= low - bend and high + bend <= side[1]):
            raise CertificateError("the polytope leaves the states that the description of the system is about")


class _Inside:
    """Shows inequalities that hold in the polytope, with the multipliers of the records in their order."""

    def __init__(self, claim: AdmissibleClaim, records: Records) -> None:
        self._claim, self._records = claim, records

    def show(self, row: Vector, bound: Fraction, complaint: str) -> None:
        """See that row·x <= bound in the polytope."""
        self._records.code()
        (count,) = self._records.refs(1)
        if not 0 <= count <= len(self._claim.rows):
            raise CertificateError(f"an inequality has {count} multipliers")
        self._records.charge(1, 10 * len(row))
        left, shown = list(row), Fraction(0)
        for place, number in self._records.multipliers(count):
            if not 0 <= place < len(self._claim.rows):
                raise CertificateError("a multiplier is of a half-space that there is not")
            factor = Fraction(number)
            left = [a - factor * b for a, b in zip(left, self._claim.rows[place], strict=True)]
            shown += factor * self._claim.limits[place]
        if shown + most_in(self._claim.box, left) > bound:
            raise CertificateError(complaint)


def errors_of_seen(system: PlainSystem, box: Sides) -> Vector:
    """How far what is seen may be from states of a box."""
    return Observation(system.noise, system.float32).errors([max(abs(low), abs(high)) for low, high in box])


def _law(claim: AdmissibleClaim, model: PlainLaws, system: PlainSystem, inside: _Inside) -> Law:
    """What the law does in the polytope, where no bound clips it."""
    wrong = errors_of_seen(system, claim.box)
    largest = [max(abs(low), abs(high)) + e for (low, high), e in zip(claim.box, wrong, strict=True)]
    gains, constants, errors = [], [], []
    limits = zip(model.low, model.high, system.controls.values(), strict=True)
    for law, (low, high, (least, most)) in zip(model.trees[0].laws[0], limits, strict=True):
        sizes = abs(law.bias) + sum(abs(w) * x for w, x in zip(law.weights, largest, strict=True))
        rounding = 2 * (len(largest) + 2) * UNIT * sizes + TINY if any(law.weights) else Fraction(0)
        error = sum((abs(w) * e for w, e in zip(law.weights, wrong, strict=True)), Fraction(0)) + rounding
        top, bottom = most if high is None else min(most, high), least if low is None else max(least, low)
        clipped = "a control may be beyond its limits in the polytope"
        inside.show(law.weights, top - error - law.bias, clipped)
        inside.show([-w for w in law.weights], law.bias - error - bottom, clipped)
        gains.append(law.weights)
        constants.append(law.bias)
        errors.append(error)
    return Law(gains, constants, errors)


def _check_invariant(claim: AdmissibleClaim, step: Step, law: Law, inside: _Inside) -> None:
    """See that one step leads from the polytope into it."""
    for row, limit in claim.sides:
        pushes = [dot(row, column) for column in zip(*step.inputs, strict=True)]
        ahead = [dot(row, column) for column in zip(*step.matrix, strict=True)]
        for push, gain in zip(pushes, law.gain, strict=True):
            if push:
                ahead = [a + push * k for a, k in zip(ahead, gain, strict=True)]
        spread = sum((abs(a) * e for a, e in zip(row, step.rest, strict=True)), Fraction(0))
        spread += sum((abs(push) * e for push, e in zip(pushes, law.error, strict=True)), Fraction(0))
        bound = limit - dot(row, step.offset) - dot(pushes, law.constant) - spread
        inside.show(ahead, bound, "a step may lead out of the polytope")


def dot(row: Any, column: Any) -> Fraction:
    """Σ row_k·column_k."""
    return sum((a * b for a, b in zip(row, column, strict=True) if a), Fraction(0))
