"""Checker of proofs about possible rows of a table. Standard library only.

Every claim says that there is no row, or no pair of rows that share columns, whose answers are of certain groups. For
every choice of experts the trees are walked, the first row's first; a region is a body of possible values
(:mod:`~moet.verify.checker.rows.body`) and the conditions under which the experts answer. A record says ``split``, by
the test of the tree; ``branch``, at a number of a variable that is whole or in a group; or ``cut``, with multipliers λ
>= 0 of the conditions row_i·z >= bound_i, and μ >= 0 of "the cost is below the claim". A cut is right if

    max {Σ_i λ_i row_i·z − μ·cost(z) : z in the body} < Σ_i λ_i bound_i − μ·claim,

or equal, if a condition that takes part is strict. The maximum is a sum over columns: nothing is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate, Records
from moet.verify.checker.documents.model import PlainModel, PlainTree, typed
from moet.verify.checker.documents.reading import plain
from moet.verify.checker.inputs.agreement import read_multipliers
from moet.verify.checker.meter import Meter, cost
from moet.verify.checker.rows import claims
from moet.verify.checker.rows.body import Body, Space
from moet.verify.checker.rows.costs import Costs, limited
from moet.verify.checker.rows.gate import Condition, Gate, Weights
from moet.verify.checker.soft.proof import all_vote, check_soft_rows
from moet.verify.checker.sums.equivalence import are_sums, check_row_equivalent
from moet.verify.checker.sums.proof import check_sum_of_rows, is_sum

_SPLIT, _CUT, _EXACT_CUT, _BRANCH, _KEEP = 0, 1, 2, 5, 6
_MOST_WAITING = 10**7


class Copy(NamedTuple):
    """A model that answers one of the rows: groups below every node, as bits, and condition(e, k): e, not k."""

    trees: list[PlainTree]
    below: list[list[int]]
    places: list[list[int]]
    variables: list[list[int]]
    condition: Callable[[int, int], Condition]
    scale: int


class Conditions:
    """Those of experts of all copies, over one scale: a multiplier is of what they say, whatever the gates' scales are.

    They are made when a cut names them: those of the second copy count on from the experts of the first.
    """

    def __init__(self, copies: list[Copy], experts: tuple[int, ...], n: int, meter: Meter) -> None:
        self._copies, self._experts, self._n, self._meter = copies, experts, n, meter
        self._common = lcm(*(copy.scale for copy in copies))

    def __len__(self) -> int:
        return sum(len(copy.trees) for copy in self._copies)

    def __getitem__(self, ref: int) -> Condition:
        for copy, e in zip(self._copies, self._experts, strict=True):
            if 0 <= ref < len(copy.trees) and ref != e:
                condition, factor = copy.condition(e, ref), self._common // copy.scale
                if factor == 1:
                    return condition
                self._meter.spend(cost(1 + self._n, self._common.bit_length()))
                return condition.times(factor)
            if ref == e:
                break
            ref -= len(copy.trees)
        raise CertificateError(f"there is no condition {ref}")


def check_rows(certificate: Certificate, models: Sequence[PlainModel], meter: Meter) -> None:
    """Raise :class:`CertificateError` unless the certificate proves its claim about these models."""
    n_models = 2 if certificate.kind == "row_equivalent" else 1
    if len(models) != n_models:
        raise CertificateError(f"the proof is about {n_models} model(s), got {len(models)}")
    if n_models == 1 and is_sum(models[0]):
        check_sum_of_rows(certificate, models, meter)
        return
    if n_models == 2 and are_sums(models):
        records = certificate.records(meter)
        check_row_equivalent(claims.row_equivalent(plain(certificate.claim), *models), models, records)
        records.finish()
        return
    if all_vote(models):
        check_soft_rows(certificate, models, meter)
        return
    if not all(model.is_hard for model in models):
        raise CertificateError("the proof is about a hard mixture, but one of the models predicts softly")
    for model in models:
        meter.hold(len(model.bias) ** 2 * (len(model.feature_names) + 1))
    claim, records = plain(certificate.claim), certificate.records(meter)
    checks: dict[str, Callable[[Any, Sequence[PlainModel], Records], None]] = {
        "row_always": _check_always,
        "row_equivalent": _check_equivalent,
        "monotone": _check_monotone,
        "ignores": _check_ignores,
        "recourse": _check_recourse,
        "robust": _check_robust,
    }
    checks[certificate.kind](claim, models, records)
    records.finish()


def _check_always(document: Any, models: Sequence[PlainModel], records: Records) -> None:
    (model,) = models
    claim = claims.row_always(document, model)
    answers = set(map(typed, claim.answers))
    groups = [int(typed(label) not in answers) for label in model.classes]
    space = Space(claim.rows, models, None, None)
    _walk(records, space, [_copy(model, groups, space, 0, records, deployed=True)], lambda a: bool(a & 2))


def _check_equivalent(document: Any, models: Sequence[PlainModel], records: Records) -> None:
    claim = claims.row_equivalent(document, *models)
    number = {label: k for k, label in enumerate(dict.fromkeys(typed(c) for model in models for c in model.classes), 1)}
    if claim.classes is not None:
        wanted = set(map(typed, claim.classes))
        number = {label: k if label in wanted else 0 for label, k in number.items()}
    space = Space(claim.rows, models, set(), None)
    copies = [
        _copy(model, [number[typed(label)] for label in model.classes], space, row, records, deployed=False)
        for row, model in enumerate(models)
    ]
    _walk(records, space, copies, _differ)


def _check_monotone(document: Any, models: Sequence[PlainModel], records: Records) -> None:
    (model,) = models
    claim = claims.monotone(document, model)
    has = [int(typed(label) == typed(claim.answer)) for label in model.classes]
    space = Space(claim.rows, models, {claim.column}, claim.column)
    # the first row is not above the second: increasing, the first has the answer and the second has not
    groups = [has, [1 - one for one in has]] if claim.increasing else [[1 - one for one in has], has]
    copies = [_copy(model, groups[row], space, row, records, deployed=False) for row in (0, 1)]
    _walk(records, space, copies, lambda a, b: bool(a & 2 and b & 2))


def _check_ignores(document: Any, models: Sequence[PlainModel], records: Records) -> None:
    (model,) = models
    claim = claims.ignores(document, model)
    space = Space(claim.rows, models, set(claim.columns), None)
    groups = list(range(len(model.classes)))
    copies = [_copy(model, groups, space, row, records, deployed=False) for row in (0, 1)]
    _walk(records, space, copies, _differ)


def _check_recourse(document: Any, models: Sequence[PlainModel], records: Records) -> None:
    (model,) = models
    claim = claims.recourse(document, model)
    about = limited(claim)
    if about is None:
        return
    if claim.answer is None:
        own = _answer(model, claim.row)
        groups = [int(k != own) for k in range(len(model.classes))]
    else:
        groups = [int(typed(label) == typed(claim.answer)) for label in model.classes]
    space = Space(about.rows, models, None, None, claim.row)
    copy = _copy(model, groups, space, 0, records, deployed=False)
    _walk(records, space, [copy], lambda a: bool(a & 2), about.costs)


def _check_robust(document: Any, models: Sequence[PlainModel], records: Records) -> None:
    (model,) = models
    claim = claims.robust(document, model)
    weights = Weights(model, records.meter)
    for row, answer in zip(claim.table, claim.answers, strict=True):
        records.meter.spend(20 * len(row))
        groups = [int(typed(label) != typed(answer)) for label in model.classes]
        space = Space(claims.ball(claim.rows, row, claim.radius), models, None, None)
        copy = _copy(model, groups, space, 0, records, deployed=True, weights=weights)
        _walk(records, space, [copy], lambda a: bool(a & 2))


def _differ(a: int, b: int) -> bool:
    return a != b or bool(a & (a - 1))


def _answer(model: PlainModel, point: list[Fraction]) -> int:
    """Class of the answer in exact arithmetic."""
    logits = [
        Fraction(b) + sum(Fraction(w) * x for w, x in zip(row, point, strict=True))
        for row, b in zip(model.weights, model.bias, strict=True)
    ]
    tree, node = model.trees[logits.index(max(logits))], 0
    while tree.label[node] < 0:
        below = point[tree.feature[node]] <= Fraction(tree.threshold[node])
        node = tree.left[node] if below else tree.right[node]
    return tree.label[node]


def _walk(
    records: Records, space: Space, copies: list[Copy], bad: Callable[..., bool], costs: Costs | None = None
) -> None:
    n = len(space.is_whole)
    records.charge(12 * (1 + n), 60)
    if any(not any(space.body.high[k] for k in members) for members in space.groups) or any(
        low > high for low, high in zip(space.body.low, space.body.high, strict=True)
    ):
        return
    choices = [(e,) for e in range(len(copies[0].trees))]
    if len(copies) == 2:
        choices = [(*choice, f) for choice in choices for f in range(len(copies[1].trees))]  # type: ignore[misc]
    charge = None if costs is None else (costs, copies[0].scale)
    for experts in choices:
        conditions = Conditions(copies, experts, n, records.meter)
        stack: list[tuple[tuple[int, ...], Body, frozenset[int]]] = [((0,) * len(copies), space.body, frozenset())]
        while stack:
            nodes, body, changed = stack.pop()
            below = [copy.below[e][k] for copy, e, k in zip(copies, experts, nodes, strict=True)]
            if not bad(*below):
                continue
            if len(stack) * n > _MOST_WAITING:
                raise CertificateError("too many regions wait to be looked at: the proof is too deep")
            code = records.code()
            if code in (_CUT, _EXACT_CUT):
                _check_cut(read_multipliers(records, code), conditions, space, body, charge, changed, records.meter)
            elif code == _BRANCH:
                stack += _branched(records, space, nodes, body, changed)
            elif code == _KEEP and costs is not None:
                (column,) = records.refs(1)
                stack += [(nodes, part, charged) for part, charged in costs.kept_or_not(space, body, changed, column)]
            elif code == _SPLIT:
                stack += _split(copies, experts, space, nodes, body, changed, below)
            else:
                raise CertificateError(f"unknown code {code}")


Waiting = list[tuple[tuple[int, ...], Body, frozenset[int]]]


def _branched(records: Records, space: Space, nodes: tuple[int, ...], body: Body, changed: frozenset[int]) -> Waiting:
    (k,), (place,) = records.refs(1), records.numbers(1)
    if not 0 <= k < len(space.is_whole) or not space.is_whole[k]:
        raise CertificateError(f"variable {k} is none that is whole")
    low, high = space.halves(body, k, space.place(k, Fraction(place)))
    return [(nodes, part, changed) for part in (high, low) if part is not None]


def _split(
    copies: list[Copy],
    experts: tuple[int, ...],
    space: Space,
    nodes: tuple[int, ...],
    body: Body,
    changed: frozenset[int],
    below: list[int],
) -> Waiting:
    which = next((c for c, bits in enumerate(below) if bits & (bits - 1)), None)
    if which is None:
        raise CertificateError(f"no proof that experts {experts} do not answer in nodes {nodes}")
    copy, e, k = copies[which], experts[which], nodes[which]
    low, high = space.halves(body, copy.variables[e][k], copy.places[e][k])
    waiting = []
    for child, part in ((copy.trees[e].right[k], high), (copy.trees[e].left[k], low)):
        if part is not None:
            waiting.append(((*nodes[:which], child, *nodes[which + 1 :]), part, changed))
    return waiting


def _check_cut(
    multipliers: list[tuple[int, Fraction]],
    conditions: Conditions,
    space: Space,
    body: Body,
    charge: tuple[Costs, int] | None,
    changed: frozenset[int],
    meter: Meter,
) -> None:
    scale = lcm(*(factor.denominator for _, factor in multipliers))
    direction, bound, strict, of_cost = [0] * len(space.is_whole), 0, False, 0
    for ref, factor in multipliers:
        whole = int(factor * scale)
        if charge is not None and ref == len(conditions):
            of_cost += whole
            continue
        condition = conditions[ref]
        meter.spend(cost(len(direction) + 1, whole.bit_length() + condition.bound.bit_length()))
        direction = [total + whole * c for total, c in zip(direction, condition.coefficients, strict=True)]
        bound += whole * condition.bound
        strict |= condition.strict and whole > 0
    if charge is not None and of_cost:
        costs, gate = charge
        meter.spend(cost(20 * len(direction), 2 * bound.bit_length()))
        excess = costs.most(direction, of_cost * gate, space, body, changed) - bound
        if not (excess < 0 or (excess == 0 and (strict or costs.is_strict))):
            raise CertificateError("the multipliers of a cut do not contradict the body and the cost")
        return
    most = space.most(direction, body)
    if not (most < bound or (most == bound and strict)):
        raise CertificateError("the multipliers of a cut do not contradict the body")


def _copy(
    model: PlainModel,
    groups: list[int],
    space: Space,
    row: int,
    records: Records,
    *,
    deployed: bool,
    weights: Weights | None = None,
) -> Copy:
    variables = space.maps[row]
    records.meter.spend(10 * sum(len(tree.feature) for tree in model.trees))
    below = [_groups_below(tree, groups) for tree in model.trees]
    tested = [[variables[f] if f >= 0 else -1 for f in tree.feature] for tree in model.trees]
    places = [
        [space.place(k, Fraction(t)) if k >= 0 else 0 for k, t in zip(own, tree.threshold, strict=True)]
        for own, tree in zip(tested, model.trees, strict=True)
    ]
    gate = Gate(weights or Weights(model, records.meter), space, variables, deployed, records)
    return Copy(model.trees, below, places, tested, gate.condition, gate.scale)


def _groups_below(tree: PlainTree, groups: list[int]) -> list[int]:
    below = [1 << groups[label] if label >= 0 else 0 for label in tree.label]
    for node in reversed(range(len(below))):  # children come after their parent
        if tree.label[node] < 0:
            below[node] = below[tree.left[node]] | below[tree.right[node]]
    return below
