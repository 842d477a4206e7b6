"""Limits that runs begin on and leave with a second derivative only: what the checker will find, in float64.

First derivatives are exact, in fractions; where they cannot be, nothing is known of them. Second derivatives are those
of the equations along themselves, as forms on a box.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.verify.loops.flowpipe.forms import FUNCTIONS, Form, Unbounded
from moet.verify.loops.flowpipe.integrate import Slopes
from moet.verify.systems.description import Side
from moet.verify.systems.equations import Algebra
from moet.verify.systems.sampled import SampledSystem

Floats = NDArray[np.float64]

_MARGIN = 1e-9
"""The checker rounds outwards, and this search does not."""


class Turning:
    """The first period of runs from the first states of a flow."""

    def __init__(self, system: SampledSystem) -> None:
        self._system = system
        held = system.parameters | system.controls | system.signals
        held |= {name: entries[0] for name, entries in system.schedule.items()}
        self._rates = [self._first_rates(box, held) for box in system.first.boxes]

    def _first_rates(self, box: Sequence[Side], held: dict[str, Side]) -> list[_Range]:
        known = {name: _Range(side) for name, side in held.items()}
        known |= {name: _Range(side) for name, side in zip(self._system.states, box, strict=True)}
        return list(self._system.equations(known, _EXACT))

    def begins_level(self, row: Sequence[Fraction]) -> bool:
        """Whether row·x surely does not rise at first."""
        return all(_is_level(row, rates) for rates in self._rates)

    def second(self, slopes: Slopes) -> list[Form | None]:
        """Second derivatives of states on a box; None of those that have none, or no bound."""
        system, zero = self._system, np.zeros(len(slopes.middle))
        names, unit = [*system.states, *system.parameters, *system.controls], np.eye(len(slopes.middle))
        known: dict[str, _Moving] = {}
        for k, name in enumerate(names):
            form = Form(float(slopes.middle[k]), unit[k], 0.0, slopes.radii)
            is_state = k < len(slopes.values)
            rate = Form(slopes.values[k], slopes.rows[k], slopes.rests[k], slopes.radii) if is_state else None
            known[name] = _Moving(form, rate)
        numbers = system.signals | {name: entries[0] for name, entries in system.schedule.items()}
        for name, (low, high) in numbers.items():
            form = Form(float((low + high) / 2), zero, float((high - low) / 2), slopes.radii)
            known[name] = _Moving(form, None, pushed=name in system.signals)

        def constant(value: Fraction) -> _Moving:
            return _Moving(Form(float(value), zero, 0.0, slopes.radii), None)

        try:
            found = system.equations(known, Algebra(constant, _MOVING))
        except Unbounded:
            return [None] * len(slopes.values)
        return [None if x.pushed else x.rate or Form(0.0, zero, 0.0, slopes.radii) for x in found]


class Beginning:
    """The boxes that one part of the first states goes through in its first period."""

    def __init__(self, turning: Turning) -> None:
        self._turning = turning
        self._tubes: list[Slopes] = []
        self._second: list[list[Form | None]] = []

    def goes_on(self, slopes: Slopes) -> None:
        """Add the box of one more step."""
        self._tubes.append(slopes)

    def falls(self, row: Sequence[Fraction]) -> bool:
        """Whether row·x surely does not rise: level at first, and with second derivatives below 0 ever since."""
        if not self._turning.begins_level(row):
            return False
        bends = [_combined(row, second) for second in self._seconds()]
        return all(bend is not None and bend.center + bend.spread <= -_MARGIN for bend in bends)

    def missing(self, row: Sequence[Fraction]) -> Form | None:
        """The second derivative that keeps row·x from falling, if it is level at first and nothing else does."""
        if not self._turning.begins_level(row):
            return None
        return _combined(row, self._seconds()[-1])

    def _seconds(self) -> list[list[Form | None]]:
        self._second += [self._turning.second(slopes) for slopes in self._tubes[len(self._second) :]]
        return self._second


def _is_level(row: Sequence[Fraction], rates: Sequence[_Range]) -> bool:
    sides = [(a, rate.side) for a, rate in zip(row, rates, strict=True) if a]
    return all(side is not None for _, side in sides) and sum(max(a * x for x in side or ()) for a, side in sides) <= 0


def _combined(row: Sequence[Fraction], forms: Sequence[Form | None]) -> Form | None:
    used = [None if form is None else _multiple(form, float(a)) for a, form in zip(row, forms, strict=True) if a]
    known = [form for form in used if form is not None]
    return sum(known[1:], known[0]) if len(known) == len(used) and used else None


class _Range:
    """Least and largest value in fractions; None where they cannot be known exactly."""

    def __init__(self, side: Side | None) -> None:
        self.side = side

    @property
    def is_zero(self) -> bool:
        return self.side is not None and not any(self.side)

    def __neg__(self) -> _Range:
        return _Range(None if self.side is None else (-self.side[1], -self.side[0]))

    def __add__(self, other: _Range) -> _Range:
        if self.side is None or other.side is None:
            return _Range(None)
        return _Range((self.side[0] + other.side[0], self.side[1] + other.side[1]))

    def __sub__(self, other: _Range) -> _Range:
        return self + -other

    def __mul__(self, other: _Range) -> _Range:
        if self.is_zero or other.is_zero:
            return _Range((Fraction(0), Fraction(0)))
        if self.side is None or other.side is None:
            return _Range(None)
        products = [a * b for a in self.side for b in other.side]
        return _Range((min(products), max(products)))

    def __truediv__(self, other: _Range) -> _Range:
        return _zero_at_zero(self)

    def __pow__(self, exponent: int) -> _Range:
        found = self
        for _ in range(exponent - 1):
            found = found * self
        return found


def _zero_at_zero(x: _Range) -> _Range:
    return x if x.is_zero else _Range(None)


def _unknown(*arguments: _Range) -> _Range:
    return _Range(None)


_EXACT = Algebra(
    lambda value: _Range((value, value)),
    dict.fromkeys(FUNCTIONS, _unknown) | dict.fromkeys(("sin", "tan", "abs"), _zero_at_zero),
)


class _Moving:
    """A form and its derivative: None if that is 0, and ``pushed`` if there is none."""

    def __init__(self, value: Form, rate: Form | None, pushed: bool = False) -> None:
        self.value, self.rate, self.pushed = value, rate, pushed

    def __neg__(self) -> _Moving:
        return _Moving(-self.value, None if self.rate is None else -self.rate, self.pushed)

    def __add__(self, other: _Moving) -> _Moving:
        return self._with(other, self.value + other.value, self.rate, other.rate)

    def __sub__(self, other: _Moving) -> _Moving:
        return self + -other

    def __mul__(self, other: _Moving) -> _Moving:
        parts = (_times(self.rate, other.value), _times(other.rate, self.value))
        return self._with(other, self.value * other.value, *parts)

    def __truediv__(self, other: _Moving) -> _Moving:
        value = self.value / other.value
        above = self._with(other, value, self.rate, _times(other.rate, -value)).rate
        return self._with(other, value, None if above is None else above / other.value, None)

    def __pow__(self, exponent: int) -> _Moving:
        slope = self.value ** (exponent - 1) if exponent > 1 else None
        rate = self.rate if slope is None else _times(self.rate, _multiple(slope, exponent))
        return _Moving(self.value**exponent, rate, self.pushed)

    def _with(self, other: _Moving, value: Form, a: Form | None, b: Form | None) -> _Moving:
        rate = a if b is None else b if a is None else a + b
        return _Moving(value, rate, self.pushed or other.pushed)


def _times(rate: Form | None, factor: Form) -> Form | None:
    return None if rate is None else rate * factor


def _multiple(x: Form, factor: float) -> Form:
    return Form(factor * x.center, factor * x.slopes, abs(factor) * x.radius, x.radii)


def _function(name: str, slope: Callable[[Form, Form], Form], x: _Moving) -> _Moving:
    value = FUNCTIONS[name](x.value)
    return _Moving(value, None if x.rate is None else x.rate * slope(x.value, value), x.pushed)


def _bent(name: str, *arguments: _Moving) -> _Moving:
    """A function that has no derivative everywhere."""
    moves = any(x.pushed or x.rate is not None for x in arguments)
    return _Moving(FUNCTIONS[name](*[x.value for x in arguments]), None, pushed=moves)


def _constant(value: float, like: Form) -> Form:
    return Form(value, np.zeros_like(like.slopes), 0.0, like.radii)


_MOVING: dict[str, Callable[..., Any]] = {
    "sin": partial(_function, "sin", lambda x, value: FUNCTIONS["cos"](x)),
    "cos": partial(_function, "cos", lambda x, value: -FUNCTIONS["sin"](x)),
    "tan": partial(_function, "tan", lambda x, value: _constant(1.0, x) + value * value),
    "exp": partial(_function, "exp", lambda x, value: value),
    "sqrt": partial(_function, "sqrt", lambda x, value: _constant(0.5, x) / value),
    **{name: partial(_bent, name) for name in ("abs", "min", "max")},
}
