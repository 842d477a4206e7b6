"""Where two models answer with different numbers, and in how much of a domain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.regression.mixture import RegressionMixture
from moet.verify.arguments import domain_bounds
from moet.verify.box import Box
from moet.verify.exact import rounded
from moet.verify.findings import Differences
from moet.verify.inputs.float_doubt import float_band
from moet.verify.inputs.sampling import sample_box
from moet.verify.inputs.volume import CONFIDENCE, Share, confidence_interval, total_share
from moet.verify.limits import Deadline, Stopped
from moet.verify.outputs.linear import settled
from moet.verify.outputs.possible import Division, Possible
from moet.verify.outputs.questions import a_tolerance, apart, comparable_laws, deployed_apart
from moet.verify.outputs.search import Found, NowhereSearch, float_inputs
from moet.verify.polytopes import Polytope

Floats = NDArray[np.float64]


@dataclass
class _Found:
    """What a search came to."""

    points: list[Floats] = field(default_factory=list)
    regions: list[Polytope] = field(default_factory=list)
    unseen: list[Polytope] = field(default_factory=list)
    complete: bool = False


def output_differences(
    a: Any, b: Any, domain: Box | None, tolerance: Any, limit: int, samples: int, deadline: Deadline, seed: int
) -> Differences:
    """Answer :func:`moet.verify.differences` for models that answer with numbers."""
    pair = comparable_laws(a, b)
    most = a_tolerance(tolerance)
    lo, hi = domain_bounds(domain, pair[0])
    possible = Possible(pair[0], domain)
    differ, sides = deployed_apart(pair, most, lo, hi)
    search = NowhereSearch(sides, apart(pair[0].n_outputs, most), lo, hi, deadline, shared=possible.rows)
    found = _collected(search, _Rows(differ, possible, deadline), limit)
    share = Share(None, None, 1.0)
    if not possible.are_all:
        share = _estimated(pair, float(most), possible.sample(samples, np.random.default_rng(seed)))
    elif np.all(np.isfinite(lo)) and np.all(np.isfinite(hi)):
        # regions of several outputs overlap, so that their volumes do not add up
        adds_up = found.complete and pair[0].n_outputs == 1
        exact = total_share(found.regions + found.unseen, lo, hi) if adds_up else None
        X = sample_box(lo, hi, samples, np.random.default_rng(seed))
        share = _estimated(pair, float(most), X) if exact is None else Share(exact, (exact, exact), 1.0)
    return Differences(
        points=np.array(found.points).reshape(len(found.points), len(lo)),
        answers=[(_named(pair[0], x), _named(pair[1], x)) for x in found.points],
        regions=found.regions,
        complete=found.complete,
        unseen=len(found.unseen),
        share=share.value,
        share_interval=share.interval,
        confidence=share.confidence,
        band=float_band(pair, lo, hi),
        effort=search.effort | {"seconds": deadline.seconds},
    )


class _Rows:
    """Looks for a possible row of a region that shows a difference.

    Parameters
    ----------
    differ : callable
        Whether an input shows one, in exact arithmetic and as deployed.
    possible : Possible
    deadline : Deadline
    """

    def __init__(self, differ: Callable[[Floats], bool], possible: Possible, deadline: Deadline) -> None:
        self._differ, self._possible, self._deadline = differ, possible, deadline

    def shown(self, place: Found) -> tuple[Floats | None, bool]:
        """A row of the region that shows it, or None; and whether it has possible rows that were not ruled out."""
        unseen, stack = False, [place]
        while stack:
            self._deadline.look()
            part = stack.pop()
            rows = (self._possible.nearest(x) for x in float_inputs(part))
            point = next((x for x in rows if x in place.polytope and self._differ(x)), None)
            if point is not None:
                return point, False
            lo, hi = part.polytope.lo, part.polytope.hi
            division = self._possible.division(part.point, lo, hi) or self._possible.around(part.point, lo, hi)
            if division is None:
                unseen = True
            else:
                stack += _parts(part.polytope, division)
        return None, unseen


def _parts(polytope: Polytope, division: Division) -> Iterator[Found]:
    """Both parts of a region, as far as they have a point."""
    for lo, hi in division.parts(polytope.lo, polytope.hi):
        part = Polytope(lo, hi, polytope.above & (lo == polytope.lo), polytope.rows)
        if np.any(lo > hi) or np.any((lo == hi) & part.above):
            continue
        verdict = settled(part)
        if not isinstance(verdict, dict):
            yield Found(part, rounded(verdict))


def _collected(search: NowhereSearch, rows: _Rows, limit: int) -> _Found:
    """Regions, up to ``limit``, each with an input that shows the difference; and those without one."""
    found = _Found()
    try:
        for place in search.violations():
            point, unseen = rows.shown(place)
            if unseen:
                found.unseen.append(place.polytope)
            if point is None:
                continue
            found.points.append(point)
            found.regions.append(place.polytope)
            if len(found.points) == limit:
                return found
    except Stopped:
        return found
    found.complete = True
    return found


def _estimated(pair: Sequence[RegressionMixture], tolerance: float, X: Floats) -> Share:
    """Share of inputs at which two models are apart; none where they overflow."""
    try:
        outputs = [mixture.predict(X) for mixture in pair]
    except InputError:
        return Share(None, None, 1.0)
    hits = int(np.count_nonzero(np.any(np.abs(outputs[0] - outputs[1]) > tolerance, axis=1)))
    return Share(hits / len(X), confidence_interval(hits, len(X), CONFIDENCE), CONFIDENCE)


def _named(mixture: RegressionMixture, x: Floats) -> dict[str, float]:
    return dict(zip(mixture.outputs, mixture.predict(x[None, :])[0].tolist(), strict=True))
