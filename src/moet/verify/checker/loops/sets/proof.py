"""Checker of proofs that lead from set to set. Standard library only; it shares nothing with the search but the format.

Kinds are ``"blocks"`` (safe for some steps), ``"invariant"`` (for ever), ``"shield"`` (an invariant, and the numbers
with which a shield keeps others to it: :mod:`moet.verify.checker.loops.sets.margins`), ``"arrival"`` (a goal is
reached) and ``"goal_shield"`` (so it is, whatever is wanted, behind a shield with these numbers).

The claim names a *template* (axes, a slice and its edges, other directions), affine *enclosures* of one step on a box
of states, and *blocks*: the number of steps that are taken from one set, with which enclosure, limits of what is
watched on the way, and the set they lead to. A set is a family of polytopes, one per interval of the slice. The first
block starts from the first states; the next from the set of the one before; for an invariant the last set is the one
before it. How one block is checked, see :mod:`moet.verify.checker.loops.sets.walk`.

For an arrival, the first states are cut into *parts*. Each has a template and blocks of its own, each block an
enclosure and edges of its own. A block starts from all of the part, or from one polytope of the set of an earlier
block, and every polytope is the start of one block; so in the end nobody is left who has not been in the goal.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate, Records
from moet.verify.checker.documents.model import PlainModel
from moet.verify.checker.documents.reading import plain
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops import claims as loop_claims
from moet.verify.checker.loops import shield_claims
from moet.verify.checker.loops.geometry import Box, covers, most_in
from moet.verify.checker.loops.sets.claim import Conditions, Enclosure, Template
from moet.verify.checker.loops.sets.margins import check_goal_shield, check_shield
from moet.verify.checker.loops.sets.walk import Walk
from moet.verify.checker.meter import Meter


def check_sets(certificate: Certificate, model: PlainModel, system: PlainSystem, meter: Meter) -> None:
    """Confirm a proof of one of these kinds; raises CertificateError with the reason if it fails."""
    records = certificate.records(meter)
    document = plain(certificate.claim)
    if certificate.kind == "arrival":
        _check_arrival(loop_claims.arrival(document, model, system), model, system, records)
    elif certificate.kind == "shield":
        shield = shield_claims.shield(document, model, system)
        _check_safe(shield.invariant, model, system, records)
        check_shield(shield, model, system, meter)
    elif certificate.kind == "goal_shield":
        guided = shield_claims.goal_shield(document, model, system)
        _check_arrival(guided.arrival, model, system, records)
        check_goal_shield(guided, model, system, meter)
    else:
        _check_safe(loop_claims.sets(certificate.kind, document, model, system), model, system, records)
    records.finish()


def _check_safe(claim: loop_claims.Sets, model: PlainModel, system: PlainSystem, records: Records) -> None:
    blocks = claim.blocks
    n_steps = sum(block.steps for block in blocks)
    if claim.steps is None:
        if len(blocks) < 2 or blocks[-1].steps < 1 or blocks[-1].target != blocks[-2].target:
            raise CertificateError("the last set does not lead to itself")
    elif n_steps != claim.steps:
        raise CertificateError(f"the blocks have {n_steps} steps, and {claim.steps} are claimed")

    conditions = Conditions(system)
    conditions.check_first_states()
    template = Template(claim.slice, claim.edges, claim.directions)
    enclosures = [Enclosure(part, model, conditions, template, records.meter) for part in claim.enclosures]
    cells: list[list[Fraction] | None] = [_sides(conditions.initial)]
    for block in blocks:
        assert isinstance(block.enclosure, int)
        cells = _follow(cells, Walk(enclosures[block.enclosure], block, conditions, template, records))


def _check_arrival(claim: loop_claims.Arrival, model: PlainModel, system: PlainSystem, records: Records) -> None:
    conditions = Conditions(system, must_be_safe=False)
    conditions.check_first_states()
    for part in claim.parts:
        _check_part(part, claim, model, conditions, records)
    if not covers([part.box for part in claim.parts], conditions.initial, records.meter):
        raise CertificateError("the parts do not cover all first states")


def _check_part(
    part: loop_claims.Part, claim: loop_claims.Arrival, model: PlainModel, conditions: Conditions, records: Records
) -> None:
    # polytopes of states that have not been in the goal, by where a block says that it starts, with their times
    missing: dict[tuple[int, int] | None, tuple[list[Fraction], int]] = {}
    if any(most_in(part.box, row) > bound for row, bound in claim.goal):
        missing[None] = _sides(part.box), 0
    for i, block in enumerate(part.blocks):
        if block.start not in missing:
            raise CertificateError(f"block {i} of a part starts where nobody is")
        cell, time = missing.pop(block.start)
        if not 0 < block.steps <= claim.steps - time:
            raise CertificateError(f"a block has {block.steps} steps, after {time} of {claim.steps}")
        template = Template(part.slice, block.edges, part.directions)
        assert isinstance(block.enclosure, loop_claims.EnclosureClaim)
        enclosure = Enclosure(block.enclosure, model, conditions, template, records.meter, claim.goal)
        ends = _follow([cell], Walk(enclosure, block, conditions, template, records))
        missing |= {(i, k): (end, time + block.steps) for k, end in enumerate(ends) if end is not None}
    if missing:
        raise CertificateError("a part ends before all of its states have been in the goal")


def _sides(box: Box) -> list[Fraction]:
    """A box as a polytope: the limits of its axes."""
    return [bound for low, high in box for bound in (high, -low)]


def _follow(cells: Sequence[list[Fraction] | None], walk: Walk) -> list[list[Fraction] | None]:
    """Check all paths of a block, and return the set they lead to."""
    for cell in cells:
        if cell is not None:
            walk.start(cell)
    return walk.target
