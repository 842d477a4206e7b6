"""Checker of proofs that two sums of trees answer alike, in exact arithmetic. Standard library only.

A case is a pair of answers in different groups: the first model gives one, the second the other. Its goals are the
leads of either answer over its rivals, and both leads over one another together, in which what trees of the two models
have in common cancels: the proof says which trees are looked at together, and any choice is sound. Votes are whole
numbers in units that make all of them exact. The first of equal votes wins: a lead over an earlier class must not be 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from moet.errors import CertificateError
from moet.verify.checker.certificate import Records
from moet.verify.checker.documents.model import Label, PlainModel, PlainTree, typed
from moet.verify.checker.inputs import claims
from moet.verify.checker.meter import cost
from moet.verify.checker.rows import claims as row_claims
from moet.verify.checker.sums.cells import Body, CellSpace, Part
from moet.verify.checker.sums.proof import is_sum, parts_of_box
from moet.verify.checker.sums.walk import Goal, Leaf, Reached, Votes, common, leads, reached_leaves, walk_case

_TOGETHER = 6

Pairs = list[tuple[int | None, int | None]]
"""Trees of the two models that are looked at together; None where one is alone."""


def are_sums(models: Sequence[PlainModel]) -> bool:
    """Whether all models are sums of trees, of one tree perhaps, and some of more."""
    return any(map(is_sum, models)) and all(is_sum(model) or len(model.bias) == 1 for model in models)


def check_equivalent(claim: claims.Equivalent, pair: Sequence[PlainModel], records: Records) -> None:
    """Raise :class:`CertificateError` unless the models agree on all inputs of a box."""
    _Comparison(pair, parts_of_box(claim.box, pair[0]), records).check(claim.classes)


def check_row_equivalent(claim: row_claims.RowEquivalent, pair: Sequence[PlainModel], records: Records) -> None:
    """Raise :class:`CertificateError` unless the models agree on all possible rows."""
    _Comparison(pair, [Part(*values) for values in claim.rows], records).check(claim.classes)


class _Comparison:
    """Two models, and the inputs on which they are compared."""

    def __init__(self, pair: Sequence[PlainModel], parts: Sequence[Part], records: Records) -> None:
        self._pair, self._records = pair, records
        self._labels = [list(map(typed, model.classes)) for model in pair]
        self._space = CellSpace(parts, pair)
        self._whole = self._space.settle(self._space.body, None)
        self._votes = _exact_votes(pair, records)
        self._together = _together(pair, records)
        self._reached = [
            [self._leaves(number + first, tree) for number, tree in enumerate(model.trees)]
            for model, first in zip(pair, (0, len(pair[0].trees)), strict=True)
        ]

    def _leaves(self, number: int, tree: PlainTree) -> list[Reached]:
        body: Body = self._whole or self._space.body
        return reached_leaves(self._space, body, 0, number, tree, self._records.meter)

    def check(self, classes: Sequence[Label] | None) -> None:
        """Raise unless no input is answered with labels of different groups; ``None`` stands for all classes."""
        wanted = None if classes is None else set(map(typed, classes))
        first, second = (
            [label if wanted is None or label in wanted else None for label in own] for own in self._labels
        )
        for a in range(len(first)):
            for b in range(len(second)):
                if first[a] != second[b]:
                    self._check_case(a, b)

    def _check_case(self, a: int, b: int) -> None:
        """Raise unless there is no input that the first model answers with class a, and the second with its class b."""
        goals = self._goals(a, b)
        bands = [-1 if any(rival < answer for _, answer, rival in goal) else 0 for goal in goals]
        trees = [self._joint(pair, goals) for pair in self._together]
        walk_case(self._space, self._whole, trees, bands, None, self._records)

    def _goals(self, a: int, b: int) -> list[Goal]:
        first, second = self._labels
        goals: list[Goal] = []
        if first[a] in second and second[b] in first:
            goals.append([(0, a, first.index(second[b])), (1, b, second.index(first[a]))])
        goals += [[(0, a, rival)] for rival in range(len(first)) if rival != a]
        return goals + [[(1, b, rival)] for rival in range(len(second)) if rival != b]

    def _joint(self, pair: tuple[int | None, int | None], goals: list[Goal]) -> list[Leaf]:
        """Leaves of trees that are looked at together, and what they add to the goals."""
        own, other = (
            [(Reached({}, 0), [(0, 0)] * len(self._labels[row]))]
            if t is None
            else [(leaf, self._votes[row][t][leaf.node]) for leaf in self._reached[row][t]]
            for row, t in enumerate(pair)
        )
        self._records.meter.spend(10 * len(own) * len(other) * (1 + len(goals)))
        return [
            Leaf(common(p.cells, q.cells), leads(goals, votes, others))
            for p, votes in own
            for q, others in other
            if _meet(p, q)
        ]


def _meet(p: Reached, q: Reached) -> bool:
    """Whether an input may be in both leaves."""
    shared = [(p.cells[k], cells) for k, cells in q.cells.items() if k in p.cells]
    return all(first <= high and low <= last for (first, last), (low, high) in shared)


def _exact_votes(pair: Sequence[PlainModel], records: Records) -> list[list[list[Votes]]]:
    """Votes of every node of every tree of both models, as whole numbers."""
    values = [value for model in pair for tree in model.trees for node in tree.value for value in node]
    unit = max(value.as_integer_ratio()[1] for value in values)  # powers of two: the largest is a multiple of all
    records.meter.spend(cost(10 * len(values), unit.bit_length()))
    records.meter.hold(2 * len(values), unit.bit_length())

    def whole(value: float) -> tuple[int, int]:
        numerator, denominator = value.as_integer_ratio()
        vote = numerator * (unit // denominator)
        return vote, vote

    return [[[list(map(whole, node)) for node in tree.value] for tree in model.trees] for model in pair]


def _together(pair: Sequence[PlainModel], records: Records) -> Pairs:
    """Read which trees are looked at together: for every tree of the first model one of the second, or -1."""
    if records.code() != _TOGETHER:
        raise CertificateError("the proof does not begin with the trees that are looked at together")
    n_second = len(pair[1].trees)
    partners = records.refs(len(pair[0].trees))
    used = [t for t in partners if t != -1]
    if len(set(used)) < len(used) or not all(0 <= t < n_second for t in used):
        raise CertificateError("a tree is looked at together with two others, or with none that there is")
    found: Pairs = [(t, None if other == -1 else other) for t, other in enumerate(partners)]
    return found + [(None, t) for t in range(n_second) if t not in set(used)]
