"""The leaves of a sum of trees as boxes of cells, and what they add to the lead of one class over another."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import OPTIONS
from moet.model.mixture import Mixture
from moet.verify.inputs.sampling import sample_inputs
from moet.verify.rows.domain import Domain
from moet.verify.rows.space import Space
from moet.verify.sums.cells import Cells
from moet.verify.sums.exact import ExactSum
from moet.verify.sums.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Term(NamedTuple):
    """The lead of a class over a rival, as one of the rows is answered, or by one of two models."""

    row: int
    answer: int
    rival: int


Goal = tuple[Term, ...]
"""Terms whose sum must not be negative; a case is a list of goals, all of which must be met."""

DIFFERENT: Goal = ()
"""That two rows are in different leaves of some tree: otherwise they have the same votes, to the last bit."""


def one_row(answer: int, n_classes: int) -> list[Goal]:
    """The case that a row is answered so."""
    return [(Term(0, answer, rival),) for rival in range(n_classes) if rival != answer]


def two_rows(first: int, second: int, n_classes: int) -> list[Goal]:
    """The case that two rows are answered so: each for itself, both leads together, and not by the same leaves."""
    others = [(Term(1, second, rival),) for rival in range(n_classes) if rival != second]
    return [(Term(0, first, second), Term(1, second, first)), *one_row(first, n_classes), *others, DIFFERENT]


class SumOfTrees:
    """What does not depend on a question: tests and votes of all trees as arrays.

    Votes are whole numbers, in units so small that the sum over all trees just fits 64 bits; rounded up and down.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> leaf = Tree([-1], [0.0], [-1], [-1], [[0.75, 0.25]])
    >>> votes = SumOfTrees(Mixture([[0.0], [0.0]], [0.0, 0.0], [leaf, leaf], ["no", "yes"], prediction="soft"))
    >>> float(votes.up[0, 0] / votes.up[0, 1])
    3.0
    """

    def __init__(self, mixture: Mixture) -> None:
        flat = mixture._flat
        self.nodes, self.roots = flat.routing.nodes.astype(np.int64), flat.routing.roots.astype(np.int64)
        self.threshold = flat.routing.threshold
        is_test = self.nodes[:, 1] != np.arange(len(self.nodes))
        feature, threshold = self.nodes[is_test, 0], self.threshold[is_test]
        order = np.lexsort((threshold, feature))
        parts = np.split(threshold[order], np.searchsorted(feature[order], np.arange(1, mixture.n_features)))
        self.cuts = [np.unique(part) for part in parts]
        self.value = flat.value
        n_trees = mixture.n_experts
        self.bits = bits_for(n_trees)
        self.up, self.down = rounded_votes(flat.value, self.bits)
        self.band = math.ceil(math.ldexp(n_trees * (n_trees + 16) * 2.1, self.bits - 50)) + 4 * n_trees
        self.exact = ExactSum(mixture)
        self._mixture = mixture
        self._last: tuple[Domain, Forest] | None = None
        self._sampled: tuple[Any, tuple[Floats, Ints]] | None = None

    def forest(self, rows: Domain) -> Forest:
        """Leaves that rows of a domain get to; those of the last domain are kept, for the next question is of it."""
        if self._last is None or self._last[0] != rows:
            self._last = rows, self.over(Space(rows))
        return self._last[1]

    def over(self, space: Space) -> Forest:
        """Leaves that the row, or the two rows, of a space get to."""
        return OneSum(self, Cells(self.cuts, space))

    def sample(self, lo: Floats, hi: Floats, n: int, seed: int) -> tuple[Floats, Ints]:
        """Random inputs of a box, and which class answers each; those of the last box are kept, too."""
        key = lo.tobytes(), hi.tobytes(), n, seed
        if self._sampled is None or self._sampled[0] != key:
            X = sample_inputs([self._mixture], lo, hi, n, np.random.default_rng(seed))
            self._sampled = key, (X, self._mixture.votes(X).argmax(axis=1))
        return self._sampled[1]


def sum_of(mixture: Mixture) -> SumOfTrees:
    """The trees of a mixture, which is frozen: made once, for many questions may be about it."""
    known = vars(mixture)
    if "_sum_of_trees" not in known:
        known["_sum_of_trees"] = SumOfTrees(mixture)
    trees: SumOfTrees = known["_sum_of_trees"]
    return trees


def bits_for(n_trees: int) -> int:
    """Binary digits of a vote with which sums over so many trees fit 64 bits."""
    return 58 - math.ceil(math.log2(n_trees))


def rounded_votes(value: Floats, bits: int) -> tuple[Ints, Ints]:
    """Votes as whole numbers, rounded up and down."""
    scaled = np.ldexp(value, bits)
    return np.ceil(scaled).astype(np.int64), np.floor(scaled).astype(np.int64)


class Leaves(NamedTuple):
    """Leaves of every tree that possible rows get to, tree by tree: first and last cells, nodes, where each begins."""

    lo: NDArray[np.int32]
    hi: NDArray[np.int32]
    leaf: Ints
    start: Ints


class Forest(ABC):
    """Leaves of every tree, or for two rows the pairs of leaves that they may reach, that possible rows get to.

    Attributes
    ----------
    lo, hi : array of int, shape (n_variables, n_leaves)
    leaf : array of int, shape (n_rows, n_leaves)
        The nodes, numbered through all trees.
    start : array of int
        First of every tree.
    problems : dict
        What :func:`moet.verify.sums.search.problem_of` made of it, by goals, without prices.
    """

    def __init__(self, cells: Cells, rows: Sequence[Leaves]) -> None:
        self.cells = cells
        self.problems: dict[tuple[Goal, ...], Problem] = {}
        self.lo, self.hi, leaf, self.start = rows[0]
        self.leaf = leaf[None, :]
        if len(rows) == 2:
            order, group_of = cells.orders(), cells.group_of()
            self.lo, self.hi, self.leaf, self.start = _pairs(*rows[0], *rows[1], order, group_of)

    @abstractmethod
    def leads(self, goals: Sequence[Goal]) -> tuple[Ints, Ints, Ints]:
        """Leads of every leaf, rounded up; goals below minus the second are missed, those above the third are met."""

    @cached_property
    def slots(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Variables that each tree tests, and where it cuts them."""
        found: tuple[Ints, Ints, Ints, Ints] = _slots(self.lo, self.hi, self.start, self.cells.last)
        return found


