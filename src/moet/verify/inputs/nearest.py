"""The nearest input with another answer."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.model.file import as_mixture, as_model, digest
from moet.model.mixture import Mixture
from moet.verify.arguments import (
    CPU_LIMIT,
    answers_with_numbers,
    check_no_tolerance,
    domain_bounds,
    has_groups,
    is_soft,
    is_sum,
    json_sides,
    known_labels,
    state,
)
from moet.verify.box import Box
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.exact import as_float, exactly
from moet.verify.inputs.agreement import Grouped
from moet.verify.inputs.closest_search import ClosestSearch
from moet.verify.inputs.distance import Norm, distance_of
from moet.verify.inputs.float_doubt import caveat_of, doubtful_share, float_band
from moet.verify.inputs.witness import GROWTH, witness_of_group
from moet.verify.limits import Deadline
from moet.verify.result import Closest, Unknown
from moet.verify.rounding import FURTHEST

Floats = NDArray[np.float64]

_TRIES = 1000


def closest(
    model: Any,
    x: ArrayLike,
    norm: Norm = "linf",
    domain: Box | None = None,
    answer: Any = None,
    *,
    tolerance: float | None = None,
    timeout: float | None = None,
    cpu_limit: float | None = CPU_LIMIT,
    seed: int = 0,
) -> Closest | Unknown:
    """Find the nearest input that a model answers otherwise than ``x``.

    The distance is that of exact arithmetic on real numbers, optimal, with a certificate that nothing is nearer; see
    :class:`Closest` about the point.

    Parameters
    ----------
    model : mixture, classifier, regressor, policy, model file or scikit-learn tree
    x : array of float, shape (n_features,), or a row of the user's table
    norm : {"linf", "l1"}
        Largest change of a feature, or sum of the changes, in raw units.
    domain : Box, optional
        Where to look; everywhere by default. ``x`` itself need not lie in it.
    answer : label, condition or list of conditions, optional
        Look for this answer rather than for any other than that of ``x``. Of a model that answers with numbers:
        conditions on its outputs such as ``"torque >= 1"``, which are all to hold.
    tolerance : float, optional
        Of a model that answers with numbers, in place of ``answer``: look for an input at which some output is off the
        one at ``x`` by more than this.
    timeout : float or None
        Seconds of the wall clock after which the answer is Unknown; no limit by default.
    cpu_limit : float or None
        Seconds of CPU time after which the answer is Unknown.
    seed : int
        Seed of the random search for a first upper bound.

    References
    ----------
    - Wachter, S., B. Mittelstadt, C. Russell. *Counterfactual Explanations Without Opening the Black Box.* Harvard
      Journal of Law & Technology 31, 2018.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet import verify
    >>> found = verify.closest(model, [1, 1])
    >>> float(found.distance), found.answer
    (1.0, 'down')
    """
    deadline = Deadline(timeout, cpu_limit)
    if norm not in get_args(Norm):
        raise InputError(f"norm must be one of {', '.join(get_args(Norm))}, got {norm!r}")
    if answers_with_numbers(model := as_model(model)):
        from moet.verify.outputs.nearest import closest_outputs

        return closest_outputs(model, x, norm, domain, answer, tolerance, deadline, seed)
    mixture = as_mixture(model)
    check_no_tolerance(tolerance)
    start = state(x, mixture)
    wanted_label = None if answer is None else known_labels([answer], [mixture])[0]
    if has_groups(mixture) or (is_soft(mixture) and mixture.schema is not None):
        from moet.verify.rows.nearest import closest_row

        return closest_row(mixture, start, norm, domain, wanted_label, deadline, seed)
    lo, hi = domain_bounds(domain, mixture)
    if is_sum(mixture):
        from moet.verify.sums.cheapest import closest_sum

        return closest_sum(mixture, start, norm, lo, hi, wanted_label, deadline, seed)
    if is_soft(mixture):
        from moet.verify.inputs.soft import closest_soft

        return closest_soft(mixture, start, norm, lo, hi, wanted_label, deadline, seed)
    return _closest_hard(mixture, start, norm, lo, hi, wanted_label, deadline, seed)


def _closest_hard(
    mixture: Mixture, start: Floats, norm: Norm, lo: Floats, hi: Floats, label: Any, deadline: Deadline, seed: int
) -> Closest | Unknown:
    """Search the regions of a hard mixture for the nearest one with the label, or with any other than at the start."""
    if deadline.passed:
        return Unknown(reason=deadline.reason)
    wanted = _wanted_classes(mixture, start, lo, hi, label)
    search = ClosestSearch(Grouped(mixture, wanted, lo, hi), start, norm, lo, hi, deadline, seed)
    band = float_band([mixture], lo, hi)
    if not search.run():
        return Unknown(reason=deadline.reason, band=band, effort=search.effort)
    claim = {
        "model": digest(mixture),
        "lo": json_sides(lo),
        "hi": json_sides(hi),
        "point": start.tolist(),
        "norm": norm,
        "answer": label,
        "distance": None if search.best is None else str(search.best),
    }
    certificate = Certificate("closest", claim)
    search.write_proof(certificate)
    if search.best is None:
        return confirmed(nowhere(certificate=certificate, band=band, effort=search.effort), mixture, deadline=deadline)
    assert search.winner is not None
    point = witness_of_group(search.grouped, start, norm, search.best, lo, hi, deadline).find(*search.winner)
    if point is None:
        return Unknown(
            reason=f"in exact arithmetic the distance is {as_float(search.best):.17g}, but within {1 + GROWTH[-1]:g} "
            "times that no float64 input was found that has the answer both in exact arithmetic and as deployed",
            band=band,
            effort=search.effort,
        )
    X = near_inputs(start, norm, search.best, lo, hi, seed)
    found = Closest(
        distance=round_down(search.best),
        exact_distance=search.best,
        point=point,
        point_distance=-round_down(-distance_of(exactly(start.tolist()), exactly(point.tolist()), norm)),
        answer=mixture.predict(point[None, :]).tolist()[0],
        certificate=certificate,
        band=band,
        caveats=caveat_of(doubtful_share([search.grouped], X)),
        effort=search.effort,
    )
    return confirmed(found, mixture, deadline=deadline)


def nowhere(**parts: Any) -> Closest:
    """No input has the answer."""
    return Closest(distance=math.inf, exact_distance=None, point=None, point_distance=math.inf, answer=None, **parts)


def _wanted_classes(mixture: Mixture, start: Floats, lo: Floats, hi: Floats, label: Any) -> NDArray[np.int64]:
    """For every class, whether it is looked for: the label, or all but the class of the start."""
    labels = mixture.classes.tolist()
    if label is not None:
        return np.array([int(known == label) for known in labels])
    own = Grouped(mixture, np.arange(len(labels)), lo, hi).exact_group(start)
    return np.array([int(k != own) for k in range(len(labels))])


def near_inputs(x: Floats, norm: Norm, distance: Fraction, lo: Floats, hi: Floats, seed: int) -> Floats:
    """Random inputs of the domain that are nearer than a distance, uniformly but for the sides of the domain."""
    rng = np.random.default_rng(seed)
    if norm == "linf":
        moves = rng.uniform(-1.0, 1.0, (_TRIES, len(x)))
    else:
        moves = rng.dirichlet(np.ones(len(x) + 1), _TRIES)[:, :-1] * rng.choice([-1.0, 1.0], (_TRIES, len(x)))
    return np.clip(x + min(as_float(distance), FURTHEST) * moves, lo, hi)


def robustness_radius(
    model: Any,
    x: ArrayLike,
    norm: Norm = "linf",
    domain: Box | None = None,
    *,
    tolerance: float | None = None,
    timeout: float | None = None,
    cpu_limit: float | None = CPU_LIMIT,
    seed: int = 0,
) -> float | Unknown:
    """Radius of the largest open ball around ``x`` with a single answer: the distance of :func:`closest`.

    Of a model that answers with numbers: in which no output is off the one at ``x`` by more than ``tolerance``.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet import verify
    >>> verify.robustness_radius(model, [1, 1])
    1.0
    """
    found = closest(model, x, norm, domain, tolerance=tolerance, timeout=timeout, cpu_limit=cpu_limit, seed=seed)
    return found if isinstance(found, Unknown) else found.distance


def round_down(value: Fraction) -> float:
    """The largest float64 number that is not above."""
    rounded = as_float(value)
    return rounded if Fraction(rounded) <= value else math.nextafter(rounded, -math.inf)
