"""Checker of proofs about single inputs: ``always``, ``equivalent`` and ``closest``. Standard library only.

Each of them claims that two grouped models (classes gathered into groups; one of them may be constant) answer every
input of a body with the same group: what the body, the groups and the conditions of the experts are is made from the
claim here, and :mod:`~moet.verify.checker.agreement` goes through the proof. Claims about soft models are a matter of
:mod:`~moet.verify.checker.soft`.

All arithmetic is on integers: coordinates are multiplied by one number, and weights by another, that make them whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from operator import add
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker import claims, soft
from moet.verify.checker.agreement import Ball, Condition, Grouped, Side, check_agreement, from_above
from moet.verify.checker.certificate import Certificate, Records
from moet.verify.checker.meter import Meter, cost
from moet.verify.checker.plain import PlainModel, PlainTree, typed
from moet.verify.checker.reading import plain

_MOST_OPEN = 16
_LARGEST_LOGIT = 2**1023
"""Logits below this do not overflow, nor does any sum on the way."""

_FAR = 10**150
"""Where a side is open, proofs hold for numbers up to this, and further out as long as no logit overflows."""


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
    if certificate.kind == "always":
        (_check_always if hard else soft.check_always)(claims.always(claim, first), first, records)
    elif certificate.kind == "equivalent":
        (_check_equivalent if hard else soft.check_equivalent)(claims.equivalent(claim, first, last), models, records)
    else:
        (_check_closest if hard else soft.check_closest)(claims.closest(claim, first), first, records)
    records.finish()


def _check_always(claim: claims.Always, model: PlainModel, records: Records) -> None:
    answers = set(map(typed, claim.answers))
    groups = [int(typed(label) not in answers) for label in model.classes]
    lo, hi = claim.box
    for part_lo, part_hi in _parts_of_one_sign(model, lo, hi):
        unit = _coordinate_unit([model], [*part_lo, *part_hi])
        logits = _rounded_logits(model, part_lo, part_hi)
        (a,) = _grouped([model], [groups], unit, [logits], records)
        check_agreement(records, a, _constant(len(lo)), _sides(part_lo, part_hi, unit), None)


def _check_equivalent(claim: claims.Equivalent, pair: Sequence[PlainModel], records: Records) -> None:
    first, second = pair
    number = {label: k + 1 for k, label in enumerate(dict.fromkeys(map(typed, [*first.classes, *second.classes])))}
    if claim.classes is not None:
        wanted = set(map(typed, claim.classes))
        number = {label: k if label in wanted else 0 for label, k in number.items()}
    lo, hi = claim.box
    unit = _coordinate_unit([first, second], [*lo, *hi])
    groups = [[number[typed(label)] for label in model.classes] for model in (first, second)]
    a, b = _grouped([first, second], groups, unit, [_exact_logits(first), _exact_logits(second)], records)
    check_agreement(records, a, b, _sides(lo, hi, unit), None)


def _check_closest(claim: claims.Closest, model: PlainModel, records: Records) -> None:
    lo, hi = claim.box
    distance = claim.distance
    groups = _wanted(claim, model)
    unit = _coordinate_unit([model], [*lo, *hi, *claim.point, distance])
    sides = _sides(lo, hi, unit)
    ball = None
    if distance is not None:
        centre, radius = [int(value * unit) for value in claim.point], int(distance * unit)
        if claim.norm == "l1":
            ball = Ball(centre, radius)
        else:
            sides = [
                (max(low, Side(c - radius, True)), min(high, Side(c + radius, True), key=from_above))
                for (low, high), c in zip(sides, centre, strict=True)
            ]
    (a,) = _grouped([model], [groups], unit, [_exact_logits(model)], records)
    check_agreement(records, a, _constant(len(lo)), sides, ball)


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


def _parts_of_one_sign(
    model: PlainModel, lo: list[Fraction | None], hi: list[Fraction | None]
) -> Iterable[tuple[list[Fraction | None], list[Fraction | None]]]:
    """Cut the domain at zero along open features that the gate uses, so that their absolute values are linear."""
    choices = []
    for k, (low, high) in enumerate(zip(lo, hi, strict=True)):
        is_open = len(model.bias) > 1 and (low is None or high is None) and any(row[k] for row in model.weights)
        crosses = (low is None or low < 0) and (high is None or high > 0)
        zero = Fraction(0)
        choices.append([(low, zero), (zero, high)] if is_open and crosses else [(low, high)])
    if sum(len(choice) > 1 for choice in choices) > _MOST_OPEN:
        raise CertificateError("too many open features")
    for part in product(*choices):
        yield [low for low, _ in part], [high for _, high in part]


def _sides(lo: list[Fraction | None], hi: list[Fraction | None], unit: int) -> list[tuple[Side, Side]]:
    return [
        (
            Side(-math.inf if low is None else int(low * unit)),
            Side(math.inf if high is None else int(high * unit)),
        )
        for low, high in zip(lo, hi, strict=True)
    ]


def _coordinate_unit(models: Sequence[PlainModel], values: Iterable[Fraction | None]) -> int:
    """Number that makes all coordinates integers: those given, and the thresholds of the models."""
    thresholds = (Fraction(t) for model in models for tree in model.trees for t in tree.threshold)
    denominators = {value.denominator for value in (*values, *thresholds) if value is not None}
    return math.lcm(*denominators)


class _Logit(NamedTuple):
    """Logit of an expert, and how far float64 arithmetic may be from it: error + slope·x."""

    weights: list[Fraction]
    bias: Fraction
    slope: list[Fraction]
    error: Fraction


def _exact_logits(model: PlainModel) -> list[_Logit]:
    """Logits in exact arithmetic."""
    nothing = [Fraction(0)] * len(model.feature_names)
    return [
        _Logit([Fraction(w) for w in row], Fraction(b), nothing, Fraction(0))
        for row, b in zip(model.weights, model.bias, strict=True)
    ]


def _rounded_logits(model: PlainModel, lo: list[Fraction | None], hi: list[Fraction | None]) -> list[_Logit]:
    """Logits with the errors of float64 arithmetic.

    The error of a logit is at most (d + 2)·2⁻⁵³·(|b| + Σ|w_i||x_i|) + 2⁻³⁰⁰; |x_i| is at most the larger absolute value
    of two finite sides, and ±x_i where a side is open and the box on one side of zero. That holds where the sum in
    brackets is below 2¹⁰²³, so that nothing overflows: it must be between finite sides, and up to 10¹⁵⁰ where one is
    open; nothing is claimed of inputs further out for which it is not.
    """
    factor = Fraction(len(lo) + 2, 2**53)
    logits = []
    for weights, bias, _, _ in _exact_logits(model):
        size, slope, further = abs(bias), [], Fraction(0)
        for w, low, high in zip(weights, lo, hi, strict=True):
            if low is not None and high is not None:
                size += abs(w) * max(abs(low), abs(high))
                slope.append(Fraction(0))
            else:
                sign = 1 if low is not None and low >= 0 else -1
                slope.append(sign * factor * abs(w))
                further += abs(w) * _FAR
        if size + further >= _LARGEST_LOGIT and len(model.bias) > 1:
            raise CertificateError("the gate's logits may overflow in the domain")
        logits.append(_Logit(weights, bias, slope, factor * size + Fraction(1, 2**300)))
    return logits


class _Conditions:
    """Conditions with whole numbers under which an expert answers rather than each of the others, when asked for.

    In exact arithmetic the first of equals answers; if there are errors, all of them may.
    """

    def __init__(self, logits: list[_Logit], scale: int, unit: int, records: Records) -> None:
        self._plus = [[int((w + s) * scale) for w, s in zip(g.weights, g.slope, strict=True)] for g in logits]
        self._minus = [[int((s - w) * scale) for w, s in zip(g.weights, g.slope, strict=True)] for g in logits]
        self._least = [int((g.bias - g.error) * scale) * unit for g in logits]
        self._most = [int((g.bias + g.error) * scale) * unit for g in logits]
        self._exact = not any(g.error for g in logits)
        self._price = cost(len(logits) * (len(logits[0].weights) + 1), scale.bit_length() + unit.bit_length())
        self._meter = records.meter
        self._known: dict[int, list[Condition]] = {}

    def __call__(self, e: int) -> list[Condition]:
        if e not in self._known:
            self._meter.spend(self._price)
            rivals = enumerate(zip(self._minus, self._least, strict=True))
            self._known[e] = [
                Condition(list(map(add, self._plus[e], row)), least - self._most[e], self._exact and k < e)
                for k, (row, least) in rivals
            ]
        return self._known[e]


def _grouped(
    models: Sequence[PlainModel], groups: list[list[int]], unit: int, logits: list[list[_Logit]], records: Records
) -> list[Grouped]:
    """Models with integers for coordinates and weights, both in the same units for all of them."""
    numbers = (n for of_model in logits for g in of_model for n in (*g.weights, *g.slope, g.bias, g.error))
    scale = math.lcm(*{number.denominator for number in numbers})
    d = len(models[0].feature_names)
    n_numbers = sum(map(len, logits)) * (d + 1)
    records.meter.spend(cost(4 * n_numbers, scale.bit_length() + unit.bit_length()))
    records.charge(20 * (1 + d), 20)
    result = []
    for model, group_of_class, of_model in zip(models, groups, logits, strict=True):
        trees = [tree._replace(threshold=[int(Fraction(t) * unit) for t in tree.threshold]) for tree in model.trees]
        only = [_only(tree, group_of_class) for tree in trees]
        result.append(Grouped(trees, only, _Conditions(of_model, scale, unit, records)))
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