class OneSum(Forest):
    """The forest of one sum of trees, which answers all rows: what holds of it holds as deployed, too."""

    def __init__(self, trees: SumOfTrees, cells: Cells) -> None:
        super().__init__(cells, [leaves_of(trees, cells, row) for row in range(len(cells.space.maps))])
        self._trees = trees

    def leads(self, goals: Sequence[Goal]) -> tuple[Ints, Ints, Ints]:
        """Leads of every leaf, rounded up, and twice by how much rounding may change their sums."""
        lead = np.zeros((len(goals), self.leaf.shape[1]), dtype=np.int64)
        for g, goal in enumerate(goals):
            for row, answer, rival in goal:
                lead[g] += self._trees.up[self.leaf[row], answer] - self._trees.down[self.leaf[row], rival]
            if goal == DIFFERENT:
                lead[g] = (self.leaf[0] != self.leaf[-1]).astype(np.int64) << self._trees.bits
        band = np.array([-1 if goal == DIFFERENT else len(goal) * self._trees.band for goal in goals])
        return lead, band, np.maximum(band, 0)


def leaves_of(trees: SumOfTrees, cells: Cells, row: int) -> Leaves:
    """Leaves that one of the rows may get to."""
    own = cells.space.maps[row]
    cut_start = np.cumsum([0, *(len(cuts) for cuts in cells.cuts)])
    cuts = np.concatenate([*cells.cuts, np.empty(0)])
    return Leaves(
        *_leaves(
            trees.threshold, trees.nodes, trees.roots, cells.variable_of[row], cells.low[own], cells.high[own],
            cells.whole[own], cut_start, cuts, cells.last,
        )
    )  # fmt: skip


@njit(**OPTIONS)
def _leaves(
    threshold: Any, nodes: Any, roots: Any, variable_of: Any, low: Any, high: Any, whole: Any,
    cut_start: Any, cuts: Any, last: Any,
) -> Any:  # fmt: skip
    """Boxes of the leaves that possible rows get to."""
    n, n_nodes = len(last), len(nodes)
    lo, hi = np.zeros((n, n_nodes), dtype=np.int32), np.zeros((n, n_nodes), dtype=np.int32)
    leaf, start = np.empty(n_nodes, dtype=np.int64), np.zeros(len(roots) + 1, dtype=np.int64)
    stack, found = np.empty(n_nodes, dtype=np.int64), 0
    # sides of the nodes that wait, by their place on the stack
    box_lo, box_hi = np.zeros((256, n), dtype=np.int32), np.zeros((256, n), dtype=np.int32)
    for t in range(len(roots)):
        stack[0] = roots[t]
        box_lo[0], box_hi[0] = 0, last
        waiting = 1
        while waiting > 0:
            waiting -= 1
            node = stack[waiting]
            if nodes[node, 1] == node:
                lo[:, found] = box_lo[waiting]
                hi[:, found] = box_hi[waiting]
                leaf[found] = node
                found += 1
                continue
            f = nodes[node, 0]
            place = np.floor(threshold[node]) if whole[f] else threshold[node]
            if place < low[f]:
                stack[waiting] = nodes[node, 2]
                waiting += 1
                continue
            if place >= high[f]:
                stack[waiting] = nodes[node, 1]
                waiting += 1
                continue
            k = variable_of[f]
            cell = np.searchsorted(cuts[cut_start[k] : cut_start[k + 1]], place)
            first, final = box_lo[waiting, k], box_hi[waiting, k]
            if waiting + 2 > len(box_lo):
                box_lo = np.concatenate((box_lo, box_lo))
                box_hi = np.concatenate((box_hi, box_hi))
            here = waiting
            if final > cell:
                box_lo[waiting + 1], box_hi[waiting + 1] = box_lo[here], box_hi[here]
                stack[waiting] = nodes[node, 2]
                if first <= cell:
                    stack[waiting + 1] = nodes[node, 1]
                    box_hi[waiting + 1, k] = cell
                    waiting += 1
                box_lo[here, k] = max(first, np.int32(cell + 1))
                waiting += 1
            else:
                stack[waiting] = nodes[node, 1]
                waiting += 1
        start[t + 1] = found
    return lo[:, :found].copy(), hi[:, :found].copy(), leaf[:found].copy(), start


