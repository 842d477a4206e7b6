"""Affine plants of Zhu, Xiong, Magill and Jagannathan (2019): laws that they yield by themselves, and shields.

    python benchmarks/zhu.py --runs 50
    python benchmarks/zhu.py --distill

For each plant a regulator is looked for that is proved safe for ever, no number of it chosen by hand. In discrete time
it makes a shield. A network of 2 x 32 units imitates another regulator, of cheaper control, from 400 noisy examples,
and drives the plant without and with the shield. Printed are CPU seconds until proved and checked, steps in which the
network left the safe set in runs of 200 steps, alone and shielded, and the share of its controls that was replaced.

With ``--distill`` that network is distilled until proved instead: ``distill(network, plant, prove=plant)``, one affine
law as the student. Printed are what came out, fidelity, reward of at most 200, what was replaced, and CPU seconds.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.neural_network import MLPRegressor

from moet import MoETRegressor
from moet.distill import Teacher, distill
from moet.distill.plant import action_box
from moet.distill.regulators import ControlLaw, control_law, control_regulators
from moet.jit import cpu_seconds_of_compiling
from moet.shield import ControlShield
from moet.study.archcomp.zhu import ZHU
from moet.verify.systems import System
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
        taken = shield.act_many(states, wanted)
        replaced += int(np.count_nonzero(np.any(taken != wanted, axis=1)))
        states = system.successor(states, taken)
        failed |= lost(system, states)
    return int(failed.sum()), replaced / (STEPS * len(states))


def report(name: str, system: System, found: ControlLaw | None, seconds: float, runs: int) -> str:
    proved = "proved" if found is not None else "unknown"
    if found is None:
        return f"{name:<16} {proved:<8} {seconds:6.1f} s"
    rng = np.random.default_rng(0)
    agent = network(system, rng)
    low, high = np.array([[float(a), float(b)] for a, b in system.initial]).T
    starts = rng.uniform(low, high, (runs, len(low)))
    shield = ControlShield(found.verdict.certificate, found.policy, system)
    kept, share = shielded(shield, agent, starts)
    counts = f"lost of {runs} runs: {alone(system, agent, starts)} alone, {kept} shielded; {share:7.2%} replaced"
    return f"{name:<16} {proved:<8} {seconds:6.1f} s  {counts}"


def distilled(name: str, plant: System) -> str:
    """What distillation until proved makes of the network."""
    box, agent = action_box(plant), network(plant, np.random.default_rng(0))
    teacher = Teacher.from_callable(
        lambda seen: box.clipped(agent.predict(seen).reshape(len(seen), -1)), low=box.low, high=box.high
    )
    student = MoETRegressor(n_experts=1, max_depth=0, leaf="affine", prediction="hard")
    start, compiled = time.process_time(), cpu_seconds_of_compiling()
    run = distill(teacher, plant, student, iterations=5, prove=plant)
    seconds = time.process_time() - start - (cpu_seconds_of_compiling() - compiled)
    kept = run.candidates[run.kept or 0]
    how = "shielded" if run.shield is not None else type(run.verdict).__name__
    fails = "" if run.teacher_failure is None else f", network lost after {len(run.teacher_failure.actions)} steps"
    shares = f"free {run.candidates[0].fidelity:.4f}, kept {kept.fidelity:.4f} at {kept.share:.0%}"
    replaced = f", replaced {run.overridden:.2%}" if run.shield is not None else ""
    return f"{name:<16} {how:<9} {seconds:6.1f} s  fidelity {shares}, reward {kept.reward:.1f}{replaced}{fails}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--cpu-limit", type=float, default=60.0)
    parser.add_argument("--distill", action="store_true")
    parser.add_argument("--plants", nargs="+", default=[instance.name for instance in ZHU])
    options = parser.parse_args()
    for instance in (one for one in ZHU if one.name in options.plants):
        if options.distill:
            print(distilled(instance.name, instance.plant), flush=True)
            continue
        start = time.process_time()
        found = control_law(instance.plant, cpu_limit=options.cpu_limit, widen=True)
        seconds = time.process_time() - start
        print(report(instance.name, instance.plant, found, seconds, options.runs), flush=True)


if __name__ == "__main__":
    main()
