"""What the equations of a system do with a set in a step, or in a period of a flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.verify.loops.flowpipe.forms import Unbounded, on_box
from moet.verify.loops.flowpipe.integrate import Points, Slopes, moved, tube
from moet.verify.loops.flowpipe.picard import DEGREE, curved, last_powers
from moet.verify.systems.discrete import AffineSystem
from moet.verify.systems.equations import Algebra
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_LEAST_PARTS, _MOST_PARTS = 8, 64
"""Parts of a period in which runs bend."""

_LOST, _BY_MOTION = 0.02, 4.0
"""Share of a set that it grows by in a period, and by how much more that is than if it did not move, where runs bend
too much to be followed along straight lines."""

_CUT_OFF = 1e-4
"""What powers of time that are left out may add to a set in a part of a period, relative to its size."""

Equations = Callable[[Mapping[str, Any], Algebra], list[Any]]
"""Values for those of all names, in any kind of numbers."""

Look = Callable[[int, list[Points], Floats, Slopes | None], None]
"""Told of every part of a period: its number, both ends, how far runs are off the chord, slopes if they are known."""


class Motion:
    """Moves sets of states, parameters and controls.

    Parameters
    ----------
    system : System
    """

    def __init__(self, system: System) -> None:
        self.system, self._d = system, system.n_states
        is_flow = isinstance(system, SampledSystem)
        parameters = system.parameters if isinstance(system, SampledSystem) else {}
        self.period = system.period if isinstance(system, SampledSystem) else Fraction(1)
        self._names = [*system.states, *parameters, *system.controls]
        signals = system.signals if is_flow and isinstance(system, SampledSystem) else {}
        self._signals = {name: (float((a + b) / 2), float((b - a) / 2)) for name, (a, b) in signals.items()}
        self._disturbance = np.array(system.disturbance, np.float64)
        self._memory = system.memory if isinstance(system, SampledSystem) else {}
        self._scheduled_names = system.scheduled_names if isinstance(system, AffineSystem) else {}

    def linearise(self, low: Floats, high: Floats, step: int = 0) -> Slopes:
        """Slopes of the equations of a step on a box of states, parameters and controls."""
        equations = self.system.equations  # type: ignore[attr-defined]
        return self._slopes(equations, low, high, step)

    def _slopes(self, equations: Equations, low: Floats, high: Floats, step: int) -> Slopes:
        middle, radii = (low + high) / 2, (high - low) / 2
        forms = on_box(equations, self._names, middle, radii, self._signals | self._scheduled(step))
        rows = np.array([form.slopes for form in forms])
        return Slopes(middle, radii, rows, np.array([f.center for f in forms]), np.array([f.radius for f in forms]))

    def _scheduled(self, step: int) -> dict[str, tuple[float, float]]:
        """Middle and radius of every scheduled number in a step."""
        found = {}
        for name, entries in self.system.schedule.items():
            low, high = entries[min(step, len(entries) - 1)]
            found[self._scheduled_names.get(name, name)] = (float((low + high) / 2), float((high - low) / 2))
        return found

    def jumped(self, points: Points, step: int) -> tuple[Points, Floats]:
        """A set after a step in discrete time, and the matrix that moves it."""
        slopes = self.linearise(points.middle - points.radii, points.middle + points.radii, step)
        least, most = self._disturbance.T
        middle = slopes.values + slopes.rows @ (points.middle - slopes.middle) + (least + most) / 2
        box = slopes.rests + (most - least) / 2
        columns = np.concatenate([slopes.rows @ points.columns, np.diag(box)], axis=1)
        return Points(middle, columns, np.zeros(self._d)), slopes.rows

    def parts_along_curves(self, points: Points, step: int) -> int | None:
        """Parts of a period that is better followed along polynomials in time; None if straight lines lose little.

        They lose where a part of a period is wide because the set moves on, not because it is wide itself.
        """
        parts = _LEAST_PARTS
        if not self._bends(points, parts, step):
            return None
        size = float(points.radii[: self._d].max())
        last = float(last_powers(self._rates(step), points, float(self.period)).max())
        while last > _CUT_OFF * size * parts ** (DEGREE - 1) and parts < _MOST_PARTS:
            parts *= 2
        return parts

    def _bends(self, points: Points, parts: int, step: int) -> bool:
        radii, time = points.radii, float(self.period)
        try:
            still = self.linearise(points.middle - radii, points.middle + radii, step).rests
            rests = tube(lambda low, high: self.linearise(low, high, step), points, time / parts).rests
        except Unbounded:
            return True
        return bool(np.any((rests * time > _LOST * radii[: self._d]) & (rests > _BY_MOTION * still)))

    def flowed(self, points: Points, parts: int, step: int, curves: bool, look: Look) -> tuple[Points, Floats]:
        """A set after a period of a flow, and the matrix that moves it."""
        n, first, time = len(points.middle), points, float(self.period / parts)
        total = np.eye(n)
        for k in range(parts):
            slopes = None
            if not curves:
                slopes = tube(lambda low, high: self.linearise(low, high, step), points, time)
                ahead, bend, matrix = moved(points, slopes, time)
            else:
                ahead, bend, matrix = curved(self._rates(step), points, time)
            total = np.concatenate([matrix @ total, total[self._d :]])
            look(k, [points, ahead], bend, slopes)
            points = ahead
        if self._memory:
            points = self._remembered(first, points, total, step)
        box = np.concatenate([np.diag(points.box), np.zeros((n - self._d, self._d))])
        columns = np.concatenate([points.columns, box], axis=1)
        return Points(points.middle, columns, np.zeros(self._d)), total[: self._d]

    def _rates(self, step: int) -> Callable[[list[Any], Algebra], list[Any]]:
        """The equations of a step for values of states, parameters and controls."""
        signals = self._signals | self._scheduled(step)

        def rates(values: list[Any], algebra: Algebra) -> list[Any]:
            known = dict(zip(self._names, values, strict=True))
            known |= {name: algebra.functions["between"](*sides) for name, sides in signals.items()}
            found: list[Any] = self.system.equations(known, algebra)  # type: ignore[attr-defined]
            return found

        return rates

    def _remembered(self, first: Points, last: Points, total: Floats, step: int) -> Points:
        """The set at the end of a period, with what was said at its beginning for states that do not flow."""
        equations = self.system.remembered  # type: ignore[attr-defined]
        slopes = self._slopes(equations, first.middle - first.radii, first.middle + first.radii, step)
        places = [self.system.states.index(name) for name in self._memory]
        middle, columns, box = last.middle.copy(), last.columns.copy(), last.box.copy()
        middle[places] = slopes.values + slopes.rows @ (first.middle - slopes.middle)
        columns[places] = slopes.rows @ first.columns
        box[places] = slopes.rests
        total[places] = slopes.rows
        return Points(middle, columns, box)

    def remembered_on(
        self, sides: Floats, matrix: Floats, values: Floats, rest: Floats, bend: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """A period from a box as an affine map, with what states are that jump at its end; in between they stay."""
        slopes = self._slopes(self.system.remembered, sides[:, 0], sides[:, 1], 0)  # type: ignore[attr-defined]
        places = [self.system.states.index(name) for name in self._memory]
        matrix, values, rest, bend = matrix.copy(), values.copy(), rest.copy(), bend.copy()
        matrix[places], values[places], rest[places] = slopes.rows, slopes.values, slopes.rests
        moves = slopes.rows - np.eye(len(sides))[places]
        bend[places] = np.abs(slopes.values - slopes.middle[places]) + np.abs(moves) @ slopes.radii + slopes.rests
        return matrix, values, rest, bend
