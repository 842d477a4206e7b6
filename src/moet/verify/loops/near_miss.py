"""The simulated run of a closed loop that comes closest to a limit: where to look first if a proof fails."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from moet.errors import InputError
from moet.model.mixture import Mixture
from moet.verify.loops.simulation import simulate
from moet.verify.result import Trace
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.system import System

LONG = 2000
_RUNS = 64


class NearMiss(NamedTuple):
    """A run up to the time at which it is closest to a condition of the safe set, and the room that is left there.

    ``room`` is bound − coefficients·x; negative, if the run breaks the condition.
    """

    trace: Trace
    condition: HalfSpace
    room: float

    @property
    def time(self) -> int:
        """When that is."""
        return len(self.trace.actions)


def nearest_miss(mixture: Mixture, system: System, n_steps: int | None = None) -> NearMiss:
    """The simulated run that comes closest to a condition of the safe set, relative to the size of its bound.

    Examples
    --------
    >>> import moet
    >>> from moet.verify import systems
    >>> trees = [moet.Tree.leaf([1, 0]), moet.Tree.leaf([0, 1])]
    >>> lean = moet.Mixture([[0, 0, 0, 0], [3.3, 6.9, 100, 23.7]], [0, 0], trees, ["left", "right"])
    >>> miss = nearest_miss(lean, systems.cartpole_linear(), 200)
    >>> 0 < miss.room < 0.2, miss.condition.coefficients[2] != 0
    (True, True)
    """
    if not system.safe:
        raise InputError(f"the system {system.name!r} has no safe set")
    runs = simulate(mixture, system, LONG if n_steps is None else min(n_steps, LONG), n_runs=_RUNS, until_unsafe=True)
    rows = np.array([half.coefficients for half in system.safe], np.float64)
    bounds = np.array([float(half.bound) for half in system.safe])
    room = bounds - runs.states @ rows.T
    time, run, which = np.unravel_index((room / np.maximum(np.abs(bounds), 1e-9)).argmin(), room.shape)
    names = tuple(system.actions[action] for action in runs.actions[:time, run])
    trace = Trace(runs.states[: time + 1, run], names)
    return NearMiss(trace, system.safe[which], float(room[time, run, which]))
