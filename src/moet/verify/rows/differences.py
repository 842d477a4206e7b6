"""Possible rows that two models answer differently."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.verify.box import Box
from moet.verify.findings import Differences
from moet.verify.inputs.agreement import Grouped
from moet.verify.inputs.difference_regions import differ_surely, estimated_share
from moet.verify.inputs.float_doubt import float_band
from moet.verify.inputs.volume import CONFIDENCE
from moet.verify.limits import Deadline
from moet.verify.polytopes import Polytope
from moet.verify.rows.domain import rows_of
from moet.verify.rows.questions import different
from moet.verify.rows.search import Copy, RowSearch
from moet.verify.rows.space import Space


def row_differences(
    pair: tuple[Mixture, Mixture],
    domain: Box | None,
    groups: Sequence[NDArray[np.int64]],
    limit: int,
    samples: int,
    deadline: Deadline,
    seed: int,
) -> Differences:
    """Answer :func:`moet.verify.differences` about possible rows: one row per region, the share by random rows."""
    rows = rows_of(domain, pair[0])
    low, high = rows.bounds()
    grouped = [Grouped(mixture, group, low, high) for mixture, group in zip(pair, groups, strict=True)]
    space = Space(rows, free=set())
    copies = [Copy(pair[row], groups[row], space, row, deployed=False) for row in (0, 1)]
    search = RowSearch(space, copies, different, lambda z: z in rows and differ_surely(grouped, z), deadline)
    points, regions = [], []
    for found in search.counterexamples():
        points.append(found.point)
        regions.append(Polytope(found.body.lo, found.body.hi, found.body.above, tuple(found.conditions.exact)))
        if len(points) == limit:
            break
    share, interval = estimated_share(grouped, rows.sample(samples, np.random.default_rng(seed)))
    X = np.array(points).reshape(len(points), len(low))
    return Differences(
        points=X,
        answers=list(zip(*(mixture.predict_hard(X).tolist() for mixture in pair), strict=True)) if len(X) else [],
        regions=regions,
        complete=not search.timed_out and len(points) < limit,
        unseen=search.undecided,
        share=share,
        share_interval=interval,
        confidence=CONFIDENCE,
        band=float_band(pair, low, high),
        effort=search.effort | {"seconds": deadline.seconds},
    )
