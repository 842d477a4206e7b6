"""Checker of proofs about single inputs: ``always``, ``equivalent`` and ``closest``. Standard library only.

Each of them claims that two grouped models (classes gathered into groups; one of them may be constant) answer every
input of a body with the same group: what the body, the groups and the conditions of the experts are is made from the
claim here, and :mod:`~moet.verify.checker.agreement` goes through the proof.

All arithmetic is on integers: coordinates are multiplied by one number, and weights by another, that make them whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from moet.errors import CertificateError
from moet.verify.checker.agreement import Ball, Condition, Grouped, Side, check_agreement, from_above
from moet.verify.checker.certificate import Certificate, Records
from moet.verify.checker.plain import PlainModel, PlainTree

_MOST_OPEN = 16


def check_static(certificate: Certificate, *models: PlainModel) -> None:
    """Raise :class:`CertificateError` unless the certificate proves its claim about these models."""
    claims = {"always": _check_always, "equivalent": _check_equivalent, "closest": _check_closest}
    if certificate.kind not in claims:
        raise CertificateError(f"a proof of kind {certificate.kind!r} is not about single inputs")
    if any(model.prediction != "hard" for model in models):
        raise CertificateError("certificates are about hard models")
    records = certificate.records()
    try:
        claims[certificate.kind](certificate.claim, models, records)
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError) as error:
        if isinstance(error, CertificateError):
            raise
        raise CertificateError(f"the claim cannot be read: {error!r}") from error
    records.finish()


def _check_always(claim: dict[str, Any], models: Sequence[PlainModel], records: Records) -> None:
    (model,) = _identified(models, [claim["model"]])
    answers = _labels(claim["answers"], [model])
    groups = [int(label not in answers) for label in model.classes]
    lo, hi = _box(claim, model)
    for part_lo, part_hi in _parts_of_one_sign(model, lo, hi):
        unit = _coordinate_unit([model], [*part_lo, *part_hi])
        conditions = _relaxed_conditions(model, part_lo, part_hi)
        (a,) = _grouped([model], [groups], unit, [conditions])
        check_agreement(records, a, _constant(len(lo)), _sides(part_lo, part_hi, unit), None)


def _check_equivalent(claim: dict[str, Any], models: Sequence[PlainModel], records: Records) -> None:
    first, second = _identified(models, claim["models"])
    if len(first.feature_names) != len(second.feature_names):
        raise CertificateError("the models have different numbers of features")
    labels = first.classes + [label for label in second.classes if label not in first.classes]
    wanted = labels if claim["classes"] is None else _labels(claim["classes"], [first, second])
    number = {label: labels.index(label) + 1 if label in wanted else 0 for label in labels}
    lo, hi = _box(claim, first)
    unit = _coordinate_unit([first, second], [*lo, *hi])
    groups = [[number[label] for label in model.classes] for model in (first, second)]
    a, b = _grouped([first, second], groups, unit, [_exact_conditions(first), _exact_conditions(second)])
    check_agreement(records, a, b, _sides(lo, hi, unit), None)


def _check_closest(claim: dict[str, Any], models: Sequence[PlainModel], records: Records) -> None:
    (model,) = _identified(models, [claim["model"]])
    lo, hi = _box(claim, model)
    point = _numbers(claim["point"], len(lo))
    distance = None if claim["distance"] is None else Fraction(claim["distance"])
    groups = [int(label in _wanted(claim, model, point)) for label in model.classes]
    unit = _coordinate_unit([model], [*lo, *hi, *point, *([] if distance is None else [distance])])
    sides = _sides(lo, hi, unit)
    ball = None
    if distance is not None:
        centre, radius = [int(value * unit) for value in point], int(distance * unit)
        if claim["norm"] == "l1":
            ball = Ball(centre, radius)
        elif claim["norm"] == "linf":
            sides = [
                (max(low, Side(c - radius, True)), min(high, Side(c + radius, True), key=from_above))
                for (low, high), c in zip(sides, centre, strict=True)
            ]
        else:
            raise CertificateError(f"there is no norm {claim['norm']!r}")
    (a,) = _grouped([model], [groups], unit, [_exact_conditions(model)])
    check_agreement(records, a, _constant(len(lo)), sides, ball)


def _wanted(claim: dict[str, Any], model: PlainModel, point: list[Fraction]) -> list[Any]:
    """Labels whose inputs keep the claimed distance."""
    if claim["answer"] is not None:
        return _labels([claim["answer"]], [model])
    logits = [
        Fraction(b) + sum(Fraction(w) * x for w, x in zip(row, point, strict=True))
        for row, b in zip(model.weights, model.bias, strict=True)
    ]
    tree = model.trees[logits.index(max(logits))]
    node = 0
    while tree.label[node] < 0:
        below = point[tree.feature[node]] <= Fraction(tree.threshold[node])
        node = tree.left[node] if below else tree.right[node]
    return [label for k, label in enumerate(model.classes) if k != tree.label[node]]


def _identified(models: Sequence[PlainModel], digests: list[str]) -> Sequence[PlainModel]:
    if len(models) != len(digests):
        raise CertificateError(f"the proof is about {len(digests)} model(s), got {len(models)}")
    for model, digest in zip(models, digests, strict=True):
        if model.digest != digest:
            raise CertificateError("the proof is about another model: the digests differ")
    return models


def _labels(labels: list[Any], models: Sequence[PlainModel]) -> list[Any]:
    for label in labels:
        if not any(label in model.classes for model in models):
            raise CertificateError(f"there is no class {label!r}")
    return labels


def _numbers(values: list[float], count: int) -> list[Fraction]:
    if len(values) != count:
        raise CertificateError(f"expected {count} numbers, got {len(values)}")
    return [Fraction(value) for value in values]


def _box(claim: dict[str, Any], model: PlainModel) -> tuple[list[Fraction | None], list[Fraction | None]]:
    """Sides of the domain, None where it is open."""
    n_features = len(model.feature_names)
    if len(claim["lo"]) != n_features or len(claim["hi"]) != n_features:
        raise CertificateError("the domain does not fit the model")
    lo, hi = ([None if side is None else Fraction(side) for side in claim[name]] for name in ("lo", "hi"))
    if any(low is not None and high is not None and low > high for low, high in zip(lo, hi, strict=True)):
        raise CertificateError("the domain is empty")
    return lo, hi


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


Linear = tuple[list[Fraction], Fraction, bool]
"""Coefficients, bound and strictness of a condition in the units of the model."""


def _exact_conditions(model: PlainModel) -> list[list[Linear]]:
    """conditions[e][k]: expert e answers rather than k, in exact arithmetic; the first of equals answers."""
    weights = [[Fraction(w) for w in row] for row in model.weights]
    bias = [Fraction(b) for b in model.bias]
    experts = range(len(bias))
    return [
        [([v - w for v, w in zip(weights[e], weights[k], strict=True)], bias[k] - bias[e], k < e) for k in experts]
        for e in experts
    ]


def _relaxed_conditions(model: PlainModel, lo: list[Fraction | None], hi: list[Fraction | None]) -> list[list[Linear]]:
    """conditions[e][k]: float64 arithmetic may prefer expert e to k.

    The error of a logit is at most (d + 2)·2⁻⁵³·(|b| + Σ|w_i||x_i|) + 2⁻³⁰⁰; |x_i| is at most the larger absolute value
    of two finite sides, and ±x_i where a side is open and the box on one side of zero.
    """
    factor = Fraction(len(lo) + 2, 2**53)
    slopes, constants = [], []
    for row, b in zip(model.weights, model.bias, strict=True):
        constant, slope = factor * abs(Fraction(b)) + Fraction(1, 2**300), []
        for w, low, high in zip(row, lo, hi, strict=True):
            if low is not None and high is not None:
                constant += factor * abs(Fraction(w)) * max(abs(low), abs(high))
                slope.append(Fraction(0))
            else:
                sign = 1 if low is not None and low >= 0 else -1
                slope.append(sign * factor * abs(Fraction(w)))
        slopes.append(slope)
        constants.append(constant)
    experts = range(len(model.bias))
    return [
        [
            (
                [c + s + t for c, s, t in zip(coefficients, slopes[e], slopes[k], strict=True)],
                bound - constants[e] - constants[k],
                False,
            )
            for k, (coefficients, bound, _) in zip(experts, row, strict=True)
        ]
        for e, row in zip(experts, _exact_conditions(model), strict=True)
    ]


def _grouped(
    models: Sequence[PlainModel], groups: list[list[int]], unit: int, conditions: list[list[list[Linear]]]
) -> list[Grouped]:
    """Models with integers for coordinates and weights, both in the same units for all of them."""
    linear = [condition for of_model in conditions for of_expert in of_model for condition in of_expert]
    scale = math.lcm(*{number.denominator for row, bound, _ in linear for number in (*row, bound)})
    result = []
    for model, group_of_class, of_model in zip(models, groups, conditions, strict=True):
        trees = [tree._replace(threshold=[int(Fraction(t) * unit) for t in tree.threshold]) for tree in model.trees]
        whole = [
            [
                Condition([int(c * scale) for c in row], int(bound * scale) * unit, strict)
                for row, bound, strict in expert
            ]
            for expert in of_model
        ]
        result.append(Grouped(trees, [_only(tree, group_of_class) for tree in trees], whole))
    return result


def _constant(n_features: int) -> Grouped:
    """Model that answers everything with group 0."""
    silent = Condition([0] * n_features, 0, False)
    return Grouped([PlainTree([-1], [0.0], [-1], [-1], [0])], [[0]], [[silent]])


def _only(tree: PlainTree, groups: list[int]) -> list[int]:
    only = [groups[label] if label >= 0 else -1 for label in tree.label]
    for node in reversed(range(len(only))):  # children come after their parent
        if tree.label[node] < 0 and only[tree.left[node]] == only[tree.right[node]]:
            only[node] = only[tree.left[node]]
    return only
