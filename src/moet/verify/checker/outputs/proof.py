"""Checker of proofs about outputs: ``bounds``, ``tolerance`` and ``distance``. Standard library only.

Each of them claims that nowhere in a body one of some alternatives holds, an alternative being linear conditions on the
outputs of one model or of two: that a bound is exceeded, that two models differ by more than a tolerance, or that an
output is what is looked for. The checker goes through all (pairs of) experts and trees; for every node that is not
empty a record says ``cut`` (the gates leave nobody there, by multipliers of their conditions) or ``split``: both
children follow or, at leaves, a cut for each case of each alternative (:mod:`~moet.verify.checker.outputs.case_rows`),
whose rows are numbered after the conditions of the gates.

A model whose schema has whole numbers or categories is asked about its possible rows only. Then the features of every
column of categories add up to one, two conditions each that are numbered after those of the gates, and the records of a
box begin with ``piece``, or with ``divide``: a feature that is whole in possible rows, and a whole number; the records
of both parts follow, those of the one up to the number first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate, Records
from moet.verify.checker.documents.laws import LawTree, PlainLaws, rounded_law
from moet.verify.checker.documents.reading import plain
from moet.verify.checker.documents.system import HalfSpace
from moet.verify.checker.inputs import claims
from moet.verify.checker.inputs.agreement import (
    CUT,
    EXACT_CUT,
    MOST_WAITING,
    SPLIT,
    Ball,
    Condition,
    Side,
    check_cut,
    halves,
    is_empty,
    read_multipliers,
)
from moet.verify.checker.inputs.gate import (
    GateConditions,
    Open,
    Sum,
    coordinate_unit,
    exact_logits,
    parts_of_one_sign,
    rounded_logits,
    sides_of,
    used_by_gate,
)
from moet.verify.checker.inputs.proof import body_near
from moet.verify.checker.meter import Meter, cost
from moet.verify.checker.outputs.case_rows import Output, Row, Wanted, cases, ruled_out
from moet.verify.checker.outputs.possible_rows import one_category_each, pieces

Alternatives = list[list[Wanted]]
Sides = list[tuple[Side, Side]]


def check_outputs(certificate: Certificate, models: Sequence[PlainLaws], meter: Meter) -> None:
    """Raise :class:`CertificateError` unless the certificate proves its claim about these models."""
    n_models = 2 if certificate.kind == "tolerance" else 1
    if len(models) != n_models:
        raise CertificateError(f"the proof is about {n_models} model(s), got {len(models)}")
    for model in models:
        if not model.is_hard:
            raise CertificateError("the proof is about hard mixtures, but this model predicts softly")
        meter.hold(len(model.bias) ** 2 * (len(model.feature_names) + 1) + _n_numbers(model))
    claim, records = plain(certificate.claim), certificate.records(meter)
    if certificate.kind == "bounds":
        _check_bounds(claims.bounds(claim, models[0]), models[0], records)
    elif certificate.kind == "tolerance":
        _check_tolerance(claims.tolerance(claim, *models), models, records)
    else:
        _check_distance(claims.distance(claim, models[0]), models[0], records)
    records.finish()


def _check_bounds(claim: claims.Bounds, model: PlainLaws, records: Records) -> None:
    """Conditions hold of what is deployed, whatever float64 arithmetic rounds."""
    missed = _possible([[_missed(condition)] for condition in claim.conditions], [model])
    price = 20 * _n_numbers(model)
    for lo, hi in pieces(model.columns, claim.box, records):
        for part_lo, part_hi in parts_of_one_sign(_used(model), lo, hi):
            records.meter.spend(price)
            unit = coordinate_unit([model], [*part_lo, *part_hi])
            logits = rounded_logits(model, part_lo, part_hi)
            own = model._replace(trees=[_rounded(tree, part_lo, part_hi) for tree in model.trees])
            _check_nowhere(records, [own], [logits], missed, sides_of(part_lo, part_hi, unit), unit)


def _check_tolerance(claim: claims.Tolerance, pair: Sequence[PlainLaws], records: Records) -> None:
    """In exact arithmetic no output of one model is off that of the other by more than the tolerance."""
    n_outputs = len(pair[0].outputs)
    apart = [
        [Wanted([*_unit(o, n_outputs, sign), *_unit(o, n_outputs, -sign)], claim.tolerance, True)]
        for o in range(n_outputs)
        for sign in (1, -1)
    ]
    for lo, hi in pieces(pair[0].columns, claim.box, records):
        unit = coordinate_unit(pair, [*lo, *hi])
        _check_nowhere(records, pair, [exact_logits(m) for m in pair], apart, sides_of(lo, hi, unit), unit)


def _check_distance(claim: claims.Distance, model: PlainLaws, records: Records) -> None:
    """In exact arithmetic no input nearer than the distance has outputs that meet the conditions, or differ so much."""
    if claim.conditions is not None:
        wanted = [[Wanted([-a for a in half.coefficients], -half.bound, False) for half in claim.conditions]]
    else:
        assert claim.tolerance is not None
        wanted = [
            [Wanted(_unit(o, len(model.outputs), sign), sign * u + claim.tolerance, True)]
            for o, u in enumerate(model.answer(claim.point))
            for sign in (1, -1)
        ]
    for box in pieces(model.columns, claim.box, records):
        unit = coordinate_unit([model], [*box.lo, *box.hi, *claim.point, claim.distance])
        sides, ball = body_near(claim._replace(box=box), unit)
        _check_nowhere(records, [model], [exact_logits(model)], wanted, sides, unit, ball)


def _missed(condition: HalfSpace) -> Wanted:
    return Wanted(list(condition.coefficients), condition.bound, True)


def _unit(o: int, size: int, sign: int) -> list[Fraction]:
    return [Fraction(sign if k == o else 0) for k in range(size)]


def _used(model: PlainLaws) -> set[int]:
    """Features that rounding errors depend on: those of the gate, and of the laws."""
    laws = (law for tree in model.trees for leaf in tree.laws for law in leaf)
    return used_by_gate(model) | {k for law in laws for k, w in enumerate(law.weights) if w}


def _rounded(tree: LawTree, lo: Open, hi: Open) -> LawTree:
    return tree._replace(laws=[[rounded_law(law, lo, hi) for law in leaf] for leaf in tree.laws])


class _Experts(NamedTuple):
    """One expert of every model: their trees, in whole coordinates, and the conditions of rows that they answer."""

    trees: list[LawTree]
    conditions: list[Condition]
    silent: set[int]


def _check_nowhere(
    records: Records,
    models: Sequence[PlainLaws],
    logits: list[list[Sum]],
    alternatives: Alternatives,
    sides: Sides,
    unit: int,
    ball: Ball | None = None,
) -> None:
    """Raise unless the records prove that nowhere in the body an alternative holds."""
    low, high = _bounds_of(models)
    possible = _possible(alternatives, models)
    if not possible:
        return
    scale = _scale(models, logits, possible)
    d = len(sides)
    records.meter.spend(cost(4 * (d + 1) * sum(map(len, logits)), scale.bit_length() + unit.bit_length()))
    records.charge(60 * (1 + d), 60)
    for experts in _experts(models, logits, scale, unit, records):
        stack: list[tuple[list[int], Sides]] = [([0] * len(models), sides)]
        while stack:
            nodes, box = stack.pop()
            if is_empty(box, ball):
                continue
            if len(stack) * d > MOST_WAITING:
                raise CertificateError("too many boxes wait to be looked at: the trees are too deep")
            code = records.code()
            if code in (CUT, EXACT_CUT):
                multipliers = read_multipliers(records, code)
                check_cut(multipliers, experts.conditions, experts.silent, box, ball, records.meter)
                continue
            if code != SPLIT:
                raise CertificateError(f"unknown code {code}")
            inner = [m for m, node in enumerate(nodes) if experts.trees[m].feature[node] >= 0]
            if inner:
                stack += _children(experts.trees, nodes, inner[0], box)
                continue
            laws = [law for tree, node in zip(experts.trees, nodes, strict=True) for law in tree.laws[node]]
            outputs = [Output(*parts) for parts in zip(laws, low, high, strict=True)]
            for wanted in possible:
                for rows in cases(wanted, outputs, records.meter):
                    _check_case(records, experts, rows, box, ball, scale, unit)


def _bounds_of(models: Sequence[PlainLaws]) -> tuple[Open, Open]:
    """Bounds of the outputs of all models, one model after the other."""
    return [bound for model in models for bound in model.low], [bound for model in models for bound in model.high]


def _possible(alternatives: Alternatives, models: Sequence[PlainLaws]) -> Alternatives:
    """Alternatives that the bounds of the outputs leave room for."""
    low, high = _bounds_of(models)
    return [wanted for wanted in alternatives if not ruled_out(wanted, low, high)]


def _n_numbers(model: PlainLaws) -> int:
    """How many numbers its laws have."""
    return sum(len(tree.laws) for tree in model.trees) * len(model.outputs) * (len(model.feature_names) + 1)


def _experts(
    models: Sequence[PlainLaws], logits: list[list[Sum]], scale: int, unit: int, records: Records
) -> Iterator[_Experts]:
    """All combinations of experts, the last model's changing fastest."""
    conditions = [GateConditions(of_model, scale, unit, records) for of_model in logits]
    sums = one_category_each(models[0].columns, len(models[0].feature_names), scale, unit)
    trees = [
        [tree._replace(threshold=[int(Fraction(t) * unit) for t in tree.threshold]) for tree in model.trees]
        for model in models
    ]
    first = [sum(map(len, logits[:m])) for m in range(len(models))]
    for chosen in product(*(range(len(model.trees)) for model in models)):
        yield _Experts(
            [trees[m][e] for m, e in enumerate(chosen)],
            [*(condition for m, e in enumerate(chosen) for condition in conditions[m](e)), *sums],
            {first[m] + e for m, e in enumerate(chosen)},
        )


