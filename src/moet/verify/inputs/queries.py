"""Questions about single inputs: whether the answer is always one of some, and whether two models agree."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.file import as_mixture, as_model, digest
from moet.model.mixture import Mixture
from moet.verify.arguments import (
    CPU_LIMIT,
    answers_with_numbers,
    check_no_tolerance,
    common_groups,
    comparable,
    domain_bounds,
    has_groups,
    is_soft,
    is_sum,
    json_sides,
    known_labels,
    listed,
    parts_of_one_sign,
    used_by_gate,
)
from moet.verify.box import Box
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.inputs.agreement import AgreementSearch, Grouped
from moet.verify.inputs.float_doubt import (
    MOST_DOUBTFUL,
    caveat_of,
    doubtful_share,
    float_band,
    most_doubtful,
    too_doubtful,
)
from moet.verify.inputs.sampling import sample_inputs, tested_box
from moet.verify.limits import Deadline
from moet.verify.result import Proved, Refuted, Unknown
from moet.verify.rounding import LARGEST_SIZE, OVERFLOW, logit_errors, may_overflow

Floats = NDArray[np.float64]

_TRIES = 1000


def always(
    model: Any,
    domain: Box | None = None,
    answers: Iterable[Any] = (),
    *,
    timeout: float | None = None,
    cpu_limit: float | None = CPU_LIMIT,
    seed: int = 0,
) -> Proved | Refuted | Unknown:
    """Ask whether a model answers every input of a box with one of the given labels, or with such numbers.

    A proof covers the model as it is deployed: the gate computes in float64, so every expert counts whose logit comes
    within rounding of the largest. Where a side of the box is open, it covers all inputs whose logits do not overflow.

    Parameters
    ----------
    model : mixture, classifier, regressor, policy, model file or scikit-learn tree
    domain : Box, optional
        All inputs by default.
    answers : labels, condition or list of conditions
        The permitted ones. Of a model that answers with numbers: linear conditions on its outputs, such as
        ``"torque <= 1.5"`` or ``["-1 <= left + right", "left <= 0.5"]``, which all have to hold.
    timeout : float or None
        Seconds of the wall clock after which the answer is Unknown; no limit by default.
    cpu_limit : float or None
        Seconds of CPU time after which the answer is Unknown.
    seed : int
        Seed of the random search for a counterexample.

    References
    ----------
    - Farkas, J. *Theorie der einfachen Ungleichungen.* Journal für die reine und angewandte Mathematik 124, 1902.

    Examples
    --------
    >>> from moet import RegressionMixture, RegressionTree, verify
    >>> law = RegressionTree.leaf([0.5], slope=[[2.0, -1.0]])
    >>> brake = RegressionMixture([[0.0, 0.0]], [0.0], [law], ["torque"], feature_names=["angle", "speed"])
    >>> bool(verify.always(brake, verify.Box(angle=(-1, 1), speed=(0, 1)), "torque <= 2.6"))
    True
    """
    deadline = Deadline(timeout, cpu_limit)
    if answers_with_numbers(model := as_model(model)):
        from moet.verify.outputs.questions import always_outputs

        return always_outputs(model, domain, answers, deadline, seed)
    mixture = as_mixture(model)
    permitted = known_labels(answers, [mixture])
    if not permitted:
        raise InputError(f"name at least one permitted answer; the model has {listed(mixture.classes)}")
    if is_sum(mixture) and mixture.schema is None:
        from moet.verify.sums.questions import always_sum

        return always_sum(mixture, domain, permitted, deadline, seed)
    if has_groups(mixture) or (is_soft(mixture) and mixture.schema is not None):
        from moet.verify.rows.questions import always_rows

        return always_rows(mixture, domain, permitted, deadline, seed)
    lo, hi = domain_bounds(domain, mixture)
    if is_soft(mixture):
        from moet.verify.inputs.soft import always_soft

        return always_soft(mixture, lo, hi, permitted, deadline)
    return _always_hard(mixture, permitted, lo, hi, deadline, seed)


def _always_hard(
    mixture: Mixture, permitted: list[Any], lo: Floats, hi: Floats, deadline: Deadline, seed: int
) -> Proved | Refuted | Unknown:
    """Answer :func:`always` for a hard model: some inputs are tried, then all are searched, one sign of them a time."""
    forbidden = np.array([int(label not in permitted) for label in mixture.classes.tolist()])
    if deadline.passed:
        return Unknown(reason=deadline.reason)
    X = sample_inputs([mixture], lo, hi, _TRIES, np.random.default_rng(seed))
    deployed = Grouped(mixture, forbidden, lo, hi)
    for x in X[deployed.deployed_groups(X) == 1]:
        if deployed.deployed_group(x) == 1:
            return _refuted(x, [mixture], {"seconds": deadline.seconds})
    if may_overflow(mixture.gate_weights, mixture.gate_bias, lo, hi):
        return Unknown(reason=OVERFLOW, effort={"seconds": deadline.seconds})

    claim = {"model": digest(mixture), "lo": json_sides(lo), "hi": json_sides(hi), "answers": permitted}
    certificate = Certificate("always", claim)
    nothing_forbidden = Grouped.constant(mixture.n_features, group=0)
    effort: dict[str, float] = {}
    by_rounding_only = 0
    for part_lo, part_hi in parts_of_one_sign(mixture, used_by_gate(mixture), lo, hi):
        errors = logit_errors(mixture.gate_weights, mixture.gate_bias, part_lo, part_hi)
        sides = Grouped(mixture, forbidden, part_lo, part_hi, errors), nothing_forbidden
        search = AgreementSearch(
            sides, part_lo, part_hi, deadline, lambda x, _: deployed.deployed_group(x) == 1, certificate
        )
        for region in search.disagreements():
            if region.point is not None:
                return _refuted(region.point, [mixture], _total(effort, search.effort, deadline))
            by_rounding_only += 1
        effort = _total(effort, search.effort, deadline)
        if search.timed_out:
            return Unknown(reason=deadline.reason, effort=effort)
    if by_rounding_only:
        return Unknown(
            reason=f"in {by_rounding_only} region(s) another answer is possible only within the rounding error of the "
            "gate, or only at numbers that float64 lacks: no input was found that shows it, and none is ruled out",
            effort=effort,
        )
    found = Proved(certificate=certificate, effort=effort, caveats=_reach(mixture, lo, hi))
    return confirmed(found, mixture, deadline=deadline)


def equivalent(
    a: Any,
    b: Any,
    domain: Box | None = None,
    classes: Iterable[Any] | float | None = None,
    *,
    tolerance: float | None = None,
    timeout: float | None = None,
    cpu_limit: float | None = CPU_LIMIT,
    seed: int = 0,
) -> Proved | Refuted | Unknown:
    """Ask whether two models give the same answer, or nearly the same numbers, to every input of a box.

    The models are compared in exact arithmetic on real numbers, the first of equal logits winning: two different gates
    never agree to the last bit where their experts meet. The verdict's ``band`` says how close two logits must be for
    float64 arithmetic to possibly choose otherwise. A counterexample differs in exact arithmetic *and* as deployed.

    Parameters
    ----------
    a, b : mixture, classifier, regressor, policy, model file or scikit-learn tree
    domain : Box, optional
        All inputs by default.
    classes : labels, optional
        Compare the models with respect to these classes only: for each of them, one model answers it where the other
        does. All classes by default. Models that answer with numbers have none: there a number in this place is the
        tolerance.
    tolerance : float, optional
        Of models that answer with numbers: by how much an output of one may be off that of the other. 0 by default.
    timeout : float or None
        Seconds of the wall clock after which the answer is Unknown; no limit by default.
    cpu_limit : float or None
        Seconds of CPU time after which the answer is Unknown.
    seed : int
        Seed of the random search for a counterexample.

    References
    ----------
    - Farkas, J. *Theorie der einfachen Ungleichungen.* Journal für die reine und angewandte Mathematik 124, 1902.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet import verify
    >>> verify.equivalent(model, model).checked
    True
    """
    deadline = Deadline(timeout, cpu_limit)
    if answers_with_numbers(a := as_model(a)) and answers_with_numbers(b := as_model(b)):
        from moet.verify.outputs.questions import equivalent_outputs

        most = classes if tolerance is None else tolerance
        return equivalent_outputs(a, b, domain, 0 if most is None else most, deadline, seed)
    pair = comparable(a, b)
    check_no_tolerance(tolerance)
    if isinstance(classes, float | int):
        raise InputError(f"expected a list of labels, got {classes!r}: write [{classes!r}]")
    wanted = None if classes is None else known_labels(classes, pair)
    groups = common_groups(pair, wanted)
    from moet.verify.soft.equivalence import all_vote, equivalent_votes
    from moet.verify.sums.equivalence import are_sums, equivalent_sums

    if are_sums(pair):
        return equivalent_sums(pair, groups, wanted, domain, deadline, seed)
    if has_groups(*pair):
        from moet.verify.rows.questions import equivalent_rows

        return equivalent_rows(pair, groups, wanted, domain, deadline, seed)
    if any(map(is_soft, pair)) and all_vote(pair):
        return equivalent_votes(pair, groups, wanted, domain, deadline, seed)
    lo, hi = domain_bounds(domain, pair[0])
    if any(map(is_soft, pair)):
        from moet.verify.inputs.soft import equivalent_soft
        from moet.verify.rows.domain import only_possible

        return only_possible(equivalent_soft(pair, groups, wanted, lo, hi, deadline, seed), pair[0], domain)
    return _equivalent_hard(pair, groups, wanted, lo, hi, deadline, seed)


def _equivalent_hard(
    pair: tuple[Mixture, Mixture],
    groups: Sequence[NDArray[np.int64]],
    wanted: list[Any] | None,
    lo: Floats,
    hi: Floats,
    deadline: Deadline,
    seed: int,
) -> Proved | Refuted | Unknown:
    """Try some inputs, then search the regions of two hard mixtures for one in which they differ."""
    band = float_band(pair, lo, hi)
    if deadline.passed:
        return Unknown(reason=deadline.reason, band=band)
    grouped = Grouped(pair[0], groups[0], lo, hi), Grouped(pair[1], groups[1], lo, hi)
    X = sample_inputs(pair, lo, hi, _TRIES, np.random.default_rng(seed))
    group_a, group_b = (side.deployed_groups(X) for side in grouped)
    for x in X[group_a != group_b]:
        if differ(grouped, x):
            return _refuted(x, pair, {"seconds": deadline.seconds}, band)

    claim = {
        "models": [digest(mixture) for mixture in pair],
        "lo": json_sides(lo),
        "hi": json_sides(hi),
        "classes": wanted,
    }
    certificate = Certificate("equivalent", claim)
    search = AgreementSearch(grouped, lo, hi, deadline, lambda x, _: differ(grouped, x), certificate)
    unseen = 0
    for region in search.disagreements():
        if region.point is not None:
            return _refuted(region.point, pair, _total({}, search.effort, deadline), band)
        unseen += 1
    effort = _total({}, search.effort, deadline)
    if search.timed_out:
        return Unknown(reason=deadline.reason, band=band, effort=effort)
    if unseen:
        return Unknown(
            reason=f"the models differ in exact arithmetic, but only in {unseen} region(s) so thin that no float64 "
            "input was found that shows it",
            band=band,
            effort=effort,
        )
    doubtful = doubtful_share(grouped, X)
    if doubtful > MOST_DOUBTFUL:
        return Unknown(reason=too_doubtful(doubtful), band=band, effort=effort)
    caveats = caveat_of(doubtful, most_doubtful(pair, *tested_box(pair, lo, hi)))
    found = Proved(certificate=certificate, band=band, effort=effort, caveats=caveats)
    return confirmed(found, *pair, deadline=deadline)


def differ(grouped: Sequence[Grouped], x: Floats) -> bool:
    """Whether two models differ at ``x``, in exact arithmetic and as deployed."""
    first, second = (side.deployed_group(x) for side in grouped)
    if first == second or min(first, second) < 0:
        return False
    a, b = grouped
    return a.exact_group(x) != b.exact_group(x)


def _reach(mixture: Mixture, lo: Floats, hi: Floats) -> tuple[str, ...]:
    """How far a proof reaches along the open sides of a domain: as far as no logit overflows."""
    is_open = np.isinf(lo) | np.isinf(hi)
    used = np.any(mixture.gate_weights[:, is_open], axis=1)
    if mixture.n_experts == 1 or not np.any(used):
        return ()
    steepest = np.abs(mixture.gate_weights[:, is_open]).sum(axis=1).max()
    names = [name for name, side in zip(mixture.feature_names, is_open, strict=True) if side]
    with np.errstate(over="ignore"):
        furthest = math.floor(math.log10(min(LARGEST_SIZE / 2 / steepest, sys.float_info.max)))
    if furthest == sys.float_info.max_10_exp:
        return ()
    return (f"inputs whose logits overflow are not covered; up to 1e{furthest} in size of {listed(names)} none does",)


def _refuted(x: Floats, mixtures: Sequence[Mixture], effort: dict[str, float], band: float | None = None) -> Refuted:
    answers = tuple(mixture.predict(x[None, :]).tolist()[0] for mixture in mixtures)
    return Refuted(point=x, answers=answers, effort=effort, band=band)


def _total(before: dict[str, float], now: dict[str, float], deadline: Deadline) -> dict[str, float]:
    total = {name: before.get(name, 0) + value for name, value in now.items()}
    return total | {"seconds": deadline.seconds}
