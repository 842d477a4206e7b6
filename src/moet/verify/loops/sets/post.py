"""Sets of states and where a closed loop takes them: the tables that :mod:`moet.verify.loops.sets.kernel` works on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.verify.limits import Deadline, Stopped
from moet.verify.loops.sets.claims import DONE, FAILED, FULL, LIMIT, Loop, Target
from moet.verify.loops.sets.crew import in_order
from moet.verify.loops.sets.enclosures import Enclosure
from moet.verify.loops.sets.kernel import Budget, explore
from moet.verify.loops.sets.rows import Book, Source
from moet.verify.loops.sets.template import Template
from moet.verify.polytopes import single_groups
from moet.verify.rounding import gate_errors
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.description import Side
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_INFLATION = 1e-9
"""By how much sets are made larger than they were found to be, relative to their limits."""


MANY = 10**6
"""More splits than any path has steps."""

_AT_ONCE = 4
"""Polytopes that are explored at once. What one finds spares those after it work, so it is not all of them; and it does
not depend on the number of workers, for the results must not."""

_COUNTING = Lock()

_MAX_NODES = 2_000_000
"""Nodes of one search, from one polytope."""


class Leaf(NamedTuple):
    """A leaf, or a subtree of one action: its expert, its action, and its tests sign·x[feature] <= limit."""

    expert: int
    action: int
    tests: tuple[tuple[int, int, float], ...]


class Image(NamedTuple):
    """Where a family leads: the family at the end, and limits of what was watched on the way."""

    family: Floats
    watch: Floats


class Records(Protocol):
    """Where the records of a proof go, such as a certificate."""

    def add(self, codes: Any, refs: Any, numbers: Any) -> None:
        """Append records."""


class Effort(Counter[str]):
    """What a search took, attempts that failed included."""

    def report(self, deadline: Deadline) -> dict[str, float]:
        """Counts and seconds, as a verdict states them."""
        return {"seconds": deadline.seconds, **self}


class Post:
    """A closed loop with sets of one template.

    A family of sets is an array of limits: one row per cell, one column per row of the template; −inf where a cell is
    empty. First states are a family of one cell with the limits of the axes only. With a goal, the question is whether
    all runs enter it, and not whether they are safe; those that are in it are not followed. A path splits
    ``most_splits`` times at most; from then on it stands for all actions that are possible.
    """

    def __init__(
        self,
        mixture: Mixture,
        system: System,
        template: Template,
        deadline: Deadline,
        effort: Effort,
        most_splits: int = MANY,
        workers: int = 1,
        goal: Sequence[HalfSpace] | None = None,
    ) -> None:
        self.mixture = mixture
        self.system = system
        self.template = template
        self._most_splits = most_splits
        self._workers = workers
        self._effort = effort
        self._deadline = deadline
        self._leaves = leaves_of(mixture, system.actions_of(mixture))
        slanted = [half for half in system.safe if goal is None and sum(map(bool, half.coefficients)) > 1]
        self.watch_bounds = np.array([float(half.bound) for half in slanted])
        self._watch_rows = np.array([half.coefficients for half in slanted], float).reshape(-1, system.n_states)
        self._goal = goal or ()

    @property
    def initial(self) -> Floats:
        """The family of first states."""
        return box_family(self.system.initial)

    def grow(self, family: Floats, enclosure: Enclosure, n_steps: int) -> Image:
        """Find where a family leads in ``n_steps`` steps."""
        loop, target = self._loop(enclosure, n_steps), self._target()
        watch = np.full(len(loop.watched), -np.inf)
        limits = np.full((self.template.n_cells, len(self.template.rows)), -np.inf)

        def grown(cell: Floats) -> tuple[Floats, Floats]:
            own = watch.copy(), limits.copy()
            self._explore(cell, loop, target, *own, False, _book(0, 0))
            return own

        cells = self._cells(family)
        for first in range(0, len(cells), _AT_ONCE):
            for own_watch, own_limits in self._in_order(grown, cells[first : first + _AT_ONCE]):
                watch, limits = np.maximum(watch, own_watch), np.maximum(limits, own_limits)
        return Image(self.inflated(limits, _INFLATION), _larger(watch, _INFLATION))

    def prove(self, family: Floats, enclosure: Enclosure, n_steps: int, image: Image, records: Records) -> bool:
        """Write down why a family leads where it does; False if that cannot be proved as it stands."""
        loop, target = self._loop(enclosure, n_steps), self._target()

        def proved(cell: Floats) -> Book | None:
            book = _book(2**16, 2**17)
            while True:
                status = self._explore(cell, loop, target, image.watch.copy(), image.family.copy(), True, book)
                if status != FULL:
                    return book if status == DONE else None
                book = _book(int(book.used[0]), int(max(book.used[1:])))

        for book in self._in_order(proved, self._cells(family)):
            if book is None:
                return False
            n_codes, n_refs, n_numbers = book.used.tolist()
            records.add(book.codes[:n_codes], book.refs[:n_refs], book.numbers[:n_numbers])
        return True

    def _in_order(self, work: Callable[[Floats], Any], cells: list[Floats]) -> list[Any]:
        return in_order(work, cells, self._workers, self._deadline)

    def _cells(self, family: Floats) -> list[Floats]:
        return [limits for limits in family if np.all(np.isfinite(limits))]

    def _explore(
        self,
        limits: Floats,
        loop: Loop,
        target: Target,
        watch: Floats,
        target_limits: Floats,
        proving: bool,
        book: Book,
    ) -> int:
        counts = np.zeros(3, np.int64)
        if self._deadline.passed:
            raise Stopped(self._deadline.reason)
        source = self._source(limits, loop)
        budget = Budget(counts, _MAX_NODES, self._deadline.flag)
        status: int = explore(source, loop, target, watch, target_limits, self._most_splits, proving, book, budget)
        with _COUNTING:
            self._effort.update(dict(zip(("nodes", "paths", "programs"), counts.tolist(), strict=True)))
        if status == LIMIT:
            if self._deadline.passed:
                raise Stopped(self._deadline.reason)
            raise Stopped(f"a set takes more than {_MAX_NODES} nodes")
        if status == FAILED and not proving:
            raise Stopped("the linear programs lost their precision")
        return status

    def inflated(self, limits: Floats, share: float) -> Floats:
        """Slightly larger sets; the slice stays between the edges of its cell."""
        larger = _larger(limits, share)
        low, high = self.template.sides
        up, down = self.template.slice_sides
        larger[:, up] = np.minimum(larger[:, up], high)
        larger[:, down] = np.minimum(larger[:, down], -low)
        return larger

    def box(self, family: Floats, watch: Floats | None = None) -> tuple[Floats, Floats]:
        """Smallest box around a family and what was watched."""
        d = self.system.n_states
        limits = [cell[: 2 * d] for cell in self._cells(family)] + ([] if watch is None else [watch[: 2 * d]])
        most = np.max(limits, axis=0)
        return -most[1::2], most[0::2]

    def _source(self, limits: Floats, loop: Loop) -> Source:
        d = self.system.n_states
        high, low = limits[0 : 2 * d : 2], -limits[1 : 2 * d : 2]
        middle, half = (low + high) / 2, (high - low) / 2
        rows = self.template.rows[2 * d :][: len(limits) - 2 * d]
        n_rows = len(rows)
        width = n_rows + self._room(loop)
        scales = np.ones(width)
        scales[:n_rows] = np.abs(rows) @ half
        scales[scales == 0.0] = 1.0
        scaled = np.zeros((d, width))
        scaled[:, :n_rows] = (rows * half / scales[:n_rows, None]).T
        bounds = np.zeros(width)
        bounds[:n_rows] = (limits[2 * d :] - rows @ middle) / scales[:n_rows]
        return Source(scaled, bounds, scales, np.arange(width), n_rows, middle, half)

    def _room(self, loop: Loop) -> int:
        """Most guards that a path has, those of the leaf in question included, and the two sides of a cell."""
        n_leaves = min(len(loop.powers) - 1, self._most_splits + 1)
        return n_leaves * int(np.diff(loop.leaf_start).max()) + 2

    def _target(self) -> Target:
        low, high = self.template.sides
        return Target(np.arange(len(self.template.rows)), self.template.slice_sides, low, high)

    def _loop(self, enclosure: Enclosure, n_steps: int) -> Loop:
        d = self.system.n_states
        error = np.array([float(e) for e in self.system.observation_error])
        weights, bias = self.mixture.gate_weights, self.mixture.gate_bias
        logit_error = gate_errors(weights, bias, enclosure.bottom - error, enclosure.top + error)
        directions = [*self.template.rows, *self._watch_rows]
        watched = [*range(2 * d), *range(len(self.template.rows), len(directions))]
        goals = np.arange(len(directions), len(directions) + len(self._goal))
        directions += [np.array(half.coefficients, np.float64) for half in self._goal]
        rivals = {}
        for i in range(len(weights)):
            for j in range(len(weights)):
                if i != j:
                    rivals[i, j] = len(directions)
                    directions.append(weights[i] - weights[j])
        starts, guards, limits = [0], [], []
        for leaf in self._leaves:
            j = leaf.expert
            for i in range(len(weights)):
                if i != j:
                    guards.append(rivals[i, j])
                    slack = logit_error[i] + logit_error[j] + np.abs(weights[i] - weights[j]) @ error
                    limits.append(bias[j] - bias[i] + slack)
            for feature, sign, limit in leaf.tests:
                guards.append(2 * feature + (0 if sign > 0 else 1))
                limits.append(limit + error[feature])
            starts.append(len(guards))
        powers = [np.array(directions)]
        for _ in range(n_steps):
            powers.append(powers[-1] @ enclosure.matrix)
        return Loop(
            directions=powers[0],
            powers=np.array(powers),
            matrix=enclosure.matrix,
            piece_sides=2 * enclosure.variable + np.arange(2),
            edges=enclosure.edges,
            residual_low=enclosure.low,
            residual_high=enclosure.high,
            watched=np.array(watched),
            leaf_start=np.array(starts),
            guards=np.array(guards, np.int64),
            guard_limits=np.array(limits, np.float64),
            leaf_action=np.array([leaf.action for leaf in self._leaves]),
            goals=goals,
            goal_limits=np.array([half.bound for half in self._goal], np.float64),
        )


def box_family(box: Sequence[Side]) -> Floats:
    """Make a box a family of one cell."""
    return np.array([[float(bound) for low, high in box for bound in (high, -low)]])


def leaves_of(mixture: Mixture, actions: tuple[int, ...]) -> list[Leaf]:
    """Leaves of all trees from left to right; a subtree of one action counts as a leaf."""
    leaves = []
    for expert, tree in enumerate(mixture.trees):
        action = single_groups(tree, np.array(actions)).tolist()
        stack: list[tuple[int, tuple[tuple[int, int, float], ...]]] = [(0, ())]
        while stack:
            node, tests = stack.pop()
            if action[node] >= 0:
                leaves.append(Leaf(expert, action[node], tests))
                continue
            feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
            stack.append((int(tree.right[node]), (*tests, (feature, -1, -threshold))))
            stack.append((int(tree.left[node]), (*tests, (feature, 1, threshold))))
    return leaves


def _larger(limits: Floats, share: float) -> Floats:
    """Limits raised by a share of their size; −inf, which stands for nothing, stays."""
    return limits + share * np.where(np.isfinite(limits), 1 + np.abs(limits), 0.0)


def _book(n_codes: int, n_multipliers: int) -> Book:
    return Book(
        np.empty(n_codes, np.uint8), np.empty(n_multipliers, np.int32), np.empty(n_multipliers), np.zeros(3, np.int64)
    )
