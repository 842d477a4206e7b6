"""How far a shield must look ahead to leave good agents alone: CartPole, five agents, each number of steps.

    python benchmarks/shield_ahead.py --episodes 200

The shield is the one that CartPole's equations yield by themselves, and the agents are those of ``prove.py``, not
students of theirs. Printed is the share of their actions that is replaced.
"""

from __future__ import annotations

import argparse

import numpy as np
from prove import loaded

from moet.distill import Teacher
from moet.distill.lqr import safe_law
from moet.envs.catalog import resolve
from moet.envs.rollout import play
from moet.envs.seeds import Purpose, episode_seeds
from moet.shield import Shield
from moet.verify import systems

AGENTS = ("bundled", "published", "a2c", "dqn", "ars")


def replaced(shield: Shield, agent: Teacher, episodes: int, seed: int) -> float:
    """Share of an agent's actions that a shield replaces."""
    counts = np.zeros(2)

    def act(observations: np.ndarray) -> np.ndarray:
        wanted = np.asarray(agent.act(observations))
        taken = shield.act_many(observations, wanted)
        counts[:] += np.count_nonzero(taken != wanted), len(taken)
        return taken

    play(act, resolve("CartPole-v1"), episode_seeds(seed, Purpose.REPORT, episodes))
    return float(counts[0] / counts[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--ahead", type=int, nargs="+", default=[1, 2, 4, 6, 8, 10, 30])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    law = safe_law(systems.cartpole())
    agents = {name: loaded(name) for name in AGENTS}
    for ahead in options.ahead:
        shield = Shield(law.verdict.certificate, law.policy, systems.cartpole(), steps=ahead)
        shares = [f"{name} {replaced(shield, one, options.episodes, options.seed):.3%}" for name, one in agents.items()]
        print(f"{ahead:>2} ahead: {', '.join(shares)}", flush=True)


if __name__ == "__main__":
    main()
