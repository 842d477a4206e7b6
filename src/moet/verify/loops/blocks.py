"""Safety over many steps: a short exact search, a hull of where it ends, and again from there.

A search over all paths of a closed loop cannot go on for ever: their number grows with every step. Here it goes on for
some steps only; then the states it ended in are wrapped in a family of polytopes (:mod:`~moet.verify.loops.shape`), and
the next search starts from those. That loses a little each time, less with more polytopes; so few are tried first.
"""

from __future__ import annotations

from moet.model.mixture import Mixture
from moet.verify.limits import Deadline, Progress
from moet.verify.loops.chain import Block, Chain
from moet.verify.loops.ladder import Setting, try_settings
from moet.verify.loops.runs import Runs
from moet.verify.result import Verdict
from moet.verify.systems.system import System

LADDER = (Setting(10, 2, 4), Setting(10, 8, 16), Setting(10, 24, 32), Setting(10, 48, 64), Setting(12, 64, 64))
"""Settings to try, from coarse to fine."""

_SIMULATED_STEPS = 400


def safe_in_blocks(
    mixture: Mixture, system: System, steps: int, deadline: Deadline, progress: Progress | None = None
) -> Verdict:
    """Decide whether ``system`` stays in its safe set for ``steps`` steps when ``mixture`` acts."""

    def follow(chain: Chain, _: Runs, setting: Setting, advance: Progress) -> list[Block]:
        blocks: list[Block] = []
        family = chain.frame.initial
        for done in range(0, steps, setting.n_steps):
            advance(done / steps, f"step {done} of {steps}")
            blocks.append(chain.advance(family, min(setting.n_steps, steps - done)))
            family = blocks[-1].image.family
        return blocks

    return try_settings(mixture, system, steps, min(steps, _SIMULATED_STEPS), LADDER, follow, deadline, progress)
