"""Safety over many steps: a short exact search, a hull of where it ends, and again from there.

A search over all paths of a closed loop cannot go on for ever: their number grows with every step. Here it goes on for
some steps only; then the states it ended in are wrapped in a family of polytopes
(:mod:`~moet.verify.loops.sets.template`), and the next search starts from those. That loses a little each time, less
with more polytopes; so few are tried first.
"""

from __future__ import annotations

from moet.model.mixture import Mixture
from moet.verify.limits import Deadline, Progress
from moet.verify.loops.sets.propagate import Block, Propagation
from moet.verify.loops.sets.refinement import Fineness, refine
from moet.verify.loops.simulate import Runs
from moet.verify.result import Verdict
from moet.verify.systems.system import System

REFINEMENTS = (
    Fineness(100, 1, 1, 0),
    Fineness(10, 2, 4),
    Fineness(10, 8, 16),
    Fineness(10, 24, 32),
    Fineness(10, 48, 64),
    Fineness(12, 64, 64),
)
"""Settings to try, from coarse to fine."""

_SIMULATED_STEPS = 400


def safe_for_steps(
    mixture: Mixture, system: System, steps: int, deadline: Deadline, progress: Progress | None = None
) -> Verdict:
    """Decide whether ``system`` stays in its safe set for ``steps`` steps when ``mixture`` acts."""

    def follow(propagation: Propagation, _: Runs, setting: Fineness, report: Progress) -> list[Block]:
        blocks: list[Block] = []
        family = propagation.post.initial
        for done in range(0, steps, setting.n_steps):
            report(done / steps, f"step {done} of {steps}")
            blocks.append(propagation.advance(family, min(setting.n_steps, steps - done)))
            family = blocks[-1].image.family
        return blocks

    return refine(mixture, system, steps, min(steps, _SIMULATED_STEPS), REFINEMENTS, follow, deadline, progress)
