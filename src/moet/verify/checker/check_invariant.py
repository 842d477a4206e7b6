"""Checker of proofs that lead from set to set. Standard library only; it shares nothing with the search but the format.

The claim names a *shape* (axes, a slice and its edges, template rows), affine *models* of one step on a box of states,
and *blocks*: the number of steps that are taken from one set, with which model, limits of what is watched on the way,
and the set they lead to. A set is a family of polytopes, one per interval of the slice. The first block starts from
the first states; the next from the set of the one before; for an invariant the last set is the one before it. How
one block is checked, see :mod:`moet.verify.checker.check_walk`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.check_claim import Conditions, Shape, StepModel, index_of
from moet.verify.checker.check_walk import Walk
from moet.verify.checker.plain import PlainModel, system_digest

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
    """Confirm a proof of kind ``"blocks"`` or ``"invariant"``; raises CertificateError with the reason if it fails."""
    claim = certificate.claim
    if claim.get("model") != model.digest:
        raise CertificateError("the certificate is about another model")
    if claim.get("system") != system_digest(system):
        raise CertificateError("the certificate is about another system")
    if model.prediction != "hard" and len(model.trees) > 1:
        raise CertificateError("the proof is about a hard mixture, but this model predicts softly")
    try:
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
    shape = Shape(claim, len(system["states"]))
    models = [StepModel(part, model, conditions, shape) for part in claim["models"]]
    records = certificate.records()
    cells: list[list[Fraction] | None] = [[bound for low, high in conditions.initial for bound in (high, -low)]]
    for block in blocks:
        walk = Walk(models[index_of(block["model"], models)], block, conditions, shape, records)
        for cell in cells:
            if cell is not None:
                walk.start(cell)
        cells = walk.target
    records.finish()
