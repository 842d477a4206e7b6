"""MountainCar: from every first state, a policy reaches the flag; the proof is checked exactly.

    python benchmarks/verify_arrival.py [--seconds 1000] [--start -0.6 -0.4] [--within 130]

The policy has two experts, chosen by the velocity: one pushes to the right, the other to the left, but not beyond -0.9.
The equations are those of Gymnasium's MountainCar-v0, with rounding and float32 observations.
"""

from __future__ import annotations

import argparse

from harness import console, cpu_seconds, machine, single_threaded

from moet import Mixture, Tree
from moet.verify import Proved, check, reaches, systems


def rocking_policy() -> Mixture:
    """Push the car the way it moves."""
    left = Tree([0, -1, -1], [-0.9, 0, 0], [1, -1, -1], [2, -1, -1], [[0, 1], [0, 1], [1, 0]])
    return Mixture(
        gate_weights=[[0.0, 0.0], [0.0, 1.0]],
        gate_bias=[0.0, 1e-4],  # so that a car at rest begins to the right
        trees=[left, Tree.leaf([0, 1])],
        classes=["left", "right"],
        feature_names=["position", "velocity"],
    )


def main() -> None:
    """Prove and check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1000.0, help="time limit")
    parser.add_argument("--start", type=float, nargs=2, default=(-0.6, -0.4), help="positions at the start")
    parser.add_argument("--within", type=int, default=130, help="steps to the flag")
    options = parser.parse_args()
    single_threaded()
    console.print(machine())
    mixture, system = rocking_policy(), systems.mountaincar(start=tuple(options.start))
    verdict, seconds = cpu_seconds(lambda: reaches(mixture, system, within=options.within, timeout=options.seconds))
    console.print(f"{type(verdict).__name__} in {seconds:.1f} CPU s: {dict(verdict.effort)}")
    if isinstance(verdict, Proved):
        _, seconds = cpu_seconds(lambda: check(verdict.certificate, mixture, system))
        size = verdict.certificate.n_bytes / 1000
        console.print(f"checked in {seconds:.1f} CPU s; {len(verdict.certificate.claim['parts'])} parts, {size:.0f} kB")


if __name__ == "__main__":
    main()
