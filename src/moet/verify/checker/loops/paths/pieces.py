"""The trees of a policy as pieces: who gets to a node, and what is left of a tree. Standard library only."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.loops.paths.rows import ClosedLoop, Tests

FINE, WITHIN, ACROSS = range(3)
"""What ``coarse`` may be in a claim."""

Nodes = tuple[int, ...]


class Piece(NamedTuple):
    """What leads from a frame to the next: an expert (None for several), its tests and an action.

    Without an action it is those who miss a condition of the goal.
    """

    expert: int | None
    tests: Tests
    action: int | None
    missed: int = -1


class LastTest(NamedTuple):
    """The test on the last state that was looked at on the way to a node: which, whether it is <=, and with what."""

    state: int
    below: bool
    threshold: float


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
        self._parents = cache(self._make_parents)
        self._actions = cache(self._make_actions)
        self.at = cache(self._make)
        self.last_test = cache(self._make_last_test)
        self.left = cache(self._make_left)
        self.chosen = cache(self._make_chosen)

    def _make(self, e: int, node: int) -> Piece:
        """Those who choose expert e and get to a node of its tree; without an action if leaves below it differ."""
        return Piece(e, self._tests(e, node), self._actions(e)[node])

    def _tests(self, e: int, node: int) -> Tests:
        """The tests that lead to a node; of those on one side of one state, the tightest."""
        tree, tests = self._loop.trees[e], Tests()
        while node:
            node, below = self._parents(e)[node]
            self._meter.spend(6)
            side, threshold = (tree.feature[node], below), tree.threshold[node]
            tests[side] = (min if below else max)(threshold, tests.get(side, threshold))
        return tests

    def _make_last_test(self, e: int, node: int) -> LastTest:
        """The last test on the way to a node of expert e's tree, by the tightest threshold of its kind."""
        if node not in self._parents(e):
            raise CertificateError(f"no test leads to node {node} of expert {e}")
        parent, below = self._parents(e)[node]
        state = self._loop.trees[e].feature[parent]
        return LastTest(state, below, self.at(e, node).tests[state, below])

    def _make_parents(self, e: int) -> dict[int, tuple[int, bool]]:
        """The parent of every node but the root of expert e's tree, and whether the node is the left one below it."""
        tree = self._loop.trees[e]
        self._meter.spend(2 * len(tree.label))
        inner = [node for node, label in enumerate(tree.label) if label < 0]
        left = {tree.left[node]: (node, True) for node in inner}
        return left | {tree.right[node]: (node, False) for node in inner}

    def _make_actions(self, e: int) -> list[int | None]:
        """For every node of expert e's tree, the one action of all leaves below it, or None."""
        tree, actions = self._loop.trees[e], self._loop.action_of
        self._meter.spend(2 * len(tree.label))
        found: list[int | None] = [actions[label] if label >= 0 else None for label in tree.label]
        for node in reversed(range(len(found))):  # children come after their parents
            if tree.label[node] < 0 and found[tree.left[node]] == found[tree.right[node]]:
                found[node] = found[tree.left[node]]
        return found

    def _make_left(self, e: int, out: Nodes) -> list[Piece]:
        """Pieces of expert e's tree if nobody gets to some nodes: one per leaf, or where all below it agree."""
        tree, actions = self._loop.trees[e], self._actions(e)
        self._meter.spend(10 * len(actions))
        self._meter.hold(len(actions) + len(out))

        def below(node: int) -> list[Piece]:
            if actions[node] is not None:
                return [self.at(e, node)]
            children = [child for child in (tree.left[node], tree.right[node]) if child not in out]
            if len(children) < 2:
                return below(children[0]) if children else []
            parts = below(children[0]) + below(children[1])
            return [self.at(e, node)._replace(action=parts[0].action)] if agree(parts) else parts

        return below(0)

    def _make_chosen(self, experts: tuple[tuple[int, Nodes], ...]) -> list[Piece]:
        """Pieces of experts who may be chosen, each with the nodes of its tree that nobody gets to."""
        return self.merged([self.left(e, out) for e, out in experts])

    def merged(self, pieces: list[list[Piece]]) -> list[Piece]:
        """Pieces of several experts, merged as the claim says."""
        parts = [_by_action(part) for part in pieces] if self._coarse == WITHIN else pieces
        found = [piece for part in parts for piece in part]
        self._meter.spend(10 * len(found))
        self._meter.hold(4 * len(found))
        found = _by_action(found) if self._coarse == ACROSS else found
        return [Piece(None, {}, found[0].action)] if agree(found) else found


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
