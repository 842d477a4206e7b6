"""Runs of a benchmark in float64: how far each stays from breaking a demand, and starts that come closest to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.study.archcomp.instance import Demand, Instance
from moet.verify.systems.controls import clipped, observed
from moet.verify.systems.equations import PLAIN_FLOATS, comparison_sides
from moet.verify.systems.sampled import Acting
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

LONGEST_STEP = 0.025
"""Seconds of a Runge-Kutta step; half as long changes no margin of these plants in its sixth digit."""
_FEWEST_STEPS = 4
_WORST = 64
_AT_A_TIME = 2048
_LONG = 500
"""Steps that are simulated where demands are for ever."""
_LOST = 1e9


@dataclass(frozen=True)
class Runs:
    """Simulated runs.

    Attributes
    ----------
    margins : array of float, shape (n_runs,)
        Least distance from breaking a demand, in the demand's own units; negative where one is broken.
    features, controls : array of float, shape (n_runs * steps, ...)
        What the controller saw and what the actuators made of its answers.
    """

    margins: Floats
    features: Floats
    controls: Floats


def starts(plant: System, n: int, seed: int) -> Floats:
    """First states: half of them corners of the box, half anywhere in it."""
    rng = np.random.default_rng(seed)
    low, high = (np.array(side, np.float64) for side in zip(*plant.initial, strict=True))
    rows = rng.uniform(low, high, (n, len(low)))
    corners = n // 2
    rows[:corners] = np.where(rng.random((corners, len(low))) < 0.5, low, high)
    return rows


def play(instance: Instance, policy: Acting, first: Floats, seed: int = 0, keep: bool = False) -> Runs:
    """Run a policy from these first states; signals jump between their limits at random at every small step."""
    plant, rng = instance.plant, np.random.default_rng(seed)
    steps = max(_FEWEST_STEPS, math.ceil(instance.period / LONGEST_STEP)) if _is_sampled(plant) else 1
    h = instance.period / steps
    demands = [_margin_of(demand, plant, instance.end) for demand in instance.demands]
    rows, seen, done = first, [], []
    margins = _least(demands, rows, 0.0)
    parameters = _extremes(getattr(plant, "parameters", {}), rng, len(rows))
    signals = getattr(plant, "signals", {})
    for k in range(_LONG if instance.steps is None else instance.steps):
        features = observed(plant, rows)
        controls = clipped(plant, np.asarray(policy.predict(features), np.float64).reshape(len(rows), -1))
        held = dict(zip(plant.controls, controls.T, strict=True)) | parameters
        for j in range(steps):
            rows = _advanced(plant, rows, held | _extremes(signals, rng, len(rows)), h) + _pushes(plant, rng, len(rows))
            margins = np.minimum(margins, _least(demands, rows, (k * steps + j + 1) * h))
        if keep:
            seen.append(features)
            done.append(controls)
    nothing = np.empty((0, 0))
    return Runs(margins, np.concatenate(seen) if keep else nothing, np.concatenate(done) if keep else nothing)


def attack(instance: Instance, policy: Acting, runs: int, seed: int = 0, rounds: int = 10) -> float:
    """Least margin of many runs, a quarter of them from starts that move towards the worst ones found so far."""
    return searched(instance.plant, lambda first, seed: _many(instance, policy, first, seed), runs, seed, rounds)


def searched(
    plant: System, margins_of: Callable[[Floats, int], Floats], runs: int, seed: int, rounds: int = 10
) -> float:
    """Least margin of runs, given the margins from some starts; a quarter of all starts move towards the worst ones."""
    rng = np.random.default_rng(seed)
    low, high = (np.array(side, np.float64) for side in zip(*plant.initial, strict=True))
    pool = starts(plant, max(_WORST, runs - runs // 4), seed)
    margins = margins_of(pool, seed)
    for k in range(rounds):
        order = np.argsort(margins)[:_WORST]
        pool, margins = pool[order], margins[order]
        bred = pool[rng.integers(len(pool), size=max(1, runs // (4 * rounds)))]
        bred = np.clip(bred + rng.normal(size=bred.shape) * (high - low) * 0.3 * 0.6**k, low, high)
        pool = np.concatenate([pool, bred])
        margins = np.concatenate([margins, margins_of(bred, seed + k + 1)])
    return float(margins.min())


def _many(instance: Instance, policy: Acting, first: Floats, seed: int) -> Floats:
    """Margins of many runs, a few thousand at a time: so many fit into a processor's cache."""
    parts = np.array_split(first, -(-len(first) // _AT_A_TIME))
    return np.concatenate([play(instance, policy, part, seed + 1000 * k).margins for k, part in enumerate(parts)])


Margin = Callable[[Floats, float], Floats]


def _margin_of(demand: Demand, plant: System, end: float) -> Margin:
    sides = [pair for text in demand.conditions for pair in comparison_sides(text, set(plant.states))]
    stop = (end if demand.stop is None else demand.stop) + 1e-9

    def margin(rows: Floats, time: float) -> Floats:
        if not demand.start - 1e-9 <= time <= stop:
            return np.full(len(rows), np.inf)
        known = dict(zip(plant.states, rows.T, strict=True))
        room = [b.value(known, PLAIN_FLOATS) - a.value(known, PLAIN_FLOATS) for a, b in sides]
        least = np.min(np.broadcast_arrays(*room, np.full(len(rows), np.inf)), axis=0)
        return np.nan_to_num(-least if demand.never else least, nan=-_LOST)

    return margin


def _least(demands: list[Margin], rows: Floats, time: float) -> Floats:
    return np.asarray(np.min([margin(rows, time) for margin in demands], axis=0))


def _extremes(limits: dict[str, tuple[object, object]], rng: np.random.Generator, n: int) -> dict[str, Floats]:
    return {name: rng.choice(np.array(side, np.float64), size=n) for name, side in limits.items()}


def _pushes(plant: System, rng: np.random.Generator, n: int) -> Floats:
    """Disturbances that are added to states in discrete time, at their limits."""
    low, high = (np.array(side, np.float64) for side in zip(*plant.disturbance, strict=True))
    return np.where(rng.random((n, len(low))) < 0.5, low, high)


def _is_sampled(plant: System) -> bool:
    return hasattr(plant, "period")


def _advanced(plant: Any, rows: Floats, held: dict[str, Floats], h: float) -> Floats:
    """States after a Runge-Kutta step of length ``h``, or after one step in discrete time."""

    def values(x: Floats) -> Floats:
        columns = plant.equations(dict(zip(plant.states, x.T, strict=True)) | held, PLAIN_FLOATS)
        return np.stack([np.broadcast_to(column, len(x)) for column in columns], axis=1)

    with np.errstate(all="ignore"):
        if not _is_sampled(plant):
            moved = values(rows)
        else:
            first = values(rows)
            second = values(rows + h / 2 * first)
            third = values(rows + h / 2 * second)
            moved = rows + h / 6 * (first + 2 * second + 2 * third + values(rows + h * third))
    return np.asarray(np.nan_to_num(moved, nan=_LOST, posinf=_LOST, neginf=-_LOST).clip(-_LOST, _LOST))
