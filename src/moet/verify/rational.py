"""Linear inequalities decided exactly, strict ones included.

The simplex method in the form that SMT solvers use (Dutertre and de Moura, "A fast linear-arithmetic solver for
DPLL(T)", CAV 2006): every row is a variable with a lower bound, a point is repaired one violated bound at a time, and a
bound that cannot be repaired is explained by the bounds that stand in its way. A strict bound x > c is x >= c + δ with
an infinitesimal δ: numbers are pairs (value, multiple of δ), compared in that order.

All numbers are rational, so a verdict is a fact. It is slow (milliseconds), and meant for the cases that
floating-point arithmetic cannot decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

ZERO = Fraction(0)
Number = tuple[Fraction, Fraction]
"""value + multiple·δ"""

_GREEDY_STEPS = 50
"""So many steps, and four per variable, repair the largest violation by the variable that has most room for it, which
is quick but may cycle; then Bland's rule, which may not."""


class Row(NamedTuple):
    """coefficients·x >= bound, or > if strict."""

    coefficients: Sequence[Fraction]
    bound: Fraction
    strict: bool = False


class Side(NamedTuple):
    """A bound of one variable; the variable may not be equal to it if it is strict."""

    bound: Fraction
    strict: bool = False


def decide(
    rows: Sequence[Row],
    lower: Sequence[Side | None],
    upper: Sequence[Side | None],
    start: Sequence[Fraction] | None = None,
) -> list[Fraction] | dict[int, Fraction]:
    """Find a point of a polyhedron, or prove that it has none.

    Parameters
    ----------
    rows : sequence of Row
    lower, upper : sequences of Side or None
        Bounds of the variables; None where there is none.
    start : sequence of Fraction, optional
        A point to begin at. A good guess saves time.

    Returns
    -------
    list of Fraction
        A point that satisfies everything, or
    dict of int to Fraction
        positive multipliers of rows. The sum of these rows, multiplied, contradicts the bounds of the variables. The
        dict is empty if the bounds contradict themselves.
    """
    for low, high in zip(lower, upper, strict=True):
        if low and high and (low.bound > high.bound or (low.bound == high.bound and (low.strict or high.strict))):
            return {}
    simplex = _Simplex(rows, lower, upper, start)
    greedy = _GREEDY_STEPS + 4 * len(lower)
    while (violated := simplex.violated(by_size=greedy > 0)) is not None:
        column = simplex.widest_column(violated) if greedy > 0 else simplex.first_column(violated)
        if column is None:
            return simplex.explanation(violated)
        if not (greedy > 0 and simplex.exhausted(violated, column)):
            simplex.repair(violated, column)
        greedy -= 1
    return simplex.point()


