"""The decision of a shield for controls, compiled: every sum from left to right, as in C, so both agree to the bit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import OPTIONS

Floats = NDArray[np.float64]

SHORTER = 1.0 - 1e-9
"""How much of the way to the edge is gone, so that the control there passes the test in spite of rounding."""


class ControlTables(NamedTuple):
    """Numbers of a shield: tests and their limits; law (constant first) and its bounds; limits of the actuators."""

    tests: Floats
    limits: Floats
    law: Floats
    law_low: Floats
    law_high: Floats
    low: Floats
    high: Floats


@njit(**OPTIONS)
def _value(test: Floats, seen: Floats, control: Floats) -> float:
    value = test[0] * seen[0]
    for k in range(1, len(seen)):
        value += test[k] * seen[k]
    for k in range(len(control)):
        value += test[len(seen) + k] * control[k]
    return value


@njit(**OPTIONS)
def _clip(value: float, low: float, high: float) -> float:
    return low if value < low else high if value > high else value


@njit(**OPTIONS)
def is_allowed(seen: Floats, control: Floats, t: ControlTables) -> bool:
    """Whether a control leads into the set; comparisons with NaN are false, and mean no."""
    for i in range(len(t.limits)):  # noqa: SIM110 - compiled
        if not _value(t.tests[i], seen, control) <= t.limits[i]:
            return False
    return True


@njit(**OPTIONS)
def _policy(seen: Floats, own: Floats, t: ControlTables) -> None:
    for o in range(len(own)):
        value = t.law[o, 0]
        for k in range(len(seen)):
            value += t.law[o, k + 1] * seen[k]
        own[o] = _clip(value, t.law_low[o], t.law_high[o])


@njit(**OPTIONS)
def _share(seen: Floats, wanted: Floats, own: Floats, t: ControlTables) -> float:
    """How far from the policy's control to the wanted one the tests allow to go; negative if nowhere."""
    least, most = 0.0, 1.0
    for i in range(len(t.limits)):
        start, end = _value(t.tests[i], seen, own), _value(t.tests[i], seen, wanted)
        room, slope = t.limits[i] - start, end - start
        if slope > room:
            if not slope > 0.0:
                return -1.0
            share = room * SHORTER / slope
            most = share if share < most else most
        elif room < 0.0:
            share = room / slope
            least = share if share > least else least
    return most if least <= most else -1.0


@njit(**OPTIONS)
def decide(seen: Floats, wanted: Floats, taken: Floats, t: ControlTables) -> None:
    """Write the control to take: the wanted one, the nearest allowed on the way to the policy's, or the policy's."""
    for k in range(len(taken)):
        taken[k] = _clip(wanted[k], t.low[k], t.high[k])
    if is_allowed(seen, taken, t):
        return
    own = np.empty(len(taken))
    _policy(seen, own, t)
    share = _share(seen, taken, own, t)
    if share >= 0.0:
        for k in range(len(taken)):
            taken[k] = _clip(own[k] + share * (taken[k] - own[k]), t.low[k], t.high[k])
        if is_allowed(seen, taken, t):
            return
    for k in range(len(taken)):
        taken[k] = own[k]


@njit(**OPTIONS)
def decide_rows(seen: Floats, wanted: Floats, taken: Floats, t: ControlTables) -> None:
    """The same of many states."""
    for i in range(len(seen)):
        decide(seen[i], wanted[i], taken[i], t)
