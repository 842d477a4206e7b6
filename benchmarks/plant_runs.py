"""Simulate each instance of ``moet bench archcomp`` that is proved, from very many first states.

    python benchmarks/plant_runs.py --runs 1000000 --cpu-limit 1200

Half of the starts are corners, a quarter of all move towards the worst ones found so far; parameters are at a limit of
theirs, and signals and disturbances jump between theirs at every small step. Cheap instances come first, until the time
is up. A proof is wrong if a margin is negative.
"""

from __future__ import annotations

import argparse
import time

from moet.study.archcomp import INSTANCES
from moet.study.archcomp.simulate import attack

PROBE = 2048
ROUNDING = 1e-9


def main() -> None:
    """Print one line per instance, and the sum."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--cpu-limit", type=float, default=1200.0)
    arguments = parser.parse_args()
    asked = [one for name, one in INSTANCES.items() if one.holds and (not arguments.names or name in arguments.names)]
    prices = {}
    for one in asked:
        begin = time.process_time()
        attack(one, one.controller, PROBE, seed=1)
        prices[one.name] = (time.process_time() - begin) * arguments.runs / PROBE
    total = wrong = 0
    for one in sorted(asked, key=lambda one: prices[one.name]):
        if time.process_time() + prices[one.name] > arguments.cpu_limit:
            print(f"{one.name:26} left out: about {prices[one.name]:.0f} CPU s", flush=True)
            continue
        begin = time.process_time()
        margin = attack(one, one.controller, arguments.runs, seed=0)
        total += arguments.runs
        wrong += margin < -ROUNDING
        print(f"{one.name:26} least margin {margin:.3g}; {time.process_time() - begin:.0f} CPU s", flush=True)
    print(f"{total} runs, {wrong} instances with a run that breaks the specification")


if __name__ == "__main__":
    main()
