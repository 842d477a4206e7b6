"""Simulate each instance of ``moet bench archcomp`` that is proved, from very many first states.

    python benchmarks/plant_runs.py --runs 1000000 --cpu-limit 1200

Half of the starts are corners, a quarter of all move towards the worst ones found so far; parameters are at a limit of
theirs, and signals and disturbances jump between theirs at every small step. Equations are compiled; before that, 256
runs of each instance without signals are compared with those of ``moet bench archcomp``. Cheap instances come first,
until the time is up. A proof is wrong if a margin is negative.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from plant_kernels import LANES, CompiledRuns

from moet.study.archcomp import INSTANCES
from moet.study.archcomp.instance import Instance
from moet.study.archcomp.simulate import play, searched, starts

PROBE = 4 * LANES
ROUNDING = 1e-9


def is_random(one: Instance) -> bool:
    """Whether two runs from the same start may differ."""
    plant = one.plant
    return bool(getattr(plant, "signals", {})) or any(low < high for low, high in plant.disturbance)


def check(one: Instance, runs: CompiledRuns) -> float:
    """Largest difference of margins from those of the simulation in NumPy, which looks at twice as many points."""
    first = starts(one.plant, PROBE, seed=1)
    slow, fast = play(one, one.controller, first).margins, runs.margins(first, 1)
    return float(np.abs(slow - fast).max())


def main() -> None:
    """Print one line per instance, and the sum."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--cpu-limit", type=float, default=1200.0)
    arguments = parser.parse_args()
    asked = [one for name, one in INSTANCES.items() if one.holds and (not arguments.names or name in arguments.names)]
    compiled, prices, off = {}, {}, {}
    for one in asked:
        runs = compiled[one.name] = CompiledRuns(one)
        runs.margins(starts(one.plant, LANES, seed=1), 0)
        begin = time.process_time()
        runs.margins(starts(one.plant, PROBE, seed=1), 1)
        prices[one.name] = (time.process_time() - begin) * arguments.runs / PROBE
        off[one.name] = "" if is_random(one) else f"; off by {check(one, runs):.1e}"
    total = wrong = 0
    for one in sorted(asked, key=lambda one: prices[one.name]):
        if time.process_time() + prices[one.name] > arguments.cpu_limit:
            print(f"{one.name:40} left out: about {prices[one.name]:.0f} CPU s{off[one.name]}", flush=True)
            continue
        begin = time.process_time()
        margin = searched(one.plant, compiled[one.name].margins, arguments.runs, seed=0)
        total += arguments.runs
        wrong += margin < -ROUNDING
        spent = time.process_time() - begin
        print(f"{one.name:40} least margin {margin:.3g}; {spent:.1f} CPU s{off[one.name]}", flush=True)
    print(f"{total} runs, {wrong} instances with a run that breaks the specification; {time.process_time():.0f} CPU s")


if __name__ == "__main__":
    main()
