"""
A shield around a bad agent
===========================

An agent that acts at random drops the pole within seconds. Behind a shield, made of the proof of another policy, it
cannot: an action is allowed only if that policy can still hold what comes of it.
"""

import gymnasium
import numpy as np

from moet import Mixture, Tree, verify
from moet.shield import Shield, ShieldedEnv
from moet.verify import systems

# %%
# A damped line, proved to balance for ever on Gymnasium's equations:

system = systems.cartpole()
line = np.array([1.0, 2.0, 30.0, 7.0])
answers = [Tree.leaf([1.0, 0.0]), Tree.leaf([0.0, 1.0])]
policy = Mixture([-line, line], [0, 0], answers, system.actions, feature_names=system.states, prediction="hard")
proof = verify.safe(policy, system, steps=None)
print(type(proof).__name__, "for ever, in", f"{proof.effort['cpu_seconds']:.0f} CPU s")

# %%
# The shield has every number that it uses confirmed by the exact checker, or refuses to start.

shield = Shield(proof.certificate, policy, system)
rng = np.random.default_rng(0)


def play(env):
    """Act at random for up to 500 steps; how many there were, and the share that was overridden."""
    env.reset(seed=0)
    overridden = []
    for _ in range(500):
        _, _, terminated, truncated, info = env.step(int(rng.integers(2)))
        overridden.append(info.get("overridden", False))
        if terminated or truncated:
            break
    return len(overridden), np.mean(overridden)


print("random, alone: {} steps".format(*play(gymnasium.make("CartPole-v1"))))
print("random, shielded: {} steps, {:.0%} overridden".format(*play(ShieldedEnv(gymnasium.make("CartPole-v1"), shield))))
