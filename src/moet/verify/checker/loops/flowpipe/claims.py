"""What certificates about controlled systems claim. Standard library only."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Vector
from moet.verify.checker.documents.laws import PlainLaws
from moet.verify.checker.documents.reading import exact, items, members, shown, vector
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.inputs.claims import named

KINDS = ("hold", "avoid", "reach")
MOST_PARTS = 1000
"""Requirements, and conditions of each."""


class Norm(NamedTuple):
    """factor·‖(rows[0]·x, rows[1]·x)‖."""

    factor: Fraction
    rows: list[Vector]


class Condition(NamedTuple):
    """coefficients·x + norms <= bound."""

    coefficients: Vector
    norms: list[Norm]
    bound: Fraction


class Requirement(NamedTuple):
    """What must be so from one time to another, None for the end of the proof.

    ``"hold"``: all conditions at all of these times. ``"avoid"``: never all of them. ``"reach"``: all of them at some
    time at which the policy looks.
    """

    kind: str
    start: Fraction
    end: Fraction | None
    conditions: list[Condition]


class FlowpipeClaim(NamedTuple):
    """Every run meets all requirements."""

    spec: list[Requirement]

    @property
    def reaches(self) -> bool:
        """Whether a goal is to be reached; then what has no end holds until that is so, and otherwise for ever."""
        return any(part.kind == "reach" for part in self.spec)

    @property
    def for_ever(self) -> bool:
        """Whether something is to hold for ever."""
        return not self.reaches and any(part.end is None for part in self.spec)


def flowpipe(claim: Any, model: PlainLaws, system: PlainSystem) -> FlowpipeClaim:
    """Read the claim of a proof that follows sets through time."""
    members(claim, "the claim", ("model", "system", "name", "spec"))
    named(claim["model"], model.digest, "model")
    named(claim["system"], system.digest, "system")
    if claim["name"] != system.name:
        raise CertificateError(f"the claim calls the system {shown(claim['name'])}, its name is {shown(system.name)}")
    if not system.controls:
        raise CertificateError("the proof is about a system with controls, and this one has actions")
    if not model.is_hard:
        raise CertificateError("the proof is about a hard mixture, but this model predicts softly")
    for what, names, wanted in (
        ("features", model.feature_names, system.features),
        ("outputs", model.outputs, list(system.controls)),
    ):
        if len(names) != len(wanted) or (names != wanted and sorted(names) == sorted(wanted)):
            raise CertificateError(f"the {what} of the model are not those of the system, in its order")
    parts = items(claim["spec"], "spec")
    if not 0 < len(parts) <= MOST_PARTS:
        raise CertificateError(f"a claim has 1 to {MOST_PARTS} requirements")
    return FlowpipeClaim([_requirement(part, len(system.states)) for part in parts])


def _requirement(part: Any, d: int) -> Requirement:
    members(part, "a requirement", ("kind", "from", "to", "conditions"))
    if part["kind"] not in KINDS:
        raise CertificateError(f"unknown kind of requirement: {shown(part['kind'])}")
    start = exact(part["from"], "from")
    end = None if part["to"] is None else exact(part["to"], "to")
    if start < 0 or (end is not None and end < start):
        raise CertificateError("a requirement ends before it begins, or begins before all time")
    if part["kind"] == "reach" and end is None:
        raise CertificateError("a goal is to be reached by some time")
    conditions = [_condition(condition, d) for condition in items(part["conditions"], "conditions")]
    if not 0 < len(conditions) <= MOST_PARTS:
        raise CertificateError(f"a requirement has 1 to {MOST_PARTS} conditions")
    return Requirement(part["kind"], start, end, conditions)


def _condition(part: Any, d: int) -> Condition:
    members(part, "a condition", ("coefficients", "bound"), optional=("norms",))
    norms = []
    for norm in items(part.get("norms", []), "norms"):
        members(norm, "a norm", ("factor", "rows"))
        rows = [vector(row, "rows", d) for row in items(norm["rows"], "rows", 2)]
        norms.append(Norm(exact(norm["factor"], "factor"), rows))
    return Condition(vector(part["coefficients"], "coefficients", d), norms, exact(part["bound"], "bound"))
