"""Search for a row, or a pair of rows, that answers a question with no; and the records of a proof that there is none.

For every choice of experts the trees are walked down as far as they tell wanted answers from others. In every region a
linear program finds a point deep inside the conditions under which the experts answer, or multipliers that prove there
is none. Where the point is no possible row (half of a category, half of a whole number), the region is cut in two
there: branching is lazy, combinations of categories are never enumerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.model.tree import LEAF, Tree
from moet.verify.checker.certificate import Certificate
from moet.verify.exact import exactly, rounded
from moet.verify.inputs.records import add_cut, add_split
from moet.verify.limits import Deadline
from moet.verify.rational import Row, Side, decide
from moet.verify.rows.gates import Conditions, Gate
from moet.verify.rows.program import deepest
from moet.verify.rows.space import Body, Space

Floats = NDArray[np.float64]

BRANCH = 5
"""Code of a record: look at both sides of a number of one variable, which is whole or in a group."""

_SURE = 1e-10
"""A cut counts if it contradicts by this share of the sizes of its conditions; less is decided exactly."""
_SHORT = 2**20
_WHOLE = 1e-6


class Copy:
    """A model's answers to one of the rows, in groups of classes.

    Parameters
    ----------
    mixture : Mixture
    groups : array of int
        Group of every class.
    space : Space
    row : int
        Which of the rows it answers.
    deployed : bool
        See :class:`moet.verify.rows.gates.Gate`.
    """

    def __init__(self, mixture: Mixture, groups: NDArray[np.int64], space: Space, row: int, deployed: bool) -> None:
        self.mixture = mixture
        self.features = space.maps[row]
        self.gate = Gate(mixture, space, self.features, deployed)
        self.below = [groups_below(tree, groups) for tree in mixture.trees]

    @property
    def n_experts(self) -> int:
        """Experts of the model."""
        return self.mixture.n_experts


def groups_below(tree: Tree, groups: NDArray[np.int64]) -> list[int]:
    """Groups of the leaves below every node of a tree, as bits."""
    below = (1 << groups[tree.value.argmax(axis=1)]).tolist()
    for node in np.flatnonzero(tree.feature != LEAF)[::-1]:
        below[node] = below[tree.left[node]] | below[tree.right[node]]
    return below


@dataclass
class Node:
    """A region: nodes of the trees, a body, and a point of it that is known to satisfy the conditions."""

    nodes: tuple[int, ...]
    body: Body
    point: Floats | None = None


class Found(NamedTuple):
    """A counterexample, and the region it is in."""

    point: Floats
    body: Body
    conditions: Conditions


class RowSearch:
    """Depth-first search over regions.

    Parameters
    ----------
    space : Space
    copies : list of Copy
        One, or two.
    bad : callable
        Whether groups of the copies, given as bits, may be a counterexample.
    shows : callable
        Whether values of the variables are one: a pair of possible rows, in exact arithmetic and as deployed.
    deadline : Deadline
    certificate : Certificate, optional
        Where to write the records of the proof.
    """

    def __init__(
        self,
        space: Space,
        copies: list[Copy],
        bad: Callable[..., bool],
        shows: Callable[[Floats], bool],
        deadline: Deadline,
        certificate: Certificate | None = None,
    ) -> None:
        self._space = space
        self._copies = copies
        self._bad = bad
        self._shows = shows
        self._deadline = deadline
        self._certificate = certificate
        self.regions = self.programs = self.undecided = 0
        self.timed_out = False

    @property
    def effort(self) -> dict[str, float]:
        """Regions looked at and linear programs solved so far."""
        return {"regions": self.regions, "programs": self.programs}

    def counterexample(self) -> Floats | None:
        """Values of the variables that show it; None if there are none, or :attr:`timed_out`, or some undecided."""
        return next((found.point for found in self.counterexamples()), None)

    def counterexamples(self) -> Iterator[Found]:
        """One counterexample per region that has some; all of them, unless :attr:`timed_out` in the end."""
        for experts in self._choices():
            yield from self._walk(experts)
            if self.timed_out:
                return

    def _choices(self) -> Iterator[tuple[int, ...]]:
        counts = [copy.n_experts for copy in self._copies]
        yield from np.ndindex(*counts)

    def _walk(self, experts: tuple[int, ...]) -> Iterator[Found]:
        parts = [copy.gate.conditions(e) for copy, e in zip(self._copies, experts, strict=True)]
        conditions = _joined(parts, [copy.n_experts for copy in self._copies])
        stack = [Node((0,) * len(experts), self._space.body)]
        while stack:
            if self._deadline.passed:
                self.timed_out = True
                return
            node = stack.pop()
            below = [copy.below[e][k] for copy, e, k in zip(self._copies, experts, node.nodes, strict=True)]
            if not self._bad(*below):
                continue
            self.regions += 1
            multipliers = self._contradiction(node, conditions)
            if multipliers is not None:
                self._cut(multipliers, conditions)
                continue
            which = next((c for c, bits in enumerate(below) if bits & (bits - 1)), None)
            if which is not None:
                stack += reversed(self._split(node, experts, which))
                continue
            found, children = self._leaf(node, conditions)
            if found is not None:
                yield Found(found, node.body, conditions)
            stack += reversed(children)

    def _contradiction(self, node: Node, conditions: Conditions) -> dict[int, Fraction] | None:
        if node.point is not None and self._space.contains(node.body, node.point):
            return None
        node.point = None
        self.programs += 1
        outcome = deepest(self._space, node.body, conditions.rows, conditions.bounds)
        node.point = outcome.point
        if outcome.multipliers is None:
            return None
        return self._certain(outcome.multipliers, node.body, conditions)

    def _certain(self, multipliers: Floats, body: Body, conditions: Conditions) -> dict[int, Fraction] | None:
        """Multipliers of the conditions, with few digits, if they surely contradict the body."""
        largest = multipliers.max(initial=0.0)
        if largest <= 0.0:
            return None
        for digits in (_SHORT, 2**52):
            short = np.round(multipliers / largest * digits)
            excess = self._space.support(short @ conditions.rows, body) - short @ conditions.bounds
            if excess > _SURE * short.sum():
                continue
            used = np.flatnonzero(short).tolist()
            exact = {i: Fraction(float(short[i])) / Fraction(float(conditions.sizes[i])) for i in used}
            if excess < -_SURE * short.sum() or contradicts(exact, conditions.exact, self._space, body):
                return exact
        return None

    def _split(self, node: Node, experts: tuple[int, ...], which: int) -> list[Node]:
        copy, k = self._copies[which], node.nodes[which]
        tree = copy.mixture.trees[experts[which]]
        variable, place = int(copy.features[tree.feature[k]]), float(tree.threshold[k])
        if self._certificate is not None:
            add_split(self._certificate)
        children = []
        for child, body in (
            (tree.left[k], self._space.below(node.body, variable, place)),
            (tree.right[k], self._space.over(node.body, variable, place)),
        ):
            if body is not None:
                nodes = (*node.nodes[:which], int(child), *node.nodes[which + 1 :])
                children.append(Node(nodes, body, node.point))
        return children

    def _leaf(self, node: Node, conditions: Conditions) -> tuple[Floats | None, list[Node]]:
        """A counterexample in a region where all groups are settled, or the parts it is cut into."""
        if node.point is not None:
            candidate = self._space.rounded(node.point, node.body)
            if self._shows(candidate):
                return candidate, []
            where = self._fraction(node.point, node.body, conditions)
            if where is not None:
                return None, self._branch(node, *where)
        return self._exactly(node, conditions)

    def _exactly(self, node: Node, conditions: Conditions) -> tuple[Floats | None, list[Node]]:
        """Decide in exact arithmetic what floats cannot: a cut, a point, or one more variable to branch on."""
        verdict = _decide(self._space, node.body, conditions.exact)
        if isinstance(verdict, dict):
            self._cut(verdict, conditions)
            return None, []
        point = rounded(verdict)
        candidate = self._space.rounded(point, node.body)
        if self._shows(candidate):
            return candidate, []
        where = self._fraction(point, node.body, conditions) or self._unsettled(node.body, conditions)
        if where is None:
            self.undecided += 1
            return None, []
        return None, self._branch(node, *where)

    def _fraction(self, z: Floats, body: Body, conditions: Conditions) -> tuple[int, float] | None:
        """The variable that is furthest from whole, by what it moves; and where to cut it."""
        free = self._space.whole & (body.hi > body.lo)
        distance = np.where(free, np.abs(z - np.round(z)), 0.0)
        if distance.max(initial=0.0) < _WHOLE:
            return None
        weight = distance * (np.abs(conditions.rows).max(axis=0, initial=0.0) + 1e-12)
        k = int(np.argmax(np.where(distance >= _WHOLE, weight, -1.0)))
        return k, float(np.floor(z[k]))

    def _unsettled(self, body: Body, conditions: Conditions) -> tuple[int, float] | None:
        """Any variable that matters and is not settled yet."""
        matters = np.abs(conditions.rows).max(axis=0, initial=0.0) > 0.0
        free = np.flatnonzero(self._space.whole & (body.hi > body.lo) & matters)
        if not len(free):
            return None
        k = int(free[0])
        return k, float(np.floor((body.lo[k] + body.hi[k]) / 2.0)) if self._space.group_of[k] < 0 else 0.0

    def _branch(self, node: Node, k: int, place: float) -> list[Node]:
        if self._certificate is not None:
            self._certificate.add(bytes([BRANCH]), np.array([k], np.int32), np.array([place]))
        parts = self._space.below(node.body, k, place), self._space.over(node.body, k, place)
        return [Node(node.nodes, body) for body in parts if body is not None]

    def _cut(self, multipliers: dict[int, Fraction], conditions: Conditions) -> None:
        if self._certificate is not None:
            add_cut(self._certificate, multipliers, conditions.names)


def contradicts(multipliers: dict[int, Fraction], rows: list[Row], space: Space, body: Body) -> bool:
    """Whether multipliers of conditions contradict a body, in exact arithmetic."""
    direction, bound, strict = [Fraction(0)] * space.n, Fraction(0), False
    for i, factor in multipliers.items():
        row = rows[i]
        for k, c in enumerate(row.coefficients):
            if c:
                direction[k] += factor * c
        bound += factor * row.bound
        strict |= row.strict
    lo, hi = exactly(body.lo.tolist()), exactly(body.hi.tolist())
    paired = {k for pair in space.orders for k in pair}
    total = Fraction(0)
    for k, v in enumerate(direction):
        if v and space.group_of[k] < 0 and k not in paired:
            total += v * (hi[k] if v > 0 else lo[k])
    for members in space.groups:
        total += max(direction[k] for k in members.tolist() if hi[k])
    for i, j in space.orders:
        corners = [(x, y) for x in (lo[i], hi[i]) for y in (lo[j], hi[j]) if x <= y]
        low, high = max(lo[i], lo[j]), min(hi[i], hi[j])
        corners += [(v, v) for v in (lo[i], hi[i], lo[j], hi[j]) if low <= v <= high]
        total += max(direction[i] * x + direction[j] * y for x, y in corners)
    return total < bound or (total == bound and strict)


def _joined(parts: list[Conditions], counts: list[int]) -> Conditions:
    """Conditions of all copies together; the checker counts those of the second from the experts of the first on."""
    names = [name + sum(counts[:c]) for c, part in enumerate(parts) for name in part.names]
    return Conditions(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.bounds for part in parts]),
        np.concatenate([part.sizes for part in parts]),
        [row for part in parts for row in part.exact],
        names,
    )


def _decide(space: Space, body: Body, rows: list[Row]) -> list[Fraction] | dict[int, Fraction]:
    """A point of the relaxed body that satisfies all conditions, or multipliers of them that prove there is none."""
    extra = []
    one, zero = Fraction(1), Fraction(0)
    for members in space.groups:
        inside = [one if k in set(members.tolist()) else zero for k in range(space.n)]
        extra += [Row(inside, one), Row([-c for c in inside], -one)]
    for i, j in space.orders:
        extra.append(Row([one if k == j else -one if k == i else zero for k in range(space.n)], zero))
    lower = [Side(low, strict) for low, strict in zip(exactly(body.lo.tolist()), body.above.tolist(), strict=True)]
    upper = [Side(high) for high in exactly(body.hi.tolist())]
    verdict = decide([*rows, *extra], lower, upper)
    if isinstance(verdict, list):
        return verdict
    return {i: factor for i, factor in verdict.items() if i < len(rows)}
