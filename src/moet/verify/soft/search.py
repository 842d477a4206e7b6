"""The search of a question about soft models: rows that show it, or a tree of bodies none of which has any."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from moet.verify.checker.certificate import Certificate
from moet.verify.limits import Deadline
from moet.verify.rows.space import Body, Ints, Space
from moet.verify.soft.bounds import Frame, Lines, is_sure, most_of
from moet.verify.soft.prices import Prices
from moet.verify.soft.voters import Bodies, Bools, Floats, Voters

SPLIT, SURE, KEEP, BEYOND, ORDERED = 0, 3, 6, 8, 9
"""Codes of the records that :mod:`moet.verify.checker.soft.walk` reads."""

MAX_BODIES = 1_000_000
"""So many bodies are looked at before the search gives up."""

TIED = (
    "there are rows on which the votes of two classes differ by no more than float64 arithmetic may round, or by so "
    "little that bounds do not tell: which of them is the answer is too close to call; fit the model with another "
    "random_state, or ask about a smaller domain"
)
"""Why a question has no answer though all bodies were looked at."""

_BATCH = 256
_LEAST_WIDTH = 1e-12
"""Intervals that are narrower, as a share of what is possible, are not cut."""


class Term(NamedTuple):
    """The lead of a class over a rival, as some voters give it, by their number."""

    voters: int
    answer: int
    rival: int


Goal = tuple[Term, ...]
"""Terms whose sum must not be negative; a case is a list of goals, all of which must be met."""


class Case(NamedTuple):
    """Goals; and the voters, answer and rival by which two rows may be in order, tree by tree."""

    goals: Sequence[Goal]
    ordered: Term | None = None


_Child = tuple[Floats, Floats, Bools, Bools, int]
"""Sides of a body, the columns that are charged, and its node."""


class Tree:
    """How bodies came from one another, and what was said of each."""

    def __init__(self) -> None:
        self._records: list[tuple[int, tuple[int, ...], tuple[float, ...]]] = [(-1, (), ())]
        self._children: list[tuple[int, ...]] = [()]

    def say(self, node: int, code: int, refs: Sequence[int] = (), numbers: Sequence[float] = ()) -> None:
        """What is recorded of a node."""
        self._records[node] = code, tuple(refs), tuple(numbers)

    def grow(self, node: int, count: int) -> list[int]:
        """Give a node children."""
        first = len(self._records)
        self._children[node] = tuple(range(first, first + count))
        self._records += [(-1, (), ())] * count
        self._children += [()] * count
        return list(self._children[node])

    def write(self, certificate: Certificate) -> None:
        """Append the records, from the root on, the first child first."""
        codes, refs, numbers = bytearray(), array("i"), array("d")
        stack = [0]
        while stack:
            node = stack.pop()
            code, own, more = self._records[node]
            codes.append(code)
            refs.extend(own)
            numbers.extend(more)
            stack += reversed(self._children[node])
        certificate.add(bytes(codes), refs, numbers)


class SoftSearch:
    """Looks for possible rows that meet all goals of a case.

    Parameters
    ----------
    space : Space
    voters : sequence of Voters
    case : Case
    shows : callable
        Which of some points are what is looked for.
    deadline : Deadline
    prices : Prices, optional
        Then rows matter only if they cost less than a limit.
    """

    def __init__(
        self,
        space: Space,
        voters: Sequence[Voters],
        case: Case,
        shows: Callable[[Floats], Bools],
        deadline: Deadline,
        prices: Prices | None = None,
    ) -> None:
        self._space, self._voters, self._case, self._shows = space, voters, case, shows
        self._deadline, self._prices = deadline, prices
        self._leads = [[voters[t.voters].lead(t.answer, t.rival) for t in goal] for goal in case.goals]
        self._reach = np.maximum(space.body.hi - space.body.lo, 1e-300)
        self.bodies, self.stuck = 0, 0
        self.tree = Tree()
        self.reason: str | None = None

    def run(self, limit: float, found: Callable[[Floats], float] | None = None) -> Floats | None:
        """Search until a point is found, or there is none; or go on, with the limit that ``found`` makes of each."""
        self.tree, self.stuck, self.reason = Tree(), 0, None
        lo, hi, above = self._space.body
        n_columns = len(self._space.domain.values)
        waiting = Bodies(
            lo[None], hi[None], above[None], np.zeros((1, n_columns), dtype=bool), np.zeros(1, dtype=np.int64)
        )
        while len(waiting.lo):
            if self._deadline.passed or self.bodies > MAX_BODIES:
                over = f"the limit of {MAX_BODIES} boxes was reached"
                self.reason = self._deadline.reason if self._deadline.passed else over
                return None
            batch, waiting = waiting.take(slice(-_BATCH, None)), waiting.take(slice(0, -_BATCH))
            self.bodies += len(batch.lo)
            left, points = self._looked_at(batch, limit)
            hits = points[self._shows(points)] if len(points) else points
            if len(hits):
                if found is None:
                    return np.array(hits[0])
                limit = min(found(z) for z in hits)
            if left is not None:
                waiting = waiting.join(left)
        return None

    def _looked_at(self, batch: Bodies, limit: float) -> tuple[Bodies | None, Floats]:
        """What is left to look at of some bodies, cut in two, and points that may be what is looked for."""
        if self._prices is not None:
            batch, has_any = self._prices.shrunk(batch, limit)
            for node in batch.node[~has_any].tolist():
                self.tree.say(node, BEYOND)
            batch = batch.take(has_any)
        batch = self._without_ordered(batch)
        if not len(batch.lo):
            return None, np.empty((0, self._space.n))
        frames = [Frame(voters, batch, self._prices, limit) for voters in self._voters]
        goal, lines, factor, is_closed = self._bounded(batch, frames, limit)
        with_factor = self._prices is not None
        for i in np.flatnonzero(is_closed).tolist():
            references = [int(frames[t.voters].reference[i]) for t in self._case.goals[goal[i]]]
            numbers = (float(factor[i]), *frames[0].factors[i].tolist()) if with_factor else ()
            self.tree.say(int(batch.node[i]), SURE, (int(goal[i]), *references), numbers)
        is_open = np.flatnonzero(~is_closed)
        points: list[Floats] = []
        children: list[_Child] = []
        for i in is_open.tolist():
            own = lines[goal[i]]
            points += self._points(batch, i, np.sum([part.direction[i] for part in own], axis=0), limit)
            children += self._cut(batch, i, own, frames, int(goal[i]))
        left = Bodies(*map(np.array, zip(*children, strict=True))) if children else None
        return left, np.array(points).reshape(-1, self._space.n)

    def _without_ordered(self, batch: Bodies) -> Bodies:
        """Close the bodies in which all trees have the rows' votes in an order that rules the case out."""
        term = self._case.ordered
        if term is None or not len(batch.lo):
            return batch
        voters = self._voters[term.voters]
        ordered = voters.is_ordered(term.answer, term.rival, voters.reach.live(batch)) & self._is_blind(batch)
        for node in batch.node[ordered].tolist():
            self.tree.say(node, ORDERED)
        return batch.take(~ordered)

    def _is_blind(self, batch: Bodies) -> Bools:
        """Whether the gate cannot tell the two rows apart: what differs has no weight, or does not differ there."""
        blind = np.ones(len(batch.lo), dtype=bool)
        first, second = self._space.maps
        seen = np.any(self._voters[0].weights != 0.0, axis=0)
        for i, j in zip(first.tolist(), second.tolist(), strict=True):
            if i != j and seen[i]:
                same = (batch.lo[:, i] == batch.hi[:, i]) & (batch.lo[:, j] == batch.hi[:, j])
                blind &= same & (batch.lo[:, i] == batch.lo[:, j])
        return blind

    def _bounded(
        self, batch: Bodies, frames: list[Frame], limit: float
    ) -> tuple[Ints, list[list[Lines]], Floats, Bools]:
        """The goal that is nearest to being missed in each body, what is above its terms, and whether it is missed."""
        n = len(batch.lo)
        goal, best, factor, closed = np.zeros(n, dtype=np.int64), np.full(n, np.inf), np.zeros(n), np.zeros(n, bool)
        lines: list[list[Lines]] = []
        for g, (terms, leads) in enumerate(zip(self._case.goals, self._leads, strict=True)):
            own = [frames[t.voters].lines(lead) for t, lead in zip(terms, leads, strict=True)]
            lines.append(own)
            direction, constant, size = (np.sum(same, axis=0) for same in list(zip(*own, strict=True))[:3])
            if self._prices is None:
                most, charge = most_of(direction, batch, self._space), np.zeros(n)
            else:
                most, charge = self._prices.most(direction, batch, limit)
            bound = most + constant
            if any(self._voters[t.voters].is_pair for t in terms):
                bound = np.where(self._is_blind(batch), bound, np.inf)
            share = np.where(np.isfinite(bound), bound / np.maximum(size, 1e-300), np.inf)
            is_better = share < best
            goal, best = np.where(is_better, g, goal), np.where(is_better, share, best)
            factor = np.where(is_better, charge, factor)
            closed = np.where(is_better, is_sure(bound, size), closed)
        return goal, lines, factor, closed

    def _points(self, batch: Bodies, i: int, direction: Floats, limit: float) -> list[Floats]:
        """Possible points of a body that may be what is looked for: its middle, and where the bound is largest."""
        body = _body(batch, i)
        if self._prices is not None:
            return [self._space.rounded(z, body) for z in self._prices.points(direction, batch.take([i]), limit)]
        far = np.where(direction > 0.0, body.hi, body.lo)
        for members in self._space.groups:
            far[members] = np.where(body.hi[members] == 1.0, direction[members] - direction[members].min() + 1.0, 0.0)
        return [self._space.rounded(z, body) for z in ((body.lo + body.hi) / 2.0, far)]

    def _cut(self, batch: Bodies, i: int, lines: Sequence[Lines], frames: Sequence[Frame], goal: int) -> list[_Child]:
        """The halves of a body: where a column stays or not, by a test of a tree, or of what moves the logits most."""
        node, body, changed = int(batch.node[i]), _body(batch, i), batch.changed[i]
        if self._prices is not None and self._prices.counts:
            column = self._prices.undecided(lines[0].direction[i : i + 1], batch.take([i]))[0]
            if column.max(initial=-1.0) > 0.0:
                return self._kept(node, body, changed, int(column.argmax()))
        where = self._place(body, i, lines, frames, goal)
        if where is None:
            self.stuck += 1
            return []
        k, place = where
        self.tree.say(node, SPLIT, (k,), (place,))
        names = self.tree.grow(node, 2)
        halves = self._space.below(body, k, place), self._space.over(body, k, place)
        for half, name in zip(halves, names, strict=True):
            if half is None:
                self.tree.say(name, BEYOND)
        return [(*half, changed, name) for half, name in zip(halves, names, strict=True) if half is not None]

    def _kept(self, node: int, body: Body, changed: Bools, column: int) -> list[_Child]:
        assert self._prices is not None
        self.tree.say(node, KEEP, (column,))
        charged = changed.copy()
        charged[column] = True
        halves = [(self._prices.costs.kept(column, body), changed), (body, charged)]
        names = self.tree.grow(node, 2)
        return [(*half, own, name) for (half, own), name in zip(halves, names, strict=True)]

    def _place(
        self, body: Body, i: int, lines: Sequence[Lines], frames: Sequence[Frame], goal: int
    ) -> tuple[int, float] | None:
        """Variable and number at which to cut a body."""
        pull = sum(part.pull[i] for part in lines)
        wide = body.hi - body.lo > np.where(self._space.whole, 0.5, _LEAST_WIDTH * self._reach)
        pull = np.where(wide, pull, 0.0)
        own = [frames[t.voters].crossing(part, i) for t, part in zip(self._case.goals[goal], lines, strict=True)]
        spread, k, place = max(own)
        if spread >= 0.0 and (spread >= pull.sum() or pull.max() <= 0.0):
            return k, place
        if pull.max() <= 0.0:
            return None
        k = int(pull.argmax())
        if self._space.group_of[k] >= 0:
            return k, 0.0
        middle = body.lo[k] + (body.hi[k] - body.lo[k]) / 2.0
        if self._space.whole[k]:
            return k, float(np.floor(middle))
        step = 2.0 ** (np.floor(np.log2(body.hi[k] - body.lo[k])) - 3.0)
        return k, float(np.round(middle / step) * step)


def _body(bodies: Bodies, i: int) -> Body:
    return Body(bodies.lo[i], bodies.hi[i], bodies.above[i])
