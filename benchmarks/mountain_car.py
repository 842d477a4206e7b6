"""MountainCar: distilled policies reach the flag from every first state, the car written as a plant with controls.

    python benchmarks/mountain_car.py [--seeds 0 1 2] [--cpu-limit 120]

Students of the bundled agent, four experts of depth two, ten iterations, as they come out: proofs play no part in their
training. The equations are those of Gymnasium's MountainCar-v0, with rounding and float32 observations, but for the
wall on the left, where the velocity jumps: the domain ends before it, so that a proof says that no run gets there.
The first line is the policy of `verify_arrival.py`.
"""

from __future__ import annotations

import argparse
import time

from verify_arrival import rocking_policy

from moet import MoETClassifier, teachers
from moet.distill import distill
from moet.model.file import as_mixture
from moet.verify import Proved, reaches, systems

ROUNDING = "1/1000000000000"


def car() -> systems.NonlinearSystem:
    """The car in its valley, begun at rest anywhere that Gymnasium begins."""
    return systems.NonlinearSystem(
        "mountain_car",
        states=("position", "velocity"),
        let={"speed": "min(max(velocity + 0.001 * push - 0.0025 * cos(3 * position), -0.07), 0.07)"},
        step={"position": "min(position + speed, 0.6)", "velocity": "speed"},
        actions={"left": {"push": -1}, "none": {"push": 0}, "right": {"push": 1}},
        initial={"position": ("-0.6", "-0.4"), "velocity": 0},
        goal=["position >= 0.5"],
        domain={"position": ("-1.199", 1), "velocity": ("-0.125", "0.125")},
        disturbance={"position": ROUNDING, "velocity": ROUNDING},
        float32_observations=True,
    )


def main() -> None:
    """Print one line per policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--cpu-limit", type=float, default=120)
    options = parser.parse_args()
    policies = [("by hand", rocking_policy)]
    for seed in options.seeds:
        policies.append((f"seed {seed}", lambda seed=seed: student(seed)))
    print(
        "| policy | leaves | verdict | parts | CPU s, check included | certificate, bytes |\n|---|--:|---|--:|--:|--:|"
    )
    for name, make in policies:
        policy = as_mixture(make())
        begin = time.process_time()
        verdict = reaches(policy, car(), within=200, cpu_limit=options.cpu_limit)
        seconds, leaves = time.process_time() - begin, sum(tree.n_leaves for tree in policy.trees)
        size = f"{verdict.certificate.n_bytes:,}" if isinstance(verdict, Proved) else ""
        kind, parts = type(verdict).__name__.lower(), verdict.effort.get("parts", "")
        print(f"| {name} | {leaves} | {kind} | {parts} | {seconds:.1f} | {size} |", flush=True)


def student(seed: int) -> object:
    """What is distilled from the bundled agent."""
    prototype = MoETClassifier(n_experts=4, max_depth=2, prediction="hard")
    return distill(teachers.load("mountaincar"), "mountaincar", prototype, iterations=10, seed=seed).policy


if __name__ == "__main__":
    main()
