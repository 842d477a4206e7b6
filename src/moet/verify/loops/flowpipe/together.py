"""All sets led step by step at the same time; where they are many, those near one another are put in one box.

A policy that goes to and fro at every look cuts sets into ever more parts, and most of these come to lie on top of one
another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moet.verify.loops.flowpipe.follow import Branch, Follower
from moet.verify.loops.flowpipe.integrate import Points
from moet.verify.loops.flowpipe.pace import Pace
from moet.verify.loops.flowpipe.script import NOBODY, PART, TOGETHER, Script

Floats = NDArray[np.float64]

_WORTH_A_CUT = 0.02
"""A group of sets is left together if its box is larger than each by less than this share of where all sets are."""

_ROOM = 1e-10
"""The checker rounds outwards, and this search does not."""


def follow_together(follower: Follower, starts: list[Points | None], pace: Pace, most: int) -> Script:
    """Lead sets until all is seen, at most so many at a time; raises Failed where something is missed.

    A set that is None stands for first states that there are not.
    """
    script = Script()
    going = []
    for points in starts:
        script.add(NOBODY if points is None else PART)
        if points is not None:
            going += follower.one_step(Branch(points, 0, set(), None), pace, script)
    while going:
        groups = _groups([branch.points for branch in going], follower.d, most)
        going = _put_together(follower, going, groups, script)
        going = [after for branch in going for after in follower.one_step(branch, pace, script)]
    return script


def _put_together(follower: Follower, branches: list[Branch], groups: list[list[int]], script: Script) -> list[Branch]:
    """Boxes around groups; a set that is alone in its group goes on as it is."""
    alone = sorted(group[0] for group in groups if len(group) == 1)
    boxes = [group for group in groups if len(group) > 1]
    place = {k: number for number, group in enumerate(boxes) for k in group}
    script.add(TOGETHER, [len(boxes)])
    found = [branches[k] for k in alone]
    for group in boxes:
        low, high = _sides([branches[k].points for k in group], follower.d)
        middle, radii = (low + high) / 2, (high - low) / 2 * (1 + _ROOM) + _ROOM
        script.more([], np.concatenate([middle, np.diag(radii).ravel(), np.diag(1 / radii).ravel()]))
        reached = set.intersection(*(branches[k].done for k in group))
        sides = np.concatenate([np.column_stack([middle - radii, middle + radii]), follower.parameters])
        points = follower.started(sides.mean(axis=1), np.diag((sides[:, 1] - sides[:, 0]) / 2))
        found.append(Branch(points, branches[group[0]].step, reached, None))
    script.more([place.get(k, -1) for k in range(len(branches))])
    return found


def _sides(sets: list[Points], d: int) -> tuple[Floats, Floats]:
    low = np.min([points.middle - points.radii for points in sets], axis=0)
    high = np.max([points.middle + points.radii for points in sets], axis=0)
    return low[:d], high[:d]


def _groups(sets: list[Points], d: int, most: int) -> list[list[int]]:
    """At most so many groups of sets, in boxes that are hardly larger than they are; one each if that is as many."""
    if len(sets) <= most:
        return [[k] for k in range(len(sets))]
    lows = np.array([(points.middle - points.radii)[:d] for points in sets])
    highs = np.array([(points.middle + points.radii)[:d] for points in sets])
    scale = np.maximum(highs.max(axis=0) - lows.min(axis=0), 1e-300)
    lows, highs = lows / scale, highs / scale
    groups = [np.arange(len(sets))]
    while len(groups) < most:
        losses = [_loss(lows[group], highs[group]) for group in groups]
        worst = int(np.argmax(losses))
        if losses[worst] < _WORTH_A_CUT:
            break
        groups += _halves(groups.pop(worst), lows, highs)
    return [group.tolist() for group in groups]


def _loss(lows: Floats, highs: Floats) -> float:
    """By how much a box around sets is larger than the largest of them, in the state in which it is most."""
    return float((highs.max(axis=0) - lows.min(axis=0) - (highs - lows).max(axis=0)).max())


def _halves(group: NDArray[np.intp], lows: Floats, highs: Floats) -> list[NDArray[np.intp]]:
    """The two parts, one beside the other in some state, whose boxes are smallest."""
    found, least = [group], np.inf
    for k in range(lows.shape[1]):
        order = group[np.argsort(lows[group, k] + highs[group, k], kind="stable")]
        first, last = _widths(lows[order], highs[order]), _widths(lows[order[::-1]], highs[order[::-1]])[::-1]
        sizes = np.maximum(first[:-1], last[1:]) + 0.01 * (first[:-1] + last[1:])
        cut = int(np.argmin(sizes))
        if sizes[cut] < least:
            found, least = [order[: cut + 1], order[cut + 1 :]], sizes[cut]
    return found


def _widths(lows: Floats, highs: Floats) -> Floats:
    """Sums of the sides of the boxes around the first set, the first two, and so on."""
    high, low = np.maximum.accumulate(highs, axis=0), np.minimum.accumulate(lows, axis=0)
    return np.asarray((high - low).sum(axis=1))
