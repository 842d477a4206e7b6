"""Distil agents of MountainCar and Pendulum until they are proved, or shielded: some seeds each.

    python benchmarks/prove_tasks.py --seeds 5 --keep rows.json

MountainCar: the bundled agent is to reach the flag from every first state within 200 steps, which is Gymnasium's limit;
the car is written as a plant with controls (`mountain_car.py`).
Pendulum with three torques: begun near the top, it is to stay in the upper half for ever. Pendulum with any torque up
to 2, the plant itself being played: begun near the top, it is to stay within 60 degrees of it for ever.
Printed are what came out, fidelity to the teacher and reward of fresh episodes, the share of their steps that a shield
guards and of those that it replaces, and CPU seconds of everything, compiling apart. Rows that the kept file has are
not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from harness import Results, Row
from mountain_car import car

from moet import MoETClassifier, MoETRegressor, teachers
from moet.distill import Policy, distill, evaluate
from moet.distill.judging import Guarded
from moet.envs.rollout import play
from moet.envs.seeds import Purpose, episode_seeds
from moet.jit import cpu_seconds_of_compiling
from moet.verify import systems


def continuous_pendulum() -> systems.NonlinearSystem:
    """Gymnasium's Pendulum-v1 near the top, whose torque is any number up to 2; it must stay within 60 degrees."""
    return systems.NonlinearSystem(
        "pendulum_continuous",
        states=("cos_angle", "sin_angle", "angular_velocity"),
        controls={"torque": (-2, 2)},
        let={
            "speed": "min(max(angular_velocity + 0.05 * (15 * sin_angle + 3 * torque), -8), 8)",
            "sine": "sin_angle * cos(0.05 * speed) + cos_angle * sin(0.05 * speed)",
        },
        step={
            # the cosine where it is at least the root of 0.2, which is a little beyond the safe set
            "cos_angle": "sqrt(max(1 - sine**2, 0.2))",
            "sin_angle": "sine",
            "angular_velocity": "speed",
        },
        initial={"cos_angle": ("0.99", 1), "sin_angle": ("-0.1", "0.1"), "angular_velocity": ("-0.1", "0.1")},
        safe=["cos_angle >= 0.5"],
        domain={"cos_angle": (-2, 2), "sin_angle": (-2, 2), "angular_velocity": (-9, 9)},
        disturbance=dict.fromkeys(("cos_angle", "sin_angle", "angular_velocity"), "1/1000000000000"),
        float32_observations=True,
    )


TASKS: dict[str, tuple[str, Any, dict[str, Any], Any]] = {  # the agent, what is asked about, and the student
    "mountaincar": (
        "mountaincar",
        car,
        {"within": 200},
        lambda: MoETClassifier(n_experts=4, max_depth=2, prediction="hard"),
    ),
    "pendulum, three torques": (
        "pendulum",
        systems.pendulum,
        {},
        lambda: MoETClassifier(n_experts=4, max_depth=2, prediction="hard"),
    ),
    "pendulum, any torque": (
        "Pendulum-v1",
        continuous_pendulum,
        {},
        lambda: MoETRegressor(n_experts=2, max_depth=1, leaf="affine", prediction="hard"),
    ),
}


def guarded(policy: Policy, shield: Any, seed: int, episodes: int = 50) -> dict[str, float]:
    """Share of the steps of fresh episodes in which a shield guards, and of these the share that it replaces."""
    steps, behind = 0, [Guarded(policy, shield) for _ in range(episodes)]
    for act, number in zip(behind, episode_seeds(seed, Purpose.REPORT, episodes), strict=True):
        steps += int(play(act, policy.task, [number]).lengths[0])
    taken = sum(act.taken for act in behind)
    return {"guarded": taken / steps, "replaced": sum(act.replaced for act in behind) / max(taken, 1)}


def certified(task: str, seed: int, iterations: int) -> Row:
    """What comes out for one task and one seed."""
    name, system, asked, student = TASKS[task]
    teacher = teachers.load(name)
    start, compiled = time.process_time(), cpu_seconds_of_compiling()
    played = system() if system().controls and not system().effects else name
    run = distill(teacher, played, student(), iterations=iterations, seed=seed, prove=system(), **asked)
    seconds = time.process_time() - start - (cpu_seconds_of_compiling() - compiled)
    found = evaluate(run.policy, episodes=50, seed=seed, teacher=teacher)
    watched = {} if run.shield is None else guarded(run.policy, run.shield, seed)
    return {
        **watched,
        "how": "shielded" if run.shield else type(run.verdict).__name__,
        "reason": getattr(run.verdict, "reason", None),
        "fidelity": round(found.fidelity, 4),
        "reward": round(found.reward, 2),
        "free fidelity": round(run.candidates[0].fidelity, 4),
        "overridden": run.overridden,
        "kept": None if run.kept is None else run.candidates[run.kept].name,
        "teacher fails after": run.teacher_failure and len(run.teacher_failure.actions),
        "asked": [f"{one.name}: {one.verdict}, {one.seconds:.0f} s" for one in run.candidates],
        "seconds": round(seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    results = Results(options.keep)
    for seed in range(options.seeds):
        for task in options.tasks:
            row = results.measure(certified, task=task, seed=seed, iterations=options.iterations)
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
