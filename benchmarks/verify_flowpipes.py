"""Attack the proofs about controlled systems: true runs stay in the proved tubes, and verdicts agree with them.

    python benchmarks/verify_flowpipes.py --points 100000 --specs 20

For every instance of ``moet bench archcomp`` in continuous time, runs from random first states, corners among them,
with unknown numbers at random, are integrated with two hundred Runge-Kutta steps per period (errors far below 1e-9 on
these plants) and compared with the tubes that the checker confirms. Then random specifications are asked, and every
verdict is compared with these runs: a proof that a run contradicts is wrong, and so is a refutation whose run is none.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from moet.study.archcomp import INSTANCES
from moet.verify import Proved, Refuted, Unknown, meets, proven_tubes
from moet.verify.systems import SampledSystem

POINTS = 4
"""Points of a run that are looked at in a period."""


def true_runs(plant: SampledSystem, policy: Any, n: int, steps: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Times, and states of runs at these times, each with unknown numbers of its own."""
    random = np.random.default_rng(seed)
    low, high = np.array(plant.initial, float).T
    starts = random.uniform(low, high, (n, len(low)))
    starts[: n // 3] = np.where(random.random((n // 3, len(low))) < 0.5, low, high)
    named = plant.parameters | plant.signals
    fixed = {name: random.choice([float(a), float(b)], n) for name, (a, b) in named.items()}
    states, rows = [starts[:, None]], starts
    from moet.verify.systems.controls import observed

    for _ in range(steps):
        states.append(plant.between(rows, policy.predict(observed(plant, rows)), POINTS, fixed, steps=200)[:, 1:])
        rows = states[-1][:, -1]
    return np.arange(steps * POINTS + 1) * (float(plant.period) / POINTS), np.concatenate(states, axis=1)


def outside(tubes: list[Any], times: np.ndarray, runs: np.ndarray) -> int:
    """How many runs are at some time in no tube."""
    found = np.zeros(len(runs), bool)
    for tube in tubes:
        inside = np.ones(len(runs), bool)
        for k, time_ in enumerate(times):
            at = (tube.start <= time_ + 1e-9) & (time_ - 1e-9 <= tube.end)
            for row in np.flatnonzero(at):
                inside &= np.all((tube.low[row] - 1e-9 <= runs[:, k]) & (runs[:, k] <= tube.high[row] + 1e-9), axis=1)
        found |= inside
    return int((~found).sum())


def random_condition(names: tuple[str, ...], runs: np.ndarray, random: np.random.Generator) -> tuple[str, int, float]:
    """A limit of a state near its largest or least value in the runs."""
    k = int(random.integers(len(names)))
    sign = random.choice([-1, 1])
    values = (sign * runs[:, :, k]).max(axis=1)
    bound = round(float(values.max() + random.normal() * 0.05 * (np.ptp(runs[:, :, k]) + 1e-6)), 6)
    return f"{sign} * {names[k]} <= {bound}", k, sign * 1.0


def main() -> None:
    """Print one line per instance, and the sum."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--specs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    wrong = asked = seen = 0
    for name, instance in INSTANCES.items():
        if arguments.names and name not in arguments.names:
            continue
        plant, policy = instance.plant, instance.controller
        if not isinstance(plant, SampledSystem) or instance.steps is None:
            continue
        begin = time.process_time()
        verdict = meets(policy, plant, str(instance.spec), cpu_limit=60)
        steps = min(instance.steps, 100)
        n = -(-arguments.points // (steps * POINTS))
        times, runs = true_runs(plant, policy, n, steps, arguments.seed)
        left = outside(proven_tubes(verdict.certificate, policy, plant), times, runs) if verdict else 0
        counts = {Proved: 0, Refuted: 0, Unknown: 0}
        random, few = np.random.default_rng(arguments.seed), min(steps, 10)
        short = runs[:, : few * POINTS + 1]
        for _ in range(arguments.specs):
            text, k, sign = random_condition(plant.states, short, random)
            bound = float(text.split("<=")[1])
            answer = meets(policy, plant, f"{text} until {few * plant.period}", cpu_limit=5)
            counts[type(answer)] += 1
            asked += 1
            most = float((sign * short[:, :, k]).max())
            bad = most > bound + 1e-9 if isinstance(answer, Proved) else False
            bad = bad or (isinstance(answer, Refuted) and not _is_run(plant, policy, answer))
            if bad:
                print("WRONG", name, text, type(answer).__name__, most)
            wrong += bad
        seen += n * steps * POINTS
        wrong += left
        share = ", ".join(f"{count} {kind.__name__.lower()}" for kind, count in counts.items())
        print(
            f"{name:22} {type(verdict).__name__:8} {n * steps * POINTS} points, {left} runs outside; random "
            f"specifications: {share}; {time.process_time() - begin:.1f} CPU s",
            flush=True,
        )
    print(f"{seen} points, {asked} random specifications, {wrong} wrong")


def _is_run(plant: SampledSystem, policy: Any, verdict: Refuted) -> bool:
    """Whether the states of a counterexample follow one another, unknown numbers at an end or in the middle."""
    assert verdict.trace is not None
    states = verdict.trace.states
    named = plant.parameters | plant.signals
    if len(states) < 2:
        return True
    for share in (0.5, 0.0, 1.0):
        fixed = {name: float(a) + share * float(b - a) for name, (a, b) in named.items()}
        ahead = plant.between(states[:-1], np.array(verdict.trace.actions), 1, fixed, steps=200)[:, -1]
        if np.allclose(ahead, states[1:], rtol=1e-4, atol=1e-5):
            return True
    return False


if __name__ == "__main__":
    main()
