"""
Why a gate: the paper's CartPole figure
=======================================

A policy of CartPole is nearly one oblique line. Trees cut along the axes, so they build it as a staircase; a mixture
of two leaves has the line itself (the figure of decision regions in Vasić et al., 2022).
"""

from sklearn.tree import DecisionTreeClassifier

from moet import MoETClassifier
from moet.distill import distill, evaluate
from moet.explain import Axis, decision_regions, draw_regions
from moet.teachers import load

teacher = load("cartpole")
students = {
    "tree, 8 leaves": DecisionTreeClassifier(max_leaf_nodes=8, random_state=0),
    "tree, 64 leaves": DecisionTreeClassifier(max_leaf_nodes=64, random_state=0),
    "mixture, 2 leaves": MoETClassifier(n_experts=2, max_depth=0, prediction="hard"),
}
effort = {"iterations": 15, "rollouts_per_iteration": 10, "selection_episodes": 20, "seed": 0}
policies = {name: distill(teacher, "cartpole", student, **effort).policy for name, student in students.items()}

# %%
# How often each does what the network would have done, in its own play:

for name, policy in policies.items():
    print(f"{name}: {evaluate(policy, 'cartpole', episodes=50, seed=1, teacher=teacher)}")

# %%
# The four of them, with the cart at rest in the middle:

angle, speed = Axis(2, "angle [rad]", -0.1, 0.1), Axis(3, "angular velocity [rad/s]", -0.5, 0.5)
shown = {"network": teacher.act} | {name: policy.act for name, policy in policies.items()}
picture = draw_regions(decision_regions(shown, angle, speed, held=[0, 0, 0, 0]), ["push left", "push right"])
