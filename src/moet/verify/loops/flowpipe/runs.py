"""Simulated runs of a controlled system, side by side, and by how much each misses what is required."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.verify.limits import Deadline, Stopped
from moet.verify.loops.flowpipe.labels import laws_of
from moet.verify.loops.flowpipe.unknowns import Shares, shares_of
from moet.verify.spec import Condition, Requirement
from moet.verify.systems.controls import clipped, observed
from moet.verify.systems.description import scheduled
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_RUNS, _POINTS, _FOR_EVER = 100, 4, 300
"""First states that are drawn, points per period, and steps if there is no end."""

_CORNERS_UP_TO = 6
"""States up to which all corners of the first states are tried, too."""


class Misses(NamedTuple):
    """By how much each run misses a requirement, if positive, and the steps after which it has."""

    sizes: Floats
    steps: NDArray[np.int64]


class Runs:
    """Runs from random first states and corners, for every way of fixing what is unknown.

    Attributes
    ----------
    starts : array of shape (n_runs, n_states)
    """

    def __init__(self, model: Mixture | RegressionMixture, system: System, deadline: Deadline, seed: int) -> None:
        self._system, self._deadline = system, deadline
        self._ways = shares_of(system, seed)
        first = _starts(system, seed)
        self.starts = np.tile(first, (len(self._ways), 1))
        self._way = np.repeat(np.arange(len(self._ways)), len(first))
        self._low, self._high = (laws_of(model, system, share) for share in (0.0, 1.0))
        self._common = self._by_run([way.common for way in self._ways])[:, None]
        self._named = {name: self._by_run([way.of(name) for way in self._ways]) for name in _names(system)}
        self._added = np.array([way.added(system) for way in self._ways])[self._way]

    def _by_run(self, shares: list[Fraction]) -> Floats:
        return np.asarray(np.array(shares, np.float64)[self._way])

    def shares(self, run: int) -> Shares:
        """Where unknown numbers are in a run."""
        return self._ways[self._way[run]]

    def misses(self, spec: Sequence[Requirement]) -> Misses:
        """Simulate, and see by how much runs miss requirements."""
        ends = [part.end for part in spec if part.end is not None]
        steps = int(np.ceil(float(max(ends) / _period(self._system)))) if ends else _FOR_EVER
        watched = [_Watched(part, len(self.starts)) for part in spec]
        for times, states in self._simulated(steps):
            for part in watched:
                part.look(times, states)
        sizes, when = (np.array([getattr(part, name) for part in watched]) for name in ("sizes", "when"))
        worst = np.argmax(sizes, axis=0)
        last = np.take_along_axis(when, worst[None], axis=0)[0] / float(_period(self._system))
        return Misses(sizes.max(axis=0), np.minimum(steps, np.ceil(last - 1e-9).astype(np.int64)))

    def _simulated(self, steps: int) -> Iterator[tuple[Floats, Floats]]:
        """Times and states of every step, the last of them at the next look."""
        system, x = self._system, self.starts
        yield np.zeros(1), x[:, None]
        with np.errstate(all="ignore"):
            for step in range(steps):
                if self._deadline.passed:
                    raise Stopped(self._deadline.reason)
                states = self._step(x, step)
                n, x = states.shape[1], states[:, -1]
                yield float(_period(system)) * (step + np.arange(1, n + 1) / n), states

    def _step(self, x: Floats, step: int) -> Floats:
        system = self._system
        seen = observed(system, np.where(np.isfinite(x), x, 0.0))
        controls = self._low.predict(seen)
        if system.effects:
            controls = controls + self._common * (self._high.predict(seen) - controls)
        controls = clipped(system, controls)
        if isinstance(system, SampledSystem):
            return system.between(x, controls, _POINTS, self._held(system, step), steps=_POINTS)[:, 1:]
        return (system.successor(x, controls, step) + self._added)[:, None]

    def _held(self, system: SampledSystem, step: int) -> dict[str, Floats]:
        sides = {**system.parameters, **system.signals}
        constant = {name: float(a) + self._named[name] * float(b - a) for name, (a, b) in sides.items()}
        least, most = (scheduled(system.schedule, step, share) for share in (0.0, 1.0))
        return constant | {name: least[name] + self._named[name] * (most[name] - least[name]) for name in least}


class _Watched:
    """A requirement, and by how much every run has missed it so far."""

    def __init__(self, part: Requirement, n_runs: int) -> None:
        self._part = part
        self._start = float(part.start) - 1e-9
        self._end = np.inf if part.end is None else float(part.end) + 1e-9
        self._is_goal = part.kind == "reach"
        self.sizes = np.full(n_runs, np.inf if self._is_goal else -np.inf)
        self.when = np.full(n_runs, 0.0 if part.end is None or not self._is_goal else float(part.end))
        if self._is_goal and part.end is None:
            self.sizes[:] = -np.inf

    def look(self, times: Floats, states: Floats) -> None:
        """Look at states; a goal is looked at when the policy looks, which is at the last of them."""
        looked = (self._start <= times) & (times <= self._end)
        if self._is_goal:
            looked[:-1] = False
        if not looked.any():
            return
        over = np.stack([_over(condition, states[:, looked]) for condition in self._part.conditions])
        over = np.where(np.isfinite(over), over, -np.inf).max(axis=0)
        if self._is_goal:
            self.sizes = np.minimum(self.sizes, over.min(axis=1))
            return
        over = -over if self._part.kind == "avoid" else over
        new = (over > 0).any(axis=1) & ~(self.sizes > 0)
        self.when = np.where(new, times[looked][np.argmax(over > 0, axis=1)], self.when)
        self.sizes = np.maximum(self.sizes, over.max(axis=1))


def _names(system: System) -> list[str]:
    constants = [*system.parameters, *system.signals] if isinstance(system, SampledSystem) else []
    return [*constants, *system.schedule]


def _starts(system: System, seed: int) -> Floats:
    """Random first states, and corners of the boxes that are first states."""
    rows = [system.first.sample(np.random.default_rng(seed), _RUNS)]
    for box in system.first.boxes if system.n_states <= _CORNERS_UP_TO else ():
        corners = [corner for corner in product(*box) if system.first.has(corner)]
        rows.append(np.array(corners, np.float64).reshape(-1, system.n_states))
    return np.unique(np.concatenate(rows), axis=0)


def _over(condition: Condition, states: Floats) -> Floats:
    """By how much states are beyond a condition."""
    value = states @ np.array(condition.coefficients, np.float64) - float(condition.bound)
    for norm in condition.norms:
        value = value + float(norm.factor) * np.linalg.norm(states @ np.array(norm.rows, np.float64).T, axis=-1)
    return np.asarray(value)


def _period(system: System) -> Fraction:
    return system.period if isinstance(system, SampledSystem) else Fraction(1)
