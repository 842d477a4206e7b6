"""Safety over many steps: a short exact search, a hull of where it ends, and again from there.

A search over all paths of a closed loop cannot go on for ever: their number grows with every step. Here it goes on for
some steps only; then the states it ended in are wrapped in a family of polytopes (:mod:`~moet.verify.loops.shape`), and
the next search starts from those. That loses a little each time, less with more polytopes; so few are tried first.
"""

from __future__ import annotations

from typing import NamedTuple

from moet.model.mixture import Mixture
from moet.verify.limits import Deadline
from moet.verify.loops.chain import Block, Chain, refutation
from moet.verify.loops.frame import Effort, Frame, Stopped
from moet.verify.loops.runs import Runs, simulate
from moet.verify.loops.shape import choose_shape
from moet.verify.result import Proved, Unknown, Verdict
from moet.verify.systems.dynamics import Dynamics
from moet.verify.systems.system import System

_SIMULATED_STEPS = 400


class Setting(NamedTuple):
    """How finely an attempt looks: steps of a search, polytopes of a set, pieces of the model of a step."""

    n_steps: int
    n_cells: int
    n_pieces: int


LADDER = (Setting(10, 2, 4), Setting(10, 8, 16), Setting(10, 24, 32), Setting(10, 48, 64), Setting(12, 64, 64))
"""Settings to try, from coarse to fine."""


def safe_in_blocks(mixture: Mixture, system: System, steps: int, deadline: Deadline) -> Verdict:
    """Decide whether ``system`` stays in its safe set for ``steps`` steps when ``mixture`` acts."""
    runs = simulate(mixture, system, min(steps, _SIMULATED_STEPS))
    refuted = refutation(mixture, system, runs)
    if refuted is not None:
        return refuted
    effort = Effort()
    for setting in LADDER:
        chain = chain_for(mixture, system, runs, setting, deadline, effort)
        try:
            certificate = chain.certificate(_follow(chain, setting.n_steps, steps), steps)
            return Proved(certificate=certificate, effort=effort.report(deadline))
        except Stopped as stop:
            reason = str(stop)
        if deadline.passed:
            break
    return Unknown(reason=reason, effort=effort.report(deadline))


def _follow(chain: Chain, block_steps: int, steps: int) -> list[Block]:
    blocks: list[Block] = []
    family = chain.frame.initial
    for done in range(0, steps, block_steps):
        blocks.append(chain.advance(family, min(block_steps, steps - done)))
        family = blocks[-1].image.family
    return blocks


def chain_for(
    mixture: Mixture, system: System, runs: Runs, setting: Setting, deadline: Deadline, effort: Effort
) -> Chain:
    """Sets and models fit for a closed loop, judged by simulated runs."""
    states = runs.states.reshape(-1, system.n_states)
    dynamics = Dynamics(system, states.min(axis=0), states.max(axis=0), setting.n_pieces)
    matrix, offsets, _ = system.enclose(states.min(axis=0), states.max(axis=0))
    shape = choose_shape(mixture, matrix, offsets, states, runs.actions.ravel(), setting.n_cells)
    return Chain(Frame(mixture, system, shape, deadline, effort), dynamics)
