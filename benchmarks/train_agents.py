"""Train agents that nobody has seen before, as a user would bring them: small ones, with Stable-Baselines3.

    python benchmarks/train_agents.py FOLDER [NAME ...]

Each is a zip named ALGORITHM_ENVIRONMENT.zip, as benchmarks/agents.py and benchmarks/defaults.py read them. One that is
there is not trained again. Needs stable-baselines3 and sb3-contrib.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import torch
from harness import cpu_seconds
from sb3_contrib import TRPO, CrossQ
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_util import make_vec_env

SEED = 1117


class Plan(NamedTuple):
    """Who learns what, for how many steps, in how many environments side by side, and with what settings."""

    algorithm: Callable[..., Any]
    env: str
    steps: int
    places: int
    settings: dict[str, Any]
    seed: int = SEED


PLANS = {
    "ppo_CartPole-v1": Plan(PPO, "CartPole-v1", 60_000, 8, {"n_steps": 128, "batch_size": 128, "n_epochs": 10}),
    "trpo_CartPole-v1": Plan(TRPO, "CartPole-v1", 60_000, 8, {"n_steps": 256}),
    "trpo_Acrobot-v1": Plan(TRPO, "Acrobot-v1", 100_000, 8, {"n_steps": 256}),
    "dqn_Acrobot-v1": Plan(
        DQN,
        "Acrobot-v1",
        60_000,
        1,
        {
            "learning_rate": 6.3e-4,
            "learning_starts": 1000,
            "train_freq": 4,
            "gradient_steps": 2,
            "target_update_interval": 250,
            "exploration_fraction": 0.12,
            "exploration_final_eps": 0.1,
            "batch_size": 128,
        },
    ),
    "crossq_HalfCheetah-v5": Plan(
        CrossQ,
        "HalfCheetah-v5",
        50_000,
        1,
        {
            "learning_rate": 1e-3,
            "learning_starts": 5000,
            "batch_size": 256,
            "policy_kwargs": {"net_arch": {"pi": [256, 256], "qf": [256, 256]}},
        },
        seed=0,
    ),
}


def train(name: str, path: Path) -> None:
    """Train the agent ``name`` and save it."""
    plan = PLANS[name]
    places = make_vec_env(plan.env, plan.places, seed=plan.seed) if plan.places > 1 else gymnasium.make(plan.env)
    agent = plan.algorithm("MlpPolicy", places, seed=plan.seed, device="cpu", **plan.settings)
    _, seconds = cpu_seconds(lambda: agent.learn(plan.steps))
    agent.save(path)
    print(f"{name}: {plan.steps} steps, {seconds:.0f} CPU s", flush=True)


def main() -> None:
    """Train what is not there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(PLANS)}; all by default")
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or PLANS:
        path = options.folder / f"{name}.zip"
        if not path.exists():
            train(name, path)


if __name__ == "__main__":
    main()
