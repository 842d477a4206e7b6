"""Gymnasium's Pendulum-v1 swung up by two affine laws, proved from its first states, cell by cell.

    python benchmarks/swing_up.py cells.jsonl [--degrees 60] [--cells 64 20] [--seconds 600] [--workers 1]
    python benchmarks/swing_up.py --make

Goal: so many degrees from the top with an angular velocity within 2, in at most 100 steps, begun at any angle with any
angular velocity within 1. First states are cut into cells in advance, which are
asked about in random order, each for itself, checks included; a cell that is not proved in time is lost. Cells that
the file has are not asked about again, so that a run can go on.

`--make` makes the policy anew and plays it: the bundled agent is distilled into two laws, which are tuned for reward.
Its numbers are those below.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from moet import MoETRegressor, RegressionMixture, RegressionTree, teachers, verify
from moet.distill import distill, evaluate, tune
from moet.verify import Proved, systems
from moet.verify.systems.controls import observed

WITHIN = 100
_RUNS = 100_000
ANGLES, SPEEDS = (-3.1416, 3.1416), (-1.0, 1.0)
"""All that Gymnasium draws first states from, and a little more."""
GATE = (-10.2, 479.1, 145.9, 20.6)
"""The second law acts where the sum of cosine, sine and angular velocity, times these, and the last is above 0."""
LAWS = ((-2.076, 4.211, -1.78, -0.485), (2.598, -4.801, -3.47, -0.596))
"""Constant, and gains of cosine, sine and angular velocity."""
NAMES = ("cos_angle", "sin_angle", "angular_velocity")


def policy() -> RegressionMixture:
    """Two laws and the gate between them."""
    trees = [RegressionTree.leaf([law[0]], slope=[law[1:]]) for law in LAWS]
    weights, bias = np.array([(0, 0, 0), GATE[:3]]), (0, GATE[3])
    return RegressionMixture(weights, bias, trees, ["torque"], feature_names=NAMES, low=[-2], high=[2])


def plant(angle: Sequence[float], speed: Sequence[float], degrees: float) -> systems.NonlinearSystem:
    """Gymnasium's equations; `height` is the cosine of the angle, which no first state is said to have."""
    return systems.NonlinearSystem(
        "pendulum_swing_up",
        states=("angle", "angular_velocity", "height"),
        controls={"torque": (-2, 2)},
        let={
            "speed": "min(max(angular_velocity + 0.05 * (15 * sin(angle) + 3 * torque), -8), 8)",
            "turned": "angle + 0.05 * speed",
        },
        step={"angle": "turned", "angular_velocity": "speed", "height": "cos(turned)"},
        observe={"cos_angle": "cos(angle)", "sin_angle": "sin(angle)", "angular_velocity": "angular_velocity"},
        initial={"angle": angle, "angular_velocity": speed, "height": -1},
        goal=[f"height >= {_height(degrees)}", "-2 <= angular_velocity <= 2"],
        domain={"angle": (-20, 20), "angular_velocity": (-9, 9), "height": (-2, 2)},
        # rounding of float64, and of the torque to float32
        disturbance={"angle": "1/1000000000000", "angular_velocity": "1/10000000", "height": "1/1000000000000"},
        float32_observations=True,
    )


def _height(degrees: float) -> float:
    """Cosine of an angle, with four digits and no less."""
    return math.ceil(1e4 * math.cos(math.radians(degrees)) - 1e-6) / 1e4


def asked(cell: tuple[float, ...], degrees: float, cpu_limit: float) -> dict[str, Any]:
    """What comes out for one cell."""
    started = time.process_time()
    verdict = verify.reaches(policy(), plant(cell[:2], cell[2:], degrees), within=WITHIN, cpu_limit=cpu_limit)
    row = {"cell": cell, "verdict": type(verdict).__name__, "seconds": time.process_time() - started}
    if isinstance(verdict, Proved):
        row["bytes"] = verdict.certificate.n_bytes
    return row | {"parts": verdict.effort.get("parts", 0)}


