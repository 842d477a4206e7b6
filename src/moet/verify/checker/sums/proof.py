"""Checker of proofs about sums of trees: soft models all of whose experts count alike. Standard library only.

Every claim says that certain answers are not given. Each of them is a case: that one row is answered so, or two rows
that share columns. A case has goals, sums of leads of a class over a rival, none of which may be negative. Its proof is
a tree of bodies of cells (:mod:`~moet.verify.checker.sums.cells`): ``cut`` after a cell of a variable, the lower half
first, or ``sure``. A body is sure if it has no possible row (that costs less than is claimed), or if, for some goal,

    Σ_trees max {lead of a leaf that the body meets} < −band,

where the leaves are those of one row, or pairs of leaves of one tree that two rows may reach together; two rows in
the same leaf of every tree have the same votes, to the last bit, and are not answered differently. The band is what
float64 arithmetic may do to the votes of the deployed model, so the claim holds for it, and in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate, Records
from moet.verify.checker.documents.model import PlainModel, PlainTree, typed
from moet.verify.checker.documents.reading import plain
from moet.verify.checker.inputs import claims
from moet.verify.checker.meter import Meter
from moet.verify.checker.rows import claims as row_claims
from moet.verify.checker.sums.cells import Body, CellSpace, Part, Prices, as_float, thresholds_of
from moet.verify.checker.sums.walk import Goal, Leaf, Reached, Votes, common, leads, reached_leaves, walk_case

_BITS = 64
_LARGEST_GATE = 10.0**100


def is_sum(model: PlainModel) -> bool:
    """Whether the experts of a soft model always have the same weight, for no logit overflows."""
    rows = [[*row, b] for row, b in zip(model.weights, model.bias, strict=True)]
    return not model.is_hard and all(row == rows[0] for row in rows) and max(map(abs, rows[0])) <= _LARGEST_GATE


def check_sum_of_rows(certificate: Certificate, models: Sequence[PlainModel], meter: Meter) -> None:
    """Raise :class:`CertificateError` unless the certificate proves its claim about possible rows."""
    (model,) = models
    claim, records = plain(certificate.claim), certificate.records(meter)
    if certificate.kind == "row_always":
        _check_always(row_claims.row_always(claim, model), model, records)
    elif certificate.kind == "monotone":
        _check_monotone(row_claims.monotone(claim, model), model, records)
    elif certificate.kind == "ignores":
        _check_ignores(row_claims.ignores(claim, model), model, records)
    elif certificate.kind == "recourse":
        _check_recourse(row_claims.recourse(claim, model), model, records)
    elif certificate.kind == "robust":
        _check_robust(row_claims.robust(claim, model), model, records)
    else:
        raise CertificateError(f"there are no proofs of {certificate.kind!r} about sums of trees")
    records.finish()


def check_always(claim: claims.Always, model: PlainModel, records: Records) -> None:
    """Raise :class:`CertificateError` unless only permitted classes are answered in a box."""
    space = CellSpace(parts_of_box(claim.box, model), [model])
    _check_answers(space, _others(model, claim.answers), model, records)


def check_closest(claim: claims.Closest, model: PlainModel, records: Records) -> None:
    """Raise :class:`CertificateError` unless the wanted answers keep the distance."""
    if claim.distance == 0:
        return
    space, prices = _space_of_box(claim.box, model), None
    if claim.distance is not None:
        kind = "largest" if claim.norm == "linf" else "sum"
        prices = space.prices(claim.point, kind, [Fraction(1)] * len(model.columns), claim.distance)
    _check_answers(space, _wanted(claim.answer, claim.point, model, records), model, records, prices)


_SPACES: dict[tuple[str, str], CellSpace] = {}
"""The last space of a box: many questions may be about inputs of one box."""


def _space_of_box(box: claims.Body, model: PlainModel) -> CellSpace:
    key = model.digest, repr((box.lo, box.hi))
    if key not in _SPACES:
        _SPACES.clear()
        _SPACES[key] = CellSpace(parts_of_box(box, model), [model])
    return _SPACES[key]


def parts_of_box(box: claims.Body, model: PlainModel) -> list[Part]:
    """Features of a box as columns of numbers."""
    return [
        Part(column._replace(kind="number", features=[name], first=k, labels=[]), low, high, [])
        for k, (column, name, low, high) in enumerate(
            zip([model.columns[0]] * len(box.lo), model.feature_names, box.lo, box.hi, strict=True)
        )
    ]


def _check_always(claim: row_claims.RowAlways, model: PlainModel, records: Records) -> None:
    space = CellSpace([Part(*values) for values in claim.rows], [model])
    _check_answers(space, _others(model, claim.answers), model, records)


def _check_robust(claim: row_claims.Robust, model: PlainModel, records: Records) -> None:
    thresholds = thresholds_of([model])
    places = 2 * sum(len(own.own) for own in thresholds) + sum(len(tree.feature) for tree in model.trees) // 10
    for row, answer in zip(claim.table, claim.answers, strict=True):
        records.meter.spend(20 * len(row) + places)
        ball = [Part(*values) for values in row_claims.ball(claim.rows, row, claim.radius)]
        space = CellSpace(ball, [model], thresholds=thresholds)
        _check_answers(space, _others(model, [answer]), model, records)


def _check_recourse(claim: row_claims.Recourse, model: PlainModel, records: Records) -> None:
    if claim.at_least is not None and claim.at_least <= 0:
        return  # no cost is negative
    space, prices = CellSpace([Part(*values) for values in claim.rows], [model]), None
    if claim.at_least is not None:
        prices = space.prices(claim.row, claim.cost.kind, claim.cost.weights, claim.at_least)
    _check_answers(space, _wanted(claim.answer, claim.row, model, records), model, records, prices)


def _check_monotone(claim: row_claims.Monotone, model: PlainModel, records: Records) -> None:
    space = CellSpace([Part(*values) for values in claim.rows], [model], {claim.column}, claim.column)
    (answer,) = (c for c, label in enumerate(model.classes) if typed(label) == typed(claim.answer))
    for other in range(len(model.classes)):
        if other != answer:
            first, second = (answer, other) if claim.increasing else (other, answer)
            _check_case(space, _two_rows(first, second, len(model.classes)), model, records)


def _check_ignores(claim: row_claims.Ignores, model: PlainModel, records: Records) -> None:
    space = CellSpace([Part(*values) for values in claim.rows], [model], set(claim.columns))
    n_classes = len(model.classes)
    for first in range(n_classes):
        for second in range(first + 1, n_classes):  # the two rows may be exchanged
            _check_case(space, _two_rows(first, second, n_classes), model, records)


def _others(model: PlainModel, answers: Sequence[Any]) -> list[int]:
    permitted = set(map(typed, answers))
    return [c for c, label in enumerate(model.classes) if typed(label) not in permitted]


def _wanted(answer: Any, row: list[Any], model: PlainModel, records: Records) -> list[int]:
    """Classes that are looked for: the answer, or all others than that of a row, which must be beyond doubt."""
    if answer is not None:
        return [c for c, label in enumerate(model.classes) if typed(label) == typed(answer)]
    records.meter.spend(10 * sum(len(tree.feature) for tree in model.trees))
    row = [as_float(x) for x in row]
    leaves = [votes[_leaf(tree, row)] for tree, votes in zip(model.trees, votes_of(model), strict=True)]
    most, least = ([sum(votes[c][side] for votes in leaves) for c in range(len(model.classes))] for side in (0, 1))
    own = most.index(max(most))
    if any(least[own] - vote <= _band(len(leaves)) for c, vote in enumerate(most) if c != own):
        raise CertificateError("the answer at the row itself is too close to call")
    return [c for c in range(len(most)) if c != own]


def _leaf(tree: PlainTree, row: list[Any]) -> int:
    node = 0
    while tree.label[node] < 0:
        node = (tree.left if row[tree.feature[node]] <= tree.threshold[node] else tree.right)[node]
    return node


def _check_answers(
    space: CellSpace, answers: list[int], model: PlainModel, records: Records, prices: Prices | None = None
) -> None:
    """Raise unless no row is answered with one of these classes."""
    n_classes = len(model.classes)
    for answer in answers:
        goals: list[Goal] = [[(0, answer, rival)] for rival in range(n_classes) if rival != answer]
        _check_case(space, goals, model, records, prices)


def _two_rows(first: int, second: int, n_classes: int) -> list[Goal]:
    """Goals of two rows that are answered so: both leads over one another together, and each over all rivals."""
    goals: list[Goal] = [[(0, first, second), (1, second, first)]]
    goals += [[(0, first, rival)] for rival in range(n_classes) if rival != first]
    return goals + [[(1, second, rival)] for rival in range(n_classes) if rival != second]


def _band(n_trees: int) -> int:
    """What rounding may change in the lead of a class over a rival, both sums of so many votes, each at most 1."""
    return (21 * n_trees * (n_trees + 16) << (_BITS - 50)) // 10 + 1


def _check_case(
    space: CellSpace, goals: list[Goal], model: PlainModel, records: Records, prices: Prices | None = None
) -> None:
    """Raise unless no possible row, or pair of them, meets all goals."""
    whole = space.settle(space.body, prices)
    trees = [
        _leaves(space, whole or space.body, (t, tree), votes, goals, records.meter)
        for t, (tree, votes) in enumerate(zip(model.trees, votes_of(model), strict=True))
    ]
    bands = [len(goal) * _band(len(trees)) for goal in goals]
    if len(space.maps) == 2:
        bands.append(-1)  # of the trees in which the rows are in different leaves there must be one
    walk_case(space, whole, trees, bands, prices, records)


def _leaves(
    space: CellSpace,
    body: Body,
    numbered: tuple[int, PlainTree],
    votes: list[Votes],
    goals: list[Goal],
    meter: Meter,
) -> list[Leaf]:
    """Leaves of a tree, or pairs of them, that the rows of a case may reach, with the leads of every goal."""
    reached = [reached_leaves(space, body, r, *numbered, meter) for r in range(len(space.maps))]
    if len(reached) == 1:
        found = [Leaf(leaf.cells, leads(goals, votes[leaf.node])) for leaf in reached[0]]
    else:
        meter.spend(10 * len(reached[0]) * len(reached[1]))
        found = [
            Leaf(common(a.cells, b.cells), (*leads(goals, votes[a.node], votes[b.node]), int(a.node != b.node)))
            for a in reached[0]
            for b in reached[1]
            if _meet(space, a, b)
        ]
    meter.spend(10 * len(found) * (1 + len(goals)))
    return found


_VOTES: dict[str, list[list[Votes]]] = {}
"""Votes of the last models, by digest."""
_MOST_KEPT = 4


def votes_of(model: PlainModel) -> list[list[Votes]]:
    """Votes of every node of every tree, rounded up and down to whole numbers; read once for many questions."""
    if model.digest not in _VOTES:
        while len(_VOTES) >= _MOST_KEPT:
            _VOTES.pop(next(iter(_VOTES)))
        _VOTES[model.digest] = [[[_rounded(v) for v in value] for value in tree.value] for tree in model.trees]
    return _VOTES[model.digest]


def _rounded(value: float) -> tuple[int, int]:
    """A vote in units of 2^-64, rounded up and rounded down."""
    numerator, denominator = value.as_integer_ratio()
    return -((-numerator << _BITS) // denominator), (numerator << _BITS) // denominator


def _meet(space: CellSpace, a: Reached, b: Reached) -> bool:
    """Whether two rows that share columns may be in these leaves."""
    for k, (low, high) in b.cells.items():
        first, last = a.cells.get(k, (low, high))
        if low > last or first > high:
            return False
    return all(a.cells.get(i, (0, 0))[0] <= b.cells.get(j, (0, len(space.cuts[j])))[1] for i, j in space.orders)
