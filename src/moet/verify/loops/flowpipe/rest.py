"""Where runs of a loop come to rest, by simulation: the middle and the sides of a set that it may lead into itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moet.verify.limits import Deadline, Stopped
from moet.verify.loops.flowpipe.policy import Acting
from moet.verify.loops.flowpipe.reduce import real_modes
from moet.verify.systems.controls import clipped, observed
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_UNTIL_REST, _AT_REST, _COARSE = 2000, 1e-10, 4
"""Steps after which a run is taken to be at rest, at the latest; how little it moves then; and how it is simulated."""

_RUNS = 200
"""Runs that are simulated, each with unknown numbers of its own."""


class Rest:
    """Where runs come to rest.

    Attributes
    ----------
    middle : array of shape (n_states,)
        Where a run comes to rest whose unknown numbers are in the middle of their limits.
    modes : array of shape (n_states, n_states)
        Columns are the modes of the loop there, or the states if modes are nearly dependent.
    """

    def __init__(self, system: System, acting: Acting, deadline: Deadline, last_scheduled: int, seed: int) -> None:
        self._system, self._acting, self._deadline, self._last = system, acting, deadline, last_scheduled
        with np.errstate(all="ignore"):
            self.middle = self._at_rest()
            self.modes = self._modes_there()
        random = np.random.default_rng(seed)
        self._unknown = _drawn(system, random)
        self._added = _added(system, random)
        self._runs, self._steps = system.first.sample(random, _RUNS), 0

    def after(self, steps: int) -> Floats:
        """Simulated runs after so many steps, one per row; not fewer than were asked about before."""
        while self._steps < steps:
            self._deadline.look()
            with np.errstate(all="ignore"):
                self._runs = self._next(self._runs, self._steps, self._unknown) + self._added
            self._steps += 1
        return self._runs

    def _at_rest(self) -> Floats:
        state = np.array([(low + high) / 2 for low, high in self._system.initial], np.float64)[None]
        for _ in range(_UNTIL_REST):
            before, state = state, self._next(state, self._last)
            self._deadline.look()
            if np.abs(state - before).max() <= _AT_REST * (1 + np.abs(state).max()):
                break
        if not np.all(np.isfinite(state)):
            raise Stopped(
                "simulated runs do not come to rest, so no set was looked for that the loop leads into itself; "
                "ask about some steps, or change the controller until runs settle (system.simulate shows them)"
            )
        return np.asarray(state[0])

    def _modes_there(self) -> Floats:
        scale = 1e-5 * np.maximum(1e-3, np.abs(np.array(self._system.initial, np.float64)).max(axis=1))
        steps = np.diag(scale)
        ahead, behind = (self._next(self.middle + side, self._last) for side in (steps, -steps))
        modes = real_modes((ahead - behind).T / (2 * scale))
        return np.eye(len(scale)) if modes is None else modes

    def _next(self, states: Floats, step: int, unknown: dict[str, Floats] | None = None) -> Floats:
        system = self._system
        wanted = self._acting.mixture.predict(observed(system, states))
        if isinstance(system, SampledSystem):
            return system.between(states, wanted, 1, unknown, steps=_COARSE, step=step)[:, -1]
        return system.successor(states, clipped(system, wanted), step)


def _drawn(system: System, random: np.random.Generator) -> dict[str, Floats]:
    """Unknown numbers of every run, each at one of its limits."""
    named = {**system.parameters, **system.signals} if isinstance(system, SampledSystem) else {}
    return {name: random.choice(np.array(side, np.float64), _RUNS) for name, side in named.items()}


def _added(system: System, random: np.random.Generator) -> Floats:
    """What is added to the next states of every run."""
    return np.stack([random.choice(np.array(side, np.float64), _RUNS) for side in system.disturbance], axis=1)
