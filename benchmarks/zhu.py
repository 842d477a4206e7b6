"""Affine plants of Zhu, Xiong, Magill and Jagannathan (2019): laws that they yield by themselves, and shields.

    python benchmarks/zhu.py --runs 50

For each plant a regulator is looked for that is proved safe for ever, no number of it chosen by hand. In discrete time
it makes a shield. A network of 2 x 32 units imitates another regulator, of cheaper control, from 400 noisy examples,
and drives the plant without and with the shield. Printed are CPU seconds until proved and checked, steps in which the
network left the safe set in runs of 200 steps, alone and shielded, and the share of its controls that was replaced.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.neural_network import MLPRegressor

from moet.distill.control_law import ControlLaw, control_law, control_regulators
from moet.shield import ControlShield
from moet.study.archcomp.zhu import ZHU
from moet.verify.systems import AffineSystem, System
from moet.verify.systems.controls import clipped

STEPS = 200


def network(system: System, rng: np.random.Generator) -> MLPRegressor:
    """Imitates a regulator of cheap control, from few and noisy examples."""
    low, high = np.array([[float(a), float(b)] for a, b in system.initial]).T
    states = rng.uniform(low, high, (400, len(low)))
    law = list(control_regulators(system))[-2]
    wanted = law.predict(states)
    noisy = wanted + 0.2 * wanted.std(axis=0) * rng.normal(size=wanted.shape)
    model = MLPRegressor(hidden_layer_sizes=(32, 32), activation="tanh", max_iter=500, random_state=0)
    return model.fit(states, noisy if noisy.shape[1] > 1 else noisy[:, 0])


def lost(system: System, states: np.ndarray) -> np.ndarray:
    rows = np.array([[float(a) for a in half.coefficients] for half in system.safe])
    return np.any(states @ rows.T > np.array([float(half.bound) for half in system.safe]), axis=1)


def alone(system: System, agent: MLPRegressor, states: np.ndarray) -> int:
    """Runs in which the network leaves the safe set."""
    failed = np.zeros(len(states), bool)
    for _ in range(STEPS):
        wanted = agent.predict(states).reshape(len(states), -1)
        states = np.clip(system.successor(states, wanted), -1e6, 1e6)
        failed |= lost(system, states)
    return int(failed.sum())


def shielded(shield: ControlShield, agent: MLPRegressor, states: np.ndarray) -> tuple[int, float]:
    """Runs that are lost behind the shield, and the share of controls that it replaced."""
    failed, replaced, system = np.zeros(len(states), bool), 0, shield.system
    for _ in range(STEPS):
        wanted = clipped(system, agent.predict(states).reshape(len(states), -1))
        taken = np.array([shield.act(state, control) for state, control in zip(states, wanted, strict=True)])
        replaced += int(np.count_nonzero(np.any(taken != wanted, axis=1)))
        states = system.successor(states, taken)
        failed |= lost(system, states)
    return int(failed.sum()), replaced / (STEPS * len(states))


def report(name: str, system: System, found: ControlLaw | None, seconds: float, runs: int) -> str:
    proved = "proved" if found is not None else "unknown"
    if found is None or not isinstance(system, AffineSystem):
        return f"{name:<16} {proved:<8} {seconds:6.1f} s"
    rng = np.random.default_rng(0)
    agent = network(system, rng)
    low, high = np.array([[float(a), float(b)] for a, b in system.initial]).T
    starts = rng.uniform(low, high, (runs, len(low)))
    shield = ControlShield(found.verdict.certificate, found.policy, found.system)
    kept, share = shielded(shield, agent, starts)
    counts = f"lost of {runs} runs: {alone(system, agent, starts)} alone, {kept} shielded; {share:7.2%} replaced"
    return f"{name:<16} {proved:<8} {seconds:6.1f} s  {counts}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--cpu-limit", type=float, default=60.0)
    options = parser.parse_args()
    for instance in ZHU:
        start = time.process_time()
        discrete = isinstance(instance.plant, AffineSystem)
        found = control_law(instance.plant, cpu_limit=options.cpu_limit, widen=discrete)
        seconds = time.process_time() - start
        print(report(instance.name, instance.plant, found, seconds, options.runs), flush=True)


if __name__ == "__main__":
    main()
