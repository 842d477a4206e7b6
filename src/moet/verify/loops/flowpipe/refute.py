"""Runs of a controlled system that miss what is required: simulated, then enclosed by the checker's own arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.verify.checker.documents.system import read_system
from moet.verify.checker.loops.flowpipe.claims import Condition as PlainCondition
from moet.verify.checker.loops.flowpipe.claims import Norm as PlainNorm
from moet.verify.checker.loops.flowpipe.claims import Requirement as PlainRequirement
from moet.verify.checker.loops.flowpipe.labels import acting_laws
from moet.verify.checker.loops.flowpipe.replay import missing, without_unknowns
from moet.verify.checker.meter import Interrupted, Meter
from moet.verify.limits import Deadline, Stopped
from moet.verify.loops.flowpipe.labels import laws_of
from moet.verify.loops.flowpipe.runs import Runs
from moet.verify.loops.flowpipe.unknowns import Shares
from moet.verify.result import Refuted, Trace
from moet.verify.spec import Requirement
from moet.verify.systems.controls import clipped, observed
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_TRIES, _REPLAYED = 3, 16
"""Runs to replay, and the substeps of a replay."""


def refutation(
    model: Mixture | RegressionMixture, system: System, spec: Sequence[Requirement], deadline: Deadline, seed: int
) -> Refuted | None:
    """A run that surely misses a requirement, if one is found."""
    corner = _unsafe_first_state(system, spec)
    if corner is not None:
        return Refuted(trace=Trace(np.array([corner], np.float64), (), None, corner))
    runs = Runs(model, system, deadline, seed)
    misses = runs.misses(spec)
    for run in np.argsort(-misses.sizes, kind="stable")[:_TRIES]:
        if not misses.sizes[run] > 0:
            return None
        trace = _replayed(model, system, spec, runs.starts[run], int(misses.steps[run]), runs.shares(run), deadline)
        if trace is not None:
            return Refuted(trace=trace)
    return None


def _unsafe_first_state(system: System, spec: Sequence[Requirement]) -> tuple[Fraction, ...] | None:
    """A corner of the first states at which a linear condition does not hold."""
    for part in spec:
        for c in part.conditions if part.kind == "hold" and not part.start else ():
            for corner in system.first.corners(c.coefficients) if not c.norms else ():
                if sum(a * x for a, x in zip(c.coefficients, corner, strict=True)) > c.bound:
                    return corner
    return None


def _replayed(
    model: Mixture | RegressionMixture,
    system: System,
    spec: Sequence[Requirement],
    start: Floats,
    steps: int,
    shares: Shares,
    deadline: Deadline,
) -> Trace | None:
    """The run from a first state, if it surely misses a requirement; its controls are those of the deployed policy."""
    exact = system.first.nearest(start.tolist())
    if exact is None:
        return None
    requirements = [_plain(part) for part in spec]
    meter = Meter(lambda: deadline.passed)
    still = without_unknowns(read_system(system), shares.common, shares.named)
    try:
        miss = missing(acting_laws(model, still), still, requirements, list(exact), steps, _REPLAYED, meter)
    except Interrupted:
        raise Stopped(deadline.reason) from None
    if miss is None:
        return None
    states, mixture = np.array(miss.samples), laws_of(model, system, float(shares.common))
    controls = [tuple(clipped(system, mixture.act(row)).tolist()) for row in observed(system, states[:-1])]
    added = shares.added(system)
    disturbances = np.tile(added, (len(controls), 1)) if np.any(added) else None
    return Trace(states, tuple(controls), disturbances, exact, shares.values(system))


def _plain(part: Requirement) -> PlainRequirement:
    conditions = [
        PlainCondition(list(c.coefficients), [PlainNorm(n.factor, [list(r) for r in n.rows]) for n in c.norms], c.bound)
        for c in part.conditions
    ]
    return PlainRequirement(part.kind, part.start, part.end, conditions)
