"""Steps in discrete time, and what is remembered from look to look, of sets. Standard library only."""

from __future__ import annotations

from moet.verify.checker.documents.dynamics import Sides
from moet.verify.checker.loops.flowpipe.integrate import slopes_on
from moet.verify.checker.loops.flowpipe.program import AffineProgram, Program
from moet.verify.checker.loops.flowpipe.sets import Columns, Zonotope, diagonal, mapped, whole
from moet.verify.checker.meter import Meter


def jumped(program: Program | AffineProgram, points: Zonotope, disturbance: Sides, meter: Meter) -> Zonotope:
    """One step in discrete time."""
    middle, columns, rests = _image(program, points, meter)
    added = [(whole((a + b) / 2), whole((b - a) / 2) + 2) for a, b in disturbance]
    ahead = [m + a for m, (a, _) in zip(middle, added, strict=True)]
    box = [r + b for r, (_, b) in zip(rests, added, strict=True)]
    return Zonotope(ahead, columns + diagonal(box, len(disturbance)))


def remembered(
    program: Program, places: list[int], first: Zonotope, last: Zonotope, box: list[int], meter: Meter
) -> tuple[Zonotope, list[int]]:
    """The set at the end of a period, with what was said at its beginning for states that do not flow."""
    middle, columns, rests = _image(program, first, meter)
    ahead, moved_columns, box = list(last.middle), [list(column) for column in last.columns], list(box)
    for j, place in enumerate(places):
        ahead[place] = middle[j]
        box[place] = rests[j]
        for column, said in zip(moved_columns, columns, strict=True):
            column[place] = said[j]
    return Zonotope(ahead, moved_columns), box


def _image(program: Program | AffineProgram, points: Zonotope, meter: Meter) -> tuple[list[int], Columns, list[int]]:
    """Middle and columns of what equations make of a set, and how far it may be off."""
    low = [m - r for m, r in zip(points.middle, points.radii, strict=True)]
    high = [m + r for m, r in zip(points.middle, points.radii, strict=True)]
    slopes, _ = slopes_on(program, low, high, meter)
    away = Zonotope([a - b for a, b in zip(points.middle, slopes.middle, strict=True)], points.columns)
    middle, columns, loss = mapped(slopes.rows, away, meter)
    ahead = [m + v for m, v in zip(middle, slopes.values, strict=True)]
    return ahead, columns, [rest + loss for rest in slopes.rests]
