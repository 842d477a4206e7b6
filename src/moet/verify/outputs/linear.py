"""Linear programs with an exact last word: floats propose multipliers and points, fractions decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from moet.verify import simplex
from moet.verify.exact import exactly, rounded
from moet.verify.polytopes import Polytope
from moet.verify.rational import ZERO, Row

Floats = NDArray[np.float64]

_FAR = 1e6
_SHARES = (0.0, *np.exp2(np.arange(-52.0, 1.0, 4.0)).tolist())


def proposal(polytope: Polytope, row: Row) -> tuple[dict[int, Fraction], Floats]:
    """Maximise a row over a polytope in floating point: multipliers that bound it, and the point.

    If there is no point, the multipliers contradict one another.
    """
    lo, hi = _finite_box(polytope)
    A, b = polytope.halfspaces()
    solution = simplex.solve(rounded(row.coefficients), -A, -b, lo, hi)
    factors = exactly(solution.multipliers.tolist())
    return dict(zip(solution.rows.tolist(), factors, strict=True)), np.clip(solution.x, lo, hi)


def settled(polytope: Polytope) -> dict[int, Fraction] | list[Fraction]:
    """A point of a polytope, or multipliers of its rows that contradict its box."""
    quick, guess = quick_contradiction(polytope)
    return polytope.decide(exactly(guess.tolist())) if quick is None else quick


def quick_contradiction(polytope: Polytope) -> tuple[dict[int, Fraction] | None, Floats]:
    """Multipliers that contradict the box, if floats find some that fractions confirm; and a point to go on from."""
    if not polytope.rows:
        return None, _finite_box(polytope)[0]
    *others, last = polytope.rows
    multipliers, guess = proposal(Polytope(polytope.lo, polytope.hi, polytope.above, tuple(others)), last)
    for candidate in (multipliers | {len(others): Fraction(1)}, multipliers):
        if contradicts(polytope, candidate):
            return candidate, guess
    return None, guess


def contradicts(polytope: Polytope, multipliers: Mapping[int, Fraction]) -> bool:
    """Whether rows times multipliers, none of them negative, contradict the box, in exact arithmetic."""
    if any(factor < 0 for factor in multipliers.values()):
        return False
    direction, bound = combined(polytope.rows, multipliers, len(polytope.lo))
    most = largest(polytope, direction)
    if most is None or most != bound:
        return most is not None and most < bound
    strict = any(factor and polytope.rows[i].strict for i, factor in multipliers.items())
    return strict or any(v < 0 and above for v, above in zip(direction, polytope.above.tolist(), strict=True))


def combined(
    rows: tuple[Row, ...], multipliers: Mapping[int, Fraction], n_features: int
) -> tuple[list[Fraction], Fraction]:
    """Coefficients and bound of rows times multipliers."""
    direction, bound = [ZERO] * n_features, ZERO
    for i, factor in multipliers.items():
        direction = [v + factor * c for v, c in zip(direction, rows[i].coefficients, strict=True)]
        bound += factor * rows[i].bound
    return direction, bound


def largest(polytope: Polytope, direction: list[Fraction]) -> Fraction | None:
    """Largest direction·x in the closed box; None if there is no bound."""
    most = ZERO
    for v, low, high in zip(direction, polytope.lo.tolist(), polytope.hi.tolist(), strict=True):
        if v:
            end = high if v > 0 else low
            if np.isinf(end):
                return None
            most += v * Fraction(end)
    return most


def upper_bound(polytope: Polytope, row: Row, multipliers: Mapping[int, Fraction]) -> Fraction | None:
    """What row·x − bound cannot exceed in a polytope, by these multipliers of its rows; None if they do not say."""
    direction, bound = combined(polytope.rows, multipliers, len(polytope.lo))
    most = largest(polytope, [a + v for a, v in zip(row.coefficients, direction, strict=True)])
    return None if most is None else most - bound - row.bound


def inputs_near(polytope: Polytope, start: Floats) -> Iterator[Floats]:
    """Inputs of a polytope's box from a point of its closure on: itself, then further and further inside."""
    low = np.where(polytope.above, np.nextafter(polytope.lo, np.inf), polytope.lo)
    middle = None
    for share in _SHARES:
        if share and middle is None:
            middle = _middle(polytope)
        inside = start if middle is None else start + share * (middle - start)
        yield np.minimum(np.maximum(inside, low), polytope.hi)


def _middle(polytope: Polytope) -> Floats:
    """A point as far inside all rows as possible, each measured by how much it varies over the box."""
    lo, hi = _finite_box(polytope)
    A, b = polytope.halfspaces()
    with np.errstate(over="ignore", invalid="ignore"):
        widths = np.abs(A) @ (hi - lo)
    depth = np.where(np.isfinite(widths), widths, 0.0)
    rows = np.column_stack([-A, depth])  # A x - depth·t >= b, and t as large as may be
    objective = np.append(np.zeros(len(lo)), 1.0)
    solution = simplex.solve(objective, rows, -b, np.append(lo, 0.0), np.append(hi, 1.0))
    return np.clip(solution.x[:-1], lo, hi)


def _finite_box(polytope: Polytope) -> tuple[Floats, Floats]:
    """The box, with numbers far out where it is open."""
    lo, hi = polytope.lo, polytope.hi
    size = np.maximum(np.where(np.isfinite(lo), np.abs(lo), 0.0), np.where(np.isfinite(hi), np.abs(hi), 0.0))
    far = _FAR * (1.0 + np.minimum(size, 1e290))
    low = np.where(np.isfinite(lo), lo, np.where(np.isfinite(hi), np.minimum(hi, -far), -far))
    return low, np.where(np.isfinite(hi), hi, np.maximum(low, far))
