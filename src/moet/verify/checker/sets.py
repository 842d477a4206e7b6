"""Checker of proofs that lead from set to set. Standard library only; it shares nothing with the search but the format.

Kinds are ``"blocks"`` (safe for some steps), ``"invariant"`` (for ever) and ``"arrival"`` (a goal is reached).

The claim names a *template* (axes, a slice and its edges, other directions), affine *enclosures* of one step on a box
of states, and *blocks*: the number of steps that are taken from one set, with which enclosure, limits of what is
watched on the way, and the set they lead to. A set is a family of polytopes, one per interval of the slice. The first
block starts from the first states; the next from the set of the one before; for an invariant the last set is the one
before it. How one block is checked, see :mod:`moet.verify.checker.sets_walk`.

For an arrival, the first states are cut into *parts*. Each has a template and blocks of its own, each block an
enclosure and edges of its own. A block starts from all of the part, or from one polytope of the set of an earlier
block, and every polytope is the start of one block; so in the end nobody is left who has not been in the goal.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.documents import Box, covers, interval, most_in, sized
from moet.verify.checker.plain import PlainModel, system_digest
from moet.verify.checker.sets_claim import Conditions, Enclosure, Template, half_spaces, index_of
from moet.verify.checker.sets_walk import Walk

_MALFORMED = (
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)


def check_blocks(certificate: Certificate, model: PlainModel, system: dict[str, Any]) -> None:
    """Confirm a proof of one of these kinds; raises CertificateError with the reason if it fails."""
    claim = certificate.claim
    if claim.get("model") != model.digest:
        raise CertificateError("the certificate is about another model")
    if claim.get("system") != system_digest(system):
        raise CertificateError("the certificate is about another system")
    if model.prediction != "hard" and len(model.trees) > 1:
        raise CertificateError("the proof is about a hard mixture, but this model predicts softly")
    try:
        if certificate.kind == "arrival":
            _check_arrival(certificate, model, system)
        else:
            _check(certificate, model, system)
    except CertificateError:
        raise
    except _MALFORMED as error:
        raise CertificateError(f"the system or the certificate is malformed: {error!r}") from error


def _check(certificate: Certificate, model: PlainModel, system: dict[str, Any]) -> None:
    claim = certificate.claim
    blocks = claim["blocks"]
    lengths = [block["steps"] for block in blocks]
    if not all(type(length) is int and 0 <= length <= 1000 for length in lengths):
        raise CertificateError("a block has no proper number of steps")
    if certificate.kind == "invariant":
        if claim["steps"] is not None or len(blocks) < 2 or lengths[-1] < 1 or blocks[-1]["set"] != blocks[-2]["set"]:
            raise CertificateError("the last set does not lead to itself")
    elif type(claim["steps"]) is not int or sum(lengths) != claim["steps"]:
        raise CertificateError(f"the blocks have {sum(lengths)} steps, and {claim['steps']!r} are claimed")

    conditions = Conditions(system)
    conditions.check_first_states()
    template = Template(claim, len(system["states"]))
    enclosures = [Enclosure(part, model, conditions, template) for part in claim["enclosures"]]
    records = certificate.records()
    cells: list[list[Fraction] | None] = [_sides(conditions.initial)]
    for block in blocks:
        enclosure = enclosures[index_of(block["enclosure"], enclosures)]
        cells = _follow(cells, Walk(enclosure, block, conditions, template, records))
    records.finish()


def _check_arrival(certificate: Certificate, model: PlainModel, system: dict[str, Any]) -> None:
    claim = certificate.claim
    d = len(system["states"])
    goal = half_spaces(claim["goal"], d)
    if not goal:
        raise CertificateError("the certificate claims no goal")
    conditions = Conditions(system, must_be_safe=False)
    conditions.check_first_states()
    records = certificate.records()
    boxes: list[Box] = []
    for part in claim["parts"]:
        boxes.append([interval(side) for side in sized(part["initial"], d)])
        # polytopes of states that have not been in the goal, by where a block says that it starts, with their times
        missing: dict[Any, tuple[list[Fraction], int]] = {}
        if any(most_in(boxes[-1], row) > bound for row, bound in goal):
            missing[None] = _sides(boxes[-1]), 0
        for i, block in enumerate(part["blocks"]):
            cell, time = missing.pop(tuple(block["start"]) if block["start"] is not None else None)
            if type(block["steps"]) is not int or not 0 < block["steps"] <= claim["steps"] - time:
                raise CertificateError(f"a block has {block['steps']!r} steps, after {time} of {claim['steps']!r}")
            template = Template(part | {"edges": block["edges"]}, d)
            enclosure = Enclosure(block["enclosure"], model, conditions, template, goal)
            ends = _follow([cell], Walk(enclosure, block, conditions, template, records))
            missing |= {(i, k): (end, time + block["steps"]) for k, end in enumerate(ends) if end is not None}
        if missing:
            raise CertificateError("a part ends before all of its states have been in the goal")
    records.finish()
    if not covers(boxes, conditions.initial):
        raise CertificateError("the parts do not cover all first states")


def _sides(box: Box) -> list[Fraction]:
    """A box as a polytope: the limits of its axes."""
    return [bound for low, high in box for bound in (high, -low)]


def _follow(cells: Sequence[list[Fraction] | None], walk: Walk) -> list[list[Fraction] | None]:
    """Check all paths of a block, and return the set they lead to."""
    for cell in cells:
        if cell is not None:
            walk.start(cell)
    return walk.target
