"""Simulated runs of a closed loop: to learn where it goes, and to find one that goes where it must not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.verify.loops.replay import Replay
from moet.verify.result import Trace
from moet.verify.rounding import gate_errors
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.description import Side
from moet.verify.systems.enclose import next_boxes
from moet.verify.systems.intervals import Interval
from moet.verify.systems.system import AffineSystem, NonlinearSystem, System

Floats = NDArray[np.float64]

_RUNS = 400
_MAX_TRIED = 20


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
) -> Runs:
    """Run from random first states, the corners of their box among them, in float64 and without disturbance.

    The box is that of the system if no other is given.
    """
    random = np.random.default_rng(seed)
    low, high = np.array([[float(a), float(b)] for a, b in initial or system.initial]).T
    share = random.random((n_runs, len(low)))
    corners = len(share) // 4
    share[:corners] = np.round(share[:corners])
    number = dict(zip(mixture.classes.tolist(), system.actions_of(mixture), strict=True))
    states, actions = [low + share * (high - low)], []
    for _ in range(n_steps + 1):
        labels = mixture.predict_hard(_seen(system, states[-1]))
        actions.append(np.array([number[label] for label in labels.tolist()]))
        with np.errstate(over="ignore", invalid="ignore"):
            following = system.successor(states[-1], actions[-1])
        if len(states) == n_steps + 1 or not np.all(np.abs(following) < 1e9):  # long gone: no need to go on
            break
        states.append(following)
    return Runs(np.array(states), np.array(actions))


def find_violation(mixture: Mixture, system: System, runs: Runs) -> Trace | None:
    """A run that surely leaves the safe set, if one of those that seem to can be confirmed."""
    bounds = np.array([float(half.bound) for half in system.safe])
    excess = (runs.states @ _rows(system.safe).T - bounds).max(axis=2)
    worst_first = np.argsort(-excess.max(axis=0), kind="stable")
    for run in worst_first[:_MAX_TRIED].tolist():
        unsafe = np.flatnonzero(excess[:, run] > 0)
        if len(unsafe) == 0:
            return None
        trace = _confirmed(mixture, system, runs.states[0, run], int(unsafe[0]) + 1)
        if trace is not None:
            return trace
    return None


def _rows(conditions: Sequence[HalfSpace]) -> Floats:
    return np.array([half.coefficients for half in conditions], dtype=np.float64)


def _confirmed(mixture: Mixture, system: System, start: Floats, n_steps: int) -> Trace | None:
    if isinstance(system, AffineSystem):
        idle = [[min(max(Fraction(0), low), high) for low, high in system.disturbance]] * n_steps
        replay = Replay(mixture, system)
        traces = (replay.leaves_safe_set(first, idle) for first in replay.starts([start]))
        return next(traces, None)
    if isinstance(system, NonlinearSystem):
        unsafe = lambda boxes: _surely_violated(system.safe, *boxes[-1]) or None  # noqa: E731
        return _replayed_in_intervals(mixture, system, start, n_steps, unsafe)
    return None


def find_miss(
    mixture: Mixture, system: NonlinearSystem, goal: Sequence[HalfSpace], runs: Runs, n_steps: int
) -> Trace | None:
    """A run that surely does not enter the goal within ``n_steps`` steps, if one of those that seem to is confirmed."""

    def outside_to_the_end(boxes: list[Box]) -> bool | None:
        low, high = boxes[-1]
        if not _surely_violated(goal, low, high):
            return False
        return True if len(boxes) == n_steps + 1 else None

    for run in runs_outside(goal, runs)[:_MAX_TRIED].tolist():
        trace = _replayed_in_intervals(mixture, system, runs.states[0, run], n_steps, outside_to_the_end)
        if trace is not None:
            return trace
    return None


def runs_outside(goal: Sequence[HalfSpace], runs: Runs) -> NDArray[np.int64]:
    """Runs that are in a goal at no time."""
    inside = np.all(runs.states @ _rows(goal).T <= np.array([float(half.bound) for half in goal]), axis=2)
    return np.flatnonzero(~inside.any(axis=0))


Box = tuple[Floats, Floats]
"""Least and largest value of every state."""


def _replayed_in_intervals(
    mixture: Mixture,
    system: NonlinearSystem,
    start: Floats,
    n_steps: int,
    refutes: Callable[[list[Box]], bool | None],
) -> Trace | None:
    """Follow a tiny box around the true run, on all of which the policy must act alike.

    ``refutes`` is told all boxes so far; it says whether they refute what was claimed, or None to go on.
    """
    low, high = start.copy(), start.copy()
    number = dict(zip(mixture.classes.tolist(), system.actions_of(mixture), strict=True))
    idle = np.array([float(min(max(Fraction(0), a), b)) for a, b in system.disturbance])
    first = [Fraction(x) for x in start.tolist()]
    if not all(a <= x <= b for x, (a, b) in zip(first, system.initial, strict=True)):
        return None
    boxes = [(low, high)]
    labels: list[Any] = []
    for _ in range(n_steps + 1):
        if not _inside_domain(system, low, high):
            return None
        decided = refutes(boxes)
        if decided is not None:
            middles = [start, *((bottom + top) / 2 for bottom, top in boxes[1:])]
            return Trace(np.array(middles), tuple(labels)) if decided else None
        label = _sure_label(mixture, system, low, high)
        if label is None:
            return None
        bottom, top = next_boxes(system, np.array([number[label]]), low[:, None], high[:, None])
        low, high = np.nextafter(bottom[:, 0] + idle, -np.inf), np.nextafter(top[:, 0] + idle, np.inf)
        boxes.append((low, high))
        labels.append(label)
    return None


def _sure_label(mixture: Mixture, system: System, low: Floats, high: Floats) -> Any:
    """What the deployed policy answers at an observation that every state of the box allows; None if none is found."""
    seen = _seen(system, (low + high) / 2)
    error = np.array([float(e) for e in system.observation_error])
    if np.all(np.maximum(high - seen, seen - low) < error):
        return mixture.act(seen)
    expert = int(mixture.expert(seen[None])[0])
    errors = gate_errors(mixture.gate_weights, mixture.gate_bias, low, high)
    for rival in range(mixture.n_experts):
        if rival != expert:
            row = mixture.gate_weights[expert] - mixture.gate_weights[rival]
            lead = mixture.gate_bias[expert] - mixture.gate_bias[rival] + np.minimum(row * low, row * high).sum()
            if lead <= 2 * (errors[expert] + errors[rival]):
                return None
    tree = mixture.trees[expert]
    node = 0
    while tree.feature[node] >= 0:
        k, threshold = tree.feature[node], tree.threshold[node]
        if low[k] <= threshold < high[k]:
            return None
        node = tree.left[node] if high[k] <= threshold else tree.right[node]
    return mixture.act(seen)


def _seen(system: System, states: Floats) -> Floats:
    return states.astype(np.float32).astype(np.float64) if system.float32_observations else states


def _inside_domain(system: System, low: Floats, high: Floats) -> bool:
    sides = zip(system.domain, low.tolist(), high.tolist(), strict=True)
    return all(side is None or (side[0] <= a and b <= side[1]) for side, a, b in sides)


def _surely_violated(conditions: Sequence[HalfSpace], low: Floats, high: Floats) -> bool:
    """Whether one of the conditions holds nowhere in a box."""
    box = Interval(low, high)
    for half in conditions:
        total = Interval(np.zeros(()), np.zeros(()))
        for k, coefficient in enumerate(half.coefficients):
            total = total + Interval.exactly(coefficient) * Interval(box.low[k], box.high[k])
        if Fraction(float(total.low)) > half.bound:
            return True
    return False
