"""Limits that runs begin on and leave with a second derivative only. Standard library only.

A row·x that is at a limit at first, whose derivative is at most 0 there and whose second derivative is at most 0 for a
while stays below that limit for as long. The derivative at first is a number that nothing may be added to: it is
computed in fractions, of the first states as they were written down. The second derivative may be rounded outwards.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from moet.verify.checker.documents.dynamics import Flow, Sides, Vector
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.flowpipe.forms import Form, Forms
from moet.verify.checker.loops.flowpipe.integrate import Slopes
from moet.verify.checker.loops.flowpipe.program import Program, entry
from moet.verify.checker.loops.flowpipe.sets import whole
from moet.verify.checker.loops.intervals import ONE, Undefined
from moet.verify.checker.meter import Meter

Range = tuple[Fraction, Fraction] | None
"""Least and largest value in fractions; None if nothing is known of them."""

ZERO = (Fraction(0), Fraction(0))
_NOTHING = Form(0, {}, 0)


class Turning:
    """The first period of runs from the first states of a flow.

    Parameters
    ----------
    system : PlainSystem
    program : Program
        Its equations in the first period.
    """

    def __init__(self, system: PlainSystem, program: Program) -> None:
        assert isinstance(system.dynamics, Flow)
        flow, self.program, self.d = system.dynamics, program, len(system.states)
        held = [*flow.parameters.values(), *system.controls.values()]
        known = flow.signals | {name: entry(sides, 0) for name, sides in flow.schedule.items()}
        self._rates = [_exactly(program, [*box, *held], known) for box in system.first.boxes]

    def begins_level(self, row: Vector) -> bool:
        """Whether row·x surely does not rise at first."""
        return all(_is_level(row, rates) for rates in self._rates)


class Beginning:
    """The boxes that one part of the first states goes through in its first period, one after the other."""

    def __init__(self, turning: Turning, meter: Meter) -> None:
        self._turning, self._meter = turning, meter
        self._tubes: list[Slopes] = []
        self._second: list[list[Form | None]] = []

    def goes_on(self, slopes: Slopes) -> None:
        """Add the box of one more step."""
        self._meter.hold(2 * len(slopes.middle))
        self._tubes.append(slopes)

    def falls(self, row: Vector) -> bool:
        """Whether row·x surely does not rise: level at first, with second derivatives of at most 0 ever since."""
        if not self._turning.begins_level(row):
            return False
        turning = self._turning
        for slopes in self._tubes[len(self._second) :]:
            self._second.append(second_derivatives(turning.program, slopes, turning.d, self._meter))
        return all(_bends_down(row, *step) for step in zip(self._second, self._tubes, strict=True))


def _bends_down(row: Vector, second: list[Form | None], slopes: Slopes) -> bool:
    """Whether the second derivative of row·x is at most 0."""
    arithmetic, total = Forms(slopes.radii), _NOTHING
    for a, bend in zip(row, second, strict=True):
        if a and bend is None:
            return False
        if a and bend is not None:
            factor = Form(whole(a), {}, int((a * ONE).denominator != 1))
            total = arithmetic.add(total, arithmetic.multiply(bend, factor))
    return total.center + arithmetic.spread(total) <= 0


def _is_level(row: Vector, rates: list[Range]) -> bool:
    """Whether the largest row·rates is known, and at most 0."""
    total = Fraction(0)
    for a, rate in zip(row, rates, strict=True):
        if a and rate is None:
            return False
        if a and rate is not None:
            total += max(a * rate[0], a * rate[1])
    return total <= 0


def _exactly(program: Program, box: Sides, known: dict[str, tuple[Fraction, Fraction]]) -> list[Range]:
    """Ranges of what a program computes on a box; where it cannot be exact, nothing is known.

    What is multiplied with 0 is 0, if it has a value at all; that it has is seen where the set is followed.
    """
    values: list[Range] = []
    for what, arguments in program.entries:
        if what == "variable":
            values.append(box[arguments[0]])
        elif isinstance(what, tuple):
            kind, content = what
            values.append((content, content) if kind == "constant" else known[content])
        elif isinstance(what, int):
            values.append(_power(values[arguments[0]], what))
        else:
            rule = _EXACT.get(what)
            values.append(rule(*[values[k] for k in arguments]) if rule else None)
    return [values[place] for place in program.wanted]


def _add(x: Range, y: Range) -> Range:
    return None if x is None or y is None else (x[0] + y[0], x[1] + y[1])


def _negative(x: Range) -> Range:
    return None if x is None else (-x[1], -x[0])


def _multiply(x: Range, y: Range) -> Range:
    if ZERO in (x, y):
        return ZERO
    if x is None or y is None:
        return None
    products = [a * b for a in x for b in y]
    return min(products), max(products)


def _power(x: Range, exponent: int) -> Range:
    found = x
    for _ in range(exponent - 1):
        found = _multiply(found, x)
    return found


def _zero_at_zero(x: Range) -> Range:
    return ZERO if x == ZERO else None


_EXACT: dict[str, Callable[..., Range]] = {
    "add": _add,
    "subtract": lambda x, y: _add(x, _negative(y)),
    "negative": _negative,
    "multiply": _multiply,
    "divide": lambda x, y: _zero_at_zero(x),
    "sine": _zero_at_zero,
    "tangent": _zero_at_zero,
    "magnitude": _zero_at_zero,
}


def second_derivatives(program: Program, slopes: Slopes, d: int, meter: Meter) -> list[Form | None]:
    """Second derivatives of the states on a box; None if one has none, or none that is known.

    That of a state that is pushed has jumps, and its rate has none where the equations have a bend.
    """
    arithmetic = Forms(slopes.radii)
    try:
        values = program.values(slopes.middle, slopes.radii, meter)
        meter.spend(len(values) * (8 + 4 * program.n_variables))
        rates: list[Form | None] = []
        for place, (what, arguments) in enumerate(program.entries):
            if what == "variable":  # of these the first ones move; parameters and controls are held
                rates.append(values[program.wanted[arguments[0]]] if arguments[0] < d else _NOTHING)
            elif isinstance(what, tuple):
                rates.append(None if program.is_pushed(place) else _NOTHING)
            else:
                inner, x = [rates[k] for k in arguments], [values[k] for k in arguments]
                rates.append(_rate(arithmetic, what, x, inner, values[place]))
    except Undefined:
        return [None] * d
    return [rates[place] for place in program.wanted]


def _rate(a: Forms, what: Any, x: list[Form], dx: list[Form | None], result: Form) -> Form | None:
    """Derivative of one operation: its arguments, their derivatives and its own value."""
    if all(rate == _NOTHING for rate in dx):
        return _NOTHING
    if any(rate is None for rate in dx):
        return None
    first, *others = [rate for rate in dx if rate is not None]
    if isinstance(what, int):
        slope = a.multiply(Form(what * ONE, {}, 0), a.power(x[0], what - 1)) if what > 1 else Form(ONE, {}, 0)
        return a.multiply(slope, first)
    if what in ("add", "subtract", "negative"):
        return getattr(a, what)(first, *others)
    if what == "multiply":
        return a.add(a.multiply(first, x[1]), a.multiply(x[0], others[0]))
    if what == "divide":
        return a.divide(a.subtract(first, a.multiply(result, others[0])), x[1])
    slope_of = _SLOPES.get(what)
    return None if slope_of is None else a.multiply(slope_of(a, x[0], result), first)


_SLOPES: dict[str, Callable[[Forms, Form, Form], Form]] = {
    "sine": lambda a, x, value: a.cosine(x),
    "cosine": lambda a, x, value: a.negative(a.sine(x)),
    "tangent": lambda a, x, value: a.add(Form(ONE, {}, 0), a.multiply(value, value)),
    "exponential": lambda a, x, value: value,
    "root": lambda a, x, value: a.divide(Form(ONE, {}, 0), a.add(value, value)),
}