def cells(angles: int, speeds: int) -> list[tuple[float, ...]]:
    """Cells of the first states in random order; neighbours share their limits."""
    sides = [np.linspace(*ANGLES, angles + 1).tolist(), np.linspace(*SPEEDS, speeds + 1).tolist()]
    found = [(*a, *b) for a, b in product(*map(pairwise, sides))]
    return [found[k] for k in np.random.default_rng(0).permutation(len(found))]


def answers(waiting: list[tuple[float, ...]], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Rows of cells, until time is up."""
    stop = time.monotonic() + options.seconds
    with ProcessPoolExecutor(options.workers) as pool:
        for k in range(0, len(waiting), options.workers):
            if time.monotonic() > stop:
                return
            batch = waiting[k : k + options.workers]
            yield from pool.map(partial(asked, degrees=options.degrees, cpu_limit=options.cpu_limit), batch)


def prove(options: argparse.Namespace) -> None:
    """Ask about cells that the file does not have, and say what is proved."""
    known = [json.loads(line) for line in options.file.read_text().splitlines()] if options.file.exists() else []
    done = {tuple(row["cell"]) for row in known}
    every = cells(*options.cells)
    with options.file.open("a") as file:
        for row in answers([cell for cell in every if cell not in done], options):
            file.write(json.dumps(row) + "\n")
            file.flush()
            known.append(row)
    verdicts = [row["verdict"] for row in known]
    seconds, parts = sum(row["seconds"] for row in known), sum(row["parts"] for row in known)
    print(f"asked about {len(known)} of {len(every)} cells: {verdicts.count('Proved')} proved, ", end="")
    print(f"{verdicts.count('Refuted')} refuted, {verdicts.count('Unknown')} unknown; ", end="")
    print(f"{seconds:.0f} CPU s, checks included; {parts} parts")
    print(f"{_RUNS:,} simulated runs arrive within {latest(_RUNS, options.degrees)} steps")


def latest(runs: int, degrees: float) -> int:
    """Most steps to the goal of simulated runs from random first states; more than allowed if one does not arrive."""
    system, rng = plant(ANGLES, SPEEDS, degrees), np.random.default_rng(0)
    first = [rng.uniform(*sides, runs) for sides in (ANGLES, SPEEDS)]
    states, away = np.stack([*first, np.full(runs, -1.0)], axis=1), np.ones(runs, bool)
    for step in range(WITHIN + 1):
        away &= (states[:, 2] < _height(degrees)) | (np.abs(states[:, 1]) > 2)
        if not away.any():
            return step
        states = system.successor(states, policy().predict(observed(system, states)))
    return WITHIN + 1


def make() -> None:
    """Print the policy made anew, and what it and the kept one earn."""
    student = MoETRegressor(n_experts=2, max_depth=0, leaf="affine", prediction="hard")
    agent = teachers.load("Pendulum-v1")
    run = distill(agent, "Pendulum-v1", student, iterations=6, rollouts_per_iteration=5, seed=0)
    made: Any = tune(run.policy, episodes=20_000, seed=0).mixture
    print(f"gate {made.gate_weights.tolist()}, {made.gate_bias.tolist()}")
    print(f"laws {[[tree.value[0].tolist(), tree.slope[0, 0].tolist()] for tree in made.trees]}")
    for name, laws in (("made", made), ("kept", policy())):
        print(name, evaluate(laws, "Pendulum-v1", episodes=1000, seed=0))


def main() -> None:
    """Prove cells, or make the policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, help="rows of cells, one a line")
    parser.add_argument("--degrees", type=float, default=60, help="from the top, where the goal begins")
    parser.add_argument("--cells", type=int, nargs=2, default=(64, 20), help="of angles and of angular velocities")
    parser.add_argument("--cpu-limit", type=float, default=30, help="seconds for a cell")
    parser.add_argument("--seconds", type=float, default=1e9, help="of the wall, after which no cell is begun")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--make", action="store_true")
    options = parser.parse_args()
    if options.make:
        make()
    elif options.file is None:
        parser.error("name the file that keeps the rows, or say --make")
    else:
        prove(options)


if __name__ == "__main__":
    main()
