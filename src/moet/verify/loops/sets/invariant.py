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
from moet.verify.limits import Deadline, Progress, Stopped
from moet.verify.loops.sets.post import Image
from moet.verify.loops.sets.propagate import Block, Propagation
from moet.verify.loops.sets.refinement import Fineness, refine, settling_steps
from moet.verify.loops.sets.template import Template
from moet.verify.loops.simulation import Runs
from moet.verify.result import Unknown, Verdict
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

REFINEMENTS = (
    Fineness(100, 1, 1, 0, settles=True),
    Fineness(3, 1, 4, settles=True),
    Fineness(6, 4, 4, 2, settles=True),
    Fineness(6, 1, 4, settles=True),
    Fineness(10, 1, 4, settles=True),
    Fineness(8, 2, 4),
    Fineness(8, 4, 8),
    Fineness(10, 2, 4, n_pulled=10),
    Fineness(10, 8, 16),
    Fineness(10, 16, 32),
    Fineness(12, 32, 32),
)
"""Settings to try, from coarse to fine; the first ones for loops that settle whatever the policy does."""

_SIMULATED_STEPS = 600
_START = 0.02
_EXTRA = 1e-3
_OVERSHOOT = 0.3
"""The set begins this much larger than what was seen; it grows by this much more than needed, relative to its limits
and relative to what was needed."""

_MAX_ROUNDS = 200


def safe_for_ever(
    mixture: Mixture, system: System, deadline: Deadline, progress: Progress | None = None, *, workers: int = 1
) -> Verdict:
    """Decide whether ``system`` never leaves its safe set when ``mixture`` acts."""
    attempts = (REFINEMENTS, invariant_blocks)
    verdict = refine(mixture, system, None, _SIMULATED_STEPS, *attempts, deadline, progress, workers=workers)
    if isinstance(verdict, Unknown):
        return replace(verdict, reason=f"no invariant was found: {verdict.reason}")
    return verdict


def invariant_blocks(propagation: Propagation, runs: Runs, setting: Fineness, report: Progress) -> list[Block]:
    """The first states lie in a family, or come to it once they have settled, and the family leads into itself."""
    post = propagation.post
    if setting.settles:
        n_steps = settling_steps(post.system, runs) or setting.n_steps
        blocks = propagation.chain(max(2 * n_steps, setting.n_steps), setting.n_steps, report)
        n_steps = min(n_steps, setting.n_steps)
        family = blocks[-1].image.family
    else:
        n_steps = setting.n_steps
        blocks = [propagation.advance(post.initial, 0)]
        family = np.maximum(_hull(post.template, runs), blocks[0].image.family)
    block = _grown(propagation, post.inflated(family, _START), n_steps, report)
    return [*blocks[:-1], *(part._replace(image=Image(block.family, part.image.watch)) for part in (blocks[-1], block))]


def _grown(propagation: Propagation, family: Floats, n_steps: int, report: Progress) -> Block:
    """Make a family larger until it leads into itself."""
    post = propagation.post
    for done in range(1, _MAX_ROUNDS + 1):
        report(done / _MAX_ROUNDS, f"round {done}")
        block = propagation.advance(family, n_steps)
        reached = block.image.family
        if np.all(reached <= family):
            return block
        larger = np.maximum(reached, family)
        missing = np.subtract(larger, family, out=np.zeros_like(family), where=np.isfinite(family))
        grown = post.inflated(larger + _OVERSHOOT * missing, _EXTRA)
        family = np.where(reached > family, grown, family)
    raise Stopped(f"the set was still growing after {_MAX_ROUNDS} rounds")


def _hull(template: Template, runs: Runs) -> Floats:
    """Family around all states of simulated runs."""
    states = runs.states.reshape(-1, runs.states.shape[-1])
    values, slices = states @ template.rows.T, states @ template.slice
    family = np.full((template.n_cells, len(template.rows)), -np.inf)
    for cell, (low, high) in enumerate(zip(*template.sides, strict=True)):
        inside = (low <= slices) & (slices <= high)
        if inside.any():
            family[cell] = values[inside].max(axis=0)
    return family
