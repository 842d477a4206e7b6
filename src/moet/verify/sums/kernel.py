"""Branch and bound over boxes of cells, compiled.

In a box every tree has some live leaves. The largest lead of a goal is at most the sum, over the trees, of the largest
lead of a live leaf. A box is closed if that is below zero for some goal; otherwise it is cut where this bound falls
most in both halves, which is known for all thresholds at once: what a tree loses is constant between its own.

Live leaves of a tree are the first ones of its segment. A leaf that dies is swapped behind them, so that going back is
a matter of counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import INTERNAL, OPTIONS
from moet.verify.sums.problem import Cells, Floats, Ints, Problem, cost_of, settled

DONE, FOUND, PAUSED, FULL, TOO_DEEP = 0, 1, 2, 3, 4
"""Why the kernel returned: all boxes closed; a row was found; its nodes are spent; no room for more; too many cuts."""

CLOSED, DOUBTFUL = -1, -2
"""What stands in place of a variable at a node that was not cut."""

GOOD = 1e-3
"""How good a cut for the goal that is nearest to being missed must be, lest all goals are asked."""


class Scratch(NamedTuple):
    """Where the search stands, level by level; ``place`` has level, nodes, doubtful boxes, found and looked at."""

    place: Ints
    limit: Floats
    ids: Cells
    live: Cells
    best: Ints
    lo: Cells
    hi: Cells
    node: Ints
    phase: NDArray[np.int8]
    loss: Ints
    found: Cells


class Tree(NamedTuple):
    """How boxes were cut: variable (or CLOSED), cell, and the two halves, the lower one first."""

    variable: Cells
    cell: Cells
    below: Ints
    above: Ints


@njit(**INTERNAL)
def _copy(target: Any, source: Any) -> None:
    """Slices would be copied twice."""
    for k in range(len(target)):
        target[k] = source[k]


@njit(**INTERNAL)
def _filter(p: Problem, d: Scratch, level: int) -> bool:
    """Drop the leaves that a box does not meet, and find the largest leads of those that remain; False if none does."""
    n, n_trees = p.lo.shape[0], len(p.tree_start) - 1
    lo, hi, counts, best = d.lo[level], d.hi[level], d.live[level], d.best[level]
    changed = d.found[1]
    n_changed = 0
    for k in range(n):
        if level == 0 or lo[k] != d.lo[level - 1, k] or hi[k] != d.hi[level - 1, k]:
            changed[n_changed] = k
            n_changed += 1
    for t in range(n_trees):
        start = p.tree_start[t]
        live = int(p.tree_start[t + 1] - start) if level == 0 else int(d.live[level - 1, t])
        fresh = level == 0
        if live > 1:
            for s in range(p.slot_start[t], p.slot_start[t + 1]):
                k = p.slot_variable[s]
                hit = False
                for c in range(n_changed):
                    if changed[c] == k:
                        hit = True
                        break
                if not hit:
                    continue
                i = 0
                while i < live:
                    leaf = d.ids[start + i]
                    if p.lo[k, leaf] > hi[k] or p.hi[k, leaf] < lo[k]:
                        live -= 1
                        d.ids[start + i] = d.ids[start + live]
                        d.ids[start + live] = leaf
                        fresh = True
                    else:
                        i += 1
        if live == 0:
            return False
        counts[t] = live
        if fresh:
            for g in range(len(p.lead)):
                most = p.lead[g, d.ids[start]]
                for i in range(1, live):
                    lead = p.lead[g, d.ids[start + i]]
                    most = lead if lead > most else most
                best[g, t] = most
        else:
            for g in range(len(p.lead)):
                best[g, t] = d.best[level - 1, g, t]
    return True


@njit(**INTERNAL)
def _goal(p: Problem, d: Scratch, level: int) -> int:
    """The goal that is nearest to being missed; -1 if one is missed."""
    chosen, least = 0, np.inf
    for g in range(len(p.lead)):
        total = 0
        for t in range(d.best.shape[2]):
            total += d.best[level, g, t]
        if total < -p.band[g]:
            return -1
        if total < least:
            chosen, least = g, float(total)
    return chosen


@njit(**INTERNAL)
def _add_losses(p: Problem, d: Scratch, level: int, g: int) -> None:
    """What the bound of a goal loses below and above every cut, summed up over the trees, as differences."""
    lo, hi, lead = d.lo[level], d.hi[level], p.lead[g]
    below, above = d.loss[0], d.loss[1]
    for k in range(len(lo)):
        for j in range(p.cell_start[k] + lo[k], p.cell_start[k] + hi[k] + 1):
            below[j] = 0
            above[j] = 0
    for t in range(d.live.shape[1]):
        live, start, most = d.live[level, t], p.tree_start[t], d.best[level, g, t]
        if live == 1:
            continue
        for s in range(p.slot_start[t], p.slot_start[t + 1]):
            k = p.slot_variable[s]
            if lo[k] == hi[k]:
                continue
            base = p.cell_start[k]
            since, lost = int(lo[k]), 0
            for c in range(p.slot_cut_start[s], p.slot_cut_start[s + 1]):
                cut = p.cuts[c]
                if cut < lo[k]:
                    continue
                if cut >= hi[k]:
                    break
                left, right = np.int64(-(2**62)), np.int64(-(2**62))
                for i in range(start, start + live):
                    leaf = d.ids[i]
                    if p.lo[k, leaf] <= cut and lead[leaf] > left:
                        left = lead[leaf]
                    if p.hi[k, leaf] > cut and lead[leaf] > right:
                        right = lead[leaf]
                below[base + since] += most - left
                below[base + cut + 1] -= most - left
                above[base + cut] += most - right - lost
                since, lost = cut + 1, most - right


@njit(**INTERNAL)
def _best_cut(p: Problem, d: Scratch, level: int, g: int) -> tuple[int, int, bool, float]:
    """Where both halves lose most: variable, cell, whether the half above is to come first, and how good that is.

    The last is 1 if both halves miss the goal, and 0 if nothing is lost.
    """
    _add_losses(p, d, level, g)
    lo, hi = d.lo[level], d.hi[level]
    excess = p.band[g] + 1
    for t in range(d.best.shape[2]):
        excess += d.best[level, g, t]
    variable, cell, top, upper_first = -1, -1, -1.0, False
    for k in range(len(lo)):
        left, right = 0, 0
        for c in range(lo[k], hi[k]):
            left += d.loss[0, p.cell_start[k] + c]
            right += d.loss[1, p.cell_start[k] + c]
            a = float(left if left < excess else excess)
            b = float(right if right < excess else excess)
            score = (a + 1e-3 * excess) * (b + 1e-3 * excess)
            if score > top and (left > 0 or right > 0):
                variable, cell, top, upper_first = k, c, score, right < left
    return variable, cell, upper_first, top / (1.001 * excess) ** 2


@njit(**INTERNAL)
def _chosen_cut(p: Problem, d: Scratch, level: int, g: int) -> tuple[int, int, bool]:
    """The best cut for a goal; where that is of little use, the best for any."""
    variable, cell, upper_first, merit = _best_cut(p, d, level, g)
    if merit < GOOD:
        for other in range(len(p.lead)):
            if other != g:
                found = _best_cut(p, d, level, other)
                if found[3] > merit:
                    variable, cell, upper_first, merit = found
    return variable, cell, upper_first


@njit(**INTERNAL)
def _any_cut(p: Problem, d: Scratch, level: int) -> tuple[int, int]:
    """A cut that tells live leaves of some tree apart; (-1, -1) if there is none."""
    for t in range(d.live.shape[1]):
        if d.live[level, t] > 1:
            for s in range(p.slot_start[t], p.slot_start[t + 1]):
                k = p.slot_variable[s]
                for c in range(p.slot_cut_start[s], p.slot_cut_start[s + 1]):
                    if d.lo[level, k] <= p.cuts[c] < d.hi[level, k]:
                        return k, int(p.cuts[c])
    return -1, -1


@njit(**INTERNAL)
def _dive(p: Problem, d: Scratch, level: int, g: int) -> bool:
    """Let tree after tree choose its best leaf that agrees with those before; whether a row that is found meets all."""
    last = d.lo.shape[0] - 1
    lo, hi = d.lo[last], d.hi[last]
    _copy(lo, d.lo[level])
    _copy(hi, d.hi[level])
    totals = d.loss[2]
    for goal in range(len(p.lead)):
        totals[goal] = 0
    for t in range(d.live.shape[1]):
        chosen = -1
        for i in range(p.tree_start[t], p.tree_start[t] + d.live[level, t]):
            leaf = d.ids[i]
            if chosen >= 0 and p.lead[g, leaf] <= p.lead[g, chosen]:
                continue
            fits = True
            if d.live[level, t] > 1:
                for s in range(p.slot_start[t], p.slot_start[t + 1]):
                    k = p.slot_variable[s]
                    if p.lo[k, leaf] > hi[k] or p.hi[k, leaf] < lo[k]:
                        fits = False
                        break
            if fits:
                chosen = leaf
        if chosen < 0:
            return False
        for goal in range(len(p.lead)):
            totals[goal] += p.lead[goal, chosen]
        for s in range(p.slot_start[t], p.slot_start[t + 1]):
            k = p.slot_variable[s]
            lo[k] = p.lo[k, chosen] if p.lo[k, chosen] > lo[k] else lo[k]
            hi[k] = p.hi[k, chosen] if p.hi[k, chosen] < hi[k] else hi[k]
        if d.live[level, t] > 1 and not settled(p, lo, hi, d.limit[0]):
            return False
    met = True
    for goal in range(len(p.lead)):
        met &= totals[goal] > p.sure[goal]
    return met


@njit(**INTERNAL)
def _looked_at(p: Problem, d: Scratch, tree: Tree, level: int, is_cheapest: bool) -> tuple[int, int, bool]:
    """What becomes of a box: a cut, or CLOSED or DOUBTFUL in place of its variable; ``place[3]`` counts rows found."""
    if not settled(p, d.lo[level], d.hi[level], d.limit[0]):
        return CLOSED, 0, False
    if not _filter(p, d, level):
        return CLOSED, 0, False
    g = _goal(p, d, level)
    if g < 0:
        return CLOSED, 0, False
    if _dive(p, d, level, g):
        last = d.lo.shape[0] - 1
        d.place[3] += 1
        _copy(d.found[0], d.lo[last])
        _copy(d.found[2], d.hi[last])
        if not is_cheapest:
            return CLOSED, 0, False
        d.limit[0] = cost_of(p, d.lo[last], d.hi[last])
        if cost_of(p, d.lo[level], d.hi[level]) >= d.limit[0]:
            return CLOSED, 0, False
    variable, cell, upper_first = _chosen_cut(p, d, level, g)
    if variable < 0:
        variable, cell = _any_cut(p, d, level)
    if variable < 0:
        return DOUBTFUL, 0, False
    if is_cheapest:
        upper_first = p.home[variable] > cell
    return variable, cell, upper_first


@njit(**OPTIONS)
def search(p: Problem, d: Scratch, tree: Tree, nodes: int, is_cheapest: bool) -> int:
    """Cut boxes until all are closed; ``place`` is where to go on.

    Without ``is_cheapest`` the first row that meets all goals ends the search; with it, only cheaper ones count from
    then on.
    """
    deepest = d.lo.shape[0] - 2
    while d.place[0] >= 0:
        level = d.place[0]
        if d.phase[level] == 0:
            if nodes == 0:
                return PAUSED
            if level >= deepest:
                return TOO_DEEP
            if d.place[1] + 2 > len(tree.variable):
                return FULL
            nodes -= 1
            d.place[4] += 1
            before = d.place[3]
            variable, cell, upper_first = _looked_at(p, d, tree, level, is_cheapest)
            node = d.node[level]
            tree.variable[node] = variable
            if d.place[3] > before and not is_cheapest:
                return FOUND
            if variable < 0:
                if variable == DOUBTFUL:
                    cost = cost_of(p, d.lo[level], d.hi[level])
                    if d.place[2] == 0 or cost < cost_of(p, d.found[3], d.found[4]):
                        _copy(d.found[3], d.lo[level])
                        _copy(d.found[4], d.hi[level])
                    d.place[2] += 1
                d.place[0] -= 1
                continue
            tree.cell[node] = cell
            tree.below[node] = d.place[1]
            tree.above[node] = d.place[1] + 1
            d.place[1] += 2
            d.phase[level] = 3 if upper_first else 1
        elif d.phase[level] > 4:
            d.place[0] -= 1
            continue
        # phase 1, 2: below, then above; 3, 4: above, then below
        node, phase = d.node[level], d.phase[level]
        is_above = phase == 2 or phase == 3
        d.phase[level] = phase + 1 if phase % 2 == 1 else 5
        _copy(d.lo[level + 1], d.lo[level])
        _copy(d.hi[level + 1], d.hi[level])
        k, cell = tree.variable[node], tree.cell[node]
        if is_above:
            d.lo[level + 1, k] = cell + 1
            d.node[level + 1] = tree.above[node]
        else:
            d.hi[level + 1, k] = cell
            d.node[level + 1] = tree.below[node]
        d.phase[level + 1] = 0
        d.place[0] = level + 1
    return DONE
