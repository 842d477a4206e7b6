"""Whether a sum of trees always answers with one of some labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.model.file import digest
from moet.model.mixture import Mixture
from moet.verify.arguments import domain_bounds, json_sides
from moet.verify.box import Box
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.inputs.sampling import sample_inputs
from moet.verify.limits import Deadline
from moet.verify.result import Proved, Refuted, Unknown
from moet.verify.rows.space import Space
from moet.verify.sums.cheapest import rows_of_box
from moet.verify.sums.forest import one_row, sum_of
from moet.verify.sums.search import search_cases

Floats = NDArray[np.float64]

_TRIES = 1000


def always_sum(
    mixture: Mixture, domain: Box | None, permitted: list[Any], deadline: Deadline, seed: int
) -> Proved | Refuted | Unknown:
    """Answer :func:`moet.verify.always` for a sum of trees without a schema, whose domain may be open."""
    lo, hi = domain_bounds(domain, mixture)
    forbidden = np.array([label not in permitted for label in mixture.classes.tolist()])

    def is_forbidden(X: Floats) -> NDArray[np.bool_]:
        return forbidden[mixture.votes(X).argmax(axis=1)]

    X = sample_inputs([mixture], lo, hi, _TRIES, np.random.default_rng(seed))
    hits = X[is_forbidden(X)]
    if len(hits):
        return _refuted(mixture, hits[0], {"seconds": deadline.seconds})
    claim = {"model": digest(mixture), "lo": json_sides(lo), "hi": json_sides(hi), "answers": permitted}
    certificate = Certificate("always", claim)
    cases = [one_row(int(c), len(forbidden)) for c in np.flatnonzero(forbidden)]
    forest = sum_of(mixture).over(Space(rows_of_box(mixture, lo, hi)))
    found = search_cases(forest, cases, lambda z: bool(is_forbidden(z[None, :])[0]), deadline, certificate, X[0])
    if found.point is not None:
        return _refuted(mixture, found.point, found.effort)
    if found.reason is not None:
        return Unknown(reason=found.reason, effort=found.effort)
    return confirmed(Proved(certificate=certificate, effort=found.effort), mixture, deadline=deadline)


def _refuted(mixture: Mixture, x: Floats, effort: dict[str, float]) -> Refuted:
    return Refuted(point=x, answers=tuple(mixture.predict(x[None, :]).tolist()), effort=effort)