class _Simplex:
    """Variables 0..n−1 are x, variable n + i is row i. Basic variables are linear in the others: the columns."""

    def __init__(
        self,
        rows: Sequence[Row],
        lower: Sequence[Side | None],
        upper: Sequence[Side | None],
        start: Sequence[Fraction] | None,
    ) -> None:
        self.n = len(lower)
        self.table = [list(row.coefficients) for row in rows]
        self.basic = list(range(self.n, self.n + len(rows)))
        self.columns = list(range(self.n))
        self.lower: list[Number | None] = [side and (side.bound, Fraction(side.strict)) for side in lower]
        self.lower += [(row.bound, Fraction(row.strict)) for row in rows]
        self.upper: list[Number | None] = [side and (side.bound, Fraction(-side.strict)) for side in upper]
        self.upper += [None] * len(rows)
        self.value = [self._within(k, start[k] if start else ZERO) for k in range(self.n)]
        self.value += [self._evaluate(row) for row in self.table]

    def _within(self, k: int, value: Fraction) -> Number:
        low, high, number = self.lower[k], self.upper[k], (value, ZERO)
        if low is not None and number < low:
            number = low
        if high is not None and number > high:
            number = high
        return number

    def _evaluate(self, coefficients: list[Fraction]) -> Number:
        terms = [(c, self.value[k]) for k, c in enumerate(coefficients) if c]
        return sum((c * v[0] for c, v in terms), ZERO), sum((c * v[1] for c, v in terms), ZERO)

    def violated(self, by_size: bool) -> int | None:
        """Row of the table whose variable violates a bound, or None."""
        worst: tuple[Number, int] | None = None
        first: int | None = None
        for i, variable in enumerate(self.basic):
            excess = self._excess(variable)
            if excess is None:
                continue
            if first is None or variable < self.basic[first]:
                first = i
            if worst is None or excess > worst[0]:
                worst = excess, i
        return worst[1] if by_size and worst else first

    def _excess(self, variable: int) -> Number | None:
        """How much a variable is beyond its bounds, or None."""
        value, low, high = self.value[variable], self.lower[variable], self.upper[variable]
        if low is not None and value < low:
            return low[0] - value[0], low[1] - value[1]
        if high is not None and value > high:
            return value[0] - high[0], value[1] - high[1]
        return None

    def _must_grow(self, i: int) -> bool:
        low = self.lower[self.basic[i]]
        return low is not None and self.value[self.basic[i]] < low

    def first_column(self, i: int) -> int | None:
        """Column of smallest variable that can move row ``i`` towards its bound, or None."""
        return min((j for j, _ in self._repairing(i)), key=lambda j: self.columns[j], default=None)

    def widest_column(self, i: int) -> int | None:
        """Column that can move row ``i`` furthest towards its bound, or None."""
        return max(self._repairing(i), key=lambda pair: self._reach(i, *pair), default=(None, None))[0]

    def exhausted(self, i: int, j: int) -> bool:
        """Move a column to its own bound if that does not yet bring row ``i`` to its bound; whether it was moved."""
        limit = next(limit for column, limit in self._repairing(i) if column == j)
        excess = self._excess(self.basic[i])
        assert excess is not None
        if limit is None or self._reach(i, j, limit)[1] >= excess:
            return False
        variable = self.columns[j]
        step = limit[0] - self.value[variable][0], limit[1] - self.value[variable][1]
        for r, other in enumerate(self.basic):
            self.value[other] = _add(self.value[other], self.table[r][j], step)
        self.value[variable] = limit
        return True

    def _repairing(self, i: int) -> Iterator[tuple[int, Number | None]]:
        """Columns that can move row ``i`` towards its bound, with the bound they move to."""
        grow = self._must_grow(i)
        for j, coefficient in enumerate(self.table[i]):
            if coefficient:
                variable = self.columns[j]
                limit = self.upper[variable] if (coefficient > 0) == grow else self.lower[variable]
                if limit is None or self.value[variable] != limit:
                    yield j, limit

    def _reach(self, i: int, j: int, limit: Number | None) -> tuple[bool, Number]:
        """How far a column can move row ``i``: whether without end, and if not, how far; its coefficient if so."""
        size, value = abs(self.table[i][j]), self.value[self.columns[j]]
        if limit is None:
            return True, (size, ZERO)
        room = limit[0] - value[0], limit[1] - value[1]
        sign = 1 if room > (ZERO, ZERO) else -1
        return False, (sign * size * room[0], sign * size * room[1])

    def explanation(self, i: int) -> dict[int, Fraction]:
        """Multipliers of the rows that keep row ``i`` of the table from its bound, its own included."""
        found = {
            self.columns[j] - self.n: abs(c) for j, c in enumerate(self.table[i]) if c and self.columns[j] >= self.n
        }
        if self.basic[i] >= self.n:
            found[self.basic[i] - self.n] = Fraction(1)
        return found

    def repair(self, i: int, j: int) -> None:
        """Move the variable of row ``i`` to its violated bound and swap it with column ``j``."""
        leaving, entering, pivot = self.basic[i], self.columns[j], self.table[i][j]
        target = self.lower[leaving] if self._must_grow(i) else self.upper[leaving]
        assert target is not None
        step = (target[0] - self.value[leaving][0]) / pivot, (target[1] - self.value[leaving][1]) / pivot
        for r, variable in enumerate(self.basic):
            self.value[variable] = _add(self.value[variable], self.table[r][j], step)
        self.value[leaving] = target
        self.value[entering] = _add(self.value[entering], Fraction(1), step)

        row = [-c / pivot for c in self.table[i]]
        row[j] = 1 / pivot
        self.table[i] = row
        for r, other in enumerate(self.table):
            if r != i and (factor := other[j]):
                self.table[r] = [c + factor * p if p else c for c, p in zip(other, row, strict=True)]
                self.table[r][j] = factor * row[j]
        self.basic[i], self.columns[j] = entering, leaving

    def point(self) -> list[Fraction]:
        """The x of the current values, with a number small enough for δ."""
        delta = Fraction(1)
        for variable, (value, multiple) in enumerate(self.value):
            for bound, sign in ((self.lower[variable], 1), (self.upper[variable], -1)):
                if bound is not None and (fall := sign * (bound[1] - multiple)) > 0:
                    delta = min(delta, sign * (value - bound[0]) / fall)
        return [value + multiple * delta for value, multiple in self.value[: self.n]]


def _add(number: Number, factor: Fraction, step: Number) -> Number:
    return number[0] + factor * step[0], number[1] + factor * step[1]
