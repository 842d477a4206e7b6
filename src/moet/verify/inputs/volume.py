"""Volumes of regions: exact where that is cheap, otherwise estimated with a confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.verify.polytopes import Polytope
from moet.verify.rational import Row

Floats = NDArray[np.float64]
Point = tuple[Fraction, Fraction]

CONFIDENCE = 0.99


class Share(NamedTuple):
    """Part of a domain's volume, between which bounds it is, and with what probability."""

    value: float | None
    interval: tuple[float, float] | None
    confidence: float


def total_share(regions: Sequence[Polytope], lo: Floats, hi: Floats) -> float | None:
    """Share of a box that regions without common inside make up; None if that is not cheap."""
    total = Fraction(0)
    for region in regions:
        share = exact_share(region, lo, hi)
        if share is None:
            return None
        total += share
    return float(total)


def exact_share(polytope: Polytope, lo: Floats, hi: Floats) -> Fraction | None:
    """Volume of a polytope divided by that of a bounded box around it; None if that is not cheap.

    It is cheap where the rows that cut the box involve at most two features. Features of which the box has only one
    value are left out.
    """
    extent = [Fraction(float(b)) - Fraction(float(a)) for a, b in zip(lo, hi, strict=True)]
    sides = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(polytope.lo, polytope.hi, strict=True)]
    rows = [_without_constants(row, sides, extent) for row in polytope.rows]
    rows = [row for row in rows if not _holds_everywhere(row, sides)]
    cut = sorted({k for row in rows for k, c in enumerate(row.coefficients) if c})
    if len(cut) > 2:
        return None
    share = _area(rows, cut, sides) if rows else Fraction(1)
    for k, (low, high) in enumerate(sides):
        if extent[k]:
            share *= (1 if k in cut else high - low) / extent[k]
    return share


def _without_constants(row: Row, sides: list[tuple[Fraction, Fraction]], extent: list[Fraction]) -> Row:
    constant = sum(
        (c * low for c, (low, _), e in zip(row.coefficients, sides, extent, strict=True) if not e), Fraction(0)
    )
    coefficients = [c if e else Fraction(0) for c, e in zip(row.coefficients, extent, strict=True)]
    return Row(coefficients, row.bound - constant, row.strict)


def _holds_everywhere(row: Row, sides: list[tuple[Fraction, Fraction]]) -> bool:
    least = sum(
        (c * (low if c > 0 else high) for c, (low, high) in zip(row.coefficients, sides, strict=True)), Fraction(0)
    )
    return least >= row.bound


def _area(rows: list[Row], cut: list[int], sides: list[tuple[Fraction, Fraction]]) -> Fraction:
    """Area of a rectangle cut by half-planes; a feature that is alone gets a partner of extent 1."""
    unit = (Fraction(0), Fraction(1))
    (x0, x1), (y0, y1) = [*(sides[k] for k in cut), unit, unit][:2]
    polygon = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    for row in rows:
        a, b = [*(row.coefficients[k] for k in cut), Fraction(0), Fraction(0)][:2]
        polygon = _clip(polygon, a, b, row.bound)
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return abs(sum((p[0] * q[1] - q[0] * p[1] for p, q in pairs), Fraction(0))) / 2


def _clip(polygon: list[Point], a: Fraction, b: Fraction, bound: Fraction) -> list[Point]:
    """Part of a convex polygon where a·x + b·y >= bound."""
    clipped: list[Point] = []
    for (x, y), (u, v) in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        here, there = a * x + b * y - bound, a * u + b * v - bound
        if here >= 0:
            clipped.append((x, y))
        if here * there < 0:
            t = here / (here - there)
            clipped.append((x + t * (u - x), y + t * (v - y)))
    return clipped


def confidence_interval(hits: int, n: int, confidence: float) -> tuple[float, float]:
    """Clopper-Pearson interval of a probability of which ``hits`` of ``n`` trials are known."""
    from scipy.special import betaincinv

    tail = (1.0 - confidence) / 2.0
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1.0 - tail))
    return low, high
