"""Whether soft models ever give some answers to possible rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.verify.checker.certificate import Certificate
from moet.verify.limits import Deadline
from moet.verify.rows.space import Space
from moet.verify.soft.search import TIED, Case, Goal, SoftSearch, Term
from moet.verify.soft.voters import Bools, Floats, Voters

Outcome = tuple[Floats | str | None, dict[str, float]]
"""A point that shows it, or why that is not known, or None: there is none; and the effort."""


def leads(voters: int, answer: int, n_classes: int) -> list[Goal]:
    """The leads of a class over all others."""
    return [(Term(voters, answer, rival),) for rival in range(n_classes) if rival != answer]


def one_row(answer: int, n_classes: int) -> Case:
    """The case that a row is answered so."""
    return Case(leads(0, answer, n_classes))


def search_soft(
    mixture: Mixture,
    space: Space,
    forbidden: NDArray[np.int64],
    deadline: Deadline,
    certificate: Certificate,
    shows: Callable[[Floats], Bools],
) -> Outcome:
    """A possible row that is answered with a forbidden class; or the proof that there is none."""
    cases = [one_row(answer, len(forbidden)) for answer in np.flatnonzero(forbidden).tolist()]
    return search_cases(space, [Voters(mixture, space, 0, [0])], cases, deadline, certificate, shows)


def search_cases(
    space: Space,
    voters: Sequence[Voters],
    cases: Sequence[Case],
    deadline: Deadline,
    certificate: Certificate,
    shows: Callable[[Floats], Bools],
) -> Outcome:
    """Look for a point in one case after another; the proof that there is none is appended to a certificate."""
    bodies, reason = 0, None
    for case in cases:
        search = SoftSearch(space, voters, case, shows, deadline)
        z = search.run(np.inf)
        bodies += search.bodies
        effort = {"boxes": bodies, "seconds": deadline.seconds}
        if z is not None:
            return z, effort
        if search.reason is not None:
            return search.reason, effort
        if search.stuck:
            reason = TIED
        else:
            search.tree.write(certificate)
    return reason, {"boxes": bodies, "seconds": deadline.seconds}
