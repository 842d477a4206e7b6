"""Who is there: sets of leaves of a policy's trees. Standard library only.

The leaves of all trees are numbered from left to right, those of one expert after those of the other, and a set of them
is an integer: bit i says whether leaf i is in it. What a *name* of a proof stands for is such a set, and so is a
*piece*, which leads from a frame to the next.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.model import PlainTree
from moet.verify.checker.loops.paths.rows import ClosedLoop
from moet.verify.checker.made import Made

FINE, WITHIN, ACROSS = range(3)
"""What ``coarse`` may be in a claim."""

ANYBODY = 0
"""In place of leaves: nothing is said of who is there."""


class Piece(NamedTuple):
    """Those who get to some leaves, all of one action. Without an action: those who miss a condition of the goal."""

    leaves: int
    action: int | None
    missed: int = -1


class Leaves(NamedTuple):
    """Those of one tree: below every node, and at it, are those from ``first`` to before ``end``."""

    first: list[int]
    end: list[int]
    parent: list[tuple[int, bool]]
    """The node above, and whether this is the left one below it; the root has itself."""

    def below(self, node: int) -> int:
        """The set of the leaves below a node."""
        return (1 << self.end[node]) - (1 << self.first[node])


class Pieces:
    """What names stand for, and the pieces of frames; what was made is kept.

    Parameters
    ----------
    loop : ClosedLoop
    coarse : int
        Which pieces are merged.
    """

    def __init__(self, loop: ClosedLoop, coarse: int) -> None:
        self._loop, self._coarse, self._meter = loop, coarse, loop.meter
        self._n_pairs = loop.n_experts**2
        self._roots = list(accumulate((len(tree.label) for tree in loop.trees), initial=self._n_pairs))
        self._meter.spend(10 * self._roots[-1])
        self._meter.hold(8 * self._roots[-1])
        self._places: list[tuple[int, int]] = []
        self._actions: list[int] = []
        self._experts = [self._numbered(e, tree) for e, tree in enumerate(loop.trees)]
        self._first = [leaves.first[0] for leaves in self._experts]
        self._all, self._words = (1 << len(self._places)) - 1, 1 + (len(self._places) >> 6)
        self._of_action = {action: self._taking(action) for action in set(self._actions)}
        self.named, self.expert = Made(self._make_named), Made(self._make_expert)
        self.limit, self.left = Made(self._make_limit), Made(self._make_left)

    def _numbered(self, e: int, tree: PlainTree) -> Leaves:
        """Number the leaves of expert e's tree."""
        first, parent, waiting = [0] * len(tree.label), [(0, True)] * len(tree.label), [0]
        places: list[tuple[int, int]] = []
        before, left, right = len(self._places), tree.left, tree.right
        while waiting:
            node = waiting.pop()
            first[node] = before + len(places)
            if left[node] < 0:
                places.append((e, node))
            else:
                waiting += right[node], left[node]
        end = [before + len(places)] * len(first)
        for node, (low, high) in enumerate(zip(left, right, strict=True)):  # children come after their parents
            if low >= 0:
                parent[low], parent[high], end[low], end[high] = (node, True), (node, False), first[high], end[node]
        self._places += places
        self._actions += [self._loop.action_of[tree.label[node]] for _, node in places]
        return Leaves(first, end, parent)

    def _taking(self, action: int) -> int:
        """The leaves of an action."""
        return int("".join("01"[other == action] for other in reversed(self._actions)), 2)

    def _make_named(self, name: int) -> tuple[int, int, float]:
        """Leaves of a name, which row at their time it stands for, and with what threshold, if it is a test.

        E·e + j are those who choose expert e, and their row that this is not j; from E² on come the nodes of all trees,
        those who get there, and the row of the last test on their way.
        """
        self._meter.hold(4 + self._words)
        e, j = divmod(name, self._loop.n_experts)
        if 0 <= name < self._n_pairs and e != j:
            return self._experts[e].below(0), name, 0.0
        e = bisect_right(self._roots, name) - 1
        if not 0 <= e < self._loop.n_experts or name == self._roots[e]:
            raise CertificateError(f"nobody can be called {name}")
        tree, leaves, node = self._loop.trees[e], self._experts[e], name - self._roots[e]
        parent, below = leaves.parent[node]
        row = self._n_pairs + 2 * tree.feature[parent] + (0 if below else 1)
        return leaves.below(node), row, tree.threshold[parent]

    def _make_expert(self, leaves: int) -> int | None:
        """The expert that all of these leaves are of, if that is one."""
        if leaves == ANYBODY:
            return None
        first, last = ((leaves & -leaves).bit_length(), leaves.bit_length())
        e, other = self._places[first - 1][0], self._places[last - 1][0]
        return e if e == other else None

    def _make_limit(self, leaves: int, state: int, below: bool) -> float:
        """Threshold that all who get to some leaves are at most at, or above, in a state: the weakest of theirs."""
        found = []
        while leaves:
            self._meter.spend(2 + self._words)
            lowest = leaves & -leaves
            leaves ^= lowest
            tests = self._tests_above(*self._places[lowest.bit_length() - 1], state, below)
            found.append(min(tests, default=None) if below else max(tests, default=None))
        known = [threshold for threshold in found if threshold is not None]
        if not known or len(known) < len(found):
            raise CertificateError(f"there is no test of state {state} {'from above' if below else 'from below'}")
        return max(known) if below else min(known)

    def _tests_above(self, e: int, node: int, state: int, below: bool) -> list[float]:
        """Thresholds that those who get to a node are at most at, or above, in a state."""
        feature, threshold, parent = self._loop.trees[e].feature, self._loop.trees[e].threshold, self._experts[e].parent
        found, seen = [], 1
        while node:
            node, left = parent[node]
            seen += 1
            if left is below and feature[node] == state:
                found.append(threshold[node])
        self._meter.spend(2 * seen)
        return found

    def _make_left(self, out: int) -> list[Piece]:
        """Pieces of a frame if nobody gets to some leaves: what is left by action, or apart, as the claim says."""
        left = self._all & ~out
        found = self._by_action(left)
        if len(found) > 1 and self._coarse != ACROSS:
            experts = enumerate(self._experts)
            found = [piece for e, leaves in experts for piece in self._of_expert(e, left & leaves.below(0))]
        self._meter.hold((3 + self._words) * (1 + len(found)))
        return found

    def _of_expert(self, e: int, left: int) -> list[Piece]:
        """Pieces of an expert of whose leaves some are left; if they are fine, where all that is left agrees."""
        if self._coarse == WITHIN:
            return self._by_action(left)
        tree, leaves, found, waiting = self._loop.trees[e], self._experts[e], [], [0]
        while waiting:
            node = waiting.pop()
            pieces = self._by_action(left & leaves.below(node))
            if len(pieces) > 1:
                waiting += tree.right[node], tree.left[node]
            else:
                found += pieces
        return found

    def _by_action(self, leaves: int) -> list[Piece]:
        """One piece per action; that of the first leaf comes first."""
        found = []
        while leaves:
            self._meter.spend(5 + self._words)
            action = self._actions[(leaves & -leaves).bit_length() - 1]
            found.append(Piece(leaves & self._of_action[action], action))
            leaves ^= found[-1].leaves
        return found
