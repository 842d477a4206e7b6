"""Where two models answer with different numbers, and in how much of a domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.regression.mixture import RegressionMixture
from moet.verify.arguments import domain_bounds
from moet.verify.box import Box
from moet.verify.inputs.float_doubt import float_band
from moet.verify.inputs.sampling import sample_box
from moet.verify.inputs.volume import CONFIDENCE, Share, confidence_interval, total_share
from moet.verify.limits import Deadline, Stopped
from moet.verify.outputs.possible import refuse_groups
from moet.verify.outputs.questions import a_tolerance, apart, comparable_laws, deployed_apart
from moet.verify.outputs.search import NowhereSearch, float_inputs
from moet.verify.polytopes import Polytope
from moet.verify.result import Differences

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
    refuse_groups(pair[0], "a list of all differences")
    most = a_tolerance(tolerance)
    lo, hi = domain_bounds(domain, pair[0])
    differ, sides = deployed_apart(pair, most, lo, hi)
    search = NowhereSearch(sides, apart(pair[0].n_outputs, most), lo, hi, deadline)
    found = _collected(search, differ, limit)
    share = Share(None, None, 1.0)
    if np.all(np.isfinite(lo)) and np.all(np.isfinite(hi)):
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


def _collected(search: NowhereSearch, differ: Callable[[Floats], bool], limit: int) -> _Found:
    """Regions, up to ``limit``, each with an input that shows the difference; and those without one."""
    found = _Found()
    try:
        for place in search.violations():
            shown = (x for x in float_inputs(place) if x in place.polytope and differ(x))
            point = next(shown, None)
            if point is None:
                found.unseen.append(place.polytope)
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
