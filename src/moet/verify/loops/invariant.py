"""Safety for ever: a set of states that no step leaves.

Such a set is found by growing one. It begins as a hull of simulated runs and of the first states; a few steps are
taken from it; where they end outside, it is made larger, a little more than needed; and so on until they do not. If
the policy damps the system well enough, that ends before the set leaves the safe one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.verify.limits import Deadline, Progress
from moet.verify.loops.chain import Block, Chain
from moet.verify.loops.frame import Image, Stopped
from moet.verify.loops.ladder import Setting, try_settings
from moet.verify.loops.runs import Runs
from moet.verify.loops.shape import Shape
from moet.verify.result import Unknown, Verdict
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

LADDER = (Setting(8, 2, 4), Setting(8, 4, 8), Setting(10, 8, 16), Setting(10, 16, 32), Setting(12, 32, 32))
"""Settings to try, from coarse to fine."""

_SIMULATED_STEPS = 600
_START = 0.02
_EXTRA = 1e-3
_OVERSHOOT = 0.3
"""The set begins this much larger than what was seen; it grows by this much more than needed, relative to its limits
and relative to what was needed."""

_MAX_ROUNDS = 200


def safe_for_ever(mixture: Mixture, system: System, deadline: Deadline, progress: Progress | None = None) -> Verdict:
    """Decide whether ``system`` never leaves its safe set when ``mixture`` acts."""
    verdict = try_settings(mixture, system, None, _SIMULATED_STEPS, LADDER, _invariant, deadline, progress)
    if isinstance(verdict, Unknown):
        return replace(verdict, reason=f"no invariant was found: {verdict.reason}")
    return verdict


def _invariant(chain: Chain, runs: Runs, setting: Setting, advance: Progress) -> list[Block]:
    """The first states lie in a family, and the family leads into itself."""
    frame = chain.frame
    first = chain.advance(frame.initial, 0)
    family = np.maximum(_hull(frame.shape, runs), first.image.family)
    family = frame.inflated(family, _START)
    for done in range(1, _MAX_ROUNDS + 1):
        advance(done / _MAX_ROUNDS, f"round {done}")
        block = chain.advance(family, setting.n_steps)
        reached = block.image.family
        if np.all(reached <= family):
            return [
                first._replace(image=Image(family, first.image.watch)),
                block._replace(image=Image(family, block.image.watch)),
            ]
        missing = np.where(np.isfinite(family), np.maximum(reached - family, 0), 0)
        grown = frame.inflated(np.maximum(reached, family) + _OVERSHOOT * missing, _EXTRA)
        family = np.where(reached > family, grown, family)
    raise Stopped(f"the set was still growing after {_MAX_ROUNDS} rounds")


def _hull(shape: Shape, runs: Runs) -> Floats:
    """Family around all states of simulated runs."""
    states = runs.states.reshape(-1, runs.states.shape[-1])
    values, slices = states @ shape.rows.T, states @ shape.slice
    family = np.full((shape.n_cells, len(shape.rows)), -np.inf)
    for cell, (low, high) in enumerate(zip(*shape.sides, strict=True)):
        inside = (low <= slices) & (slices <= high)
        if inside.any():
            family[cell] = values[inside].max(axis=0)
    return family
