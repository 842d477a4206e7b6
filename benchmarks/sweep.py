"""Two workers against one on the same sweep, in seconds of wall time; it wants a machine with two idle cores.

python benchmarks/sweep.py [--task cartpole] [--repeat 1]
"""

from __future__ import annotations

import argparse
import time
from tempfile import TemporaryDirectory

from harness import console, machine, show

from moet.study import Plan, Sweep
from moet.study.configuration import grid
from moet.study.definition import Definition
from moet.study.trial import Runner

PLAN = Plan(
    tree_depths=tuple(range(1, 13)),
    mixtures=((2, 0), (2, 4), (4, 0), (4, 4), (8, 0), (8, 4)),
    seeds=2,
    iterations=15,
    rollouts=10,
    episodes=250,
)


def seconds(task: str, workers: int) -> float:
    """Wall time of a whole sweep, the start of its processes included."""
    with TemporaryDirectory() as folder:
        sweep = Sweep(task, "quick", storage=folder, plan=PLAN)
        begin = time.perf_counter()
        outcomes = sweep.run(workers)
        passed = time.perf_counter() - begin
    assert len(outcomes) == sweep.definition.trials
    return passed


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="cartpole")
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    console.print(machine())
    definition = Definition.of(options.task, "quick", PLAN)
    Runner(definition).run(grid(PLAN)[0])  # compile
    rows = []
    for _ in range(options.repeat):
        one, two = (seconds(options.task, workers) for workers in (1, 2))
        rows.append([options.task, definition.trials, one, two, one / two])
    show("Seconds of a sweep", ["task", "trials", "one worker", "two workers", "ratio"], rows)


if __name__ == "__main__":
    main()
