"""The trees of a policy as pieces: who gets to a node, and what is left of a tree. Standard library only."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.loops.paths.rows import ClosedLoop, Tests
from moet.verify.checker.made import Made

FINE, WITHIN, ACROSS = range(3)
"""What ``coarse`` may be in a claim."""


class Piece(NamedTuple):
    """What leads from a frame to the next: an expert (None for several), its tests and an action.

    Without an action it is those who miss a condition of the goal.
    """

    expert: int | None
    tests: Tests
    action: int | None
    missed: int = -1


class Pieces:
    """Pieces of the trees; what was made is kept.

    Parameters
    ----------
    loop : ClosedLoop
    coarse : int
        Which pieces are merged.
    """

    def __init__(self, loop: ClosedLoop, coarse: int) -> None:
        self._loop, self._coarse = loop, coarse
        self._meter = loop.meter
        self._n_pairs = loop.n_experts**2
        self._roots = list(accumulate((len(tree.label) for tree in loop.trees), initial=self._n_pairs))
        self._parents, self._actions = Made(self._make_parents), Made(self._make_actions)
        self._names = Made(self._make_names)
        self._at, self._of_expert = Made(self._make), Made(self._make_of_expert)
        self.of, self.left = Made(self._make_of), Made(self._make_left)

    def _make_of(self, name: int) -> tuple[Piece, int, float]:
        """Those whom a name is about, which row at their time it stands for, and with what threshold, if it is a test.

        E·e + j are those who choose expert e, and their row that this is not j; from E² on come the nodes of all trees,
        those who get there, and the row of the last test on their way.
        """
        e, j = divmod(name, self._loop.n_experts)
        if 0 <= name < self._n_pairs and e != j:
            return self._at[e, 0], name, 0.0
        e = bisect_right(self._roots, name) - 1
        parents = self._parents[e] if 0 <= e < self._loop.n_experts else {}
        node = name - self._roots[e]
        if node not in parents:
            raise CertificateError(f"nobody can be called {name}")
        parent, below = parents[node]
        state, piece = self._loop.trees[e].feature[parent], self._at[e, node]
        return piece, self._n_pairs + 2 * state + (0 if below else 1), piece.tests[state, below]

    def _make(self, e: int, node: int) -> Piece:
        """Those who choose expert e and get to a node of its tree; without an action if leaves below it differ."""
        return Piece(e, self._tests(e, node), self._actions[e][node])

    def _tests(self, e: int, node: int) -> Tests:
        """The tests that lead to a node; of those on one side of one state, the tightest."""
        tree, tests = self._loop.trees[e], Tests()
        while node:
            node, below = self._parents[e][node]
            self._meter.spend(6)
            side, threshold = (tree.feature[node], below), tree.threshold[node]
            tests[side] = (min if below else max)(threshold, tests.get(side, threshold))
        return tests

    def _make_parents(self, e: int) -> dict[int, tuple[int, bool]]:
        """The parent of every node but the root of expert e's tree, and whether the node is the left one below it."""
        tree = self._loop.trees[e]
        self._meter.spend(2 * len(tree.label))
        inner = [node for node, label in enumerate(tree.label) if label < 0]
        left = {tree.left[node]: (node, True) for node in inner}
        return left | {tree.right[node]: (node, False) for node in inner}

    def _make_names(self, e: int) -> frozenset[int]:
        """Names of all nodes of expert e's tree."""
        self._meter.hold(self._roots[e + 1] - self._roots[e])
        return frozenset(range(self._roots[e], self._roots[e + 1]))

    def _make_actions(self, e: int) -> list[int | None]:
        """For every node of expert e's tree, the one action of all leaves below it, or None."""
        tree, actions = self._loop.trees[e], self._loop.action_of
        self._meter.spend(2 * len(tree.label))
        found: list[int | None] = [actions[label] if label >= 0 else None for label in tree.label]
        for node in reversed(range(len(found))):  # children come after their parents
            if tree.label[node] < 0 and found[tree.left[node]] == found[tree.right[node]]:
                found[node] = found[tree.left[node]]
        return found

    def _make_left(self, *out: int) -> list[Piece]:
        """Pieces of all experts if nobody with one of these names is there, merged as the claim says."""
        self._meter.hold(3 * len(out))
        n_experts = self._loop.n_experts
        gone = {name // n_experts for name in out if name < self._n_pairs}
        nodes = frozenset(name for name in out if name >= self._n_pairs)
        here = (self._of_expert[e, nodes & self._names[e]] for e in range(n_experts) if e not in gone)
        found = [piece for pieces in here for piece in pieces]
        self._meter.spend(10 * len(found) + 4 * (len(out) + n_experts))
        found = _by_action(found) if self._coarse == ACROSS else found
        return [Piece(None, {}, found[0].action)] if agree(found) else found

    def _make_of_expert(self, e: int, out: frozenset[int]) -> list[Piece]:
        """Pieces of an expert's tree without some nodes: one per leaf, or where all that is left below it agrees."""
        tree, actions, root = self._loop.trees[e], self._actions[e], self._roots[e]
        self._meter.spend(10 * len(actions))

        def below(node: int) -> list[Piece]:
            if actions[node] is not None:
                return [self._at[e, node]]
            children = [child for child in (tree.left[node], tree.right[node]) if root + child not in out]
            if len(children) < 2:
                return below(children[0]) if children else []
            parts = below(children[0]) + below(children[1])
            return [self._at[e, node]._replace(action=parts[0].action)] if agree(parts) else parts

        found = below(0)
        self._meter.hold(4 * len(found) + len(out))
        return _by_action(found) if self._coarse == WITHIN else found


def agree(pieces: list[Piece]) -> bool:
    """Whether there are several pieces, all with the same action."""
    return len(pieces) > 1 and len({piece.action for piece in pieces}) == 1


def _by_action(pieces: list[Piece]) -> list[Piece]:
    """One piece per action, with what the tests of its parts have in common."""
    merged: dict[int | None, Piece] = {}
    for piece in pieces:
        before = merged.get(piece.action)
        if before is None:
            merged[piece.action] = piece
            continue
        common = {
            test: (max if test[1] else min)(limit, piece.tests[test])
            for test, limit in before.tests.items()
            if test in piece.tests
        }
        expert = piece.expert if piece.expert == before.expert else None
        merged[piece.action] = Piece(expert, common, piece.action)
    return list(merged.values())
