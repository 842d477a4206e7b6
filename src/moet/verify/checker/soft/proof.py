"""Checker of proofs about possible rows that soft models answer. Standard library only.

Every claim says that certain answers are not given. Each of them is a case: that one row is answered so, or two rows
that share columns. A case has goals, sums of leads of a class over a rival; in every body of possible rows of its proof
one of them is below zero (:mod:`~moet.verify.checker.soft.bounds`), or two rows are in order: the gate cannot tell them
apart, and no tree has more votes of the second for what it must not answer, nor fewer for what it must.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate, Records
from moet.verify.checker.documents.model import PlainModel, typed
from moet.verify.checker.documents.reading import plain
from moet.verify.checker.meter import Meter
from moet.verify.checker.rows import claims
from moet.verify.checker.rows.body import Space
from moet.verify.checker.rows.costs import Costs, limited
from moet.verify.checker.rows.gate import Weights
from moet.verify.checker.soft.bounds import is_below_zero, line_above
from moet.verify.checker.soft.voters import Live, Voters
from moet.verify.checker.soft.walk import Case, Goal, Term, walk_case

_FINEST = 64
"""Sides of cuts are multiples of 2^-_FINEST of the narrowest range."""
_MOST_DIGITS = 1100


def check_soft_rows(certificate: Certificate, models: Sequence[PlainModel], meter: Meter) -> None:
    """Raise :class:`CertificateError` unless the certificate proves its claim about possible rows."""
    if certificate.kind == "row_equivalent":
        _check_equivalent(certificate, models, meter)
        return
    checks: dict[str, Callable[[Any, PlainModel, Records], None]] = {
        "row_always": _check_always,
        "monotone": _check_monotone,
        "ignores": _check_ignores,
        "recourse": _check_recourse,
        "robust": _check_robust,
    }
    if certificate.kind not in checks or len(models) != 1:
        raise CertificateError(f"there are no proofs of {certificate.kind!r} about soft models")
    meter.hold(len(models[0].bias) ** 2 * (len(models[0].feature_names) + 1))
    records = certificate.records(meter)
    checks[certificate.kind](plain(certificate.claim), models[0], records)
    records.finish()


def all_vote(models: Sequence[PlainModel]) -> bool:
    """Whether experts of all models vote, one alone perhaps, and those of some are several."""
    return any(not model.is_hard for model in models) and all(
        not model.is_hard or len(model.trees) == 1 for model in models
    )


def _check_equivalent(certificate: Certificate, models: Sequence[PlainModel], meter: Meter) -> None:
    claim = claims.row_equivalent(plain(certificate.claim), *models)
    records = certificate.records(meter)
    labels = [list(map(typed, model.classes)) for model in models]
    wanted = None if claim.classes is None else set(map(typed, claim.classes))
    space = Space(claim.rows, models, set(), None, (_finest(claim.rows),))
    voters = [Voters(model, Weights(model, meter), space, row, [row], meter) for row, model in enumerate(models)]
    for a, first in enumerate(labels[0]):
        for b, second in enumerate(labels[1]):
            if first != second and (wanted is None or first in wanted or second in wanted):
                walk_case(space, voters, Case(_two_models(a, b, labels)), records)
    records.finish()


def _two_models(a: int, b: int, labels: Sequence[list[Any]]) -> list[Goal]:
    """Goals of two models that answer so: both leads together if both have both labels, and each for itself."""
    first, second = labels
    goals: list[Goal] = []
    if first[a] in second and second[b] in first:
        goals.append([Term(0, a, first.index(second[b])), Term(1, b, second.index(first[a]))])
    return [*goals, *_leads(0, a, len(first)), *_leads(1, b, len(second))]


def _check_always(document: Any, model: PlainModel, records: Records) -> None:
    claim = claims.row_always(document, model)
    permitted = set(map(typed, claim.answers))
    forbidden = [c for c, label in enumerate(model.classes) if typed(label) not in permitted]
    _check_answers(claim.rows, forbidden, model, Weights(model, records.meter), records)


def _check_robust(document: Any, model: PlainModel, records: Records) -> None:
    claim = claims.robust(document, model)
    weights = Weights(model, records.meter)
    for row, answer in zip(claim.table, claim.answers, strict=True):
        records.meter.spend(20 * len(row))
        others = [c for c, label in enumerate(model.classes) if typed(label) != typed(answer)]
        _check_answers(claims.ball(claim.rows, row, claim.radius), others, model, weights, records)


def _check_recourse(document: Any, model: PlainModel, records: Records) -> None:
    claim = claims.recourse(document, model)
    about = limited(claim)
    if about is None or (claim.at_least is not None and claim.at_least <= 0):
        return  # no cost is negative
    weights = Weights(model, records.meter)
    if claim.answer is None:
        own = _answer(model, claim, weights, records.meter)
        wanted = [c for c in range(len(model.classes)) if c != own]
    else:
        wanted = [c for c, label in enumerate(model.classes) if typed(label) == typed(claim.answer)]
    _check_answers(about.rows, wanted, model, weights, records, about.costs, claim.row)


def _check_monotone(document: Any, model: PlainModel, records: Records) -> None:
    claim = claims.monotone(document, model)
    (answer,) = (c for c, label in enumerate(model.classes) if typed(label) == typed(claim.answer))
    others = [c for c in range(len(model.classes)) if c != answer]
    pairs = [(answer, other) if claim.increasing else (other, answer) for other in others]
    _check_pairs(claim.rows, {claim.column}, claim.column, pairs, model, records)


def _check_ignores(document: Any, model: PlainModel, records: Records) -> None:
    claim = claims.ignores(document, model)
    n = len(model.classes)
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]  # the two rows may be exchanged
    _check_pairs(claim.rows, set(claim.columns), None, pairs, model, records)


def _check_answers(
    rows: claims.Rows,
    answers: Sequence[int],
    model: PlainModel,
    weights: Weights,
    records: Records,
    costs: Costs | None = None,
    row: Sequence[Fraction] = (),
) -> None:
    """Raise unless no row is answered with one of these classes."""
    space = Space(rows, [model], None, None, (*row, _finest(rows)))
    voters = [Voters(model, weights, space, 0, [0], records.meter)]
    for answer in answers:
        walk_case(space, voters, Case(_leads(0, answer, len(model.classes))), records, costs)


def _check_pairs(
    rows: claims.Rows,
    free: set[str],
    order: str | None,
    pairs: Sequence[tuple[int, int]],
    model: PlainModel,
    records: Records,
) -> None:
    """Raise unless no two rows, the second as the first but for some columns, are answered so."""
    space, weights = Space(rows, [model], free, order, (_finest(rows),)), Weights(model, records.meter)
    voters = [Voters(model, weights, space, own[0], own, records.meter) for own in ([0], [1], [0, 1])]
    n = len(model.classes)
    for a, b in pairs:
        together = [Term(2, a, b)], [Term(0, a, b), Term(1, b, a)]
        goals = [*together, *_leads(0, a, n), *_leads(1, b, n)]
        walk_case(space, voters, Case(goals, Term(2, a, b)), records)


def _leads(voters: int, answer: int, n_classes: int) -> list[Goal]:
    return [[Term(voters, answer, rival)] for rival in range(n_classes) if rival != answer]


def _answer(model: PlainModel, claim: claims.Recourse, weights: Weights, meter: Meter) -> int:
    """Class of the answer at the row, which must be beyond doubt."""
    rows = claims.ball(claim.rows, claim.row, [Fraction(0)] * len(claim.rows))
    space = Space(rows, [model], None, None, claim.row)
    voters = Voters(model, weights, space, 0, [0], meter)
    live = voters.live(voters.leaves, space.body)
    for own in range(len(model.classes)):
        rivals = (c for c in range(len(model.classes)) if c != own)
        if all(_loses(c, own, voters, live, space) for c in rivals):
            return own
    raise CertificateError("the answer at the row itself is too close to call")


def _loses(c: int, own: int, voters: Voters, live: Live, space: Space) -> bool:
    """Whether a class surely has fewer votes than another at all rows of a space."""
    for reference in range(voters.n_experts):
        line = line_above(voters, live, (c, own, reference), space, space.body)
        if is_below_zero(space.most(line.direction, space.body), [line], voters.scale * space.unit):
            return True
    return False


def _finest(rows: claims.Rows) -> Fraction:
    """A number that all sides of cuts are multiples of."""
    widths = [
        values.high - values.low for values in rows if values.column.kind == "number" and values.high > values.low
    ]
    digits = max([0, *(width.denominator.bit_length() - width.numerator.bit_length() + 1 for width in widths)])
    return Fraction(1, 2 ** min(digits + _FINEST, _MOST_DIGITS))
