"""Plants whose controllers change gears, or phases, on the way: several laws, written with docs/plants.md alone.

    python benchmarks/gear_plants.py --cpu-limit 60

The car with gears is that of Åström and Murray (Feedback Systems), on a road that gets steep; the rendezvous
of two spacecraft that of Chan and Mitra (ARCH 2017), with their gains, sampled.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from moet import RegressionMixture, RegressionTree, verify
from moet.verify import Verdict, systems


class Plant(NamedTuple):
    """A plant, its controller, and what is asked."""

    system: systems.SampledSystem
    policy: RegressionMixture
    questions: list[str]


def car() -> Plant:
    """A cruise control from second to fifth gear, with a load and a head wind that are known to a tenth.

    The engine's torque depends on its speed, which the gear gives; the throttle is what the sum of errors says.
    """
    system = systems.SampledSystem(
        "car",
        let={
            "engine": "ratio * speed / 420 - 1",
            "drive": "ratio * throttle * 190 * (1 - 0.4 * engine**2)",
            "drag": "0.4992 * (speed + wind)**2",
            "hill": "9.81 * steep",
        },
        flow={"speed": "(drive - drag) / mass - 0.0981 - hill"},
        memory={"sum": "sum + 0.1 * (20 - speed)"},
        controls={"throttle": (0, 1), "ratio": (10, 40)},
        period="0.1",
        parameters={"mass": (1500, 1700)},
        disturbance={"wind": (-1, 1)},
        schedule={"steep": [0] * 300 + [("0", "0.05")]},
        initial={"speed": (10, 11), "sum": 0},
    )
    # speeds at which gears change, and the throttle: proportional, and a little of the sum
    ratios, bounds = [25.0, 16.0, 12.0, 10.0], [13.0, 16.0, 18.5]
    features, left, right = [0, -1, 0, -1, 0, -1, -1], [1, -1, 3, -1, 5, -1, -1], [2, -1, 4, -1, 6, -1, -1]
    thresholds = [bounds[0], 0.0, bounds[1], 0.0, bounds[2], 0.0, 0.0]
    gears = [0, 0, 1, 1, 2, 2, 3]
    value = [[10.25, ratios[gear]] for gear in gears]
    slope = [[[-0.5, 0.02], [0.0, 0.0]] for _ in gears]
    tree = RegressionTree(features, thresholds, left, right, value, slope)
    policy = RegressionMixture([[0.0, 0.0]], [0.0], [tree], ["throttle", "ratio"], feature_names=["speed", "sum"])
    asked = ["speed <= 21.5 until 60", "19 <= speed <= 21.5 from 25 to 60", "speed <= 20.5 until 30"]
    return Plant(system, policy, asked)


def rendezvous() -> Plant:
    """A chaser comes to a target in geostationary orbit, minutes and metres; at 100 m it begins to brake harder.

    After two hours it has no thrust any more.
    """
    system = systems.SampledSystem(
        "rendezvous",
        let={
            "mu": "1434960000000000000",
            "r": "42164000",
            "rate": "0.0043751",
            "cube": "sqrt((r + x)**2 + y**2)**3",
        },
        flow={
            "x": "vx",
            "y": "vy",
            "vx": "rate**2 * x + 2 * rate * vy + mu / r**2 - mu * (r + x) / cube + on * force_x / 500",
            "vy": "rate**2 * y - 2 * rate * vx - mu * y / cube + on * force_y / 500",
        },
        controls={"force_x": (-60000, 60000), "force_y": (-60000, 60000)},
        period="0.05",
        schedule={"on": [1] * 2400 + [0]},
        initial={"x": (-925, -875), "y": (-425, -375), "vx": 0, "vy": 0},
    )
    far = [[-28.8287, 0.1005, -1449.9754, 0.0046], [-0.087, -33.2562, -0.00462, -1451.5013]]
    near = [[-288.0288, 0.1312, -9614.9898, 0.0], [-0.1312, -288.0, 0.0, -9614.9883]]
    slope = [near, far, near]
    tree = RegressionTree([0, -1, -1], [-100.0, 0.0, 0.0], [1, -1, -1], [2, -1, -1], np.zeros((3, 2)), slope)
    names = list(system.states)
    policy = RegressionMixture(np.zeros((1, 4)), [0.0], [tree], list(system.controls), feature_names=names)
    return Plant(system, policy, ["-950 <= x <= 10 until 60", "-20 <= x <= 5 and -20 <= y <= 20 from 110 to 120"])


def rows(limit: float) -> Iterator[tuple[str, str, Verdict, float]]:
    """Every question about every plant."""
    for make in (car, rendezvous):
        plant = make()
        for text in plant.questions:
            begin = time.process_time()
            verdict = verify.meets(plant.policy, plant.system, text, cpu_limit=limit)
            yield plant.system.name, text, verdict, time.process_time() - begin


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu-limit", type=float, default=60.0, help="CPU seconds per question")
    print("| plant | question | verdict | CPU s, check included |\n|---|---|---|--:|")
    for name, text, verdict, seconds in rows(parser.parse_args().cpu_limit):
        print(f"| {name} | `{text}` | {type(verdict).__name__.lower()} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
