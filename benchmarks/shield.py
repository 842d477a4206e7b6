"""Real Gymnasium CartPole behind a shield, with agents that mean no good; and what a decision takes.

    python benchmarks/shield.py --steps 10000000

A law is proved safe for ever, a shield is made of the proof, and agents of many kinds play CartPole-v1 (without its
limit of 500 steps, begun anew every 2,000) in a ShieldedEnv. Printed are, for every agent, the steps, the steps after
which the environment said that the episode is lost, and the share of actions that were replaced. CPU seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import gymnasium
import numpy as np

from moet import Mixture, Tree
from moet.shield import Shield, ShieldedEnv
from moet.verify import safe, systems

GAINS = (5.778, 11.041, 96.362, 25.0)
"""A well-damped law: push to the right if the sum of these times the states is positive."""

EPISODE = 2000

Agent = Callable[[np.ndarray], int]


def law(gains: tuple[float, ...]) -> Mixture:
    leaves = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    return Mixture([[0.0] * 4, list(gains)], [0.0, 0.0], leaves, ["left", "right"])


def agents(shield: Shield, random: np.random.Generator) -> dict[str, Callable[[], Agent]]:
    """What makes an agent for an episode, by name."""
    plain = np.array(GAINS)

    def edge(x: np.ndarray) -> int:
        """Where it falls, or leaves, soonest: the pushed side of angle and position together."""
        return int(x[2] / 0.21 + x[3] + x[0] / 2.4 + x[1] / 2 < 0)

    def brink(x: np.ndarray) -> int:
        """The action that is furthest from safety and still allowed."""
        ahead = [shield.steps_ahead(x, a) for a in (0, 1)]
        return int(ahead[1] > ahead[0]) if max(ahead) else int(x @ plain <= 0)

    def anti(x: np.ndarray) -> int:
        return int(x @ plain <= 0)

    def linear(gains: np.ndarray) -> Agent:
        return lambda x: int(x @ gains > 0)

    def drunk(_: np.ndarray) -> int:
        return int(random.random() < 0.5)

    def sticky() -> Agent:
        pushes = np.repeat(random.integers(0, 2, EPISODE), random.integers(2, 40, EPISODE))
        moves = iter(pushes.tolist())
        return lambda x: next(moves)

    kinds: dict[str, Callable[[], Agent]] = {
        "random": lambda: drunk,
        "always right": lambda: lambda x: 1,
        "edge": lambda: edge,
        "brink": lambda: brink,
        "anti-policy": lambda: anti,
        "untrained": lambda: linear(random.normal(size=4)),
        "half-trained": lambda: linear(plain * np.exp(random.normal(size=4))),
        "sticky": sticky,
    }
    players = [kinds[name] for name in kinds]

    def switching() -> Agent:
        state = {"left": 0, "agent": drunk}

        def act(x: np.ndarray) -> int:
            if state["left"] == 0:
                state["left"] = int(random.integers(1, 60))
                state["agent"] = players[random.integers(len(players))]()
            state["left"] -= 1
            return state["agent"](x)

        return act

    return {**kinds, "switching": switching}


def play(env: ShieldedEnv, make: Callable[[], Agent], n_steps: int, seed: int) -> tuple[int, int, int]:
    """Steps lost, actions replaced, steps that the system does not explain."""
    lost = replaced = odd = done = 0
    while done < n_steps:
        agent = make()
        seen, _ = env.reset(seed=seed + done)
        for _ in range(min(EPISODE, n_steps - done)):
            seen, _, terminated, _, info = env.step(agent(seen))
            done += 1
            replaced += info["overridden"]
            odd += not info["explained"]
            if terminated:
                lost += 1
                break
    return lost, replaced, odd


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=900_000, help="steps in all")
    parser.add_argument("--ahead", type=int, default=40, help="steps that the shield looks ahead")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    system, policy = systems.cartpole(), law(GAINS)
    start = time.process_time()
    verdict = safe(policy, system, steps=None)
    print(f"{type(verdict).__name__}: {time.process_time() - start:.1f} s")
    start = time.process_time()
    shield = Shield(verdict.certificate, policy, system, steps=options.ahead)
    print(f"{shield}: {time.process_time() - start:.2f} s to make and check")
    print(f"{decision_seconds(shield) * 1e6:.2f} us for a decision of act()")
    env = ShieldedEnv(gymnasium.make("CartPole-v1").unwrapped, shield)
    random = np.random.default_rng(options.seed)
    kinds = agents(shield, random)
    total = 0
    for name, make in kinds.items():
        n_steps = -(-options.steps // len(kinds))
        start = time.process_time()
        lost, replaced, odd = play(env, make, n_steps, options.seed)
        total += lost
        seconds = time.process_time() - start
        shares = f"{replaced / n_steps:7.2%} replaced  {odd} unexplained"
        print(f"{name:<13} {n_steps:>9,} steps  {lost} lost  {shares}  {seconds:.0f} s", flush=True)
    print(f"{total} lost in all")


def decision_seconds(shield: Shield, count: int = 200_000) -> float:
    states = np.random.default_rng(1).uniform(-0.5, 0.5, (1000, 4)) * [1, 1, 0.2, 1]
    rows = list(states)
    shield.act(rows[0], 0)
    start = time.process_time()
    for i in range(count):
        shield.act(rows[i % 1000], i & 1)
    return (time.process_time() - start) / count


if __name__ == "__main__":
    main()
