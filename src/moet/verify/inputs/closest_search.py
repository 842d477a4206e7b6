"""Best-first search for the region, such as that of a wanted group, that is nearest to a point; with a proof."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count

import numpy as np
from numpy.typing import NDArray

from moet.model.base import BaseMixture
from moet.verify import simplex
from moet.verify.checker.certificate import Certificate
from moet.verify.exact import as_float, exactly
from moet.verify.inputs.agreement import Grouped
from moet.verify.inputs.distance import Norm, Ray, distances
from moet.verify.inputs.records import add_cut, add_split
from moet.verify.inputs.sampling import sample_inputs
from moet.verify.limits import Deadline
from moet.verify.polytopes import Cell, Polytope, cells, children

Floats = NDArray[np.float64]

_TRIES = 1000
_FAR = 1e6
_SLACK = 1e-9
"""Relative difference of two distances below which floating-point numbers do not say which is smaller."""


@dataclass
class _Region:
    """A region of the wanted group, and what is known of its distance."""

    ray: Ray
    guess: Floats
    """A point of it that is nearest, up to rounding."""
    multipliers: dict[int, Fraction] = field(default_factory=dict)
    """Multipliers of its rows that prove a lower bound of its distance."""
    settled: bool = False
    """Whether they prove that its distance is at least the best one known."""


Key = tuple[int, ...]
"""Name of a region: its expert, its leaf, and what else tells it apart."""


class NearestSearch:
    """Finds the distance of the nearest of some regions.

    Every region waits under a lower bound of its distance, and the lowest is looked at first: its bound is raised from
    the distance of its box to that of a floating-point linear program and then to the exact one.

    Parameters
    ----------
    regions : mapping
        Polytopes by name.
    x : array of float
    norm : {"linf", "l1"}
    radius : float
        How far floating-point programs look; the distance of some input of a region, if one is known.
    deadline : Deadline

    Attributes
    ----------
    best : Fraction or None
        The distance; None if no region has a point.
    """

    def __init__(
        self, regions: Mapping[Key, Polytope], x: Floats, norm: Norm, radius: float, deadline: Deadline
    ) -> None:
        self.best: Fraction | None = None
        self._x = x
        self._exact_x = exactly(x.tolist())
        self._norm: Norm = norm
        self._radius = radius
        self._deadline = deadline
        self._programs = 0
        self._winner: _Region | None = None
        self._nearest: list[Fraction] = []
        self._regions = {
            key: _Region(Ray(self._exact_x, polytope, norm), np.clip(x, polytope.lo, polytope.hi))
            for key, polytope in regions.items()
        }

    @property
    def effort(self) -> dict[str, float]:
        """Regions and linear programs so far."""
        return {"regions": len(self._regions), "programs": self._programs, "seconds": self._deadline.seconds}

    def run(self) -> bool:
        """Find the distance; False if time was up."""
        order = count()  # of two equal bounds the older one is first
        heap = [(self._rough_distance(r.ray.polytope), next(order), r, False) for r in self._regions.values()]
        heapq.heapify(heap)
        while heap:
            bound, _, region, solved = heapq.heappop(heap)
            if self.best is not None and bound > as_float(self.best) * (1 + _SLACK):
                break
            if self._deadline.passed:
                return False
            if solved:
                self._settle(region)
            else:
                heapq.heappush(heap, (max(bound, self._solve(region)), next(order), region, True))
        for region in self._regions.values():
            if not region.settled and not self.is_outside(region.ray.polytope):
                if self._deadline.passed:
                    return False
                self._settle(region)
        return True

    def _solve(self, region: _Region) -> float:
        """Lower bound by a floating-point linear program, whose multipliers and solution are kept."""
        polytope = region.ray.polytope
        lo, hi = np.maximum(polytope.lo, self._x - self._radius), np.minimum(polytope.hi, self._x + self._radius)
        if np.any(lo > hi):
            return 0.0
        self._programs += 1
        A, b = polytope.halfspaces()
        nearest = np.clip(self._x, lo, hi)
        d = len(nearest)
        identity, one = np.eye(d), np.ones((d, 1))
        if self._norm == "linf":  # over (y, τ): minimise τ, where y is within τ of x
            rows = np.block([[-A, np.zeros((len(A), 1))], [identity, -one], [-identity, -one]])
            limits = np.concatenate([-b, self._x, -self._x])
            low, high, cost = np.append(lo, 0.0), np.append(hi, self._radius), np.append(np.zeros(d), -1.0)
            offset = 0.0
        else:  # over (p, q): minimise Σ(p + q), where y is the nearest point of the box plus p minus q
            with np.errstate(over="ignore", invalid="ignore"):
                rows, limits = np.hstack([-A, A]), A @ nearest - b
            low, high, cost = np.zeros(2 * d), np.concatenate([hi - nearest, nearest - lo]), -np.ones(2 * d)
            offset = float(distances(self._x, nearest, "l1"))
        solution = simplex.solve(cost, rows, limits, low, high)
        if solution.status == simplex.UNSURE:
            return 0.0
        used = solution.rows < len(A)
        factors = exactly(solution.multipliers[used].tolist())
        region.multipliers = dict(zip(solution.rows[used].tolist(), factors, strict=True))
        if solution.status == simplex.EMPTY:
            return self._radius
        y = solution.x
        region.guess = y[:d] if self._norm == "linf" else nearest + y[:d] - y[d:]
        return offset - solution.bound

    def _settle(self, region: _Region) -> None:
        """Raise the bound of a region, exactly, to the best distance known; or to its own, which is then the best."""
        ray, region.settled = region.ray, True
        radius = ray.radius_ruled_out(region.multipliers)
        while radius is not None and (self.best is None or radius < self.best):
            start = ray.touching(region.multipliers, radius, exactly(region.guess.tolist()))
            verdict = ray.closed_point(radius, start)
            if isinstance(verdict, list):
                proof = ray.is_empty()  # its closure may have a point where it has none itself
                if proof is not None:
                    region.multipliers = proof
                else:
                    self.best, self._winner, self._nearest = radius, region, verdict
                return
            region.multipliers = verdict
            radius = ray.radius_ruled_out(verdict)

    @property
    def winner(self) -> tuple[Polytope, list[Fraction]] | None:
        """Region of the group that is nearest, and the point of its closure that is; None if there is none."""
        return None if self._winner is None else (self._winner.ray.polytope, self._nearest)

    def _rough_distance(self, box: Polytope | Cell) -> float:
        """Distance of a box, up to rounding errors that are relative to it."""
        return float(distances(self._x, np.clip(self._x, box.lo, box.hi), self._norm))

    def is_outside(self, box: Polytope | Cell) -> bool:
        """Whether the open ball of the best distance does not meet a box."""
        if self.best is None:
            return False
        rough, best = self._rough_distance(box), as_float(self.best)
        if abs(rough - best) > _SLACK * best:
            return rough > best
        return Ray(self._exact_x, Polytope(box.lo, box.hi, box.above, ()), self._norm).box_distance >= self.best

    def multipliers(self, key: Key) -> dict[int, Fraction]:
        """Multipliers of the rows of a region that prove that it is at least as far as the best."""
        return self._regions[key].multipliers


class ClosestSearch(NearestSearch):
    """Finds the distance of the nearest input of group 1.

    Parameters
    ----------
    grouped : Grouped
    x, norm, deadline
        As in :class:`NearestSearch`.
    lo, hi : array of float
        The domain.
    seed : int
    """

    def __init__(
        self, grouped: Grouped, x: Floats, norm: Norm, lo: Floats, hi: Floats, deadline: Deadline, seed: int
    ) -> None:
        self.grouped = grouped
        self._lo, self._hi = lo, hi
        X = inputs_around([grouped.mixture], x, lo, hi, np.random.default_rng(seed))
        X = X[grouped.deployed_groups(X) == 1]
        radius = first_radius(X, x, norm, lambda y: grouped.exact_group(y) == 1)
        super().__init__(dict(self._wanted_regions()), x, norm, radius, deadline)

    def _wanted_regions(self) -> Iterator[tuple[Key, Polytope]]:
        for expert, (tree, only) in enumerate(zip(self.grouped.mixture.trees, self.grouped.only, strict=True)):
            rows = tuple(self.grouped.exact_rows(expert))
            for cell in cells(tree, only, self._lo, self._hi):
                if only[cell.node] == 1:
                    yield (expert, cell.node), Polytope(cell.lo, cell.hi, cell.above, rows)

    def write_proof(self, certificate: Certificate) -> None:
        """Write the records that the checker expects for "no input of the group is nearer"."""
        for expert, (tree, only) in enumerate(zip(self.grouped.mixture.trees, self.grouped.only, strict=True)):
            stack = [Cell(0, self._lo, self._hi, np.zeros(len(self._lo), dtype=bool))]
            while stack:
                cell = stack.pop()
                if only[cell.node] == 0 or cell.is_empty or self.is_outside(cell):
                    continue
                if only[cell.node] == -1:
                    add_split(certificate)
                    stack += reversed(children(tree, cell))
                else:
                    rivals = [k for k in range(self.grouped.mixture.n_experts) if k != expert]
                    add_cut(certificate, self.multipliers((expert, cell.node)), rivals)


def inputs_around(
    mixtures: Iterable[BaseMixture], x: Floats, lo: Floats, hi: Floats, rng: np.random.Generator
) -> Floats:
    """Random inputs of a domain, as far as the models test something, and others nearer and nearer to ``x``."""
    X = sample_inputs(mixtures, lo, hi, _TRIES, rng)
    nearer = x + (X - x) * np.exp2(-rng.integers(0, 20, (len(X), 1)))
    return np.concatenate([X, np.clip(nearer, lo, hi)])


def first_radius(X: Floats, x: Floats, norm: Norm, is_wanted: Callable[[Floats], bool]) -> float:
    """Distance of the nearest of some inputs that is wanted; a large number if none of the first three is."""
    distance = distances(x, X, norm)
    for i in np.argsort(distance)[:3]:
        if is_wanted(X[i]):
            return float(distance[i]) * (1 + _SLACK)
    return _FAR * (1.0 + float(np.abs(x).max()))
