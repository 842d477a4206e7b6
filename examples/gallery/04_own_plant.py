"""
A plant of one's own
====================

A water tank: the outflow grows with the root of the level (Torricelli), consumption is uncertain, and so is the
sensor. A valve opens at 1 m and below. Is the level kept between 0.5 m and 1.5 m for ever?
"""

from moet import Mixture, Tree
from moet.explain import draw_proof, proof_picture
from moet.verify import check, proven_ranges, safe, systems

tank = systems.NonlinearSystem(
    "tank",
    states=["level"],
    actions=["closed", "open"],
    inputs={"inflow": (0, "0.3")},
    step={"level": "level + 0.1 * (inflow - 0.15 * sqrt(level))"},
    initial={"level": (0.9, 1.1)},
    safe=["0.5 <= level <= 1.5"],
    disturbance={"level": 0.002},
    observation_error={"level": 0.01},
)

# %%
# One expert, one split:

valve = Tree(
    feature=[0, -1, -1], threshold=[1.0, 0, 0], left=[1, -1, -1], right=[2, -1, -1], value=[[1, 0], [0, 1], [1, 0]]
)
policy = Mixture([[0.0]], [0.0], [valve], classes=["closed", "open"], feature_names=["level"])
verdict = safe(policy, tank, steps=None)
print(verdict.claim)

# %%
# The proof says more than was asked:

low, high = proven_ranges(verdict.certificate, tank)["level"]
print(f"the level stays between {low:.3f} and {high:.3f} m for ever")
print("checked exactly:", check(verdict.certificate, policy, tank))

# %%
# The proved set, runs of the loop, and the limits:

figure = draw_proof(proof_picture(verdict.certificate, policy, tank))

# %%
# A valve that opens at 0.4 m and below is refuted, with a run that surely happens:

late = Tree(
    feature=[0, -1, -1], threshold=[0.4, 0, 0], left=[1, -1, -1], right=[2, -1, -1], value=[[1, 0], [0, 1], [1, 0]]
)
refuted = safe(Mixture([[0.0]], [0.0], [late], classes=["closed", "open"], feature_names=["level"]), tank, steps=None)
print(type(refuted).__name__, "after", len(refuted.trace.states) - 1, "steps, level", refuted.trace.states[-1])
