"""Ways from a student to a safe law: with all that its gate weighs at once, or with one state alone.

What keeps a policy from being proved is mostly that it damps one state too little. To move only that state's weights
costs far less fidelity than to move all of them. A way is judged by simulation, which is cheap: how far it may be
followed until too much fidelity is lost, and how well the policy there comes to rest. Proofs are dear: the way that
comes to rest best is asked about first, each of the others next, and then how much less of those that are proved will
do, the most faithful first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.teachers.teacher import Teacher
from moet.verify.loops.interval_replay import idle_disturbance, seen
from moet.verify.loops.simulation import excess
from moet.verify.systems.system import System

Floats = NDArray[np.float64]
Judged = tuple[bool, float]
"""Whether a policy was proved, and its fidelity in play."""

ALL = "line"
"""Name of the way on which everything is moved."""

HALVINGS = 3
"""How often a share that is proved is brought closer to the student."""

_RUNS, _STEPS, _WIDER = 60, 500, 6.0
_LOOKS = 5
"""How often the share at which too much fidelity is lost is halved for."""


class Way(NamedTuple):
    """What is moved: the gate's bias and weights, each by the share or not at all."""

    name: str
    moves: Floats


class Stop(NamedTuple):
    """How far a way may be followed, and how much of its swing a run from there keeps."""

    way: Way
    share: float
    unrest: float


def ways_of(system: System) -> list[Way]:
    """All ways for a system: everything, and each state alone."""
    alone = np.hstack([np.zeros((system.n_states, 1)), np.eye(system.n_states)])
    return [Way(ALL, np.ones(system.n_states + 1)), *map(Way, system.states, alone)]


class Search:
    """The search along all ways for the most faithful policy that is proved.

    Parameters
    ----------
    policy : callable
        The policy that is moved by a vector of shares, one for the bias and each weight.
    teacher : Teacher
    system : System
    ask : callable
        Asks about a policy on a way, at a share; says whether it is proved, and its fidelity.
    """

    def __init__(
        self,
        policy: Callable[[Floats], Mixture],
        teacher: Teacher,
        system: System,
        ask: Callable[[Way, float], Judged],
    ) -> None:
        self._policy, self._teacher, self._system, self._ask = policy, teacher, system, ask

    def run(self, least: float, is_over: Callable[[], bool]) -> None:
        """Ask until all ways are done or time is up; policies below this fidelity are not worth a question.

        Every way is asked about once before any is looked at more closely, the most faithful that is proved first.
        """
        proved: list[tuple[float, Stop]] = []
        for stop in sorted(self._stops(least), key=lambda stop: stop.unrest):
            if is_over():
                return
            is_proved, faithful = self._ask(stop.way, stop.share)
            if is_proved:
                proved.append((faithful, stop))
        for _, stop in sorted(proved, key=lambda one: -one[0]):
            self._closer(stop, is_over)

    def _stops(self, least: float) -> Iterator[Stop]:
        for way in ways_of(self._system):
            share = self._furthest(way, least)
            if share > 0.0:
                yield Stop(way, share, unrest(self._policy(share * way.moves), self._system))

    def _closer(self, stop: Stop, is_over: Callable[[], bool]) -> None:
        """Ask how much less than what is proved will do."""
        near, far = 0.0, stop.share
        for _ in range(HALVINGS):
            if is_over():
                return
            middle = (near + far) / 2
            near, far = (near, middle) if self._ask(stop.way, middle)[0] else (middle, far)

    def _furthest(self, way: Way, least: float) -> float:
        """The largest share at which a simulated policy is as faithful as that."""
        kept, lost = 0.0, 1.0
        if fidelity(self._policy(way.moves), self._teacher, self._system) >= least:
            return 1.0
        for _ in range(_LOOKS):
            middle = (kept + lost) / 2
            faithful = fidelity(self._policy(middle * way.moves), self._teacher, self._system) >= least
            kept, lost = (middle, lost) if faithful else (kept, middle)
        return kept


def fidelity(policy: Mixture, teacher: Teacher, system: System) -> float:
    """Share of a policy's actions in simulated runs that are the teacher's; 0 if a run leaves the safe set."""
    right = 0
    for states, actions in _simulated(policy, system, 1.0):
        if excess(system.safe, states).max() > 0:
            return 0.0
        right += int(np.count_nonzero(np.asarray(teacher.act(seen(system, states))) == actions))
    return right / (_RUNS * _STEPS)


def unrest(policy: Mixture, system: System) -> float:
    """How much of their widest swing runs from further out keep at their end, of the state that keeps most."""
    visited = np.array([states for states, _ in _simulated(policy, system, _WIDER)])
    middle = np.array([float(low + high) / 2 for low, high in system.initial])
    away = np.abs(visited - middle).max(axis=1)
    if not np.all(np.isfinite(away)) or excess(system.safe, visited[-1]).max() > 0:
        return np.inf
    return float((away[-_STEPS // 10 :].max(axis=0) / (away.max(axis=0) + 1e-300)).max())


def _simulated(policy: Mixture, system: System, wider: float) -> Iterator[tuple[Floats, NDArray[np.int64]]]:
    """States and actions of runs from random first states, or from a box that is so much wider."""
    low, high = np.array([[float(a), float(b)] for a, b in system.initial]).T
    middle, half = low / 2 + high / 2, wider * (high / 2 - low / 2)
    states = np.random.default_rng(0).uniform(middle - half, middle + half, (_RUNS, len(low)))
    numbers = dict(zip(policy.classes.tolist(), system.actions_of(policy), strict=True))
    idle = np.array(idle_disturbance(system), np.float64)
    for _ in range(_STEPS):
        labels = policy.predict_hard(seen(system, states)).tolist()
        actions = np.array([numbers[label] for label in labels])
        yield states, actions
        with np.errstate(all="ignore"):
            states = system.successor(states, actions) + idle
        states = np.clip(states, -1e9, 1e9)
