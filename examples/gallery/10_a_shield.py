"""
A shield around a bad agent
===========================

An agent that acts at random drops the pole within seconds. Behind a shield, made of the proof of another policy, it
cannot: an action is allowed only if that policy can still hold what comes of it.
"""

import gymnasium
import numpy as np
from matplotlib.figure import Figure

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
    """Act at random for up to 500 steps: the angles of the pole, and the share of actions that was overridden."""
    (*_, angle, _), _ = env.reset(seed=0)
    angles, overridden = [angle], []
    for _ in range(500):
        observation, _, terminated, truncated, info = env.step(int(rng.integers(2)))
        angles.append(observation[2])
        overridden.append(info.get("overridden", False))
        if terminated or truncated:
            break
    return angles, np.mean(overridden)


alone, _ = play(gymnasium.make("CartPole-v1"))
guarded, share = play(ShieldedEnv(gymnasium.make("CartPole-v1"), shield))
print(f"random, alone: {len(alone) - 1} steps; shielded: {len(guarded) - 1} steps, {share:.0%} overridden")

# %%
# The pole of both, and the angle at which it is lost:

figure = Figure(figsize=(6, 3), layout="constrained")
axis = figure.subplots()
axis.plot(guarded, label="random, shielded")
axis.plot(alone, "C3", label="random, alone")
for limit in (-0.2095, 0.2095):
    axis.axhline(limit, color="0.5", linestyle="--")
axis.set(xlabel="step", ylabel="angle of the pole [rad]")
axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)
