"""
A lander in eighteen numbers
============================

A network lands a spacecraft with two engines, each set to a number between -1 and 1. What it does fits into one affine
law per engine, which can be read, bounded and shipped.
"""

from moet import Box, MoETRegressor, verify
from moet.distill import distill, evaluate
from moet.explain import Axis, draw_surfaces, rules, surfaces
from moet.teachers import load

task = "LunarLanderContinuous-v3"
teacher = load(task)
run = distill(teacher, task, MoETRegressor(n_experts=1, max_depth=0), iterations=4, seed=0)
print(rules(run.policy))

# %%
# Fresh episodes; 200 is a landing:

print(evaluate(run.policy, task, episodes=50, seed=1, teacher=teacher))

# %%
# Both engines over height and speed of descent, upright and above the pad: the main one brakes where the craft falls.

height, fall = Axis(1, "y", 0.0, 1.5), Axis(3, "velocity_y", -1.5, 0.5)
picture = draw_surfaces([surfaces(run.policy, height, fall, held=[0] * 8)])

# %%
# Is the main engine at work wherever the craft falls fast, near the pad and nearly upright, before its legs touch the
# ground? Proved with exact arithmetic, rounding included:

falling = Box(
    x=(-0.1, 0.1), y=(0, 0.3), velocity_x=(-0.1, 0.1), velocity_y=(-2, -0.8), angle=(-0.1, 0.1),
    angular_velocity=(-0.1, 0.1), left_contact=(0, 0), right_contact=(0, 0),
)  # fmt: skip
print(verify.always(run.policy, falling, "main >= 0.5"))
