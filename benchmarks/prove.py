"""Distil CartPole agents until they are proved, or shielded: five agents, some seeds each.

    python benchmarks/prove.py --seeds 5 --keep rows.json

Agents are the bundled one, the published one (MOET_TEACHERS) and those of Stable-Baselines3's zoo (MOET_AGENTS).
Printed are what came out, fidelity, reward of 50 episodes of 500 steps, the share of actions that a shield replaced
in 200 episodes, and CPU seconds of everything, compiling apart. Rows that the kept file has are not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
from harness import Results, Row

from moet import MoETClassifier, teachers
from moet.distill import Policy, Teacher, distill, evaluate
from moet.envs.catalog import resolve
from moet.envs.rollout import play
from moet.envs.seeds import Purpose, episode_seeds
from moet.jit import cpu_seconds_of_compiling
from moet.verify import systems


def loaded(name: str) -> Teacher:
    if name == "bundled":
        return teachers.load("cartpole")
    if name == "published":
        return Teacher.from_arrays(Path(os.environ["MOET_TEACHERS"]) / "cartpole.npz")
    return Teacher.from_sb3(Path(os.environ["MOET_AGENTS"]) / f"{name}_CartPole-v1.zip")


def overridden(run, episodes: int, seed: int) -> tuple[float, float]:
    """Share of actions replaced, and mean reward, behind the shield."""
    policy, counts = Policy.of(run.policy, resolve("CartPole-v1")), [0, 0]

    def act(observations):
        wanted = policy.act(observations)
        taken = run.shield.act_many(observations, wanted)
        counts[0] += int(np.count_nonzero(taken != wanted))
        counts[1] += len(taken)
        return taken

    played = play(act, policy.task, episode_seeds(seed, Purpose.REPORT, episodes))
    return counts[0] / counts[1], float(played.returns.mean())


def certified(agent: str, seed: int, experts: int, depth: int, iterations: int) -> Row:
    """What comes out for one agent and one seed."""
    teacher, prototype = loaded(agent), MoETClassifier(n_experts=experts, max_depth=depth, prediction="hard")
    start, compiled = time.process_time(), cpu_seconds_of_compiling()
    run = distill(teacher, "CartPole-v1", prototype, iterations=iterations, seed=seed, prove=systems.cartpole())
    seconds = time.process_time() - start - (cpu_seconds_of_compiling() - compiled)
    found = evaluate(run.policy, episodes=50, seed=seed, teacher=teacher)
    share, reward = overridden(run, 200, seed) if run.shield is not None else (0.0, found.reward)
    return {
        "how": "shielded" if run.shield else type(run.verdict).__name__,
        "fidelity": round(found.fidelity, 4),
        "reward": reward,
        "overridden": share,
        "free fidelity": round(run.candidates[0].fidelity, 4),
        "name": run.candidates[run.kept].name if run.kept is not None else None,
        "share": run.candidates[run.kept].share if run.kept is not None else None,
        "teacher fails after": run.teacher_failure and len(run.teacher_failure.actions),
        "asked": len(run.candidates),
        "seconds": round(seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--agents", nargs="+", default=["bundled", "published", "a2c", "dqn", "ars"])
    parser.add_argument("--experts", type=int, default=2)
    parser.add_argument("--depth", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    size = {"experts": options.experts, "depth": options.depth, "iterations": options.iterations}
    results = Results(options.keep)
    for seed in range(options.seeds):
        for name in options.agents:
            print(json.dumps(results.measure(certified, agent=name, seed=seed, **size)), flush=True)


if __name__ == "__main__":
    main()
