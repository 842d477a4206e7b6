"""What certificates claim, read with suspicion: every key of every kind, its type and its size. Standard library only.

A claim in memory is read as its file would be. No key may be missing, and none may be unknown.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Vector
from moet.verify.checker.documents.laws import PlainLaws
from moet.verify.checker.documents.model import Label, PlainGate, PlainModel, typed
from moet.verify.checker.documents.reading import double, doubles, exact, items, members, shown, text
from moet.verify.checker.documents.schema import check_same_meaning
from moet.verify.checker.documents.system import HalfSpace, half_spaces

Open = list[Fraction | None]
"""Sides of a box, None where it is open."""


class Body(NamedTuple):
    """A box of inputs."""

    lo: Open
    hi: Open


class Always(NamedTuple):
    """In the box the answer is always one of these."""

    box: Body
    answers: list[Label]


class Equivalent(NamedTuple):
    """In the box two models answer alike, as far as these classes go; None is all of them."""

    box: Body
    classes: list[Label] | None


class Closest(NamedTuple):
    """In the box, inputs with the answer (None: another than at ``point``) are this far from ``point``; None: none."""

    box: Body
    point: Vector
    norm: str
    answer: Label | None
    distance: Fraction | None


class Bounds(NamedTuple):
    """In the box the outputs meet all these conditions."""

    box: Body
    conditions: list[HalfSpace]


class Tolerance(NamedTuple):
    """In the box no output of one model is off that of the other by more than this."""

    box: Body
    tolerance: Fraction


class Distance(NamedTuple):
    """In the box, inputs whose outputs meet the conditions, or are off those at ``point`` by more, are this far."""

    box: Body
    point: Vector
    norm: str
    conditions: list[HalfSpace] | None
    tolerance: Fraction | None
    distance: Fraction | None


def always(claim: Any, model: PlainModel) -> Always:
    """Read the claim of a proof that an answer is always given."""
    members(claim, "the claim", ("model", "lo", "hi", "answers"))
    named(claim["model"], model.digest, "model")
    answers = labels_of(claim["answers"], "answers", [model])
    if not answers:
        raise CertificateError("the claim names no answer")
    return Always(_box(claim, model), answers)


def equivalent(claim: Any, first: PlainModel, second: PlainModel) -> Equivalent:
    """Read the claim of a proof that two models are equivalent."""
    members(claim, "the claim", ("models", "lo", "hi", "classes"))
    check_pair(claim["models"], first, second)
    check_same_meaning(first.columns, second.columns)
    if first.class_type != second.class_type:
        raise CertificateError(f"the models have classes of types {first.class_type} and {second.class_type}")
    classes = claim["classes"]
    wanted = None if classes is None else labels_of(classes, "classes", [first, second])
    return Equivalent(_box(claim, first), wanted)


def check_pair(digests: Any, first: PlainGate, second: PlainGate) -> None:
    """Complain unless a claim is about these two models, which have the same features; one may leave them unnamed."""
    for digest, model in zip(items(digests, "models", 2), (first, second), strict=True):
        named(digest, model.digest, "model")
    names, others = first.feature_names, second.feature_names
    if len(names) != len(others):
        raise CertificateError("the models have different numbers of features")
    if names != others and [f"x{k}" for k in range(len(names))] not in (names, others):
        raise CertificateError("the models have different features, or in another order")


def closest(claim: Any, model: PlainModel) -> Closest:
    """Read the claim of a proof that inputs with other answers keep a distance."""
    members(claim, "the claim", ("model", "lo", "hi", "point", "norm", "answer", "distance"))
    named(claim["model"], model.digest, "model")
    answer = claim["answer"]
    if answer is not None:
        (answer,) = labels_of([answer], "answer", [model])
    point, norm, radius = _ball(claim, model)
    return Closest(_box(claim, model), point, norm, answer, radius)


def _ball(claim: dict[str, Any], model: PlainGate) -> tuple[Vector, str, Fraction | None]:
    """Centre, norm and radius of a ball; its radius is None if there is no bound."""
    if claim["norm"] not in ("l1", "linf"):
        raise CertificateError(f"there is no norm {shown(claim['norm'])}")
    radius = None if claim["distance"] is None else _not_negative(claim["distance"], "distance")
    return doubles(claim["point"], "point", len(model.feature_names)), claim["norm"], radius


def _not_negative(value: Any, where: str) -> Fraction:
    number = exact(text(value, where), where)
    if number < 0:
        raise CertificateError(f"the claimed {where} is negative")
    return number


def bounds(claim: Any, model: PlainLaws) -> Bounds:
    """Read the claim of a proof that outputs meet conditions."""
    members(claim, "the claim", ("model", "lo", "hi", "conditions"))
    named(claim["model"], model.digest, "model")
    return Bounds(_box(claim, model), _conditions(claim["conditions"], model))


def tolerance(claim: Any, first: PlainLaws, second: PlainLaws) -> Tolerance:
    """Read the claim of a proof that the outputs of two models are nearly alike."""
    members(claim, "the claim", ("models", "lo", "hi", "tolerance"))
    check_pair(claim["models"], first, second)
    if first.outputs != second.outputs:
        raise CertificateError("the models have different outputs")
    check_same_meaning(first.columns, second.columns)
    return Tolerance(_box(claim, first), _not_negative(claim["tolerance"], "tolerance"))


def distance(claim: Any, model: PlainLaws) -> Distance:
    """Read the claim of a proof that inputs with such outputs keep a distance."""
    members(claim, "the claim", ("model", "lo", "hi", "point", "norm", "conditions", "tolerance", "distance"))
    named(claim["model"], model.digest, "model")
    conditions, change = claim["conditions"], claim["tolerance"]
    if (conditions is None) == (change is None):
        raise CertificateError("the claim needs either conditions or a tolerance")
    wanted = None if conditions is None else _conditions(conditions, model)
    point, norm, radius = _ball(claim, model)
    most = None if change is None else _not_negative(change, "tolerance")
    return Distance(_box(claim, model), point, norm, wanted, most, radius)


def _conditions(value: Any, model: PlainLaws) -> list[HalfSpace]:
    """Conditions on outputs, at least one."""
    conditions = half_spaces(value, "conditions", len(model.outputs))
    if not conditions:
        raise CertificateError("the claim names no condition")
    return conditions


def named(digest: Any, own: str, what: str) -> None:
    """Complain unless a claim names this subject."""
    if text(digest, what) != own:
        raise CertificateError(f"the certificate is about another {what}: the digests differ")


def labels_of(value: Any, where: str, models: list[PlainModel]) -> list[Label]:
    """Labels, each of them one of a model's."""
    labels = items(value, where)
    known = {typed(label) for model in models for label in model.classes}
    for label in labels:
        if type(label) in (dict, list) or typed(label) not in known:
            raise CertificateError(f"there is no class {shown(label)}")
    return labels


def _box(claim: dict[str, Any], model: PlainGate) -> Body:
    d = len(model.feature_names)
    lo, hi = (
        [None if side is None else Fraction(double(side, name)) for side in items(claim[name], name, d)]
        for name in ("lo", "hi")
    )
    if any(low is not None and high is not None and low > high for low, high in zip(lo, hi, strict=True)):
        raise CertificateError("the domain is empty")
    return Body(lo, hi)
