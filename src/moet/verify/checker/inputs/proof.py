"""Checker of proofs about single inputs: ``always``, ``equivalent`` and ``closest``. Standard library only.

Each of them claims that two grouped models (classes gathered into groups; one of them may be constant) answer every
input of a body with the same group: what the body, the groups and the conditions of the experts are is made from the
claim here, and :mod:`~moet.verify.checker.inputs.agreement` goes through the proof. Claims about soft models are a
matter of :mod:`~moet.verify.checker.inputs.soft`.

All arithmetic is on integers: coordinates are multiplied by one number, and weights by another, that make them whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate, Records
from moet.verify.checker.documents.model import PlainModel, PlainTree, typed
from moet.verify.checker.documents.reading import plain
from moet.verify.checker.inputs import claims, soft
from moet.verify.checker.inputs.agreement import Ball, Condition, Grouped, Side, check_agreement, from_above
from moet.verify.checker.inputs.gate import (
    GateConditions,
    Sum,
    coordinate_unit,
    exact_logits,
    parts_of_one_sign,
    rounded_logits,
    sides_of,
    used_by_gate,
)
from moet.verify.checker.meter import Meter, cost
from moet.verify.checker.sums import equivalence
from moet.verify.checker.sums import proof as sums


def check_static(certificate: Certificate, models: Sequence[PlainModel], meter: Meter) -> None:
    """Raise :class:`CertificateError` unless the certificate proves its claim about these models."""
    n_models = 2 if certificate.kind == "equivalent" else 1
    if len(models) != n_models:
        raise CertificateError(f"the proof is about {n_models} model(s), got {len(models)}")
    for model in models:
        meter.hold(len(model.bias) ** 2 * (len(model.feature_names) + 1))
    claim, records = plain(certificate.claim), certificate.records(meter)
    first, last = models[0], models[-1]
    hard = all(model.is_hard for model in models)
    votes = sums if sums.is_sum(first) else soft
    if certificate.kind == "always":
        (_check_always if hard else votes.check_always)(claims.always(claim, first), first, records)
    elif certificate.kind == "equivalent":
        votes_of_pair = equivalence if equivalence.are_sums(models) else soft
        check = _check_equivalent if hard else votes_of_pair.check_equivalent
        check(claims.equivalent(claim, first, last), models, records)
    else:
        (_check_closest if hard else votes.check_closest)(claims.closest(claim, first), first, records)
    records.finish()


def _check_always(claim: claims.Always, model: PlainModel, records: Records) -> None:
    answers = set(map(typed, claim.answers))
    groups = [int(typed(label) not in answers) for label in model.classes]
    lo, hi = claim.box
    for part_lo, part_hi in parts_of_one_sign(used_by_gate(model), lo, hi):
        unit = coordinate_unit([model], [*part_lo, *part_hi])
        logits = rounded_logits(model, part_lo, part_hi)
        (a,) = _grouped([model], [groups], unit, [logits], records)
        check_agreement(records, a, _constant(len(lo)), sides_of(part_lo, part_hi, unit), None)


def _check_equivalent(claim: claims.Equivalent, pair: Sequence[PlainModel], records: Records) -> None:
    first, second = pair
    number = {label: k + 1 for k, label in enumerate(dict.fromkeys(map(typed, [*first.classes, *second.classes])))}
    if claim.classes is not None:
        wanted = set(map(typed, claim.classes))
        number = {label: k if label in wanted else 0 for label, k in number.items()}
    lo, hi = claim.box
    unit = coordinate_unit([first, second], [*lo, *hi])
    groups = [[number[typed(label)] for label in model.classes] for model in (first, second)]
    a, b = _grouped([first, second], groups, unit, [exact_logits(first), exact_logits(second)], records)
    check_agreement(records, a, b, sides_of(lo, hi, unit), None)


def _check_closest(claim: claims.Closest, model: PlainModel, records: Records) -> None:
    unit = coordinate_unit([model], [*claim.box.lo, *claim.box.hi, *claim.point, claim.distance])
    sides, ball = body_near(claim, unit)
    (a,) = _grouped([model], [_wanted(claim, model)], unit, [exact_logits(model)], records)
    check_agreement(records, a, _constant(len(claim.point)), sides, ball)


def body_near(claim: claims.Closest | claims.Distance, unit: int) -> tuple[list[tuple[Side, Side]], Ball | None]:
    """Part of the box that is nearer to the point than the distance, in whole coordinates: sides, and a ball if l1."""
    sides = sides_of(*claim.box, unit)
    if claim.distance is None:
        return sides, None
    centre, radius = [int(value * unit) for value in claim.point], int(claim.distance * unit)
    if claim.norm == "l1":
        return sides, Ball(centre, radius)
    within = [
        (max(low, Side(c - radius, True)), min(high, Side(c + radius, True), key=from_above))
        for (low, high), c in zip(sides, centre, strict=True)
    ]
    return within, None


def _wanted(claim: claims.Closest, model: PlainModel) -> list[int]:
    """Group 1 of the classes whose inputs keep the claimed distance."""
    if claim.answer is not None:
        return [int(typed(label) == typed(claim.answer)) for label in model.classes]
    point = claim.point
    logits = [
        Fraction(b) + sum(Fraction(w) * x for w, x in zip(row, point, strict=True))
        for row, b in zip(model.weights, model.bias, strict=True)
    ]
    tree = model.trees[logits.index(max(logits))]
    node = 0
    while tree.label[node] < 0:
        below = point[tree.feature[node]] <= Fraction(tree.threshold[node])
        node = tree.left[node] if below else tree.right[node]
    return [int(k != tree.label[node]) for k in range(len(model.classes))]


def _grouped(
    models: Sequence[PlainModel], groups: list[list[int]], unit: int, logits: list[list[Sum]], records: Records
) -> list[Grouped]:
    """Models with integers for coordinates and weights, both in the same units for all of them."""
    numbers = (n for of_model in logits for g in of_model for n in (*g.weights, *g.slope, g.bias, g.error))
    scale = math.lcm(*{number.denominator for number in numbers})
    d = len(models[0].feature_names)
    n_numbers = sum(map(len, logits)) * (d + 1)
    records.meter.spend(cost(4 * n_numbers, scale.bit_length() + unit.bit_length()))
    records.charge(60 * (1 + d), 60)
    result = []
    for model, group_of_class, of_model in zip(models, groups, logits, strict=True):
        trees = [tree._replace(threshold=[int(Fraction(t) * unit) for t in tree.threshold]) for tree in model.trees]
        only = [_only(tree, group_of_class) for tree in trees]
        result.append(Grouped(trees, only, GateConditions(of_model, scale, unit, records)))
    return result


def _constant(n_features: int) -> Grouped:
    """Model that answers everything with group 0."""
    silent = Condition([0] * n_features, 0, False)
    return Grouped([PlainTree([-1], [0.0], [-1], [-1], [0], [[1.0]])], [[0]], lambda _: [silent])


def _only(tree: PlainTree, groups: list[int]) -> list[int]:
    only = [groups[label] if label >= 0 else -1 for label in tree.label]
    for node in reversed(range(len(only))):  # children come after their parent
        if tree.label[node] < 0 and only[tree.left[node]] == only[tree.right[node]]:
            only[node] = only[tree.left[node]]
    return only
