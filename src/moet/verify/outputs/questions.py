"""Whether outputs meet conditions, and whether two models answer with nearly the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.file import digest
from moet.model.regression.mixture import RegressionMixture
from moet.verify.arguments import check_same_features, domain_bounds, json_sides, listed, parts_of_one_sign
from moet.verify.box import Box
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.exact import exactly
from moet.verify.inputs.float_doubt import (
    MOST_DOUBTFUL,
    caveat_of,
    doubtful_gates,
    float_band,
    most_doubtful,
    too_doubtful,
)
from moet.verify.inputs.sampling import sample_inputs, tested_box
from moet.verify.limits import Deadline, Stopped
from moet.verify.outputs.case_rows import Wanted, holds
from moet.verify.outputs.laws import Laws, hard_laws, used_features
from moet.verify.outputs.possible import PIECE, Division, Possible
from moet.verify.outputs.search import NowhereSearch, float_inputs
from moet.verify.rational import ZERO, Row
from moet.verify.result import Proved, Refuted, Unknown
from moet.verify.rounding import OVERFLOW, may_overflow
from moet.verify.systems.conditions import HalfSpace, half_spaces

Floats = NDArray[np.float64]

TRIES = 1000


def conditions_on_outputs(conditions: Any, outputs: Sequence[str]) -> list[HalfSpace]:
    """Read conditions such as ``"torque <= 1.5"``, of which all are meant."""
    one = isinstance(conditions, str | HalfSpace) or not isinstance(conditions, Iterable)
    given = [conditions] if one else list(conditions)
    expected = f"this model answers with numbers ({listed(outputs)}): ask for conditions on them"
    if not all(isinstance(part, str | HalfSpace) for part in given):
        raise InputError(f'{expected}, such as "{outputs[0]} <= 1", got {conditions!r}')
    try:
        found = list(half_spaces(given, outputs))
    except InputError as error:
        raise InputError(f"{expected}; {error}") from None
    if not found:
        raise InputError(f'name at least one condition on {listed(outputs)}, such as "{outputs[0]} <= 1"')
    return found


def always_outputs(
    model: Any, domain: Box | None, conditions: Any, deadline: Deadline, seed: int
) -> Proved | Refuted | Unknown:
    """Answer :func:`moet.verify.always` for a model that answers with numbers."""
    mixture = hard_laws(model)
    lo, hi = domain_bounds(domain, mixture)
    possible = Possible(mixture, domain)
    wanted = conditions_on_outputs(conditions, mixture.outputs)
    exact = Laws(mixture, lo, hi, rounded=False)

    def is_missed(outputs: Sequence[Fraction]) -> bool:
        return any(half.value(outputs) > half.bound for half in wanted)

    def refutes(x: Floats) -> bool:
        deployed = deployed_outputs(mixture, x) if x in possible else None
        return deployed is not None and is_missed(exactly(deployed)) and is_missed(exact.answer(exactly(x.tolist())))

    if deadline.passed:
        return Unknown(reason=deadline.reason)
    for x in first_inputs([mixture], possible, lo, hi, seed):
        if refutes(x):
            return refuted(x, [mixture], {"seconds": deadline.seconds})
    return prove_bounds(mixture, wanted, possible, lo, hi, deadline, refutes)


def first_inputs(
    mixtures: Sequence[RegressionMixture], possible: Possible, lo: Floats, hi: Floats, seed: int
) -> Floats:
    """Random inputs to try before anything is searched."""
    rng = np.random.default_rng(seed)
    return sample_inputs(mixtures, lo, hi, TRIES, rng) if possible.are_all else possible.sample(TRIES, rng)


def prove_bounds(
    mixture: RegressionMixture,
    conditions: Sequence[HalfSpace],
    possible: Possible,
    lo: Floats,
    hi: Floats,
    deadline: Deadline,
    refutes: Callable[[Floats], bool],
) -> Proved | Refuted | Unknown:
    """Prove that what is deployed meets conditions on its outputs, or find an input that ``refutes`` it."""
    if may_overflow(mixture.gate_weights, mixture.gate_bias, lo, hi):
        return Unknown(reason=OVERFLOW, effort={"seconds": deadline.seconds})
    claim = {
        "model": digest(mixture),
        "lo": json_sides(lo),
        "hi": json_sides(hi),
        "conditions": [half.document() for half in conditions],
    }
    certificate = Certificate("bounds", claim)
    missed = [[Row(half.coefficients, half.bound, True)] for half in conditions]
    used = used_features(mixture)

    def searches(low: Floats, high: Floats, records: Certificate) -> Iterator[NowhereSearch]:
        for part in parts_of_one_sign(mixture, used, low, high):
            sides = [Laws(mixture, *part, rounded=True)]
            yield NowhereSearch(sides, missed, *part, deadline, records, possible.rows)

    outcome = run_pieces(searches, refutes, possible, lo, hi, certificate)
    effort = {**outcome.effort, "seconds": deadline.seconds}
    if outcome.point is not None:
        return refuted(outcome.point, [mixture], effort)
    if outcome.timed_out:
        return Unknown(reason=deadline.reason, effort=effort)
    if outcome.unseen:
        return Unknown(
            reason=f"in {outcome.unseen} region(s) a condition may be missed, but only within the rounding errors of "
            "float64, or at numbers that float64 lacks: no input was found that misses it in exact arithmetic and as "
            "deployed, and none is ruled out. Ask for a little less",
            effort=effort,
        )
    return confirmed(Proved(certificate=certificate, effort=effort), mixture, deadline=deadline)


def equivalent_outputs(
    a: Any, b: Any, domain: Box | None, tolerance: Any, deadline: Deadline, seed: int
) -> Proved | Refuted | Unknown:
    """Answer :func:`moet.verify.equivalent` for models that answer with numbers."""
    pair = comparable_laws(a, b)
    most = a_tolerance(tolerance)
    lo, hi = domain_bounds(domain, pair[0])
    possible = Possible(pair[0], domain)
    apart_at, sides = deployed_apart(pair, most, lo, hi)

    def differ(x: Floats) -> bool:
        return x in possible and apart_at(x)

    band = float_band(pair, lo, hi)
    if deadline.passed:
        return Unknown(reason=deadline.reason, band=band)
    X = first_inputs(pair, possible, lo, hi, seed)
    for x in X:
        if differ(x):
            return refuted(x, pair, {"seconds": deadline.seconds}, band)
    claim = {
        "models": [digest(mixture) for mixture in pair],
        "lo": json_sides(lo),
        "hi": json_sides(hi),
        "tolerance": str(most),
    }
    certificate = Certificate("tolerance", claim)
    alternatives = apart(pair[0].n_outputs, most)

    def searches(low: Floats, high: Floats, records: Certificate) -> Iterator[NowhereSearch]:
        yield NowhereSearch(sides, alternatives, low, high, deadline, records, possible.rows)

    outcome = run_pieces(searches, differ, possible, lo, hi, certificate)
    effort = {**outcome.effort, "seconds": deadline.seconds}
    if outcome.point is not None:
        return refuted(outcome.point, pair, effort, band)
    if outcome.timed_out:
        return Unknown(reason=deadline.reason, band=band, effort=effort)
    if outcome.unseen:
        return Unknown(
            reason=f"the models differ by more than {float(most):g} in exact arithmetic, but only in {outcome.unseen} "
            "region(s) so thin that no float64 input was found that shows it",
            band=band,
            effort=effort,
        )
    doubtful = max(doubtful_gates(mixture, X) for mixture in pair)
    if doubtful > MOST_DOUBTFUL:
        return Unknown(reason=too_doubtful(doubtful), band=band, effort=effort)
    caveats = caveat_of(doubtful, most_doubtful(pair, *tested_box(pair, lo, hi)))
    found = Proved(certificate=certificate, band=band, effort=effort, caveats=caveats)
    return confirmed(found, *pair, deadline=deadline)


def comparable_laws(a: Any, b: Any) -> tuple[RegressionMixture, RegressionMixture]:
    """Two hard mixtures of laws, if they are about the same features and outputs."""
    pair = hard_laws(a), hard_laws(b)
    check_same_features(*pair)
    if pair[0].schema != pair[1].schema:
        raise InputError("the models are about tables of other columns: fit both to the same ones")
    if pair[0].outputs != pair[1].outputs:
        raise InputError(f"the models have different outputs: {listed(pair[0].outputs)} and {listed(pair[1].outputs)}")
    return pair


def deployed_apart(
    pair: Sequence[RegressionMixture], tolerance: Fraction, lo: Floats, hi: Floats
) -> tuple[Callable[[Floats], bool], list[Laws]]:
    """Whether two models are apart at an input, in exact arithmetic and as deployed; and their laws."""
    sides = [Laws(mixture, lo, hi, rounded=False) for mixture in pair]

    def differ(x: Floats) -> bool:
        first, second = (deployed_outputs(mixture, x) for mixture in pair)
        if first is None or second is None or not _are_apart(exactly(first), exactly(second), tolerance):
            return False
        one, other = (side.answer(exactly(x.tolist())) for side in sides)
        return _are_apart(one, other, tolerance)

    return differ, sides


class Outcome(NamedTuple):
    """How a search ended: an input that shows what it looked for, regions where no such input was found, or late."""

    point: Floats | None
    unseen: int
    timed_out: bool
    effort: dict[str, float]
    division: Division | None = None


def run(search: NowhereSearch, shows: Callable[[Floats], bool], possible: Possible | None = None) -> Outcome:
    """Let a search go through all regions, or up to the first input that ``shows`` what it looks for.

    It also ends where a region has an input that is no possible row, and a division that leaves it out.
    """
    unseen = 0
    try:
        for found in search.violations():
            near = float_inputs(found)
            rows = near if possible is None else (possible.nearest(x) for x in near)
            point = next((x for x in rows if shows(x)), None)
            if point is not None:
                return Outcome(point, unseen, False, search.effort)
            division = None if possible is None else possible.division(found.point, *search.box)
            if division is not None:
                return Outcome(None, unseen, False, search.effort, division)
            unseen += 1
    except Stopped:
        return Outcome(None, unseen, True, search.effort)
    return Outcome(None, unseen, False, search.effort)


def run_pieces(
    searches: Callable[[Floats, Floats, Certificate], Iterator[NowhereSearch]],
    shows: Callable[[Floats], bool],
    possible: Possible,
    lo: Floats,
    hi: Floats,
    certificate: Certificate,
) -> Outcome:
    """Run the searches of a box; where they find what is no possible row, those of its parts."""
    effort: dict[str, float] = {}
    unseen = 0
    stack = [(lo, hi)]
    while stack:
        low, high = stack.pop()
        records = certificate if possible.are_all else Certificate(certificate.kind, {})
        division = None
        for search in searches(low, high, records):
            outcome = run(search, shows, possible)
            effort = {name: effort.get(name, 0) + n for name, n in outcome.effort.items()}
            if outcome.point is not None or outcome.timed_out:
                return outcome._replace(effort=effort)
            unseen, division = unseen + outcome.unseen, outcome.division
            if division is not None:
                break
        if division is not None:
            division.write(certificate)
            stack += reversed(division.parts(low, high))
        elif not possible.are_all:
            certificate.add(bytes([PIECE]))
            certificate.append(records)
    return Outcome(None, unseen, False, effort)


def deployed_outputs(mixture: RegressionMixture, x: Floats) -> list[float] | None:
    """What the deployed predictor answers; None where it overflows, or its gate may."""
    if may_overflow(mixture.gate_weights, mixture.gate_bias, x, x):
        return None
    try:
        return mixture.predict(x[None, :])[0].tolist()
    except InputError:
        return None


def a_tolerance(value: Any) -> Fraction:
    """A tolerance as the number that was given."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < np.inf:
        raise InputError(f"tolerance must be a number, at least 0, in units of the outputs, got {value!r}")
    return value if isinstance(value, Fraction) else Fraction(float(value))


