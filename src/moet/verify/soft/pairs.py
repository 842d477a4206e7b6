"""Pairs of possible rows that share columns, as soft models answer them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from moet.model.mixture import Mixture
from moet.verify.checker.certificate import Certificate
from moet.verify.limits import Deadline
from moet.verify.rows.space import Space
from moet.verify.soft.questions import Outcome, leads, search_cases
from moet.verify.soft.search import Case, Term
from moet.verify.soft.voters import Bools, Floats, Voters


def two_rows(first: int, second: int, n_classes: int) -> Case:
    """The case that two rows are answered so: both leads together, and each row for itself.

    Voters are the two rows', and those of both where the gate cannot tell them apart.
    """
    together = (Term(2, first, second),), (Term(0, first, second), Term(1, second, first))
    return Case([*together, *leads(0, first, n_classes), *leads(1, second, n_classes)], Term(2, first, second))


def search_pairs(
    mixture: Mixture,
    space: Space,
    pairs: Sequence[tuple[int, int]],
    deadline: Deadline,
    certificate: Certificate,
    shows: Callable[[Floats], Bools],
) -> Outcome:
    """Two rows that are answered with a pair of classes; or the proof that there are none; or why that is not known."""
    voters = [Voters(mixture, space, own[0], own) for own in ([0], [1], [0, 1])]
    cases = [two_rows(a, b, len(mixture.classes)) for a, b in pairs]
    return search_cases(space, voters, cases, deadline, certificate, shows)
