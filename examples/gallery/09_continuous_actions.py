"""
A continuous car in a few numbers
=================================

A network drives a car up a hill with a force between -1 and 1. What it does fits into a few affine laws, which can be
read, bounded and shipped.
"""

from moet import Box, verify
from moet.distill import distill, evaluate
from moet.explain import Axis, draw_surfaces, rules, surfaces
from moet.teachers import load

task = "MountainCarContinuous-v0"
teacher = load(task)
run = distill(teacher, task, iterations=4, seed=0)
print(rules(run.policy))

# %%
# Fresh episodes:

print(evaluate(run.policy, task, episodes=50, seed=1, teacher=teacher))

# %%
# The force over position and velocity:

position, velocity = Axis(0, "position", -1.2, 0.6), Axis(1, "velocity", -0.07, 0.07)
picture = draw_surfaces([surfaces(run.policy, position, velocity, held=[0, 0])])

# %%
# Between which forces does it choose at the foot of the hill, at rest? Proved with exact arithmetic, rounding included:

found = verify.range(run.policy, Box(position=(-0.6, -0.4), velocity=(-0.001, 0.001)))
print(f"from {found.low[0]:.4f} to {found.high[0]:.4f}, checked: {found.checked}")
