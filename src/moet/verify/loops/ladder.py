"""Attempts at a proof by a chain of sets, from coarse to fine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from moet.model.mixture import Mixture
from moet.verify.limits import Deadline, Progress
from moet.verify.loops.chain import Block, Chain, refutation
from moet.verify.loops.frame import Effort, Frame, Stopped
from moet.verify.loops.runs import Runs, simulate
from moet.verify.loops.shape import choose_shape
from moet.verify.result import Proved, Unknown, Verdict
from moet.verify.systems.dynamics import Dynamics
from moet.verify.systems.system import System


class Setting(NamedTuple):
    """How finely an attempt looks: steps of a search, polytopes of a set, pieces of the model of a step."""

    n_steps: int
    n_cells: int
    n_pieces: int


Attempt = Callable[[Chain, Runs, Setting, Progress], list[Block]]
"""Finds the blocks of a proof, or raises Stopped; it may look at simulated runs, and says how far it is."""


def try_settings(
    mixture: Mixture,
    system: System,
    steps: int | None,
    n_simulated: int,
    ladder: Sequence[Setting],
    attempt: Attempt,
    deadline: Deadline,
    progress: Progress | None = None,
) -> Verdict:
    """Simulate some steps; unless they refute safety, attempt a proof with each setting until one succeeds."""
    runs = simulate(mixture, system, n_simulated)
    refuted = refutation(mixture, system, runs)
    if refuted is not None:
        return refuted
    effort = Effort()
    for i, setting in enumerate(ladder):

        def advance(share: float, note: str, i: int = i) -> None:
            if progress is not None:
                tried = f"attempt {i + 1} of {len(ladder)}"
                progress((i + share) / len(ladder), f"{tried}: {note}, {effort['nodes']} nodes")

        chain = _chain(mixture, system, runs, setting, deadline, effort)
        try:
            certificate = chain.certificate(attempt(chain, runs, setting, advance), steps)
            return Proved(certificate=certificate, effort=effort.report(deadline))
        except Stopped as stop:
            reason = str(stop)
        if deadline.passed:
            break
    return Unknown(reason=reason, effort=effort.report(deadline))


def _chain(mixture: Mixture, system: System, runs: Runs, setting: Setting, deadline: Deadline, effort: Effort) -> Chain:
    """Sets and models fit for a closed loop, judged by simulated runs."""
    states = runs.states.reshape(-1, system.n_states)
    dynamics = Dynamics(system, states.min(axis=0), states.max(axis=0), setting.n_pieces)
    matrix, offsets, _ = system.enclose(states.min(axis=0), states.max(axis=0))
    shape = choose_shape(mixture, matrix, offsets, states, runs.actions.ravel(), setting.n_cells)
    return Chain(Frame(mixture, system, shape, deadline, effort), dynamics)
