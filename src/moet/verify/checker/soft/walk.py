"""The walk through a proof about soft models: bodies of possible rows, and why none of their rows is ruled in.

Standard library only. A case has goals, sums of leads of a class over a rival, that no row which is ruled out misses.
The records are those of a tree of bodies in preorder; below one without rows (that cost less than is claimed) any tree
will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Records
from moet.verify.checker.meter import cost
from moet.verify.checker.rows.body import Body, Space
from moet.verify.checker.rows.costs import Costs
from moet.verify.checker.soft.bounds import Cheap, is_below_zero, line_above
from moet.verify.checker.soft.voters import VOTE_BITS, Live, Voters

_SPLIT, _SURE, _KEEP, _BEYOND, _ORDERED = 0, 3, 6, 8, 9
_MOST_WAITING = 10**7


class Term(NamedTuple):
    """The lead of a class over a rival, as some voters give it, by their number."""

    voters: int
    answer: int
    rival: int


Goal = list[Term]


class Case(NamedTuple):
    """Goals, one of which every row misses; and the term by which two rows may be in order, tree by tree."""

    goals: list[Goal]
    ordered: Term | None = None


class _Node(NamedTuple):
    body: Body
    changed: frozenset[int]
    live: list[Live]


def walk_case(space: Space, voters: Sequence[Voters], case: Case, records: Records, costs: Costs | None = None) -> None:
    """Raise :class:`CertificateError` unless the records show that no possible row meets all goals."""
    _Walk(space, voters, case, records, costs).run()


class _Walk:
    def __init__(
        self, space: Space, voters: Sequence[Voters], case: Case, records: Records, costs: Costs | None
    ) -> None:
        self._space, self._voters, self._case, self._records, self._costs = space, voters, case, records, costs

    def run(self) -> None:
        """Go through the tree."""
        n = len(self._space.is_whole)
        held = n + sum(len(leaves) for own in self._voters for leaves in own.leaves)
        self._records.charge(20 + 10 * n, 1)
        stack = [self._settled(self._space.body, frozenset(), [own.leaves for own in self._voters])]
        while stack:
            node = stack.pop()
            if (len(stack) + 2) * held > _MOST_WAITING:
                raise CertificateError("too many bodies wait to be looked at: the tree is too deep")
            code = self._records.code()
            if code == _SPLIT:
                stack += self._split(node)
            elif code == _SURE:
                self._sure(node)
            elif code == _KEEP and self._costs is not None:
                stack += self._kept(node, self._costs)
            elif code == _BEYOND:
                if node is not None:
                    raise CertificateError("a body is said to have no rows, and may have some")
            elif code == _ORDERED and self._case.ordered is not None:
                self._ordered(node, self._case.ordered)
            else:
                raise CertificateError(f"unknown code {code}")

    def _settled(self, body: Body | None, changed: frozenset[int], live: list[Live]) -> _Node | None:
        """A body without rows that cost too much; None if it has no others."""
        if body is not None and self._costs is not None:
            self._records.meter.spend(20 * len(body.low))
            body = self._costs.cheap(self._space, body, changed)
        if body is None or not _has_rows(self._space, body):
            return None
        return _Node(body, changed, [own.live(before, body) for own, before in zip(self._voters, live, strict=True)])

    def _split(self, node: _Node | None) -> list[_Node | None]:
        (k,), (number,) = self._records.refs(1), self._records.numbers(1)
        if not 0 <= k < len(self._space.is_whole):
            raise CertificateError(f"there is no variable {k}")
        if node is None:
            return [None, None]
        low, high = self._space.halves(node.body, k, self._space.place(k, Fraction(number)))
        return [self._settled(part, node.changed, node.live) for part in (high, low)]

    def _kept(self, node: _Node | None, costs: Costs) -> list[_Node | None]:
        (column,) = self._records.refs(1)
        if node is None:
            return [None, None]
        parts = costs.kept_or_not(self._space, node.body, node.changed, column)
        charged = self._settled(*parts[0], node.live)
        return [charged, self._settled(*parts[1], node.live) if len(parts) == 2 else None]

    def _sure(self, node: _Node | None) -> None:
        (number,) = self._records.refs(1)
        if not 0 <= number < len(self._case.goals):
            raise CertificateError(f"there is no goal {number}")
        goal = self._case.goals[number]
        references = self._records.refs(len(goal))
        n_factors = 0 if self._costs is None else 1 + 2 * self._voters[0].n_experts
        factors = [Fraction(number) for number in self._records.numbers(n_factors)]
        if any(factor < 0 for factor in factors):
            raise CertificateError("a multiplier is negative")
        if node is not None and not self._is_missed(node, goal, references, factors):
            raise CertificateError("in a body another answer is possible, as far as bounds tell")

    def _is_missed(self, node: _Node, goal: Goal, references: Sequence[int], factors: list[Fraction]) -> bool:
        if any(self._voters[t.voters].is_pair for t in goal) and not self._is_blind(node.body):
            return False
        cheap = None if self._costs is None else Cheap(self._costs, node.changed, factors[1:])
        lines = []
        for term, reference in zip(goal, references, strict=True):
            own = self._voters[term.voters]
            if not 0 <= reference < own.n_experts:
                raise CertificateError(f"there is no expert {reference}")
            live = node.live[term.voters]
            compared = term.answer, term.rival, reference
            lines.append(line_above(own, live, compared, self._space, node.body, cheap))
        scales = [self._voters[t.voters].scale for t in goal]
        scale = lcm(*scales)
        factors_of = [scale // own for own in scales]
        self._records.meter.spend(cost(len(lines) * len(node.body.low), scale.bit_length()))
        parts = zip(*(line.direction for line in lines), strict=True)
        direction = [sum(f * v for f, v in zip(factors_of, part, strict=True)) for part in parts]
        unit = scale * self._space.unit
        if cheap is None:
            return is_below_zero(self._space.most(direction, node.body), lines, unit)
        most = cheap.most(direction, factors[0], scale << VOTE_BITS, self._space, node.body)
        return is_below_zero(most, lines, unit)

    def _ordered(self, node: _Node | None, term: Term) -> None:
        """Two rows with the same logits, and votes of every tree in an order that rules the case out, as deployed."""
        if node is None:
            return
        voters = self._voters[term.voters]
        leaves = ((leaf, e) for e, own in enumerate(node.live[term.voters]) for leaf in own)
        if not self._is_blind(node.body) or not all(
            voters.is_ordered(leaf, term.answer, term.rival, e) for leaf, e in leaves
        ):
            raise CertificateError("in a body the votes of two rows are in no order")

    def _is_blind(self, body: Body) -> bool:
        """Whether the gate cannot tell the two rows apart: what differs has no weight, or does not differ there."""
        first, second = self._space.maps
        return all(
            i == j or not seen or body.low[i] == body.high[i] == body.low[j] == body.high[j]
            for i, j, seen in zip(first, second, self._voters[0].seen, strict=True)
        )


def _has_rows(space: Space, body: Body) -> bool:
    """Whether every variable and every group has a value left."""
    return all(low <= high for low, high in zip(body.low, body.high, strict=True)) and all(
        any(body.high[k] for k in members) for members in space.groups
    )