@njit(**OPTIONS)
def _slots(lo: Any, hi: Any, start: Any, last: Any) -> Any:
    """Variables in which the leaves of a tree differ, and the cells after which they do."""
    n, n_trees, n_leaves = len(lo), len(start) - 1, lo.shape[1]
    slot_start, variables = np.zeros(n_trees + 1, dtype=np.int64), np.empty(2 * n_leaves + 1, dtype=np.int64)
    cut_start, cuts = np.zeros(2 * n_leaves + 2, dtype=np.int64), np.empty(2 * n_leaves + 1, dtype=np.int64)
    most = 1
    for k in range(n):
        most = max(most, last[k] + 1)
    marked = np.zeros(most, dtype=np.bool_)
    n_slots, n_cuts = 0, 0
    for t in range(n_trees):
        for k in range(n):
            first = n_cuts
            for leaf in range(start[t], start[t + 1]):
                for place in (np.int64(lo[k, leaf]) - 1, np.int64(hi[k, leaf])):
                    if 0 <= place < last[k] and not marked[place]:
                        marked[place] = True
                        cuts[n_cuts] = place
                        n_cuts += 1
            if n_cuts > first:
                cuts[first:n_cuts].sort()
                for c in range(first, n_cuts):
                    marked[cuts[c]] = False
                variables[n_slots] = k
                n_slots += 1
                cut_start[n_slots] = n_cuts
        slot_start[t + 1] = n_slots
    return slot_start, variables[:n_slots].copy(), cut_start[: n_slots + 1].copy(), cuts[:n_cuts].copy()


@njit(**OPTIONS)
def _pairs(
    lo_a: Any, hi_a: Any, leaf_a: Any, start_a: Any, lo_b: Any, hi_b: Any, leaf_b: Any, start_b: Any, order: Any,
    group_of: Any,
) -> Any:  # fmt: skip
    """Pairs of leaves of one tree that two rows may reach together."""
    n, capacity, found = len(lo_a), 1024, 0
    lo, hi = np.empty((capacity, n), dtype=np.int32), np.empty((capacity, n), dtype=np.int32)
    leaf, start = np.empty((capacity, 2), dtype=np.int64), np.zeros(len(start_a), dtype=np.int64)
    for t in range(len(start_a) - 1):
        for a in range(start_a[t], start_a[t + 1]):
            for b in range(start_b[t], start_b[t + 1]):
                if found == capacity:
                    lo, hi, leaf = np.concatenate((lo, lo)), np.concatenate((hi, hi)), np.concatenate((leaf, leaf))
                    capacity *= 2
                fits = True
                for k in range(n):
                    lo[found, k] = max(lo_a[k, a], lo_b[k, b])
                    hi[found, k] = min(hi_a[k, a], hi_b[k, b])
                    if lo[found, k] > hi[found, k]:
                        fits = False
                        break
                if not fits:
                    continue
                for k in range(n):
                    if order[k, 0] >= 0 and lo[found, order[k, 0]] > hi[found, k]:
                        fits = False
                    if group_of[k] >= 0 and lo[found, k] == 1:
                        for j in range(k):
                            if group_of[j] == group_of[k] and lo[found, j] == 1:
                                fits = False
                if fits:
                    leaf[found, 0], leaf[found, 1] = leaf_a[a], leaf_b[b]
                    found += 1
        start[t + 1] = found
    return lo[:found].T.copy(), hi[:found].T.copy(), leaf[:found].T.copy(), start
