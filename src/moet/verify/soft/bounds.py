"""Upper bounds of leads over bodies: every expert's exponential between a line above it and one below.

The lead of class c over a rival has the sign of Σ_e δ_e·exp(l_e − l_r), whatever expert r is. Over a body l_e − l_r is
between two numbers a and b, and δ_e at most the largest of the leaves that the body reaches. If that is positive, the
term is below its secant from a to b, else below its tangent at a + min((b − a)/2, 1): so the lead is below a linear
function of the row, whose largest value over a body is a sum over columns. What is lost falls with the square of the
body's width.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from moet.verify.rows.space import Ints, Space
from moet.verify.soft.prices import Prices
from moet.verify.soft.voters import Bodies, Bools, Floats, Voters

_SURE = 1e-11
"""What is below zero by this share of its parts is below zero for the checker, too."""
_LARGEST = 600.0
"""Where a logit may be so far ahead, float64 would overflow, and the body is cut."""


class Lines(NamedTuple):
    """A linear function above a lead: direction·z + constant, by body; and what tells where to cut.

    ``size`` is that of its parts, ``pull`` what is lost by variable, ``spread`` what is lost by tree.
    """

    direction: Floats
    constant: Floats
    size: Floats
    pull: Floats
    spread: Floats


class Frame:
    """Bodies as some voters see them: live leaves, and logits compared with that of one expert.

    Parameters
    ----------
    voters : Voters
    bodies : Bodies
    prices : Prices, optional
        Then rows matter only if they cost less than ``limit``.
    limit : float

    Attributes
    ----------
    reference : array of int
        The expert with the largest logit in the middle of each body.
    factors : array of float, shape (n_bodies, 2 * n_experts)
        With prices: multipliers of the cost, of the least and of the largest value of every difference of logits.
    """

    def __init__(self, voters: Voters, bodies: Bodies, prices: Prices | None = None, limit: float = np.inf) -> None:
        self._voters, self._bodies = voters, bodies
        space = voters.space
        self.live = voters.reach.live(bodies)
        middle = _middle(space, bodies)
        self.reference: Ints = (middle @ voters.weights.T + voters.bias).argmax(axis=1)
        self._ahead = voters.weights[None, :, :] - voters.weights[self.reference][:, None, :]
        self._base = voters.bias[None, :] - voters.bias[self.reference][:, None]
        if prices is None:
            low, high = ends(self._ahead, bodies, space)
            self.factors = np.zeros((len(low), 0))
        else:
            low, high, self.factors = prices.ends(self._ahead, bodies, limit)
        self._low, self._high = low + self._base, high + self._base
        self._too_far = self._high.max(axis=1) > _LARGEST
        with np.errstate(over="ignore"):
            self._at_low, self._at_high = np.exp(np.minimum(self._low, 700.0)), np.exp(np.minimum(self._high, 700.0))
            self._at_middle = np.exp(np.minimum((self._low + self._high) / 2.0, 700.0))
        sizes = voters.sizes[None, :] + voters.sizes[self.reference][:, None]
        self._error = 1e-14 * sizes
        self._widths = self._pulls(space)
        self._crossed: Bools | None = None

    def _pulls(self, space: Space) -> Floats:
        """How much each variable moves each logit."""
        width = np.where(space.group_of >= 0, 0.0, self._bodies.hi - self._bodies.lo)
        moved = np.abs(self._ahead) * width[:, None, :]
        for members in space.groups:
            allowed = self._bodies.hi[:, members] == 1.0
            count = allowed.sum(axis=1)
            own = self._ahead[:, :, members]
            mean = (own * allowed[:, None, :]).sum(axis=2, keepdims=True) / count[:, None, None]
            moved[:, :, members] = np.where((allowed & (count > 1)[:, None])[:, None, :], np.abs(own - mean), 0.0)
        return moved

    def lines(self, lead: Floats) -> Lines:
        """A linear function above the lead with these values at leaves."""
        v = self._voters
        known = np.where(self.live, lead, -np.inf)
        most = np.maximum.reduceat(known, v.start, axis=1)
        least = np.minimum.reduceat(np.where(self.live, lead, np.inf), v.start, axis=1)
        width = self._high - self._low
        is_up = most > 0.0
        secant = np.where(width > 1e-9, (self._at_high - self._at_low) / np.maximum(width, 1e-9), self._at_high)
        touch = self._low + np.minimum(width / 2.0, 1.0)
        tangent = np.exp(np.minimum(touch, 700.0))
        slope = most * np.where(is_up, secant, tangent)
        above = np.maximum(most * self._at_high - slope * self._high, most * self._at_low - slope * self._low)
        offset = np.where(is_up, above, slope * (1.0 - touch))
        direction = np.einsum("be,ben->bn", slope, self._ahead)
        doubt = (v.doubt + v.doubt.max()) * self._at_high
        size = (np.abs(most) * self._at_high + np.abs(slope) * (np.abs(self._low) + np.abs(self._high))).sum(axis=1)
        constant = (offset + slope * self._base + doubt).sum(axis=1) + (np.abs(slope) * self._error).sum(axis=1)
        constant = np.where(self._too_far, np.inf, constant)
        bend = np.abs(most) * np.maximum((self._at_low + self._at_high) / 2.0 - self._at_middle, 0.0)
        share = np.divide(bend, width, out=np.zeros_like(bend), where=width > 0.0)
        pull = np.einsum("be,ben->bn", share, self._widths)
        return Lines(direction, constant, size, pull, (most - least) * self._at_middle)

    def crossing(self, lines: Lines, i: int) -> tuple[float, int, float]:
        """The widest spread of a tree with a test that body i is on both sides of, and where the first one cuts."""
        v, b = self._voters, self._bodies
        if self._crossed is None:
            k = v.test_variable
            lo, hi = b.lo[:, k], b.hi[:, k]
            self._crossed = v.tests.live(b)[:, : len(k)] & (hi > v.test_place)
            self._crossed &= (lo < v.test_place) | ((lo == v.test_place) & ~b.above[:, k])
        tests = np.flatnonzero(self._crossed[i])
        if not len(tests):
            return -1.0, 0, 0.0
        scores = lines.spread[i, v.test_tree[tests]]
        best = tests[scores.argmax()]
        return float(scores.max()), int(v.test_variable[best]), float(v.test_place[best])


def ends(directions: Floats, bodies: Bodies, space: Space) -> tuple[Floats, Floats]:
    """Least and largest values of linear functions, some per body."""
    is_number = space.group_of < 0
    up, down = np.maximum(directions, 0.0) * is_number, np.minimum(directions, 0.0) * is_number
    most = np.einsum("ben,bn->be", up, bodies.hi) + np.einsum("ben,bn->be", down, bodies.lo)
    least = np.einsum("ben,bn->be", up, bodies.lo) + np.einsum("ben,bn->be", down, bodies.hi)
    for members in space.groups:
        allowed, own = (bodies.hi[:, members] == 1.0)[:, None, :], directions[:, :, members]
        most += np.where(allowed, own, -np.inf).max(axis=2)
        least += np.where(allowed, own, np.inf).min(axis=2)
    return least, most


def _middle(space: Space, bodies: Bodies) -> Floats:
    """Middles of intervals, and of groups the mean of what is left."""
    middle = (bodies.lo + bodies.hi) / 2.0
    for members in space.groups:
        allowed = bodies.hi[:, members] == 1.0
        middle[:, members] = allowed / allowed.sum(axis=1, keepdims=True)
    return middle


def most_of(direction: Floats, bodies: Bodies, space: Space) -> Floats:
    """Largest value of a linear function over each body."""
    _, most = ends(direction[:, None, :], bodies, space)
    total: Floats = most[:, 0]
    for i, j in space.orders:
        total += _in_order(direction, bodies, i, j)
    return total


def _in_order(direction: Floats, bodies: Bodies, i: int, j: int) -> Floats:
    """By how much less it is where variable i is not above variable j: the largest value is at one of these corners."""
    (a, b), lo, hi = (direction[:, i], direction[:, j]), bodies.lo, bodies.hi
    free = np.maximum(a * lo[:, i], a * hi[:, i]) + np.maximum(b * lo[:, j], b * hi[:, j])
    best = np.full(len(free), -np.inf)
    for x, y in ((x, y) for x in (lo[:, i], hi[:, i]) for y in (lo[:, j], hi[:, j])):
        best = np.maximum(best, np.where(x <= y, a * x + b * y, -np.inf))
    for v in (lo[:, i], hi[:, i], lo[:, j], hi[:, j]):
        inside = (v >= np.maximum(lo[:, i], lo[:, j])) & (v <= np.minimum(hi[:, i], hi[:, j]))
        best = np.maximum(best, np.where(inside, (a + b) * v, -np.inf))
    less: Floats = best - free
    return less


def is_sure(bound: Floats, size: Floats) -> Bools:
    """Whether a bound is below zero by more than rounding."""
    return bound < -_SURE * size
