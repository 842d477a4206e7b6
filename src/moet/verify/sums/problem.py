"""The question that a search is asked, and its possible rows: boxes of cells made as small as these, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import INTERNAL

Ints = NDArray[np.int64]
Cells = NDArray[np.int32]
Floats = NDArray[np.float64]


class Problem(NamedTuple):
    """What does not change while boxes are searched.

    Attributes
    ----------
    lo, hi : array of int, shape (n_variables, n_leaves)
        Cells of every leaf.
    tree_start : array of int, shape (n_trees + 1,)
        Leaves of every tree, which are neighbours.
    lead : array of int, shape (n_goals, n_leaves)
        Leads, rounded up.
    band, sure : array of int, shape (n_goals,)
        A goal whose lead is below ``-band`` is missed, one with more than ``sure`` is met, whatever is rounded.
    slot_start, slot_variable, slot_cut_start, cuts : array of int
        Variables that each tree tests (its slots), and the cells at which it cuts each of them.
    cell_start : array of int, shape (n_variables + 1,)
        Where the cells of every variable begin in ``cost`` and ``loss``.
    group_of, group_start, members, spare : array
        Variables of which at most one is in its last cell, or exactly one where there is no spare.
    order : array of int, shape (n_variables, 2)
        Variables that are not below, and not above each; -1 for none.
    cost, home : array
        Least cost of every cell, and the cheapest cell of every variable.
    largest : bool
        Whether the cost is the largest, and not the sum, of those of the variables.
    """

    lo: Cells
    hi: Cells
    tree_start: Ints
    lead: Ints
    band: Ints
    sure: Ints
    slot_start: Ints
    slot_variable: Ints
    slot_cut_start: Ints
    cuts: Ints
    cell_start: Ints
    group_of: Ints
    group_start: Ints
    members: Ints
    spare: NDArray[np.bool_]
    order: Ints
    cost: Floats
    home: Cells
    largest: bool


@njit(**INTERNAL)
def _own_cost(p: Problem, lo: Any, hi: Any, k: int) -> float:
    """Least cost of a variable in a box."""
    cell = p.home[k]
    cell = lo[k] if cell < lo[k] else cell
    cell = hi[k] if cell > hi[k] else cell
    return float(p.cost[p.cell_start[k] + cell])


@njit(**INTERNAL)
def cost_of(p: Problem, lo: Any, hi: Any) -> float:
    """Least cost of a row in a box."""
    total = 0.0
    for k in range(len(lo)):
        own = _own_cost(p, lo, hi, k)
        if p.largest:
            total = own if own > total else total
        else:
            total += own
    return total


@njit(**INTERNAL)
def _in_groups(p: Problem, lo: Any, hi: Any) -> bool:
    """Set what the others of a group leave no choice; False if nothing is left."""
    for g in range(len(p.spare)):
        first, last = p.group_start[g], p.group_start[g + 1]
        chosen, open_ones, only = -1, 0, -1
        for i in range(first, last):
            k = p.members[i]
            if lo[k] == 1:
                if chosen >= 0:
                    return False
                chosen = k
            elif hi[k] == 1:
                open_ones += 1
                only = k
        if chosen >= 0:
            for i in range(first, last):
                k = p.members[i]
                if k != chosen:
                    hi[k] = 0
        elif not p.spare[g]:
            if open_ones == 0:
                return False
            if open_ones == 1:
                lo[only] = 1
    return True


@njit(**INTERNAL)
def _in_order(p: Problem, lo: Any, hi: Any) -> bool:
    for k in range(len(lo)):
        below, above = p.order[k, 0], p.order[k, 1]
        if below >= 0 and lo[k] < lo[below]:
            lo[k] = lo[below]
        if above >= 0 and hi[k] > hi[above]:
            hi[k] = hi[above]
        if lo[k] > hi[k]:
            return False
    return True


@njit(**INTERNAL)
def _within(p: Problem, lo: Any, hi: Any, limit: float) -> bool:
    """Leave out cells that cost too much, whatever the other variables do; False if nothing is left."""
    if limit == np.inf:
        return True
    total = cost_of(p, lo, hi)
    if total >= limit:
        return False
    for k in range(len(lo)):
        rest = 0.0 if p.largest else total - _own_cost(p, lo, hi, k)
        start = p.cell_start[k]
        while lo[k] < p.home[k] and rest + p.cost[start + lo[k]] >= limit and lo[k] < hi[k]:
            lo[k] += 1
        while hi[k] > p.home[k] and rest + p.cost[start + hi[k]] >= limit and lo[k] < hi[k]:
            hi[k] -= 1
    return True


@njit(**INTERNAL)
def settled(p: Problem, lo: Any, hi: Any, limit: float) -> bool:
    """Make a box as small as its possible rows; False if it has none."""
    return _in_groups(p, lo, hi) and _in_order(p, lo, hi) and _within(p, lo, hi, limit)
