"""
From an agent to a proved policy
================================

A network that balances CartPole becomes one line of arithmetic, and that line is proved safe on Gymnasium's own
equations. ``Teacher.from_sb3("agent.zip")`` would bring an agent of yours; here the bundled one is the teacher.
"""

from moet import MoETClassifier, verify
from moet.distill import distill, evaluate
from moet.explain import Axis, decision_regions, draw_regions, rules
from moet.teachers import load
from moet.verify import systems

teacher = load("cartpole")
student = MoETClassifier(n_experts=2, max_depth=0, prediction="hard")
run = distill(teacher, "cartpole", student, iterations=20, seed=0)
print(rules(run.policy))

# %%
# As good as the network? Episodes that nobody has seen tell.

print(evaluate(run.policy, "cartpole", episodes=100, seed=1, teacher=teacher))

# %%
# The network and the line, with the cart at rest in the middle:

angle, speed = Axis(2, "angle [rad]", -0.21, 0.21), Axis(3, "angular velocity [rad/s]", -1.0, 1.0)
policies = {"network": teacher.act, "mixture of two leaves": run.policy.act}
picture = draw_regions(decision_regions(policies, angle, speed, held=[0, 0, 0, 0]), ["push left", "push right"])

# %%
# Does the pole stay up for 200 steps, from every start that Gymnasium may choose? The verdict has a certificate that
# an independent checker accepts with exact arithmetic.

verdict = verify.safe(run.policy, systems.cartpole(), steps=200)
print(verdict.claim)
print("checked again:", verify.check(verdict.certificate, run.policy, systems.cartpole()))
