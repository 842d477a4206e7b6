"""Further changes of a row that get an answer, each by other columns than those before it."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from moet.verify.result import Recourse, Unknown

Solve = Callable[[frozenset[str]], Recourse | Unknown]
"""The cheapest change that leaves some columns as they are."""


def other_changes(first: Recourse, solve: Solve, n: int) -> tuple[Recourse, ...]:
    """The next cheapest changes, in order, none of which changes all columns that one before it changes.

    A change that does without some column of every earlier one leaves one column of each as it is: so from every change
    that is found a branch leads on for each of its columns, and the cheapest of all branches is next.

    Parameters
    ----------
    first : Recourse
        The cheapest.
    solve : callable
        The cheapest that leaves these columns as they are.
    n : int
        How many more are wanted; fewer are returned if there are no more, or if they could not be found.
    """
    found, order, seen = [first], count(), {frozenset[str]()}
    waiting: list[tuple[float, int, frozenset[str], Recourse]] = []

    def branch(fixed: frozenset[str], columns: frozenset[str]) -> None:
        for column in sorted(columns):
            more = fixed | {column}
            if more in seen:
                continue
            seen.add(more)
            change = solve(more)
            if isinstance(change, Recourse) and change.row is not None:
                heapq.heappush(waiting, (change.cost, next(order), more, change))

    branch(frozenset(), frozenset(first.changes))
    while waiting and len(found) <= n:
        _, _, fixed, change = heapq.heappop(waiting)
        columns = frozenset(change.changes)
        covered = next((earlier for earlier in found if columns >= set(earlier.changes)), None)
        if covered is None:
            found.append(change)
        branch(fixed, columns if covered is None else frozenset(covered.changes))
    return tuple(found[1:])
