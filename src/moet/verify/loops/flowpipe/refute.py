"""Runs of a controlled system that miss what is required: simulated, then enclosed by the checker's own arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

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
from moet.verify.result import Refuted, Trace
from moet.verify.spec import Condition, Requirement
from moet.verify.systems.controls import clipped, observed
from moet.verify.systems.description import scheduled
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_SHARES = (Fraction(1, 2), Fraction(0), Fraction(1))
"""Where unknown numbers are tried between their limits."""

_RUNS = 100
_POINTS = 4
_REPLAYED = 16
_FOR_EVER = 300
_TRIES = 3
"""Runs that are simulated, points per period, substeps of a replay, steps if there is no end, runs to replay."""


def refutation(
    model: Mixture | RegressionMixture, system: System, spec: Sequence[Requirement], deadline: Deadline, seed: int
) -> Refuted | None:
    """A run that surely misses a requirement, if one is found."""
    corner = _unsafe_first_state(system, spec)
    if corner is not None:
        return Refuted(trace=Trace(np.array([corner], np.float64), (), None, corner))
    shares = _SHARES if _has_unknowns(system) else _SHARES[:1]
    for share in shares:
        trace = _found(model, system, spec, deadline, seed, share)
        if trace is not None:
            return Refuted(trace=trace)
    return None


def _has_unknowns(system: System) -> bool:
    named = {**system.parameters, **system.signals} if isinstance(system, SampledSystem) else {}
    effects = [side for sides in system.effects.values() for side in sides]
    planned = [side for sides in system.schedule.values() for side in sides]
    return any(low < high for low, high in (*system.disturbance, *named.values(), *effects, *planned))


def _found(
    model: Mixture | RegressionMixture,
    system: System,
    spec: Sequence[Requirement],
    deadline: Deadline,
    seed: int,
    share: Fraction,
) -> Trace | None:
    """A run with all unknown numbers at a share of the way between their limits."""
    mixture = laws_of(model, system, float(share))
    times, states, steps = _simulated(mixture, system, spec, deadline, seed, float(share))
    points = _POINTS if isinstance(system, SampledSystem) else 1
    misses = [_missed(part, times, states, points if part.kind == "reach" else 1) for part in spec]
    sizes, when = np.max([size for size, _ in misses], axis=0), np.argmax([size for size, _ in misses], axis=0)
    for run in np.argsort(-sizes)[:_TRIES]:
        if not sizes[run] > 0:
            return None
        last = misses[when[run]][1][run]
        n_steps = min(steps, int(np.ceil(last / float(_period(system)) - 1e-9)))
        trace = _replayed(model, system, spec, states[run, 0], n_steps, share, deadline)
        if trace is not None:
            return trace
    return None


def _unsafe_first_state(system: System, spec: Sequence[Requirement]) -> tuple[Fraction, ...] | None:
    """A corner of the first states at which a linear condition does not hold."""
    for part in spec:
        for c in part.conditions if part.kind == "hold" and not part.start else ():
            for corner in system.first.corners(c.coefficients) if not c.norms else ():
                if sum(a * x for a, x in zip(c.coefficients, corner, strict=True)) > c.bound:
                    return corner
    return None


def _simulated(
    mixture: RegressionMixture,
    system: System,
    spec: Sequence[Requirement],
    deadline: Deadline,
    seed: int,
    share: float,
) -> tuple[Floats, Floats, int]:
    """Times, and states of runs from corners and random first states at these times."""
    ends = [part.end for part in spec if part.end is not None]
    period = _period(system)
    steps = int(np.ceil(float(max(ends) / period))) if ends else _FOR_EVER
    x = _starts(system, seed)
    times, states = [0.0], [x]
    fixed, added = _fixed(system, share)
    with np.errstate(all="ignore"):
        for step in range(steps):
            if deadline.passed:
                raise Stopped(deadline.reason)
            controls = clipped(system, mixture.predict(observed(system, np.where(np.isfinite(x), x, 0.0))))
            if isinstance(system, SampledSystem):
                held = fixed | scheduled(system.schedule, step, share)
                inner = system.between(x, controls, _POINTS, held, steps=_POINTS)[:, 1:]
                states += list(np.moveaxis(inner, 1, 0))
                times += [float(period) * (step + (k + 1) / _POINTS) for k in range(_POINTS)]
            else:
                states.append(system.successor(x, controls, step) + added)
                times.append(float(step + 1))
            x = states[-1]
    return np.array(times), np.stack(states, axis=1), steps


def _starts(system: System, seed: int) -> Floats:
    """Random first states, and corners of the boxes that are first states."""
    rows = [system.first.sample(np.random.default_rng(seed), _RUNS)]
    for box in system.first.boxes if system.n_states <= 6 else ():
        corners = [corner for corner in product(*box) if system.first.has(corner)]
        rows.append(np.array(corners, np.float64).reshape(-1, system.n_states))
    return np.unique(np.concatenate(rows), axis=0)


def _fixed(system: System, share: float) -> tuple[dict[str, float], Floats]:
    """Parameters and signals, and what is added to the next state."""
    named = {**system.parameters, **system.signals} if isinstance(system, SampledSystem) else {}
    least, most = np.array(system.disturbance, np.float64).T
    values = {name: float(low) + share * float(high - low) for name, (low, high) in named.items()}
    return values, least + share * (most - least)


def _missed(part: Requirement, times: Floats, states: Floats, every: int) -> tuple[Floats, Floats]:
    """By how much runs miss a requirement, and when; ``every`` so many points it is looked at."""
    end = np.inf if part.end is None else float(part.end)
    looked = np.flatnonzero((times >= float(part.start) - 1e-9) & (times <= end + 1e-9))
    looked = looked[looked % every == 0]
    if not len(looked):
        return np.full(len(states), -np.inf), np.zeros(len(states))
    with np.errstate(all="ignore"):
        over = np.stack([_over(c, states[:, looked]) for c in part.conditions])
    over = np.where(np.isfinite(over), over, -np.inf)
    if part.kind == "reach":
        return over.max(axis=0).min(axis=1), np.full(len(states), end)
    sizes = -over.max(axis=0) if part.kind == "avoid" else over.max(axis=0)
    return sizes.max(axis=1), times[looked][np.argmax(sizes > 0, axis=1)]


def _over(condition: Condition, states: Floats) -> Floats:
    """By how much states are beyond a condition."""
    value = states @ np.array(condition.coefficients, np.float64) - float(condition.bound)
    for norm in condition.norms:
        value = value + float(norm.factor) * np.linalg.norm(states @ np.array(norm.rows, np.float64).T, axis=-1)
    return np.asarray(value)


def _replayed(
    model: Mixture | RegressionMixture,
    system: System,
    spec: Sequence[Requirement],
    start: Floats,
    steps: int,
    share: Fraction,
    deadline: Deadline,
) -> Trace | None:
    """The run from a first state, if it surely misses a requirement; its controls are those of the deployed policy."""
    exact = system.first.nearest(start.tolist())
    if exact is None:
        return None
    requirements = [_plain(part) for part in spec]
    meter = Meter(lambda: deadline.passed)
    still = without_unknowns(read_system(system), share)
    try:
        miss = missing(acting_laws(model, still), still, requirements, list(exact), steps, _REPLAYED, meter)
    except Interrupted:
        raise Stopped(deadline.reason) from None
    if miss is None:
        return None
    states, mixture = np.array(miss.samples), laws_of(model, system, float(share))
    controls = [tuple(clipped(system, mixture.act(row)).tolist()) for row in observed(system, states[:-1])]
    added = _fixed(system, float(share))[1]
    disturbances = np.tile(added, (len(controls), 1)) if np.any(added) else None
    return Trace(states, tuple(controls), disturbances, exact)


def _plain(part: Requirement) -> PlainRequirement:
    conditions = [
        PlainCondition(list(c.coefficients), [PlainNorm(n.factor, [list(r) for r in n.rows]) for n in c.norms], c.bound)
        for c in part.conditions
    ]
    return PlainRequirement(part.kind, part.start, part.end, conditions)


def _period(system: System) -> Fraction:
    return system.period if isinstance(system, SampledSystem) else Fraction(1)
