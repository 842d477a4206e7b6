"""What certificates of shields claim: the proof that they are made of, and the numbers with which they decide.

Standard library only; read as the claims of :mod:`~moet.verify.checker.inputs.claims` are.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Sides, Vector
from moet.verify.checker.documents.model import PlainModel
from moet.verify.checker.documents.reading import double, doubles, items, members, whole
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.claims import MOST_STEPS, MOST_STEPS_IN_BLOCKS, Arrival, Sets, arrival, sets

MOST_TERMS = 40
"""Terms of the polynomials with which a shield computes sine and cosine."""

_NUMBERS = (
    *("bottom", "top", "terms", "shape", "growth", "added", "errors", "spreads", "limits"),
    *("safe_spreads", "safe_limits", "gate_spreads", "gate_errors"),
)


class Margins(NamedTuple):
    """The numbers with which a shield follows a policy into a set, by the names that the format has for them.

    ``limits`` has one row for every polytope of the set, None for those that are empty.
    """

    box: Sides
    terms: int
    shape: Vector
    growth: Fraction
    added: Fraction
    errors: Vector
    spreads: Vector
    limits: list[Vector | None]
    safe_spreads: Vector
    safe_limits: Vector
    gate_spreads: list[Vector]
    gate_errors: list[Vector]


class Shield(NamedTuple):
    """An invariant, and the margins of a shield that keeps runs where its policy gets back into it."""

    invariant: Sets
    margins: Margins


class GoalShield(NamedTuple):
    """A proof that a goal is reached, and the margins of a shield that keeps runs where it still will be in time."""

    arrival: Arrival
    within: int
    margins: Margins


def shield(claim: Any, model: PlainModel, system: PlainSystem) -> Shield:
    """Read the claim of a shield: that of its invariant, and its own numbers."""
    proof, part = _apart(claim)
    invariant = sets("invariant", proof, model, system)
    n_rows = 2 * len(system.states) + 2 + len(invariant.directions)
    n_slanted = sum(sum(map(bool, half.coefficients)) > 1 for half in system.safe)
    numbers = members(part, "the shield", _NUMBERS)
    return Shield(invariant, _margins(numbers, model, system, n_rows, len(invariant.edges) + 1, n_slanted))


def goal_shield(claim: Any, model: PlainModel, system: PlainSystem) -> GoalShield:
    """Read the claim of a shield for a goal: that of its proof of arrival, and its own numbers."""
    proof, part = _apart(claim)
    goal = arrival(proof, model, system)
    numbers = members(part, "the shield", ("within", *_NUMBERS))
    within = whole(numbers["within"], "within", 1, MOST_STEPS_IN_BLOCKS)
    return GoalShield(goal, within, _margins(numbers, model, system, len(goal.goal), 1, 0))


def _apart(claim: Any) -> tuple[dict[str, Any], Any]:
    """What is claimed without a shield, and its numbers."""
    if type(claim) is not dict or "shield" not in claim:
        raise CertificateError("the claim of a shield lacks shield")
    return {key: value for key, value in claim.items() if key != "shield"}, claim["shield"]


def _margins(
    part: dict[str, Any], model: PlainModel, system: PlainSystem, n_rows: int, n_cells: int, n_slanted: int
) -> Margins:
    d, n_experts = len(system.states), len(model.bias)
    errors = doubles(part["errors"], "errors")
    if not 2 <= len(errors) <= MOST_STEPS:
        raise CertificateError(f"a shield looks 1 to {MOST_STEPS - 1} steps ahead, got {len(errors) - 1}")
    gate_spreads, gate_errors = (
        [doubles(row, name, n_experts) for row in items(part[name], name, n_experts)]
        for name in ("gate_spreads", "gate_errors")
    )
    return Margins(
        box=list(zip(doubles(part["bottom"], "bottom", d), doubles(part["top"], "top", d), strict=True)),
        terms=whole(part["terms"], "terms", 1, MOST_TERMS),
        shape=doubles(part["shape"], "shape", d),
        growth=Fraction(double(part["growth"], "growth")),
        added=Fraction(double(part["added"], "added")),
        errors=errors,
        spreads=doubles(part["spreads"], "spreads", n_rows),
        limits=[
            None if cell is None else doubles(cell, "limits", n_rows)
            for cell in items(part["limits"], "limits", n_cells)
        ],
        safe_spreads=doubles(part["safe_spreads"], "safe_spreads", n_slanted),
        safe_limits=doubles(part["safe_limits"], "safe_limits", n_slanted),
        gate_spreads=gate_spreads,
        gate_errors=gate_errors,
    )
