"""Where a policy with affine laws parts a set: the laws on both sides of a jump lead runs far from each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moet.verify.loops.flowpipe.integrate import Points
from moet.verify.loops.flowpipe.policy import Acting, Case
from moet.verify.systems.controls import observed
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_FAR = 1.0
"""Sets are cut where laws lead a run apart by more than this many times the radius of the set in some state."""

_INTEGRATED = 4
"""Runge-Kutta steps in a period."""


def parts_ways(acting: Acting, points: Points, cases: list[Case], step: int) -> bool:
    """Whether the laws of these cases lead runs so far apart that a set is better cut than given one law for all.

    That law's spread would make a small set as wide as the jump. A set that is wide beside the jump, as where laws
    nearly agree or runs slide along the jump for long, would be cut at every look, and loses little by one law.
    Decided by one run in the middle of each case, so it is a guess; the proof is sound either way.
    """
    d = acting.system.n_states
    states = np.array([points.middle + points.columns @ ((case.low + case.high) / 2) for case in cases])[:, :d]
    seen = observed(acting.system, states)
    laws = [acting.law_of(case.leaves[0]) for case in cases]
    controls = [np.clip(seen @ slopes.T + values, acting.low, acting.high) for slopes, values in laws]
    there = _roughly_ahead(acting.system, np.tile(states, (len(laws), 1)), np.concatenate(controls), step)
    return bool(np.any(np.ptp(there.reshape(len(laws), *states.shape), axis=0) > _FAR * points.radii[:d]))


def _roughly_ahead(system: System, states: Floats, controls: Floats, step: int) -> Floats:
    """States one period later, as well as a guess needs them."""
    if isinstance(system, SampledSystem):
        return system.between(states, controls, 1, steps=_INTEGRATED, step=step)[:, -1]
    return system.successor(states, controls, step)
