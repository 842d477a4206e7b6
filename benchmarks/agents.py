"""How agents of the Stable-Baselines3 zoo play as teachers, with the statistics beside them and without.

    MOET_AGENTS=folder python benchmarks/agents.py [--episodes 20] [name ...]

Files are named ALGORITHM_ENVIRONMENT.zip and ALGORITHM_ENVIRONMENT.vecnormalize.pkl.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from brought import env_of, statistics_of, zips

from moet.envs.catalog import resolve
from moet.errors import MoetWarning
from moet.teachers import Teacher


def returns(teacher: Teacher, env: Any, episodes: int) -> np.ndarray:
    """Sum of rewards of each episode, played in plain Gymnasium."""
    totals = []
    for seed in range(episodes):
        seen, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            action = teacher.act(np.asarray(seen, np.float64)[None])[0]
            taken = action.astype(np.float32) if teacher.continuous else int(action)
            seen, reward, terminated, truncated, _ = env.step(taken)
            total, over = total + float(reward), terminated or truncated
        totals.append(total)
    return np.array(totals)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only files whose name contains one of these")
    parser.add_argument("--episodes", type=int, default=20)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", MoetWarning)
    warnings.simplefilter("ignore", DeprecationWarning)  # of Box2D
    print("| agent | statistics | reward | standard error | worst |\n|---|---|---|---|---|")
    for path in zips():
        if arguments.names and not any(name in path.name for name in arguments.names):
            continue
        for normalize in dict.fromkeys([None, statistics_of(path)]):
            teacher = Teacher.from_sb3(path, normalize=normalize)
            found = returns(teacher, resolve(env_of(path)).make(), arguments.episodes)
            error = found.std() / np.sqrt(len(found))
            with_them = "none" if normalize is None else "its own"
            print(f"| {path.stem} | {with_them} | {found.mean():.1f} | {error:.1f} | {found.min():.1f} |", flush=True)


if __name__ == "__main__":
    main()
