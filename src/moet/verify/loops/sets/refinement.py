"""Attempts at a proof by a propagation of sets, from coarse to fine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.verify.confirm import confirmed
from moet.verify.limits import Deadline, Progress, Stopped
from moet.verify.loops.refute import late_refutation, refutation
from moet.verify.loops.sets.enclosures import Enclosures, linearised
from moet.verify.loops.sets.post import MANY, Effort, Post
from moet.verify.loops.sets.propagate import Block, Propagation
from moet.verify.loops.sets.template import (
    Band,
    Template,
    contracting,
    looking_ahead,
    pulled_back,
    settling_time,
    slices,
)
from moet.verify.loops.simulation import Runs, simulate
from moet.verify.result import Proved, Unknown, Verdict
from moet.verify.systems.system import System


class Fineness(NamedTuple):
    """How finely an attempt looks: steps of a search, polytopes of a set, pieces of an enclosure, splits of a path.

    ``settles`` is for loops that settle whatever the policy does: their sets have sides that look ahead. Others have
    sides along which limits of the safe set are followed back ``n_pulled`` times, ``n_steps`` steps each. ``at_band``
    cuts sets at the ends of a band that the policy is known to have, in place of ``n_cells``.
    """

    n_steps: int
    n_cells: int
    n_pieces: int
    most_splits: int = MANY
    settles: bool = False
    n_pulled: int = 0
    at_band: bool = False


_N_POWERS = 4
"""Steps that the sides of sets look ahead, where a loop settles by itself."""

_FEW_STEPS = 10
"""So many steps may be followed as if a system settled, even if it does not."""

_SLOWEST = 100
"""A system that has not settled after so many steps counts as one that does not."""

Attempt = Callable[[Propagation, Runs, Fineness, Progress], list[Block]]
"""Finds the blocks of a proof, or raises Stopped; it may look at simulated runs, and says how far it is."""


def refine(
    mixture: Mixture,
    system: System,
    steps: int | None,
    n_simulated: int,
    refinements: Sequence[Fineness],
    attempt: Attempt,
    deadline: Deadline,
    progress: Progress | None = None,
    *,
    workers: int = 1,
) -> Verdict:
    """Simulate some steps; unless they refute safety, attempt a proof with each setting until one succeeds."""
    effort = Effort()
    runs = simulate(mixture, system, n_simulated, deadline=deadline)
    refuted = refutation(mixture, system, runs, steps, deadline)
    if refuted is not None:
        return replace(refuted, effort=effort.report(deadline))
    looked, coarser = False, ""
    if settling_steps(system, runs) is None and (steps is None or steps > _FEW_STEPS):
        refinements = [setting for setting in refinements if not setting.settles]
    for i, setting in enumerate(refinements):

        def report(share: float, note: str, i: int = i) -> None:
            if progress is not None:
                tried = f"attempt {i + 1} of {len(refinements)}"
                progress((i + share) / len(refinements), f"{tried}: {note}, {effort['nodes']} nodes")

        try:
            propagation = propagation_of(mixture, system, steps, runs, setting, deadline, effort, workers)
            certificate = propagation.certificate(attempt(propagation, runs, setting, report), steps)
            proved = Proved(certificate=certificate, effort=effort.report(deadline))
            verdict = confirmed(proved, mixture, system, deadline=deadline)
            if isinstance(verdict, Proved):
                return verdict
            reason = verdict.reason
        except Stopped as stop:
            reason = str(stop)
        if deadline.passed:
            reason += coarser
            break
        coarser = f"; with coarser sets: {reason}"
        if not setting.settles and not looked:
            looked = True
            if (late := late_refutation(mixture, system, steps, deadline)) is not None:
                return replace(late, effort=effort.report(deadline))
    return Unknown(reason=reason, effort=effort.report(deadline))


def settling_steps(system: System, runs: Runs) -> int | None:
    """Steps after which little is left of where a run began, whatever the policy does; None if that is not so."""
    low, high = runs.states.min(axis=(0, 1)), runs.states.max(axis=(0, 1))
    return settling_time(system.fitted_matrix(low, high), high - low, _SLOWEST)


def propagation_of(
    mixture: Mixture,
    system: System,
    steps: int | None,
    runs: Runs,
    setting: Fineness,
    deadline: Deadline,
    effort: Effort,
    workers: int,
    band: Band | None = None,
) -> Propagation:
    """Sets and enclosures fit for a closed loop, judged by simulated runs.

    If a policy switches in one direction, but in another one as soon as it leaves a band, the sets have the sides of
    both.
    """
    states = runs.states.reshape(-1, system.n_states)
    low, high = states.min(axis=0), states.max(axis=0)
    direction, edges = slices(mixture, states, runs.actions.ravel(), setting.n_cells)
    if setting.settles:
        goes_on = steps is None or steps > setting.n_steps
        directions = looking_ahead(system.fitted_matrix(low, high), _N_POWERS if goes_on else 0)
    else:
        switches = [direction] if band is None else [direction, band.direction]
        if setting.at_band and band is not None:
            switches.reverse()
            direction, edges = band.direction, band.edges
        linear = linearised(system, low, high, deadline)
        pulled = pulled_back(*linear, direction, _limited(system), setting.n_steps, setting.n_pulled)
        sides = [contracting(*linear, switch) for switch in switches]
        beside = [np.array([switch, -switch]) for switch in switches[1:]]
        directions = np.concatenate([*sides, pulled, *beside])
    enclosures = Enclosures(system, low, high, setting.n_pieces, deadline=deadline)
    template = Template(direction, edges, directions)
    return Propagation(Post(mixture, system, template, deadline, effort, setting.most_splits, workers), enclosures)


def _limited(system: System) -> NDArray[np.float64]:
    """What conditions of the safe set are about, each once whichever way it is limited."""
    rows = {max(half.coefficients, tuple(-a for a in half.coefficients)): None for half in system.safe}
    return np.array([[float(a) for a in row] for row in rows]).reshape(-1, system.n_states)
