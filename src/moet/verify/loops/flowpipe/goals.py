"""A set that is partly in a goal, cut at the limits of that."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.verify.loops.flowpipe.conditions import Checked
from moet.verify.loops.flowpipe.integrate import Points
from moet.verify.loops.flowpipe.policy import narrowed, nobody

Floats = NDArray[np.float64]

_MOST_SIDES, _WORTH_A_CUT = 2, 0.9
"""A set is cut at a goal if it is beyond at most so many of its limits, and if at most this share of it is left."""


class GoalParts(NamedTuple):
    """What a certificate says of a cut at a goal, and the sets with what each has reached."""

    refs: list[int]
    sets: list[tuple[Points, set[int]]]


def cut_at_goal(points: Points, k: int, goal: Checked, done: set[int]) -> GoalParts | None:
    """The part of a set in a goal, and those beyond each limit; None if little of the set is in it."""
    rows, levels = goal.beyond(points)
    spread = np.abs(rows).sum(axis=1)
    slack = 1e-9 * (1 + np.abs(levels) + spread)
    beyond = np.flatnonzero(levels + spread > -slack)
    if np.any(levels - spread > -slack) or not 0 < len(beyond) <= _MOST_SIDES:
        return None
    n = points.columns.shape[1]
    sides = [narrowed(n, rows[[i]], levels[[i]] + slack[i]) or nobody(n) for i in beyond]
    if max(float(np.prod((high - low) / 2)) for low, high in sides) > _WORTH_A_CUT:
        return None
    inside = narrowed(n, -rows, -levels + slack) or nobody(n)
    sets = [(kept(points, *inside), done | {k})] + [(kept(points, *side), set(done)) for side in sides]
    return GoalParts([k, len(beyond), *map(int, beyond)], sets)


def kept(points: Points, low: Floats, high: Floats) -> Points:
    """The part of a set in which the factors of its columns are between these sides."""
    n = len(points.middle)
    middle = points.middle + points.columns @ ((low + high) / 2)
    columns = np.concatenate([points.columns * ((high - low) / 2), np.zeros((n, n))], axis=1)
    return Points(middle, columns, points.box)
