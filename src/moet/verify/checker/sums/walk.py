"""The walk through a proof about sums of trees: bodies of cells, and what their leaves may add. Standard library only.

A case has goals, sums of leads of a class over a rival. A body is sure if it has no possible row, or if the most that
some goal may be there, the sum over the trees of the largest lead of a leaf that the body meets, is below minus the
goal's band.
"""

from __future__ import annotations

from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Records
from moet.verify.checker.documents.model import PlainTree
from moet.verify.checker.meter import Meter
from moet.verify.checker.sums.cells import Body, CellSpace, Prices

SURE, CUT = 3, 7
_MOST_WAITING = 10**7

Goal = list[tuple[int, int, int]]
"""Row, class and rival of every lead that is added."""

Votes = list[tuple[int, int]]
"""Of every class, rounded up and rounded down."""


class Leaf(NamedTuple):
    """Cells of a leaf, or of a pair of leaves, by variable, and the leads of every goal there."""

    cells: dict[int, tuple[int, int]]
    leads: tuple[int, ...]


class Reached(NamedTuple):
    """A leaf of one row's tree: its cells, and its node."""

    cells: dict[int, tuple[int, int]]
    node: int


def leads(goals: list[Goal], *votes: Votes) -> tuple[int, ...]:
    """The largest that the leads of every goal may be."""
    return tuple([sum([votes[r][c][0] - votes[r][rival][1] for r, c, rival in goal]) for goal in goals])


def common(a: dict[int, tuple[int, int]], b: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Cells in which two leaves meet."""
    cells = dict(a)
    for k, (low, high) in b.items():
        first, last = cells.get(k, (low, high))
        cells[k] = max(first, low), min(last, high)
    return cells


def reached_leaves(space: CellSpace, body: Body, row: int, number: int, tree: PlainTree, meter: Meter) -> list[Reached]:
    """Leaves of the tree with this number that one of the rows of a body gets to."""
    tests, variables = space.tests(row, number, tree), space.maps[row]
    looked = 0
    found: list[Reached] = []
    stack: list[tuple[int, dict[int, tuple[int, int]]]] = [(0, {})]
    while stack:
        node, cells = stack.pop()
        looked += 1
        if tree.label[node] >= 0:
            found.append(Reached(cells, node))
            continue
        k = variables[tree.feature[node]]
        last = tests[node]
        if last is None:
            last = tests[node] = space.test(k, tree.threshold[node])
        low, high = cells.get(k, (body.low[k], body.high[k]))
        if high <= last:
            stack.append((tree.left[node], cells))
        elif low > last:
            stack.append((tree.right[node], cells))
        else:
            stack.append((tree.right[node], {**cells, k: (last + 1, high)}))
            stack.append((tree.left[node], {**cells, k: (low, last)}))
    meter.spend(10 * looked)
    return found


def walk_case(
    space: CellSpace,
    whole: Body | None,
    trees: list[list[Leaf]],
    bands: list[int],
    prices: Prices | None,
    records: Records,
) -> None:
    """Raise :class:`CertificateError` unless the records show that all rows of a body miss some goal."""
    users: list[list[int]] = [[] for _ in space.cuts]
    for t, leaves in enumerate(trees):
        for k in {k for leaf in leaves for k in leaf.cells}:
            users[k].append(t)
    _walk(_Sums(space, users, bands, prices, records.meter), trees, whole, records)


class _Sums:
    """Sums, over the trees, of the largest leads of live leaves."""

    def __init__(
        self, space: CellSpace, users: list[list[int]], bands: list[int], prices: Prices | None, meter: Meter
    ) -> None:
        self.space, self._users, self._bands, self.prices, self._meter = space, users, bands, prices, meter

    def first(self, trees: list[list[Leaf]]) -> list[int]:
        """The sums of all leaves, by goal."""
        return [sum(max(leaf.leads[g] for leaf in leaves) for leaves in trees) for g in range(len(self._bands))]

    def is_missed(self, sums: list[int]) -> bool:
        """Whether some goal is missed, whatever is rounded."""
        return any(total + band < 0 for total, band in zip(sums, self._bands, strict=True))

    def within(
        self, trees: list[list[Leaf]], sums: list[int], before: Body, body: Body
    ) -> tuple[list[list[Leaf]], list[int]] | None:
        """Live leaves and sums of a body in another one, of which they are known; None if no rows are left."""
        trees, sums = list(trees), list(sums)
        work = len(trees)
        for k, (low, high) in enumerate(zip(body.low, body.high, strict=True)):
            if low == before.low[k] and high == before.high[k]:
                continue
            for t in self._users[k]:
                leaves = trees[t]
                if len(leaves) == 1:
                    continue
                work += 2 * len(leaves)
                left = [leaf for leaf in leaves if k not in leaf.cells or _overlap(leaf.cells[k], low, high)]
                if not left:
                    return None
                if len(left) < len(leaves):
                    for g in range(len(sums)):
                        sums[g] += max(leaf.leads[g] for leaf in left) - max(leaf.leads[g] for leaf in leaves)
                    trees[t] = left
        self._meter.spend(work)
        return trees, sums


def _overlap(cells: tuple[int, int], low: int, high: int) -> bool:
    return cells[0] <= high and cells[1] >= low


def _walk(sums: _Sums, trees: list[list[Leaf]], whole: Body | None, records: Records) -> None:
    """Go through the tree of bodies; below one without possible rows nothing needs a proof."""
    space = sums.space
    n = len(space.cuts)
    records.charge(20 + 10 * n, 1)
    start = None if whole is None else (whole, whole, trees, sums.first(trees))
    stack: list[tuple[Body, Body, list[list[Leaf]], list[int]] | None] = [start]
    while stack:
        top = stack.pop()
        code = records.code()
        body = None if top is None else space.settle(top[1], sums.prices)
        found = None if top is None or body is None else sums.within(top[2], top[3], top[0], body)
        if code == SURE and found is not None and not sums.is_missed(found[1]):
            raise CertificateError("in a body the votes do not rule the answer out")
        if code == CUT:
            variable, cell = records.refs(2)
            if not (0 <= variable < n and 0 <= cell < len(space.cuts[variable])):
                raise CertificateError(f"there is no cell {cell} of a variable {variable}")
            if (len(stack) + 2) * (n + len(trees)) > _MOST_WAITING:
                raise CertificateError("too many bodies wait to be looked at: the tree is too deep")
            if body is None or found is None:
                stack += [None, None]
                continue
            halves = _halves(body, variable, cell)
            stack += [None if half is None else (body, half, *found) for half in halves]
        elif code != SURE:
            raise CertificateError(f"unknown code {code}")


def _halves(body: Body, k: int, cell: int) -> tuple[Body | None, Body | None]:
    """What is above a cell, and what is not; None for nothing."""
    low, high = body
    above = below = None
    if high[k] > cell:
        above = Body([*low[:k], max(low[k], cell + 1), *low[k + 1 :]], high)
    if low[k] <= cell:
        below = Body(low, [*high[:k], min(high[k], cell), *high[k + 1 :]])
    return above, below
