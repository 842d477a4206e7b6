"""A float64 input as near as one can be found: distances are infima of real numbers, which no input need attain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from moet.verify.exact import exactly, rounded
from moet.verify.inputs.agreement import AgreementSearch, Grouped
from moet.verify.inputs.distance import Norm, Ray, distance_of
from moet.verify.limits import Deadline
from moet.verify.polytopes import Polytope
from moet.verify.rational import Row

Floats = NDArray[np.float64]

GROWTH = (2.0**-20, 2.0**-10, 2.0**-5, 1.0)
"""By what share of the distance the ball grows in which an input is looked for, one after the other."""

_SHARES = tuple(np.exp2(np.arange(-52, 1, 2)).tolist())
_DEPTHS = (Fraction(1, 2), Fraction(1, 16), Fraction(1, 256))
_SMALLEST = 2.0**-30
"""What the ball grows by at least is this share of ``GROWTH``, relative to the size of the input."""


class Witness:
    """Looks for a float64 input that is wanted, about as near to ``x`` as the nearest region of such inputs is.

    Parameters
    ----------
    is_wanted : callable
        Whether an input is, in exact arithmetic and as deployed.
    search : callable
        Finds an input that is, in a box, or None.
    x : array of float
    norm : {"linf", "l1"}
    distance : Fraction
        Of the nearest region.
    lo, hi : array of float
        The domain.
    """

    def __init__(
        self,
        is_wanted: Callable[[Floats], bool],
        search: Callable[[Floats, Floats], Floats | None],
        x: Floats,
        norm: Norm,
        distance: Fraction,
        lo: Floats,
        hi: Floats,
    ) -> None:
        self._wanted = is_wanted
        self._search = search
        self._x = x
        self._exact_x = exactly(x.tolist())
        self._norm: Norm = norm
        self._distance = distance
        self._lo, self._hi = lo, hi

    def find(self, region: Polytope, nearest: list[Fraction]) -> Floats | None:
        """Look in the nearest region first, from its nearest point inwards, then in all of a ball that grows."""
        for x in self._inwards(region, nearest):
            if self._is_wanted(x):
                return self._with_few_changes(x)
        best: Floats | None = None
        for radius in self._radii():
            found = self._in_ball(radius)
            if found is not None:
                pulled = self._pulled(found, rounded(nearest))
                best = pulled if best is None else min(best, pulled, key=self._distance_to)
                if self._distance_to(best) <= radius:
                    break
        return None if best is None else self._with_few_changes(best)

    def _radii(self) -> Iterator[Fraction]:
        least = Fraction(_SMALLEST * max(1.0, float(np.abs(self._x).max())))
        for growth in GROWTH:
            yield self._distance + Fraction(growth) * max(self._distance, least)

    def _inwards(self, region: Polytope, nearest: list[Fraction]) -> Iterator[Floats]:
        low, start = np.where(region.above, np.nextafter(region.lo, np.inf), region.lo), rounded(nearest)
        yield np.clip(start, low, region.hi)
        for radius in self._radii():
            inside = self._inner_point(region, nearest, radius)
            if inside is not None:
                for share in _SHARES:
                    yield np.clip(start + share * (inside - start), low, region.hi)

    def _inner_point(self, region: Polytope, nearest: list[Fraction], radius: Fraction) -> Floats | None:
        """Point of a ball inside the half-spaces of a region by as much as the ball has grown, or a part of it."""
        for part in _DEPTHS:
            depth = part * (radius - self._distance)
            rows = [Row(r.coefficients, r.bound + depth * max(map(abs, r.coefficients))) for r in region.rows]
            ray = Ray(self._exact_x, Polytope(region.lo, region.hi, region.above, tuple(rows)), self._norm)
            found = ray.closed_point(radius, nearest)
            if isinstance(found, list):
                return rounded(found)
        return None

    def _in_ball(self, radius: Fraction) -> Floats | None:
        reach = float(rounded([radius])[0])
        with np.errstate(over="ignore"):
            lo, hi = np.maximum(self._lo, self._x - reach), np.minimum(self._hi, self._x + reach)
        return None if np.any(lo > hi) else self._search(lo, hi)

    def _pulled(self, x: Floats, nearest: Floats) -> Floats:
        """Input between another and the nearest point, as near to that as may be: a search finds what is far inside."""
        between = (np.clip(nearest + share * (x - nearest), self._lo, self._hi) for share in _SHARES)
        return next((candidate for candidate in between if self._is_wanted(candidate)), x)

    def _distance_to(self, x: Floats) -> Fraction:
        return distance_of(self._exact_x, exactly(x.tolist()), self._norm)

    def _is_wanted(self, x: Floats) -> bool:
        inside = bool(np.all((x >= self._lo) & (x <= self._hi)))
        return inside and self._wanted(x)

    def _with_few_changes(self, x: Floats) -> Floats:
        """Undo what did not have to change, the smallest changes first: a linear program moves more than it must."""
        nearest = np.clip(self._x, self._lo, self._hi)
        for k in np.argsort(np.abs(x - nearest)):
            if x[k] != nearest[k]:
                undone = x.copy()
                undone[k] = nearest[k]
                x = undone if self._is_wanted(undone) else x
        return x


def witness_of_group(
    grouped: Grouped, x: Floats, norm: Norm, distance: Fraction, lo: Floats, hi: Floats, deadline: Deadline
) -> Witness:
    """One that looks for inputs of group 1."""

    def is_wanted(y: Floats) -> bool:
        return grouped.deployed_group(y) == 1 and grouped.exact_group(y) == 1

    def search(box_lo: Floats, box_hi: Floats) -> Floats | None:
        sides = grouped, Grouped.constant(len(box_lo), group=0)
        found = AgreementSearch(sides, box_lo, box_hi, deadline, lambda y, _: is_wanted(y)).disagreements()
        return next((region.point for region in found if region.point is not None), None)

    return Witness(is_wanted, search, x, norm, distance, lo, hi)
