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
from moet.verify.loops.simulation import Runs
from moet.verify.result import Verdict
from moet.verify.systems.system import System

REFINEMENTS = (
    Fineness(100, 1, 1, 0, settles=True),
    Fineness(3, 1, 4, settles=True),
    Fineness(6, 4, 4, 2, settles=True),
    Fineness(6, 1, 4, settles=True),
    Fineness(10, 1, 4, settles=True),
    Fineness(10, 2, 4),
    Fineness(10, 8, 16),
    Fineness(10, 24, 32),
    Fineness(10, 48, 64),
    Fineness(12, 64, 64),
)
"""Settings to try, from coarse to fine; the first ones for loops that settle whatever the policy does."""

_SIMULATED_STEPS = 400


def safe_for_steps(
    mixture: Mixture,
    system: System,
    steps: int,
    deadline: Deadline,
    progress: Progress | None = None,
    *,
    workers: int = 1,
) -> Verdict:
    """Decide whether ``system`` stays in its safe set for ``steps`` steps when ``mixture`` acts."""

    def follow(propagation: Propagation, _: Runs, setting: Fineness, report: Progress) -> list[Block]:
        return propagation.chain(steps, setting.n_steps, report)

    n_simulated = min(steps, _SIMULATED_STEPS)
    return refine(mixture, system, steps, n_simulated, REFINEMENTS, follow, deadline, progress, workers=workers)
