"""Linear programs over a body: how deep inside the conditions a point may be, and what proves that none is.

Whole numbers count as reals here, and groups as variables that add up to 1; branching makes up for what that loses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.verify import simplex
from moet.verify.rows.space import Body, Space

Floats = NDArray[np.float64]


NOTHING = 1e-9
"""Depths up to this may be none at all."""


class Outcome(NamedTuple):
    """``multipliers`` of the conditions if they may prove the goal, else None; ``point`` is the best one, if known."""

    multipliers: Floats | None
    point: Floats | None
    value: float


class _Reduced(NamedTuple):
    """The variables that matter: fixed ones are part of the bounds, and one of every group follows from the others."""

    active: NDArray[np.int64]
    reference: NDArray[np.int64]
    rows: Floats
    bounds: Floats
    extra: Floats
    extra_limits: Floats
    base: Floats


def deepest(space: Space, body: Body, rows: Floats, bounds: Floats) -> Outcome:
    """Find the point that satisfies rows·z >= bounds by the largest margin, or multipliers that prove there is none."""
    reduced = _reduce(space, body, rows, bounds)
    n, m = len(reduced.active), len(rows)
    if m == 0:
        return Outcome(None, reduced.base, np.inf)
    if n == 0:
        slack = -reduced.bounds
        worst = int(np.argmin(slack))
        alone = np.zeros(m)
        alone[worst] = 1.0
        return Outcome(alone if slack[worst] < 0.0 else None, reduced.base, float(slack[worst]))
    A = np.zeros((m + len(reduced.extra), n + 1))
    A[:m, :n], A[:m, n] = -reduced.rows, 1.0
    A[m:, :n] = reduced.extra
    b = np.concatenate([-reduced.bounds, reduced.extra_limits])
    low = np.append(body.lo[reduced.active], -4.0)
    high = np.append(body.hi[reduced.active], 4.0)
    found = simplex.solve(np.append(np.zeros(n), 1.0), A, b, low, high, enough=-1e-13)
    if found.status in (simplex.BELOW, simplex.EMPTY):
        return Outcome(_of_rows(found, m), None, found.bound)
    if found.status == simplex.UNSURE:
        return Outcome(None, None, np.nan)
    value = float(found.x[n])
    # as good as zero: perhaps they prove it exactly
    return Outcome(_of_rows(found, m) if value < NOTHING else None, _point(reduced, found.x, body), value)


def cheapest(
    space: Space, body: Body, rows: Floats, bounds: Floats, slopes: tuple[Floats, Floats], start: Floats, enough: float
) -> Outcome:
    """Find the point of least cost that satisfies the conditions, or multipliers that prove it costs ``enough``.

    Parameters
    ----------
    slopes : (array, array)
        What it costs to move every variable down, and up, by 1, from ``start``.
    """
    down, up = slopes
    nearest = np.clip(start, body.lo, body.hi)
    offset = float(np.where(nearest > start, up * (nearest - start), down * (start - nearest)).sum())
    both = (body.lo < nearest) & (nearest < body.hi) & (down > 0.0)
    slope = np.where(nearest >= body.hi, -down, up)  # of the only way there is
    reduced = _reduce(space, body, rows, bounds, np.flatnonzero((down > 0.0) | (up > 0.0)))
    active = reduced.active
    n, m = len(active), len(rows)
    if n == 0:
        slack = -reduced.bounds
        if m and slack.min() < 0.0:
            alone = np.zeros(m)
            alone[int(np.argmin(slack))] = 1.0
            return Outcome(alone, None, np.inf)
        return Outcome(np.zeros(m) if offset >= enough else None, reduced.base, offset)
    split = np.flatnonzero(both[active])
    # z = start + p - q where both ways are open: a column for q of its own
    A = np.zeros((m + len(reduced.extra) + len(split), n + len(split)))
    A[:m, :n], A[m : m + len(reduced.extra), :n] = -reduced.rows, reduced.extra
    cost = np.zeros(n + len(split))
    grouped = reduced.reference >= 0
    cost[:n] = slope[active] - np.where(grouped, slope[reduced.reference], 0.0)
    shift = float(-(slope[active] * nearest[active])[~both[active]].sum())
    shift += float(slope[np.unique(reduced.reference[grouped])].sum())
    limits = [*(-reduced.bounds), *reduced.extra_limits]
    for i, k in enumerate(split.tolist()):  # z_k - start + q >= 0, cost up·(z - start) + (up + down)·q
        row = m + len(reduced.extra) + i
        A[row, k] = A[row, n + i] = -1.0
        limits.append(-nearest[active[k]])
        cost[n + i] = up[active[k]] + down[active[k]]
        shift -= up[active[k]] * nearest[active[k]]
    fixed = offset + shift
    low = np.concatenate([body.lo[active], np.zeros(len(split))])
    high = np.concatenate([body.hi[active], (nearest - body.lo)[active[split]]])
    found = simplex.solve(-cost, A, np.array(limits), low, high, enough=fixed - enough)
    if found.status == simplex.EMPTY:
        return Outcome(_of_rows(found, m), None, np.inf)
    if found.status == simplex.UNSURE:
        return Outcome(None, None, np.nan)
    value = fixed - found.bound
    point = _point(reduced, found.x, body) if found.status == simplex.OPTIMAL else None
    return Outcome(_of_rows(found, m) if value >= enough else None, point, value)


def _of_rows(found: simplex.Solution, m: int) -> Floats:
    multipliers = np.zeros(m)
    used = found.rows < m
    multipliers[found.rows[used]] = found.multipliers[used]
    return multipliers


def _point(reduced: _Reduced, x: Floats, body: Body) -> Floats:
    """A solution as a point of the body; beside sides of 2^53 the program may miss others by some units."""
    z = reduced.base.copy()
    z[reduced.active] = np.clip(x[: len(reduced.active)], body.lo[reduced.active], body.hi[reduced.active])
    for active, reference in zip(reduced.active, reduced.reference, strict=True):
        if reference >= 0:
            z[reference] -= z[active]
    return z


def _reduce(space: Space, body: Body, rows: Floats, bounds: Floats, kept: NDArray[np.int64] | None = None) -> _Reduced:
    matters = np.any(rows != 0.0, axis=0)
    if kept is not None:
        matters[kept] = True
    for i, j in space.orders:
        matters[i] = matters[j] = matters[i] or matters[j]
    base = np.where(space.group_of >= 0, 0.0, body.lo)
    reference = np.full(space.n, -1)
    members_of = []
    for members in space.groups:
        allowed = members[body.hi[members] == 1.0]
        base[allowed[0]] = 1.0
        if len(allowed) > 1 and matters[allowed].any():
            reference[allowed[1:]] = allowed[0]
            members_of.append(allowed[1:])
    free = body.hi > body.lo
    active = np.flatnonzero(((reference >= 0) & free) | ((space.group_of < 0) & free & matters))
    own = rows[:, active] - np.where(reference[active] >= 0, rows[:, reference[active]], 0.0)
    at_base = base.copy()
    at_base[active] = 0.0
    place = {int(k): i for i, k in enumerate(active)}
    extra, limits = [], []
    for members in members_of:
        row = np.zeros(len(active))
        row[[place[int(k)] for k in members]] = 1.0
        extra.append(row)
        limits.append(1.0)
    for i, j in space.orders:
        if i in place or j in place:
            row, limit = np.zeros(len(active)), 0.0
            for k, sign in ((i, 1.0), (j, -1.0)):
                if k in place:
                    row[place[k]] = sign
                else:
                    limit -= sign * body.lo[k]
            extra.append(row)
            limits.append(limit)
    return _Reduced(
        active,
        reference[active],
        own,
        bounds - rows @ at_base,
        np.array(extra).reshape(len(extra), len(active)),
        np.array(limits),
        base,
    )
