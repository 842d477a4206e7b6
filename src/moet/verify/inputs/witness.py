"""A float64 input as near as one can be found: distances are infima of real numbers, which no input need attain."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from moet.verify import simplex
from moet.verify.exact import exactly, rounded
from moet.verify.inputs.agreement import AgreementSearch, Grouped
from moet.verify.inputs.distance import Norm, distance_of
from moet.verify.limits import Deadline
from moet.verify.regions import Polytope

Floats = NDArray[np.float64]

GROWTH = (2.0**-20, 2.0**-10, 2.0**-5, 1.0)
"""By what share of the distance the ball grows in which an input is looked for, one after the other."""

_SHARES = (0.0, *np.exp2(np.arange(-52, 1, 2)).tolist())
_SMALLEST = 2.0**-30
"""What the ball grows by at least is this share of ``GROWTH``, relative to the size of the input."""


class Witness:
    """Looks for a float64 input of group 1 about as near to ``x`` as the nearest region of that group is.

    Parameters
    ----------
    grouped : Grouped
    x : array of float
    norm : {"linf", "l1"}
    distance : Fraction
        Of the nearest region.
    lo, hi : array of float
        The domain.
    """

    def __init__(self, grouped: Grouped, x: Floats, norm: Norm, distance: Fraction, lo: Floats, hi: Floats) -> None:
        self._grouped = grouped
        self._x = x
        self._exact_x = exactly(x.tolist())
        self._norm: Norm = norm
        self._distance = distance
        self._lo, self._hi = lo, hi

    def find(self, region: Polytope, nearest: list[Fraction], deadline: Deadline) -> Floats | None:
        """Look in the nearest region first, from its nearest point inwards, then in all of a ball that grows."""
        for x in self._inwards(region, rounded(nearest)):
            if self._is_wanted(x):
                return self._with_few_changes(x)
        for radius in self._radii():
            found = self._in_ball(radius, deadline)
            if found is not None:
                return self._with_few_changes(found)
        return None

    def _radii(self) -> Iterator[Fraction]:
        least = Fraction(_SMALLEST * max(1.0, float(np.abs(self._x).max())))
        for growth in GROWTH:
            yield self._distance + Fraction(growth) * max(self._distance, least)

    def _inwards(self, region: Polytope, nearest: Floats) -> Iterator[Floats]:
        low = np.where(region.above, np.nextafter(region.lo, np.inf), region.lo)
        for radius in self._radii():
            inside = self._deepest(region, radius)
            if inside is not None:
                for share in _SHARES:
                    yield np.clip(nearest + share * (inside - nearest), low, region.hi)

    def _deepest(self, region: Polytope, radius: Fraction) -> Floats | None:
        """Point of a ball furthest from the half-spaces of a region, relative to their normals; None without any."""
        A, b = region.halfspaces()
        norms = np.abs(A).sum(axis=1)
        used = np.flatnonzero((norms > 0) & np.isfinite(norms))
        A, norms = A[used] / norms[used, None], norms[used]
        # in coordinates relative to x, so that small distances keep their digits
        missing = rounded([region.rows[i].bound - _dot(region.rows[i].coefficients, self._exact_x) for i in used]) / norms
        reach = rounded([radius])[0]
        with np.errstate(over="ignore"):
            lo, hi = np.maximum(region.lo - self._x, -reach), np.minimum(region.hi - self._x, reach)
        if np.any(lo > hi) or not np.all(np.isfinite(missing)):
            return None
        # over (move, depth), or over (ups, downs, depth) with a row for the length of the move
        slack = np.ones((len(A), 1))
        if self._norm == "linf":
            rows, limits, low, high = np.hstack([-A, slack]), -missing, lo, hi
        else:
            up, down = np.maximum(hi, 0.0), np.maximum(-lo, 0.0)
            ball = np.append(np.ones(2 * len(lo)), 0.0)
            rows, limits = np.vstack([np.hstack([-A, A, slack]), ball]), np.append(-missing, reach)
            low, high = np.concatenate([np.maximum(lo, 0.0), np.maximum(-hi, 0.0)]), np.concatenate([up, down])
        cost = np.append(np.zeros(len(low)), 1.0)
        z = simplex.solve(cost, rows, limits, np.append(low, -2 * reach), np.append(high, 2 * reach)).x[:-1]
        move = z if self._norm == "linf" else z[: len(lo)] - z[len(lo) :]
        return self._x + move if np.all(np.isfinite(move)) else None

    def _in_ball(self, radius: Fraction, deadline: Deadline) -> Floats | None:
        reach = float(rounded([radius])[0])
        with np.errstate(over="ignore"):
            lo, hi = np.maximum(self._lo, self._x - reach), np.minimum(self._hi, self._x + reach)
        if np.any(lo > hi):
            return None
        nothing = Grouped.constant(len(lo), group=0)
        search = AgreementSearch((self._grouped, nothing), lo, hi, deadline, lambda x, _: self._is_near(x, radius))
        return next((found.point for found in search.disagreements() if found.point is not None), None)

    def _is_near(self, x: Floats, radius: Fraction) -> bool:
        return self._is_wanted(x) and distance_of(self._exact_x, exactly(x.tolist()), self._norm) <= radius

    def _is_wanted(self, x: Floats) -> bool:
        inside = bool(np.all((x >= self._lo) & (x <= self._hi)))
        return inside and self._grouped.deployed_group(x) == 1 and self._grouped.exact_group(x) == 1

    def _with_few_changes(self, x: Floats) -> Floats:
        """Undo what did not have to change, the smallest changes first: a linear program moves more than it must."""
        nearest = np.clip(self._x, self._lo, self._hi)
        for k in np.argsort(np.abs(x - nearest)):
            if x[k] != nearest[k]:
                undone = x.copy()
                undone[k] = nearest[k]
                x = undone if self._is_wanted(undone) else x
        return x


def _dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((u * v for u, v in zip(a, b, strict=True)), Fraction(0))
