"""The numbers with which a shield decides, found in floats and exact fractions; the checker confirms each of them.

What they mean is in ``docs/shields.md``. They need not be the best, only right: errors are some hundred millionths of
the sets they are held against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.mixture import Mixture
from moet.shield.program import sizes, step_program, terms_for
from moet.verify.loops.sets.enclosures import limits_of
from moet.verify.loops.sets.template import Template
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.description import float_above
from moet.verify.systems.discrete import AffineSystem, NonlinearSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]
Sides = tuple[Floats, Floats]
"""Least and largest value of every state."""


class SmoothBox(NamedTuple):
    """A box in which a step has derivatives, and bounds of them on each of its parts."""

    low: Floats
    high: Floats
    slopes: Floats


_ROOMS = (4.0, 2.0, 1.4, 1.1, 1.0)
"""A shield looks ahead in a box that is this much wider than what the proof of its invariant needed: as wide as steps
have derivatives in it."""

_PARTS = {1: 64, 2: 16, 3: 8, 4: 4}
"""Parts that a side of the box is cut into to see how fast errors grow, by the number of states; beyond these one."""

_GENEROSITY = {1: 1.001, 2: 1.001}
_GENEROSITY_BEYOND = 1.05
"""Growth is claimed this much larger than found, by the number of states, for the checker has intervals of its own; and
it cuts boxes of many states into larger parts."""

_CUTS = 24
"""How often the strip that is cut off a box is halved for."""

_CLEAR = 1e-5
"""Share of a box by which it stays clear of what was cut off: the checker demands a distance from jumps."""

_ROUNDING = 2.0**-46
"""Generous bound of what rounding adds to a step, relative to the largest number on the way."""

_CUT_OFF, _CUT_OFF_GROWN = 2.0**-14, 2.0**-8
"""What the polynomials of sine and cosine leave out, and what a step makes of it, relative to what is seen wrongly."""

_USELESS = 0.1
"""Looking ahead ends where errors are this large, relative to the box."""

_UNIT = Fraction(1, 2**53)
_SLACK = Fraction(1, 2**49)
_TINY = Fraction(1, 2**299)


class Target(NamedTuple):
    """A set that a policy is followed into: one polytope for each row of bounds, None where it is empty."""

    rows: list[list[Any]]
    cells: list[Sequence[Any] | None]


def find_margins(claim: Mapping[str, Any], mixture: Mixture, system: System, steps: int) -> dict[str, Any]:
    """Numbers of a shield that looks at most so many steps ahead, from the claim of an invariant."""
    template = Template(*(np.array(claim[name], np.float64) for name in ("slice", "edges", "directions")))
    target = Target(template.rows.tolist(), claim["blocks"][-1]["set"])
    box = _smooth_box(_watched(claim["blocks"], system), system, limits_of(system))
    return _margins(target, slanted_conditions(system), box, mixture, system, steps)


def find_goal_margins(claim: Mapping[str, Any], mixture: Mixture, system: System, steps: int) -> dict[str, Any]:
    """Numbers of a shield that looks so many steps ahead for a goal, from the claim that it is reached."""
    goal = goal_of(claim)
    target = Target([list(half.coefficients) for half in goal], [[half.bound for half in goal]])
    blocks = [block for part in claim["parts"] for block in part["blocks"]]
    box = _smooth_box(_watched(blocks, system), system, limits_of(system, within_safe=False))
    return _margins(target, [], box, mixture, system, steps)


def goal_of(claim: Mapping[str, Any]) -> list[HalfSpace]:
    """The conditions of the goal of a claim."""
    return [HalfSpace(tuple(map(Fraction, half["coefficients"])), Fraction(half["bound"])) for half in claim["goal"]]


def _margins(
    target: Target, slanted: list[HalfSpace], box: SmoothBox, mixture: Mixture, system: System, steps: int
) -> dict[str, Any]:
    low, high, slopes = box
    largest = np.maximum(np.abs(low), np.abs(high))
    found = sizes(step_program(system), low, high)
    seen = _seen(system, largest)
    added = np.array([float(max(map(abs, side))) for side in system.disturbance]) + _ROUNDING * (1 + found.register)
    added += _CUT_OFF_GROWN * seen
    shape, growth = _shape(slopes, seen + added)
    errors = _errors(shape, growth, seen, added, steps, (high - low).min())
    spreads = [_spread(row, shape) for row in target.rows]
    last = Fraction(max(errors))
    return {
        "bottom": low.tolist(),
        "top": high.tolist(),
        "terms": terms_for(found.argument, max(2.0**-56, _CUT_OFF * seen.min())),
        "shape": shape.tolist(),
        "growth": growth,
        "added": _added(added, shape),
        "errors": errors,
        "spreads": spreads,
        "limits": [
            None
            if cell is None
            else [_limit(*one, largest, last) for one in zip(target.rows, spreads, cell, strict=True)]
            for cell in target.cells
        ],
        "safe_spreads": (safe_spreads := [_spread(half.coefficients, shape) for half in slanted]),
        "safe_limits": [
            _limit(half.coefficients, spread, half.bound, largest, last)
            for half, spread in zip(slanted, safe_spreads, strict=True)
        ],
        **_gate(mixture, shape, largest + seen),
    }


def slanted_conditions(system: System) -> list[HalfSpace]:
    """Conditions of the safe set that are about several states."""
    return [half for half in system.safe if sum(map(bool, half.coefficients)) > 1]


def _smooth_box(hull: Sides, system: System, limits: Sides) -> SmoothBox:
    """Where a shield looks ahead, and bounds of all derivatives there: the widest box in which steps have some."""
    widest = _smooth(*_widened(hull, _ROOMS[0], limits), system)
    if widest is not None:
        return widest
    found = [_smooth(*_widened(hull, room, limits), system) for room in _ROOMS[1:]]
    found += [_cut(_widened(hull, _ROOMS[0], limits), side, system) for side in range(2 * system.n_states)]
    smooth = [box for box in found if box is not None]
    if smooth:
        return max(smooth, key=lambda box: float(np.prod(box.high - box.low)))
    raise InputError(
        f"a shield cannot look ahead with the equations of {system.name!r}: where it would have to, a step may "
        "jump, divide by zero or be infinitely steep"
    )


def _smooth(low: Floats, high: Floats, system: System) -> SmoothBox | None:
    """A box, if steps have derivatives in it."""
    slopes = _slopes(system, low, high)
    return SmoothBox(low, high, slopes) if np.all(np.isfinite(slopes)) else None


def _cut(box: Sides, side: int, system: System) -> SmoothBox | None:
    """The box without a strip along one side, such as a wall at which states jump; None if that does not help."""
    state, is_high = divmod(side, 2)
    ends = np.array(box)
    outer, inner = ends[is_high, state], ends[:, state].mean()

    def up_to(end: float) -> SmoothBox | None:
        ends[is_high, state] = end
        low, high = ends.copy()
        return _smooth(low, high, system)

    if up_to(inner) is None:
        return None
    for _ in range(_CUTS):
        middle = inner / 2 + outer / 2
        inner, outer = (inner, middle) if up_to(middle) is None else (middle, outer)
    return up_to(inner + _CLEAR * (ends[1 - is_high, state] - inner))


def _watched(blocks: Sequence[Mapping[str, Any]], system: System) -> Sides:
    """The box that a proof needed."""
    first = [bound for low, high in system.initial for bound in (float(high), -float(low))]
    most = np.max([first, *(block["watch"][: 2 * system.n_states] for block in blocks)], axis=0)
    return -most[1::2], most[::2]


def _widened(hull: Sides, room: float, limits: Sides) -> Sides:
    """A box that is so much wider, within the limits of the system."""
    low, high = hull
    middle, half = low / 2 + high / 2, room * (high / 2 - low / 2) + 1e-6
    return np.maximum(middle - half, limits[0]), np.minimum(middle + half, limits[1])


def _seen(system: System, largest: Floats) -> Floats:
    """How far what is seen may be from a state."""
    noise = np.array([float_above(e) for e in system.noise])
    unit = 2.0**-23 if system.float32_observations else 2.0**-52
    return noise * (1 + unit) + (largest + noise) * unit + 2.0**-140


def _shape(slopes: Floats, errors: Floats) -> tuple[Floats, float]:
    """Errors in a proportion in which a step makes them larger by one and the same factor, or nearly so; the factor."""
    most = slopes.max(axis=2)
    shape = errors.copy()
    for _ in range(40):
        shape = most @ shape + shape
        shape /= shape.max()
    grown = np.einsum("ijb,j->ib", slopes, shape).max(axis=1)
    return shape, float(_GENEROSITY.get(len(shape), _GENEROSITY_BEYOND) * (grown / shape).max())


def _slopes(system: System, low: Floats, high: Floats) -> Floats:
    """Bounds of all derivatives, on each part of a box."""
    if isinstance(system, AffineSystem):
        return np.abs(np.array(system.matrix, np.float64))[:, :, None]
    from moet.verify.systems.enclose import steepest

    assert isinstance(system, NonlinearSystem)
    n_parts = _PARTS.get(len(low), 1)
    grid = np.array(list(product(range(n_parts), repeat=len(low))), np.float64).T
    width = (high - low)[:, None] / n_parts
    return steepest(system, low[:, None] + grid * width, low[:, None] + (grid + 1) * width)


def _errors(shape: Floats, growth: float, seen: Floats, added: Floats, steps: int, width: float) -> list[float]:
    """Errors after 0, 1, … steps, in units of the shape."""
    ratios = [Fraction(e) / Fraction(v) for e, v in zip(seen.tolist(), shape.tolist(), strict=True)]
    errors = [float_above(max(ratios) / (1 - _SLACK))]
    more = Fraction(_added(added, shape))
    for _ in range(steps):
        following = float_above((Fraction(growth) * Fraction(errors[-1]) + more) / (1 - _SLACK))
        if len(errors) > 1 and following > _USELESS * width:
            break
        errors.append(following)
    return errors


def _added(added: Floats, shape: Floats) -> float:
    return float_above(max(Fraction(a) / Fraction(v) for a, v in zip(added.tolist(), shape.tolist(), strict=True)))


def _spread(row: Sequence[Any], shape: Floats) -> float:
    """How far a direction may be off, in units of the errors."""
    terms = (abs(Fraction(a)) * Fraction(v) for a, v in zip(row, shape.tolist(), strict=True))
    return float_above(sum(terms, Fraction(0)))


def _limit(row: Sequence[Any], spread: float, bound: Any, largest: Floats, last: Fraction) -> float:
    """A limit for the computed value of a direction, below the true one by all that rounding may do."""
    size = sum((abs(Fraction(a)) * Fraction(x) for a, x in zip(row, largest.tolist(), strict=True)), Fraction(0))
    slack = (len(row) + 10) * _UNIT * (size + Fraction(spread) * last) + _TINY
    return -float_above(slack - Fraction(bound))


def _gate(mixture: Mixture, shape: Floats, reach: Floats) -> dict[str, list[list[float]]]:
    """How far ahead one expert must be of another: by the errors of the state, and of the logits."""
    weights = [[Fraction(w) for w in row] for row in mixture.gate_weights.tolist()]
    sizes_ = np.abs(mixture.gate_bias) + np.abs(mixture.gate_weights) @ reach
    errors = ((len(reach) + 4) * 2.0**-53 * sizes_ + 2.0**-290).tolist()
    spreads = [[_spread([a - b for a, b in zip(u, v, strict=True)], shape) for v in weights] for u in weights]
    return {"gate_spreads": spreads, "gate_errors": [[2.001 * (a + b) for b in errors] for a in errors]}
