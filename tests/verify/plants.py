"""Small plants with controls, and policies for them."""

from moet import RegressionMixture
from moet.model.regression.tree import RegressionTree
from moet.verify import systems
from moet.verify.systems import SampledSystem


def pendulum(**changes) -> SampledSystem:
    """Single pendulum of the benchmark: its angle must have come down to 1 after half a second."""
    description = {
        "flow": {"angle": "speed", "speed": "2 * sin(angle) + 8 * torque"},
        "controls": {"torque": (-1, 1)},
        "period": "0.05",
        "initial": {"angle": (1, "1.175"), "speed": (0, "0.2")},
        "safe": ["-1.5 <= angle <= 1.5"],
    }
    return SampledSystem("pendulum", **(description | changes))


def everything() -> SampledSystem:
    """Has one of all that a description may have."""
    return SampledSystem(
        "everything",
        flow={"x": "y * cos(y) - a", "y": "tan(u + w) / 2 + exp(-x) - min(mu, 1) * sqrt(x**2 + 1) + abs(y)"},
        let={"a": "max(x, 0) - v"},
        controls={"u": (-1, 1), "v": (0, "1/3")},
        period="0.1",
        parameters={"mu": ("0.5", 1)},
        disturbance={"w": "0.01"},
        initial={"x": (0, 1), "y": 0},
        safe=["x - y <= 10"],
        avoid=[["2 <= x <= 3", "y <= 0"]],
        goal=["x <= 1"],
        domain={"x": (-20, 20)},
        observe={"difference": "x - y", "cosine": "cos(x)"},
        observation_error={"cosine": "0.001"},
        float32_observations=True,
    )


def affine_tank() -> systems.AffineSystem:
    """A tank in discrete time whose inflow is a number."""
    return systems.AffineSystem(
        "tank",
        states=["level"],
        controls={"inflow": (0, 1)},
        matrix=[["0.9"]],
        input_matrix=[[2]],
        offset=["0.1"],
        initial={"level": (1, 2)},
        safe=["level <= 5"],
        disturbance={"level": "0.01"},
    )


def nonlinear_tank() -> systems.NonlinearSystem:
    """The same with outflow by the root of the level."""
    return systems.NonlinearSystem(
        "drain",
        states=["level"],
        controls={"inflow": (0, 1)},
        let={"out": "sqrt(max(level, 0))"},
        step={"level": "level - 0.2 * out + inflow"},
        initial={"level": (1, 2)},
        safe=["level <= 5"],
    )


def law(slopes: list[list[float]], values: list[float], outputs: list[str], **bounds) -> RegressionMixture:
    """One affine law for all states."""
    leaf = RegressionTree.leaf(values, slope=slopes)
    return RegressionMixture([[0.0] * len(slopes[0])], [0.0], [leaf], outputs, **bounds)


def cart(**changes):
    """A cart that is pushed, step by step."""
    description = {
        "states": ["place", "speed"],
        "controls": {"push": (-1, 1)},
        "matrix": [[1, "0.1"], [0, 1]],
        "input_matrix": [["0.005"], ["0.1"]],
        "initial": {"place": ("-0.1", "0.1"), "speed": ("-0.1", "0.1")},
        "safe": ["-1 <= place <= 1", "-1 <= speed <= 1"],
    }
    return systems.AffineSystem("cart", **(description | changes))
