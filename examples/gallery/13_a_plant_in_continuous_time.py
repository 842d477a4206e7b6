"""
A plant in continuous time, proved
==================================

A robot must drive around an obstacle into a goal within six seconds, from every place in a box; its controller looks
five times a second. The plant is four differential equations, the controller ten numbers.
"""

from moet import RegressionMixture, RegressionTree, verify
from moet.explain import draw_proof, proof_picture, rules
from moet.verify import systems

robot = systems.SampledSystem(
    "robot",
    flow={"x": "speed * cos(heading)", "y": "speed * sin(heading)", "speed": "push", "heading": "turn"},
    controls={"push": (-1, 1), "turn": (-1, 1)},
    period="0.2",
    initial={"x": ("2.9", "3.1"), "y": ("2.9", "3.1"), "speed": 0, "heading": 0},
)

# %%
# The controller, one affine law:

law = RegressionTree.leaf([1.68, 0.995], slope=[[0.428, -1.48, -1.65, -1.06], [-1.5, 0.958, 0.353, -1.09]])
policy = RegressionMixture([[0.0] * 4], [0.0], [law], ["push", "turn"], feature_names=["x", "y", "speed", "heading"])
print(rules(policy))

# %%
# The question, and what is proved: for all first states, at all times between the looks, too.

verdict = verify.meets(
    policy, robot, "never 1 <= x <= 2 and 1 <= y <= 2 until 6; -0.5 <= x <= 0.5 and -0.5 <= y <= 0.5 at 6"
)
print(verdict.claim)

# %%
# At a glance: where the proof keeps all runs, and simulated ones inside it. (The robot drives backwards.)

picture = proof_picture(verdict.certificate, policy, robot)
plane = draw_proof(picture, ["x:y"], note="around the obstacle, proved")
