"""MountainCar behind a shield for its goal: whatever an agent wants, Gymnasium's own car is at the flag in time.

    python benchmarks/goal_shield.py --episodes 200

The proved policy pushes the car the way it moves (``verify_arrival.py``); the shield is to get it to the flag within
200 steps, which is Gymnasium's limit. Printed are, for each agent, episodes that were not there in time, the latest
arrival, the share of actions that was replaced, steps that the proved system does not explain, and CPU microseconds of
a decision.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import gymnasium
import numpy as np
from harness import console, cpu_seconds, machine, single_threaded
from verify_arrival import rocking_policy

from moet import teachers
from moet.shield import GoalShield, ShieldedEnv
from moet.verify import reaches, systems

WITHIN = 200
Agent = Callable[[np.ndarray, np.random.Generator], int]


def agents() -> dict[str, Agent]:
    """What is wanted where this is seen."""
    policy, teacher = rocking_policy(), teachers.load("mountaincar")
    number = {name: k for k, name in enumerate(systems.mountaincar().actions)}
    return {
        "bundled": lambda seen, rng: int(np.asarray(teacher.act(seen[None]))[0]),
        "random": lambda seen, rng: int(rng.integers(3)),
        "idle": lambda seen, rng: 1,
        "always left": lambda seen, rng: 0,
        "always right": lambda seen, rng: 2,
        "anti-policy": lambda seen, rng: 2 - number[policy.predict_hard(seen[None])[0]],
    }


def played(shield: GoalShield, agent: Agent, episodes: int) -> str:
    """Episodes of the real environment, without its time limit."""
    env, rng = ShieldedEnv(gymnasium.make("MountainCar-v0").unwrapped, shield), np.random.default_rng(0)
    lost, latest, steps, replaced, unexplained = 0, 0, 0, 0, 0
    for seed in range(episodes):
        seen, _ = env.reset(seed=seed)
        for t in range(1, WITHIN + 1):
            seen, _, arrived, _, info = env.step(agent(np.asarray(seen, np.float64), rng))
            steps, replaced = steps + 1, replaced + info["overridden"]
            unexplained += not info["explained"]
            if arrived:
                latest = max(latest, t)
                break
        else:
            lost += 1
    told = f"{lost} of {episodes} late, latest at {latest}, {replaced / steps:.2%} of {steps:,} replaced"
    return f"{told}, {unexplained} not explained"


def decision_seconds(shield: GoalShield, count: int = 20_000) -> float:
    """CPU seconds of a decision at random states, with all steps left."""
    rng = np.random.default_rng(0)
    states = rng.uniform([-1.1, -0.06], [0.5, 0.06], (count, 2))
    wanted = rng.integers(0, 3, count).tolist()
    start = time.process_time()
    for state, action in zip(states, wanted, strict=True):
        shield.act(state, action, WITHIN)
    return (time.process_time() - start) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=200, help="of each agent")
    options = parser.parse_args()
    single_threaded()
    console.print(machine())
    policy, system = rocking_policy(), systems.mountaincar()
    verdict, seconds = cpu_seconds(lambda: reaches(policy, system, within=130, cpu_limit=600))
    console.print(f"{type(verdict).__name__} in {seconds:.1f} CPU s")
    shield, seconds = cpu_seconds(lambda: GoalShield(verdict.certificate, policy, system, within=WITHIN))
    console.print(f"made and checked in {seconds:.1f} CPU s, looks {shield.steps} steps ahead")
    for name, agent in agents().items():
        console.print(f"{name:<13} {played(shield, agent, options.episodes)}", soft_wrap=True)
    console.print(f"{1e6 * decision_seconds(shield):.1f} µs of CPU time for a decision")


if __name__ == "__main__":
    main()
