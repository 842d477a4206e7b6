"""Whether two sums of trees answer alike, in exact arithmetic.

All trees of both models are one forest. Trees that both have are looked at together, so that what they vote cancels in
the sum of the leads by which the models would have to differ.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.model.file import digest
from moet.model.mixture import Mixture
from moet.model.tree import Tree
from moet.verify.arguments import domain_bounds, is_sum, json_sides
from moet.verify.box import Box
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.inputs.float_doubt import MOST_DOUBTFUL, percent
from moet.verify.inputs.sampling import sample_inputs
from moet.verify.limits import Deadline
from moet.verify.result import Proved, Refuted, Unknown
from moet.verify.rows.domain import rows_of, schema_of_model, with_table
from moet.verify.rows.space import Space
from moet.verify.sums.cells import Cells
from moet.verify.sums.cheapest import rows_of_box
from moet.verify.sums.forest import (
    Forest,
    Goal,
    Leaves,
    SumOfTrees,
    Term,
    bits_for,
    leaves_of,
    rounded_votes,
    sum_of,
)
from moet.verify.sums.search import search_cases

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Partners = list[int]
"""For every tree of the first model the one of the second that it is looked at together with, or -1."""

TOGETHER = 6
"""Code of the record that :mod:`moet.verify.checker.sums.equivalence` reads first."""

_TRIES = 4000


def are_sums(pair: Sequence[Mixture]) -> bool:
    """Whether both models are sums of trees, of one tree perhaps, and one of more."""
    return any(map(is_sum, pair)) and all(is_sum(mixture) or mixture.n_experts == 1 for mixture in pair)


def equivalent_sums(
    pair: tuple[Mixture, Mixture],
    groups: Sequence[Ints],
    wanted: list[Any] | None,
    domain: Box | None,
    deadline: Deadline,
    seed: int,
) -> Proved | Refuted | Unknown:
    """Answer :func:`moet.verify.equivalent` for two sums of trees."""
    return _Comparison(pair, groups, domain, seed).answered(wanted, deadline)


class _Comparison:
    """Two sums of trees, and the inputs on which they are compared."""

    def __init__(self, pair: tuple[Mixture, Mixture], groups: Sequence[Ints], domain: Box | None, seed: int) -> None:
        self._pair, self._groups, self._trees = pair, groups, [sum_of(mixture) for mixture in pair]
        self._owner = with_table(pair)
        self._lo, self._hi = domain_bounds(domain, self._owner)
        self._of_table = self._owner.schema is not None
        self._rows = rows_of(domain, self._owner) if self._of_table else rows_of_box(pair[0], self._lo, self._hi)
        rng = np.random.default_rng(seed)
        self._X = (
            self._rows.sample(_TRIES, rng) if self._of_table else sample_inputs(pair, self._lo, self._hi, _TRIES, rng)
        )

    def answered(self, wanted: list[Any] | None, deadline: Deadline) -> Proved | Refuted | Unknown:
        """Try some inputs, search for one on which the models differ, and have the proof that there is none checked."""
        a, b = self._deployed(self._X)
        z = next((x for x in self._X[a != b] if self._shows(x)), None)
        if z is not None:
            return self._refuted(z, {"seconds": deadline.seconds})
        certificate = self._certificate(wanted)
        forest = TwoSums(self._trees, self._pair, Cells(_cuts(self._trees), Space(self._rows, free=set())))
        certificate.add(bytes([TOGETHER]), array("i", forest.partners))
        found = search_cases(forest, self._cases(), self._shows, deadline, certificate, self._X[0], self._agrees)
        if found.point is not None:
            return self._refuted(found.point, found.effort)
        if found.reason is not None:
            return Unknown(reason=found.reason, effort=found.effort)
        if (differ := float(np.mean(a != b))) > MOST_DOUBTFUL:
            return Unknown(reason=_DIFFER.format(percent(differ)), effort=found.effort)
        caveats = (_CLOSE.format(percent(doubt)),) if (doubt := self._doubt()) else ()
        proved = Proved(certificate=certificate, effort=found.effort, caveats=caveats)
        return confirmed(proved, *self._pair, deadline=deadline)

    def _certificate(self, wanted: list[Any] | None) -> Certificate:
        models = {"models": [digest(mixture) for mixture in self._pair]}
        if self._of_table:
            return Certificate("row_equivalent", models | {"rows": self._rows.claim(), "classes": wanted})
        box = {"lo": json_sides(self._lo), "hi": json_sides(self._hi)}
        return Certificate("equivalent", models | box | {"classes": wanted})

    def _cases(self) -> list[list[Goal]]:
        labels = [mixture.classes.tolist() for mixture in self._pair]
        return [
            two_models(a, b, labels)
            for a, first in enumerate(self._groups[0])
            for b, second in enumerate(self._groups[1])
            if first != second
        ]

    def _deployed(self, X: Floats) -> list[Ints]:
        answers = (mixture.votes(X).argmax(axis=1) for mixture in self._pair)
        return [group[answer] for group, answer in zip(self._groups, answers, strict=True)]

    def _shows(self, z: Floats) -> bool:
        """Whether the models differ, in exact arithmetic and as deployed."""
        if self._of_table and z not in self._rows:
            return False
        a, b = self._deployed(z[None, :])
        return bool(a[0] != b[0]) and not self._agrees(z)

    def _agrees(self, z: Floats) -> bool:
        """Whether the models answer alike in exact arithmetic."""
        p, q = (group[own.exact.answer(z.tolist())] for group, own in zip(self._groups, self._trees, strict=True))
        return bool(p == q)

    def _doubt(self) -> float:
        """Share of random inputs at which float64 may answer otherwise, for votes are that close."""
        close = np.zeros(len(self._X), dtype=bool)
        for mixture, own in zip(self._pair, self._trees, strict=True):
            if mixture.n_experts > 1:
                votes = np.sort(mixture.votes(self._X), axis=1)
                close |= votes[:, -1] - votes[:, -2] <= np.ldexp(float(own.band), -own.bits) / mixture.n_experts
        return float(np.mean(close))

    def _refuted(self, z: Floats, effort: dict[str, float]) -> Refuted:
        answers = tuple(mixture.predict(z[None, :]).tolist()[0] for mixture in self._pair)
        if not self._of_table:
            return Refuted(point=z, answers=answers, effort=effort)
        row = schema_of_model(self._owner).row(z)
        return Refuted(point=z, points=(z,), rows=(row,), answers=answers, effort=effort)


_CLOSE = (
    "exact arithmetic only: at about {} of the inputs votes are so close that float64 rounding may decide, and the "
    "deployed answer may be another"
)
_DIFFER = (
    "in exact arithmetic the models agree, but votes tie, and by rounding the deployed models differ at about {} "
    "of the inputs"
)


def two_models(a: int, b: int, labels: Sequence[list[Any]]) -> list[Goal]:
    """The case that one model answers with its class a, and the other with its class b."""
    first, second = labels
    goals: list[Goal] = []
    if first[a] in second and second[b] in first:
        goals.append((Term(0, a, first.index(second[b])), Term(1, b, second.index(first[a]))))
    goals += [(Term(0, a, rival),) for rival in range(len(first)) if rival != a]
    return goals + [(Term(1, b, rival),) for rival in range(len(second)) if rival != b]


class TwoSums(Forest):
    """The trees of two sums, some of them looked at together; claims are about exact arithmetic.

    Attributes
    ----------
    partners : list of int
    """

    def __init__(self, pair: Sequence[SumOfTrees], mixtures: Sequence[Mixture], cells: Cells) -> None:
        alone = [leaves_of(trees, cells, row) for row, trees in enumerate(pair)]
        self.partners = _partners(mixtures, alone)
        lonely = sorted(set(range(mixtures[1].n_experts)) - set(self.partners))
        first = [*range(mixtures[0].n_experts), *[-1] * len(lonely)]
        rows = [
            _chosen(leaves, order, len(trees.value), cells.last)
            for leaves, order, trees in zip(alone, (first, [*self.partners, *lonely]), pair, strict=True)
        ]
        super().__init__(cells, rows)
        bits = bits_for(max(mixture.n_experts for mixture in mixtures))
        self._value = [np.vstack([trees.value, np.zeros(trees.value.shape[1])]) for trees in pair]
        self._up, self._down = zip(*(rounded_votes(value, bits) for value in self._value), strict=True)

    def leads(self, goals: Sequence[Goal]) -> tuple[Ints, Ints, Ints]:
        """Leads of every leaf, rounded up unless they are zero; a lead over an earlier class must be more than that."""
        lead = np.stack([self._lead(goal) for goal in goals])
        band = np.array([-1 if any(term.rival < term.answer for term in goal) else 0 for goal in goals])
        sure = np.array([4 * len(goal) * len(self.start) for goal in goals])
        return lead, band, sure

    def _lead(self, goal: Goal) -> Ints:
        added = [(term.row, term.answer) for term in goal]
        taken = [(term.row, term.rival) for term in goal]
        # of two models each takes away what the other adds, so that equal votes cancel without rounding
        lead: Ints = np.sum([self._less(*pair) for pair in zip(added, reversed(taken), strict=True)], axis=0)
        return lead

    def _less(self, plus: tuple[int, int], minus: tuple[int, int]) -> Ints:
        """Votes for one class less those for another, rounded up."""
        (row, answer), (other, rival) = plus, minus
        own, theirs = self.leaf[row], self.leaf[other]
        is_same = self._value[row][own, answer] == self._value[other][theirs, rival]
        less: Ints = np.where(is_same, 0, self._up[row][own, answer] - self._down[other][theirs, rival])
        return less


def _cuts(pair: Sequence[SumOfTrees]) -> list[Floats]:
    return [np.unique(np.concatenate(own)) for own in zip(*(trees.cuts for trees in pair), strict=True)]


def _chosen(leaves: Leaves, order: Sequence[int], nothing: int, last: NDArray[np.int32]) -> Leaves:
    """Trees in another order; -1 is one that does not vote: a leaf for everything, the node after all others."""
    places = [
        np.arange(leaves.start[t], leaves.start[t + 1]) if t >= 0 else np.array([len(leaves.leaf)]) for t in order
    ]
    columns = np.concatenate(places)
    return Leaves(
        np.column_stack([leaves.lo, np.zeros(len(last), dtype=np.int32)])[:, columns],
        np.column_stack([leaves.hi, last])[:, columns],
        np.append(leaves.leaf, nothing)[columns],
        np.cumsum([0, *map(len, places)]),
    )


def _partners(pair: Sequence[Mixture], leaves: Sequence[Leaves]) -> Partners:
    """Equal trees go together, then those with equal tests, then others in order, if they make few pairs of leaves."""
    partners = [-1] * pair[0].n_experts
    left = list(range(pair[1].n_experts))
    for parts in (("feature", "threshold", "left", "right", "value"), ("feature", "threshold", "left", "right")):
        waiting: dict[bytes, list[int]] = {}
        for t in left:
            waiting.setdefault(_content(pair[1].trees[t], parts), []).append(t)
        for t in _alone(partners):
            if same := waiting.get(_content(pair[0].trees[t], parts)):
                partners[t] = same.pop(0)
                left.remove(partners[t])
    for t in _alone(partners):
        if left and _are_alike(leaves, t, left[0]):
            partners[t] = left.pop(0)
    return partners


def _alone(partners: Partners) -> list[int]:
    return [t for t, other in enumerate(partners) if other == -1]


def _content(tree: Tree, parts: Sequence[str]) -> bytes:
    return b"|".join(getattr(tree, part).tobytes() for part in parts)


def _are_alike(leaves: Sequence[Leaves], t: int, other: int) -> bool:
    """Whether two trees make no more than twice as many pairs of leaves as they have leaves."""
    (lo, hi), (other_lo, other_hi) = (
        (own.lo[:, own.start[k] : own.start[k + 1]], own.hi[:, own.start[k] : own.start[k + 1]])
        for own, k in zip(leaves, (t, other), strict=True)
    )
    meet = np.all((lo[:, :, None] <= other_hi[:, None, :]) & (other_lo[:, None, :] <= hi[:, :, None]), axis=0)
    return int(meet.sum()) <= 2 * sum(meet.shape)
