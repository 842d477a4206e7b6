"""Simulated runs of a closed loop: to learn where it goes, and to find one that goes where it must not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.verify.limits import Deadline
from moet.verify.loops.interval_replay import Box, IntervalReplay, idle_disturbance, seen, surely_violated
from moet.verify.loops.replay import Replay, first_state
from moet.verify.result import Trace
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.description import Side
from moet.verify.systems.discrete import AffineSystem, NonlinearSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_RUNS = 400
_MAX_TRIED = 20

_FAR_AWAY = 1e9
"""A run that is beyond this is long gone, and nobody need follow it."""

_LONGER = 1.25
"""An exact run may take this much longer to leave the safe set than the simulated one that it was told by."""


class Runs(NamedTuple):
    """States of many runs, first axis time, and the action numbers taken there (at the last state, too)."""

    states: Floats
    actions: NDArray[np.int64]


def simulate(
    mixture: Mixture,
    system: System,
    n_steps: int,
    seed: int = 0,
    n_runs: int = _RUNS,
    initial: Sequence[Side] | None = None,
    deadline: Deadline | None = None,
    until_unsafe: bool = False,
) -> Runs:
    """Run from random first states, the corners of their box among them, in float64 and with the least disturbance.

    The box is that of the system if no other is given. The runs are cut short when time is up, when one of them is
    long gone or, if asked, when one is unsafe.
    """
    random = np.random.default_rng(seed)
    low, high = np.array([[float(a), float(b)] for a, b in initial or system.initial]).T
    share = random.random((n_runs, len(low)))
    corners = len(share) // 4
    share[:corners] = np.round(share[:corners])
    number = dict(zip(mixture.classes.tolist(), system.actions_of(mixture), strict=True))
    idle = np.array(idle_disturbance(system), np.float64)
    states: list[Floats] = [low * (1 - share) + share * high]
    actions: list[NDArray[np.int64]] = []
    while True:
        labels = mixture.predict_hard(seen(system, states[-1]))
        actions.append(np.array([number[label] for label in labels.tolist()]))
        if len(states) == n_steps + 1 or (deadline is not None and deadline.passed):
            break
        with np.errstate(all="ignore"):
            following = system.successor(states[-1], actions[-1]) + idle
        if not np.all(np.abs(following) < _FAR_AWAY):
            break
        states.append(following)
        if until_unsafe and excess(system.safe, following[None]).max() > 0:
            n_steps = len(states) - 1
    return Runs(np.array(states), np.array(actions))


def find_violation(mixture: Mixture, system: System, runs: Runs, steps: int | None, deadline: Deadline) -> Trace | None:
    """A run that surely leaves the safe set within some steps, if one of those that seem to can be confirmed."""
    over = excess(system.safe, runs.states)
    worst_first = np.argsort(-over.max(axis=0), kind="stable")
    for run in worst_first[:_MAX_TRIED].tolist():
        unsafe = np.flatnonzero(over[:, run] > 0)
        if len(unsafe) == 0 or deadline.passed:
            return None
        longest = int(_LONGER * unsafe[0]) + 1
        most = longest if steps is None else min(steps, longest)
        trace = _violation(mixture, system, runs.states[:, run], most, deadline)
        if trace is not None:
            return trace
    return None


def excess(conditions: Sequence[HalfSpace], states: Floats) -> Floats:
    """By how much states, or an array of them, break the worst of the conditions; roughly, and −inf without any."""
    if not conditions:
        return np.full(states.shape[:-1], -np.inf)
    bounds = np.array([float(half.bound) for half in conditions])
    with np.errstate(over="ignore", invalid="ignore"):
        worst: Floats = np.nan_to_num((states @ _rows(conditions).T - bounds).max(axis=-1))
    return worst


def _rows(conditions: Sequence[HalfSpace]) -> Floats:
    return np.array([half.coefficients for half in conditions], dtype=np.float64)


def _violation(mixture: Mixture, system: System, states: Floats, most_steps: int, deadline: Deadline) -> Trace | None:
    """A run like a simulated one that is surely unsafe after at most so many steps."""
    start = first_state(system, states[0])
    if start is None:
        return None
    if isinstance(system, AffineSystem):
        return Replay(mixture, system, deadline).leaves_safe_set(start, [idle_disturbance(system)] * most_steps)
    if not isinstance(system, NonlinearSystem):
        return None
    replay = IntervalReplay(mixture, system, deadline)
    unsafe = [
        t for t in np.flatnonzero(excess(system.safe, states) > 0) if surely_violated(system.safe, *2 * [states[t]])
    ]
    if unsafe and unsafe[0] <= most_steps and (trace := replay.shadow(states[: unsafe[0] + 1])) is not None:
        return trace
    return replay.follow(start, most_steps, lambda boxes: surely_violated(system.safe, *boxes[-1]) or None)


def find_miss(
    mixture: Mixture,
    system: NonlinearSystem,
    goal: Sequence[HalfSpace],
    runs: Runs,
    n_steps: int,
    deadline: Deadline,
) -> Trace | None:
    """A run that surely does not enter the goal within ``n_steps`` steps, if one of those that seem to is confirmed."""

    def outside_to_the_end(boxes: list[Box]) -> bool | None:
        if not surely_violated(goal, *boxes[-1]):
            return False
        return True if len(boxes) == n_steps + 1 else None

    replay = IntervalReplay(mixture, system, deadline)
    for run in runs_outside(goal, runs)[:_MAX_TRIED].tolist():
        if deadline.passed:
            return None
        states = runs.states[:, run]
        if len(states) == n_steps + 1 and all(surely_violated(goal, state, state) for state in states):
            trace = replay.shadow(states)
            if trace is not None:
                return trace
        start = first_state(system, states[0])
        trace = None if start is None else replay.follow(start, n_steps, outside_to_the_end)
        if trace is not None:
            return trace
    return None


def runs_outside(goal: Sequence[HalfSpace], runs: Runs) -> NDArray[np.int64]:
    """Runs that are in a goal at no time."""
    return np.flatnonzero(np.all(excess(goal, runs.states) > 0, axis=0))
