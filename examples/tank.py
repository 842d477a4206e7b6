"""A system of one's own in ten lines: a water tank with an outlet, and a valve that a small policy opens and closes.

The outflow grows with the root of the level (Torricelli), so the system is nonlinear; consumption is uncertain, and so
is the sensor. Is the level kept between 0.5 m and 1.5 m for ever? Run it with ``python examples/tank.py``.
"""

from moet import Mixture, Tree
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

# one expert, one split: open the valve at 1 m and below
valve = Tree(
    feature=[0, -1, -1], threshold=[1.0, 0, 0], left=[1, -1, -1], right=[2, -1, -1], value=[[1, 0], [0, 1], [1, 0]]
)
policy = Mixture([[0.0]], [0.0], [valve], classes=["closed", "open"], feature_names=["level"])

verdict = safe(policy, tank, steps=None)
print(verdict)
if verdict:
    low, high = proven_ranges(verdict.certificate, tank)["level"]
    print(f"the level stays between {low:.3f} and {high:.3f} m for ever")
    print("checked exactly:", check(verdict.certificate, policy, tank))
