"""Where two models differ, and in how much of a domain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.file import as_model
from moet.model.text import how_to_harden
from moet.verify.arguments import (
    CPU_LIMIT,
    answers_with_numbers,
    check_no_tolerance,
    common_groups,
    comparable,
    domain_bounds,
    has_groups,
    known_labels,
)
from moet.verify.box import Box
from moet.verify.findings import Differences
from moet.verify.inputs.agreement import AgreementSearch, Grouped
from moet.verify.inputs.float_doubt import float_band
from moet.verify.inputs.sampling import sample_box
from moet.verify.inputs.volume import CONFIDENCE, confidence_interval, total_share
from moet.verify.limits import Deadline
from moet.verify.polytopes import Polytope

Floats = NDArray[np.float64]


def differences(
    a: Any,
    b: Any,
    domain: Box | None = None,
    limit: int = 100,
    classes: Iterable[Any] | None = None,
    *,
    tolerance: float | None = None,
    samples: int = 10_000,
    timeout: float | None = None,
    cpu_limit: float | None = CPU_LIMIT,
    seed: int = 0,
) -> Differences:
    """Find inputs and whole regions where two hard models give different answers.

    Like :func:`equivalent`, this is about exact arithmetic. At every point that is reported the deployed predictors
    give the answers of its region, too; or, if they are numbers, such as are apart by more than the tolerance.

    Parameters
    ----------
    a, b : mixture, classifier, regressor, policy, model file or scikit-learn tree
    domain : Box, optional
        All inputs by default.
    limit : int
        Find at most so many regions.
    classes : labels, optional
        Compare the models with respect to these classes only.
    tolerance : float, optional
        Of models that answer with numbers: by how much an output of one may be off that of the other. 0 by default.
    samples : int
        Number of random inputs from which the share of the volume is estimated. It is computed exactly instead if all
        regions were found and their volumes are simple: boxes, or boxes cut along at most two features.
    timeout : float or None
        Seconds of the wall clock after which the search for regions ends; no limit by default.
    cpu_limit : float or None
        Seconds of CPU time after which it ends.
    seed : int
        Seed of the random inputs.

    Examples
    --------
    >>> from moet import RegressionMixture, RegressionTree, verify
    >>> laws = [RegressionTree.leaf([0.0], slope=[[slope]]) for slope in (1.0, 1.5)]
    >>> weak, strong = (RegressionMixture([[0.0]], [0.0], [law], ["u"], feature_names=["x"]) for law in laws)
    >>> found = verify.differences(weak, strong, verify.Box(x=(-1, 1)), tolerance=0.25)
    >>> len(found), found.complete, found.share
    (2, True, 0.5)
    """
    deadline = Deadline(timeout, cpu_limit)
    if limit < 1 or samples < 1:
        raise InputError(f"limit and samples must be at least 1, got {limit} and {samples}")
    if answers_with_numbers(a := as_model(a)) and answers_with_numbers(b := as_model(b)):
        from moet.verify.outputs.difference_regions import output_differences

        if classes is not None:
            raise InputError(f"these models answer with numbers and have no classes, got classes={classes!r}")
        return output_differences(a, b, domain, tolerance or 0, limit, samples, deadline, seed)
    pair = comparable(a, b)
    check_no_tolerance(tolerance)
    for mixture in pair:
        if mixture.prediction == "soft":
            raise InputError(
                "differences is about hard models, and one is soft, without regions that have flat sides; "
                f"{how_to_harden(mixture)}"
            )
    if has_groups(*pair):
        from moet.verify.rows.differences import row_differences

        wanted = None if classes is None else known_labels(classes, pair)
        return row_differences(pair, domain, common_groups(pair, wanted), limit, samples, deadline, seed)
    lo, hi = domain_bounds(domain, pair[0])
    groups = common_groups(pair, None if classes is None else known_labels(classes, pair))
    grouped = Grouped(pair[0], groups[0], lo, hi), Grouped(pair[1], groups[1], lo, hi)
    search = AgreementSearch(grouped, lo, hi, deadline, lambda x, region: x in region and differ_surely(grouped, x))
    points: list[Floats] = []
    regions: list[Polytope] = []
    unseen: list[Polytope] = []
    for found in search.disagreements():
        if found.point is None:
            unseen.append(found.polytope)
            continue
        points.append(found.point)
        regions.append(found.polytope)
        if len(points) == limit:
            break
    complete = not search.timed_out and len(points) < limit
    X = np.array(points).reshape(len(points), len(lo))
    share = _Share.of(grouped, regions + unseen if complete else None, lo, hi, samples, seed)
    return Differences(
        points=X,
        answers=list(zip(*(mixture.predict_hard(X).tolist() for mixture in pair), strict=True)) if len(X) else [],
        regions=regions,
        complete=complete,
        unseen=len(unseen),
        share=share.value,
        share_interval=share.interval,
        confidence=share.confidence,
        band=float_band(pair, lo, hi),
        effort=search.effort | {"seconds": deadline.seconds},
    )


def differ_surely(grouped: Sequence[Grouped], x: Floats) -> bool:
    """Whether two models differ at ``x``, and each answers as deployed what it does in exact arithmetic."""
    deployed = [side.deployed_class(x) for side in grouped]
    if deployed != [side.exact_class(x) for side in grouped]:
        return False
    first, second = (side.group_of_class[answer] for side, answer in zip(grouped, deployed, strict=True))
    return bool(first != second)


def estimated_share(grouped: Sequence[Grouped], X: Floats) -> tuple[float, tuple[float, float]]:
    """Share of inputs to which two models give different groups, with its interval."""
    group_a, group_b = (side.deployed_groups(X) for side in grouped)
    hits = int(np.count_nonzero(group_a != group_b))
    return hits / len(X), confidence_interval(hits, len(X), CONFIDENCE)


class _Share(NamedTuple):
    """The share of a box in which models differ, if the box has a volume, and between what it lies how surely."""

    value: float | None
    interval: tuple[float, float] | None
    confidence: float = 1.0

    @classmethod
    def of(
        cls,
        grouped: tuple[Grouped, Grouped],
        regions: list[Polytope] | None,
        lo: Floats,
        hi: Floats,
        samples: int,
        seed: int,
    ) -> _Share:
        """Computed from all regions if they are known and simple enough, estimated otherwise."""
        if not (np.all(np.isfinite(lo)) and np.all(np.isfinite(hi))):
            return cls(None, None)
        exact = None if regions is None else total_share(regions, lo, hi)
        if exact is not None:
            return cls(exact, (exact, exact))
        estimate = estimated_share(grouped, sample_box(lo, hi, samples, np.random.default_rng(seed)))
        return cls(*estimate, CONFIDENCE)