def refuted(
    x: Floats, mixtures: Sequence[RegressionMixture], effort: dict[str, float], band: float | None = None
) -> Refuted:
    """A counterexample, with the outputs of the models by name."""
    answers = tuple(
        dict(zip(mixture.outputs, mixture.predict(x[None, :])[0].tolist(), strict=True)) for mixture in mixtures
    )
    schema = mixtures[0].schema
    rows = () if schema is None else (schema.row(x),)
    return Refuted(point=x, answers=answers, effort=effort, band=band, rows=rows)


def apart(n_outputs: int, tolerance: Fraction) -> list[Wanted]:
    """One output of one model is larger than that of the other by more than the tolerance."""
    rows: list[Wanted] = []
    for o in range(n_outputs):
        for sign in (1, -1):
            unit = [Fraction(sign) if k == o else ZERO for k in range(n_outputs)]
            rows.append([Row([*unit, *(-c for c in unit)], tolerance, True)])
    return rows


def _are_apart(first: Sequence[Fraction], second: Sequence[Fraction], tolerance: Fraction) -> bool:
    return any(abs(u - w) > tolerance for u, w in zip(first, second, strict=True))


def meets(wanted: Sequence[Wanted], outputs: Sequence[Fraction]) -> bool:
    """Whether outputs satisfy all conditions of one of the alternatives."""
    return any(
        all(holds(row, sum((c * u for c, u in zip(row.coefficients, outputs, strict=True)), ZERO)) for row in rows)
        for rows in wanted
    )
