"""
A proof for ever, and what it guarantees
========================================

Three torques hold a pendulum near the top. The search finds a set that the loop leads into itself, so the pendulum
stays there for ever; here is its hull, and runs that try to leave it.
"""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from moet import Mixture, Tree, verify
from moet.verify import systems

system = systems.pendulum()
print(system.states, system.actions)

# %%
# Three experts, each a single answer: the gate is the controller.

leaves = [Tree(feature=[-1], threshold=[0], left=[-1], right=[-1], value=[row]) for row in np.eye(3)]
policy = Mixture(
    gate_weights=[[0, 12.0, 3.0], [0, 0, 0], [0, -12.0, -3.0]],
    gate_bias=[-0.6, 0.0, -0.6],
    trees=leaves,
    classes=system.actions,
    feature_names=system.states,
    prediction="hard",
)
verdict = verify.safe(policy, system, steps=None)
print(type(verdict).__name__, "in", f"{verdict.effort['cpu_seconds']:.1f} CPU s")

# %%
# The ranges that the certificate guarantees, and 200 simulated runs of 100 steps:

ranges = verify.proven_ranges(verdict.certificate, system)
print({name: (round(low, 3), round(high, 3)) for name, (low, high) in ranges.items()})
(left, right), (slow, fast) = ranges["sin_angle"], ranges["angular_velocity"]

figure = Figure(figsize=(5, 4), layout="constrained")
axis = figure.subplots()
axis.add_patch(Rectangle((left, slow), right - left, fast - slow, fill=False, color="C3", label="never left: proved"))
torque = {"negative": -2.0, "none": 0.0, "positive": 2.0}
for angle, speed in np.random.default_rng(0).uniform(-0.1, 0.1, (200, 2)):
    run = [(np.sin(angle), speed)]
    for _ in range(100):
        u = torque[policy.act([np.cos(angle), np.sin(angle), speed])]
        speed = np.clip(speed + 0.05 * (15 * np.sin(angle) + 3 * u), -8, 8)
        angle += 0.05 * speed
        run.append((np.sin(angle), speed))
    axis.plot(*np.array(run).T, lw=0.4, color="C0", alpha=0.4)
axis.set(xlabel="sine of the angle", ylabel="angular velocity [rad/s]", title="200 runs of 100 steps")
axis.legend(loc="upper right")