def _children(trees: list[LawTree], nodes: list[int], m: int, box: Sides) -> list[tuple[list[int], Sides]]:
    """Both children of the node of model ``m``, the left one last: it is looked at first."""
    tree, node = trees[m], nodes[m]
    below, above = halves(tree, node, box)
    return [
        ([*nodes[:m], child, *nodes[m + 1 :]], part)
        for child, part in ((tree.right[node], above), (tree.left[node], below))
    ]


def _check_case(
    records: Records, experts: _Experts, rows: list[Row], box: Sides, ball: Ball | None, scale: int, unit: int
) -> None:
    code = records.code()
    if code not in (CUT, EXACT_CUT):
        raise CertificateError(f"a case needs a cut, got code {code}")
    records.meter.spend(cost(len(rows) * (len(box) + 1), scale.bit_length() + unit.bit_length()))
    own = [
        Condition([_whole(c * scale) for c in r.coefficients], _whole(r.bound * scale * unit), r.strict) for r in rows
    ]
    multipliers = read_multipliers(records, code)
    check_cut(multipliers, [*experts.conditions, *own], experts.silent, box, ball, records.meter)


def _scale(models: Sequence[PlainLaws], logits: list[list[Sum]], alternatives: Alternatives) -> int:
    """Number that makes all rows whole: those of the gates, and those of the cases."""
    sums = [law for model in models for tree in model.trees for leaf in tree.laws for law in leaf]
    of_laws = _denominator(n for law in sums for n in (*law.weights, law.bias, *law.slope, law.error))
    of_bounds = _denominator(n for model in models for n in (*model.low, *model.high) if n is not None)
    of_wanted = _denominator(n for wanted in alternatives for w in wanted for n in (*w.coefficients, w.bound))
    of_gates = _denominator(n for of_model in logits for g in of_model for n in (*g.weights, g.bias, *g.slope, g.error))
    return math.lcm(of_gates, math.lcm(of_laws, of_bounds) * of_wanted)


def _denominator(numbers: Iterator[Fraction]) -> int:
    return math.lcm(*{number.denominator for number in numbers})


def _whole(value: Fraction) -> int:
    if value.denominator != 1:
        raise CertificateError("a row is not whole in the units of the proof")
    return value.numerator
