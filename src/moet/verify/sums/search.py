"""The search of one case: rows that meet all its goals, or a tree of boxes none of which has any."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.verify.checker.certificate import Certificate
from moet.verify.limits import Deadline
from moet.verify.sums.cells import Cells
from moet.verify.sums.forest import Forest, Goal
from moet.verify.sums.kernel import CLOSED, DONE, DOUBTFUL, FOUND, FULL, TOO_DEEP, Scratch, Tree, search
from moet.verify.sums.prices import Prices
from moet.verify.sums.problem import Problem

Floats = NDArray[np.float64]
CellBox = tuple[NDArray[np.int32], NDArray[np.int32]]

CUT, SURE = 7, 3
"""Codes of the records that :mod:`moet.verify.checker.sums.proof` reads."""

TIED = (
    "there are rows on which the votes of two classes differ by no more than float64 arithmetic may round: which of "
    "them is the answer is too close to call"
)
"""Why a question has no answer though all boxes were looked at."""

_LEVELS = 1000
_FIRST_NODES, _MOST_NODES = 512, 20_000_000
_PATIENCE = 1000
"""Nodes between two looks at the clock."""


class CaseSearch:
    """Looks for possible rows that meet all goals of a case.

    Parameters
    ----------
    cells : Cells
    problem : Problem
        The case, from :func:`problem_of`.
    deadline : Deadline
    limit : float
        Rows matter only if they cost less.

    Attributes
    ----------
    found : pair of arrays of int or None
        The cells, first and last of every variable, whose rows meet the goals for sure.
    doubtful : pair of arrays of int or None
        The cheapest cells in which rounding decides.
    reason : str or None
        Why the search ended before all was known.
    """

    def __init__(self, cells: Cells, problem: Problem, deadline: Deadline, limit: float = math.inf) -> None:
        self._cells, self.problem, self._deadline = cells, problem, deadline
        self._scratch = _scratch(self.problem, cells.last, limit)
        self._tree = _room(_FIRST_NODES)
        self.found: CellBox | None = None
        self.doubtful: CellBox | None = None
        self.reason: str | None = None

    @property
    def boxes(self) -> int:
        """How many boxes were looked at."""
        return int(self._scratch.place[4])

    @property
    def limit(self) -> float:
        """What rows must cost less than to matter."""
        return float(self._scratch.limit[0])

    def run(self, *, is_cheapest: bool = False) -> bool:
        """Search on; whether all rows that matter are known: one was found, or the cheapest one, or there is none."""
        d = self._scratch
        while True:
            if self._deadline.passed:
                self.reason = self._deadline.reason
                return False
            end = search(self.problem, d, self._tree, _PATIENCE, is_cheapest)
            if d.place[3]:
                self.found = d.found[0].copy(), d.found[2].copy()
            if d.place[2]:
                self.doubtful = d.found[3].copy(), d.found[4].copy()
            if end in (DONE, FOUND):
                return True
            if end == TOO_DEEP:
                self.reason = f"boxes were cut more than {_LEVELS} times"
                return False
            if end == FULL:
                if len(self._tree.variable) >= _MOST_NODES:
                    self.reason = f"the limit of {_MOST_NODES} boxes was reached"
                    return False
                self._tree = Tree(*(np.concatenate([part, part]) for part in self._tree))

    def doubtful_boxes(self) -> Iterator[CellBox]:
        """All boxes in which rounding decides; in each, every tree has one leaf."""
        variable, cell, below, above = self._tree
        stack = [(0, np.zeros_like(self._cells.last), self._cells.last)]
        while stack and self._scratch.place[2]:
            node, lo, hi = stack.pop()
            if (k := int(variable[node])) == DOUBTFUL:
                yield lo, hi
            if k < 0:
                continue
            upper, lower = lo.copy(), hi.copy()
            upper[k], lower[k] = max(lo[k], cell[node] + 1), min(hi[k], cell[node])
            stack += [(int(above[node]), upper, hi), (int(below[node]), lo, lower)]

    def write(self, certificate: Certificate) -> None:
        """Append the tree of boxes to a proof, from the root on, lower halves first."""
        codes, refs = bytearray(), array("i")
        variable, cell, below, above = (part[: int(self._scratch.place[1])].tolist() for part in self._tree)
        names = self._cells.variables.tolist()
        stack = [0]
        while stack:
            node = stack.pop()
            if variable[node] in (CLOSED, DOUBTFUL):
                codes.append(SURE)
                continue
            codes.append(CUT)
            refs.extend((names[variable[node]], cell[node]))
            stack += (above[node], below[node])
        certificate.add(bytes(codes), refs)


def problem_of(forest: Forest, goals: Sequence[Goal], prices: Prices | None = None) -> Problem:
    """The case that all goals are met, for the kernel; without prices all rows cost the same."""
    key = tuple(goals)
    if key not in forest.problems:
        forest.problems[key] = _without_prices(forest, goals)
    problem = forest.problems[key]
    return (
        problem if prices is None else problem._replace(**{n: getattr(prices, n) for n in ("cost", "home", "largest")})
    )


def _without_prices(forest: Forest, goals: Sequence[Goal]) -> Problem:
    cells = forest.cells
    starts, members, spare = cells.groups()
    free = Prices.free(cells)
    return Problem(
        forest.lo, forest.hi, forest.start, *forest.leads(goals), *forest.slots, cells.start, cells.group_of(), starts,
        members, spare, cells.orders(), free.cost, free.home, free.largest,
    )  # fmt: skip


def _scratch(p: Problem, last: NDArray[np.int32], limit: float) -> Scratch:
    n, n_trees, n_goals = len(last), len(p.tree_start) - 1, len(p.lead)
    scratch = Scratch(
        place=np.array([0, 1, 0, 0, 0]),
        limit=np.array([limit]),
        ids=np.arange(p.lo.shape[1], dtype=np.int32),
        live=np.empty((_LEVELS, n_trees), dtype=np.int32),
        best=np.empty((_LEVELS, n_goals, n_trees), dtype=np.int64),
        lo=np.empty((_LEVELS + 1, n), dtype=np.int32),
        hi=np.empty((_LEVELS + 1, n), dtype=np.int32),
        node=np.zeros(_LEVELS, dtype=np.int64),
        phase=np.zeros(_LEVELS, dtype=np.int8),
        loss=np.zeros((3, int(p.cell_start[-1]) + n_goals + 1), dtype=np.int64),
        found=np.zeros((5, n), dtype=np.int32),
    )
    scratch.lo[0], scratch.hi[0] = 0, last
    return scratch


def _room(nodes: int) -> Tree:
    variable, cell = np.empty(nodes, dtype=np.int32), np.empty(nodes, dtype=np.int32)
    return Tree(variable, cell, np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64))


class Outcome(NamedTuple):
    """What is known of some cases: a point that shows one of them, why that is not known, or neither: there is none."""

    point: Floats | None
    reason: str | None
    effort: dict[str, float]


def search_cases(
    forest: Forest,
    cases: Sequence[Sequence[Goal]],
    shows: Callable[[Floats], bool],
    deadline: Deadline,
    certificate: Certificate,
    near: Floats,
    agrees: Callable[[Floats], bool] | None = None,
) -> Outcome:
    """Look for a point in one case after another; the proof that there is none is appended to a certificate.

    ``shows`` has the last word on a point, and ``near`` is what it should look like where that does not matter. Claims
    about exact arithmetic have ``agrees``: whether no case is met at a point at which the kernel's rounded votes tie.
    """
    cells = forest.cells
    boxes, reason = 0, None
    for goals in cases:
        search = CaseSearch(cells, problem_of(forest, goals), deadline)
        search.run()
        boxes += search.boxes
        for box in (search.found, search.doubtful):
            if box is not None and shows(z := cells.point(*box, near)):
                return Outcome(z, None, {"boxes": boxes, "seconds": deadline.seconds})
        if search.reason is not None:
            return Outcome(None, search.reason, {"boxes": boxes, "seconds": deadline.seconds})
        doubtful = (cells.point(*box, near) for box in search.doubtful_boxes())
        if search.found is not None or any(agrees is None or not agrees(z) for z in doubtful):
            reason = TIED
        search.write(certificate)
    return Outcome(None, reason, {"boxes": boxes, "seconds": deadline.seconds})
