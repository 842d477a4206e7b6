"""The cheapest possible row with an answer: branch and bound, then a proof that nothing is cheaper."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np
from numpy.typing import NDArray

from moet.verify.checker.certificate import Certificate
from moet.verify.inputs.records import add_cut, add_split
from moet.verify.limits import Deadline
from moet.verify.rows.costs import Costs
from moet.verify.rows.gates import Conditions
from moet.verify.rows.program import Outcome, cheapest
from moet.verify.rows.search import BRANCH, Copy
from moet.verify.rows.space import Body, Space

Floats = NDArray[np.float64]

KEEP = 6
"""Code of a record: first the rows in which a column stays as it is, then all, charged for it."""

GAP = 1e-9
"""How much cheaper, relative to a cost of at least 1, another row might be."""

TOO_CLOSE = (
    "in some regions rows that cost less are neither found nor ruled out: their conditions are met, or missed, by less "
    "than float64 arithmetic tells apart"
)
"""Why nothing is proved though all regions were looked at."""

_SLACKS = (0.0, 1e-13, 1e-11, 1e-9, 1e-7, 1e-5)
"""How far inside the conditions, in units of their sizes, to look for a row that float64 arithmetic agrees on."""
_SURE = 1e-13
_WHOLE = 1e-6


@dataclass
class Node:
    """A region: an expert, a node of its tree, a body, columns that are charged as changed, and its bound."""

    expert: int
    node: int
    body: Body
    changed: frozenset[int]
    bound: float = 0.0


class CheapestSearch:
    """Looks for the cheapest row of group 1.

    Parameters
    ----------
    space : Space
    copy : Copy
    costs : Costs
    shows : callable
        Whether a possible row has the answer, in exact arithmetic and as deployed.
    deadline : Deadline
    most : float
        Rows that cost more do not matter.

    Attributes
    ----------
    best : (Fraction, array) or None
        Cost and features of the cheapest row found.
    floor : float
        Least cost of regions in which there is no float64 row as cheap as their bound.
    """

    def __init__(
        self,
        space: Space,
        copy: Copy,
        costs: Costs,
        shows: Callable[[Floats], bool],
        deadline: Deadline,
        most: float = math.inf,
    ) -> None:
        self._space, self._copy, self._costs, self._shows, self._deadline = space, copy, costs, shows, deadline
        self._most = most
        self.best: tuple[Fraction, Floats] | None = None
        self.floor = math.inf
        self.regions = self._settled = 0
        self.timed_out = False

    @property
    def limit(self) -> float:
        """What a region must stay below to matter."""
        best = self._most if self.best is None else min(self._most, float(self.best[0]))
        if self._costs.kind == "columns":
            return best - 1.0 + 1e-6  # counts are whole
        return best - GAP * max(1.0, best) if math.isfinite(best) else best

    def offer(self, y: Floats) -> None:
        """Take a row for the best if it has the answer and is cheaper."""
        if self.best is not None and self._costs.of(y) >= self.best[0]:
            return
        if self._shows(y):
            self.best = self._costs.of(y), y

    def run(self) -> None:
        """Find the cheapest row, regions of small bounds first."""
        order = count()
        heap = [(0.0, next(order), node) for node in self._roots()]
        while heap:
            bound, _, node = heapq.heappop(heap)
            if bound >= self.limit:
                return
            if self._deadline.passed:
                self.timed_out = True
                return
            for child in self._children(node, self.limit, None):
                heapq.heappush(heap, (child.bound, next(order), child))

    def write_proof(self, limit: float, certificate: Certificate) -> str | None:
        """Write the records of a proof that no row costs less than ``limit``; or say why there is none."""
        self._settled = 0
        for root in self._roots():
            stack = [root]
            while stack:
                if self._deadline.passed:
                    return self._deadline.reason
                stack += reversed(list(self._children(stack.pop(), limit, certificate)))
                if self._settled:  # a region was left without a record
                    return TOO_CLOSE
        return None

    def _roots(self) -> Iterator[Node]:
        for expert in range(self._copy.n_experts):
            yield Node(expert, 0, self._space.body, frozenset())

    def _children(self, node: Node, limit: float, certificate: Certificate | None) -> Iterator[Node]:
        """Parts of a region that are still to be looked at."""
        below = self._copy.below[node.expert][node.node]
        if not below & 2:
            return
        self.regions += 1
        conditions = self._copy.gate.conditions(node.expert)
        if limit <= 0.0 and self._costs.kind == "sum":  # nothing costs less than nothing
            if certificate is not None:
                self._record(np.zeros(len(conditions.names)), 1.0, conditions, certificate)
            return
        outcome = self._cheapest(node, conditions, limit, 0.0)
        if outcome.multipliers is not None and self._cut(node, outcome, conditions, limit, certificate):
            return
        if below & (below - 1):
            if outcome.point is not None:
                self.offer(self._space.rounded(outcome.point, node.body))
            yield from self._split(node, outcome.value, certificate)
        else:
            yield from self._branch(node, outcome, conditions, certificate)

    def _cheapest(self, node: Node, conditions: Conditions, limit: float, slack: float) -> Outcome:
        fixed, down, up = self._costs.slopes(node.body, node.changed)
        enough = limit - fixed if math.isfinite(limit) else math.inf
        outcome = cheapest(
            self._space, node.body, conditions.rows, conditions.bounds + slack, (down, up), self._costs.x, enough
        )
        return outcome._replace(value=outcome.value + fixed)

    def _cut(
        self, node: Node, outcome: Outcome, conditions: Conditions, limit: float, certificate: Certificate | None
    ) -> bool:
        """Whether multipliers surely rule a region out; they go to the certificate."""
        assert outcome.multipliers is not None
        with_cost = math.isfinite(outcome.value)
        for factor in self._precisions(outcome.multipliers, with_cost):
            short = np.round(outcome.multipliers * factor) if factor else outcome.multipliers
            charge = (round(factor) if factor else 1.0) if with_cost else 0.0
            most = self._costs.most(short @ conditions.rows, charge, node.body, node.changed)
            excess = most - float(short @ conditions.bounds) + charge * (limit if with_cost else 0.0)
            slack = _SURE * (float(short.sum()) + charge * (1.0 + (limit if with_cost else 0.0)))
            if excess < -slack:
                if certificate is not None:
                    self._record(short, charge, conditions, certificate)
                return True
        return False

    @staticmethod
    def _precisions(multipliers: Floats, with_cost: bool) -> list[float]:
        """Numbers to multiply with before rounding; 0 for none."""
        largest = max(float(multipliers.max(initial=0.0)), 1.0 if with_cost else 0.0)
        return [2.0**20 / largest if not with_cost else 2.0 ** (20 - math.ceil(math.log2(largest))), 0.0]

    def _record(self, short: Floats, charge: float, conditions: Conditions, certificate: Certificate) -> None:
        used = np.flatnonzero(short).tolist()
        multipliers = {i: Fraction(float(short[i])) / Fraction(float(conditions.sizes[i])) for i in used}
        names = [*conditions.names, self._copy.n_experts]
        if charge:
            multipliers[len(conditions.names)] = Fraction(charge)
        add_cut(certificate, multipliers, names)

    def _split(self, node: Node, bound: float, certificate: Certificate | None) -> Iterator[Node]:
        tree = self._copy.mixture.trees[node.expert]
        variable, place = int(self._copy.features[tree.feature[node.node]]), float(tree.threshold[node.node])
        if certificate is not None:
            add_split(certificate)
        for child, body in (
            (tree.left[node.node], self._space.below(node.body, variable, place)),
            (tree.right[node.node], self._space.over(node.body, variable, place)),
        ):
            if body is not None:
                yield Node(node.expert, int(child), body, node.changed, bound)

    def _branch(
        self, node: Node, outcome: Outcome, conditions: Conditions, certificate: Certificate | None
    ) -> Iterator[Node]:
        z = outcome.point
        if z is not None:
            self.offer(self._space.rounded(z, node.body))
            column = self._costs.uncounted(z, node.body, node.changed)
            if column is not None:
                yield from self._keep(node, column, outcome.value, certificate)
                return
        where = self._where(node.body, conditions, z)
        if where is None:
            self._settle(node, outcome, conditions)
            return
        k, place = where
        if certificate is not None:
            certificate.add(bytes([BRANCH]), np.array([k], np.int32), np.array([place]))
        for body in (self._space.below(node.body, k, place), self._space.over(node.body, k, place)):
            if body is not None:
                yield Node(node.expert, node.node, body, node.changed, outcome.value)

    def _keep(self, node: Node, column: int, bound: float, certificate: Certificate | None) -> Iterator[Node]:
        if certificate is not None:
            certificate.add(bytes([KEEP]), np.array([column], np.int32))
        yield Node(node.expert, node.node, self._costs.kept(column, node.body), node.changed, bound)
        yield Node(node.expert, node.node, node.body, node.changed | {column}, bound)

    def _where(self, body: Body, conditions: Conditions, z: Floats | None) -> tuple[int, float] | None:
        """A variable to branch on: the one furthest from whole, or any that matters if the program had no answer."""
        free = self._space.whole & (body.hi > body.lo)
        if z is None:
            open_ones = np.flatnonzero(free)
            if not len(open_ones):
                return None
            k = int(open_ones[0])
            middle = 0.0 if self._space.group_of[k] >= 0 else float(np.floor((body.lo[k] + body.hi[k]) / 2.0))
            return k, middle
        distance = np.where(free, np.abs(z - np.round(z)), 0.0)
        if distance.max(initial=0.0) < _WHOLE:
            return None
        weight = distance * (np.abs(conditions.rows).max(axis=0, initial=0.0) + 1e-12)
        k = int(np.argmax(np.where(distance >= _WHOLE, weight, -1.0)))
        return k, float(np.floor(z[k]))

    def _settle(self, node: Node, outcome: Outcome, conditions: Conditions) -> None:
        """End with a region whose cheapest point is a row in all but strictness and rounding: look just inside."""
        self._settled += 1
        for slack in _SLACKS[1:]:
            inner = self._cheapest(node, conditions, math.inf, slack)
            if inner.point is not None and self._costs.uncounted(inner.point, node.body, node.changed) is None:
                y = self._space.rounded(inner.point, node.body)
                if self._shows(y):
                    self.offer(y)
                    break
        self.floor = min(self.floor, outcome.value if math.isfinite(outcome.value) else node.bound)
