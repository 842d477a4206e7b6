"""What can be refuted before anything is proved: unsafe first states, and simulated runs that leave the safe set."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from moet.model.mixture import Mixture
from moet.verify.limits import Deadline
from moet.verify.loops.replay import first_state
from moet.verify.loops.simulation import Runs, find_violation, simulate
from moet.verify.result import Refuted, Trace, Unknown, Verdict
from moet.verify.systems.description import float_above
from moet.verify.systems.system import System

LONG = 6000
_LONG_RUNS = 24
"""Steps and number of the long runs, which are worth their time where the first attempt at a proof has failed."""


def unsafe_first_state(system: System) -> Trace | None:
    """A first state in the domain that is not safe: of float64 numbers, if there is one."""
    for half in system.safe:
        corner = []
        for c, (low, high), domain in zip(half.coefficients, system.initial, system.domain, strict=True):
            side = high if c > 0 else low
            corner.append(side if domain is None else min(max(side, domain[0]), domain[1]))
        if half.value(corner) <= half.bound:  # it is largest there
            continue
        candidates = [corner, first_state(system, np.array([_finite(x) for x in corner]))]
        for start in candidates[::-1]:
            if start is not None and _is_first(system, start) and half.value(start) > half.bound:
                return Trace(np.array([start], dtype=np.float64), (), None, tuple(start))
    return None


def outside_domain(system: System) -> Unknown | None:
    """Unknown, if some first states are outside the domain: a proof is impossible then, and nothing is refuted."""
    for name, side, (low, high) in zip(system.states, system.domain, system.initial, strict=True):
        if side is not None and not (side[0] <= low and high <= side[1]):
            return Unknown(reason=f"the description of the system does not hold for all first states: see {name}")
    return None


def refutation(mixture: Mixture, system: System, runs: Runs, steps: int | None, deadline: Deadline) -> Verdict | None:
    """Refuted, if a first state or a simulated run is surely unsafe; Unknown if a first state is out of the domain."""
    trace = unsafe_first_state(system)
    if trace is None and (unknown := outside_domain(system)) is not None:
        return unknown
    trace = trace or find_violation(mixture, system, runs, steps, deadline)
    return None if trace is None else Refuted(trace=trace)


def late_refutation(mixture: Mixture, system: System, steps: int | None, deadline: Deadline) -> Refuted | None:
    """Refuted, if one of a few runs leaves the safe set after thousands of steps."""
    n_steps = LONG if steps is None else min(steps, LONG)
    runs = simulate(mixture, system, n_steps, 1, _LONG_RUNS, deadline=deadline, until_unsafe=True)
    trace = find_violation(mixture, system, runs, steps, deadline)
    return None if trace is None else Refuted(trace=trace)


def _is_first(system: System, state: list[Fraction]) -> bool:
    sides = zip(state, system.initial, system.domain, strict=True)
    return all(low <= x <= high and (d is None or d[0] <= x <= d[1]) for x, (low, high), d in sides)


def _finite(value: Fraction) -> float:
    return float_above(value) if value < 0 else -float_above(-value)
