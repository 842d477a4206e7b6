"""Policies that answer with labels on plants in continuous time.

    python benchmarks/label_plants.py --cpu-limit 30

The plants are those of Schilling et al. 2023 (cart-pole, acrobot, quadrotor with its wind that changes, mountain car),
and a tank. The trees of the cart-pole and the acrobot are the published ones; the others are fitted here to a law, that
of the mountain car to what the bundled agent does in 5,000 random states, seed 0.
"""

from __future__ import annotations

import argparse
import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from moet import Mixture, teachers
from moet.model.tree import Tree
from moet.verify import Verdict, meets, systems


def cartpole(radius: str) -> systems.SampledSystem:
    """The cart-pole of Gymnasium as differential equations."""
    return systems.SampledSystem(
        "cart-pole",
        let={
            "push": "(force + 0.05 * spin**2 * sin(angle)) / 1.1",
            "turn": "(9.8 * sin(angle) - cos(angle) * push) / (0.5 * (4 / 3 - 0.1 * cos(angle)**2 / 1.1))",
        },
        flow={
            "place": "speed",
            "speed": "push - 0.05 * turn * cos(angle) / 1.1",
            "angle": "spin",
            "spin": "turn",
        },
        actions={"left": {"force": -10}, "right": {"force": 10}},
        period="0.02",
        initial=dict.fromkeys(("place", "speed", "angle", "spin"), (f"-{radius}", radius)),
    )


def cartpole_tree() -> Mixture:
    """Left if the angle is at most -0.014, or it falls faster than 0.201."""
    value = np.array([[0.5, 0.5], [1, 0], [0.5, 0.5], [1, 0], [0, 1]])
    left, right = np.array([1, -1, 3, -1, -1], np.int32), np.array([2, -1, 4, -1, -1], np.int32)
    tree = Tree(np.array([2, -1, 3, -1, -1], np.int32), np.array([-0.014, 0, -0.201, 0, 0]), left, right, value)
    return Mixture(np.zeros((1, 4)), [0.0], [tree], ["left", "right"])


def acrobot(radius: str) -> systems.SampledSystem:
    """Two links, a torque of 0, 1 or 2 at their joint as in the published experiment, and how high the tip is.

    The height is a state, for conditions are linear. At first it falls with both angles: corners bound it.
    """
    middle, half = Fraction("-0.07"), Fraction(radius)
    corners = [
        -math.cos(a) - math.cos(a + b)
        for a in (float(middle - half), float(middle + half))
        for b in (-float(half), float(half))
    ]
    return systems.SampledSystem(
        "acrobot",
        let={
            "c": "cos(b)",
            "weight": "4.9 * sin(a + b)",
            "load": "14.7 * sin(a) + weight - (0.5 * q**2 + q * p) * sin(b)",
            "share": "(1.25 + 0.5 * c) / (3.5 + c)",
            "turn": "(torque + share * load - 0.5 * p**2 * sin(b) - weight) / (1.25 - share * (1.25 + 0.5 * c))",
        },
        flow={
            "a": "p",
            "b": "q",
            "p": "-load / (3.5 + c) - share * turn",
            "q": "turn",
            "height": "p * sin(a) + (p + q) * sin(a + b)",
        },
        actions={"left": {"torque": 0}, "none": {"torque": 1}, "right": {"torque": 2}},
        period="0.2",
        initial={
            "a": (middle - half, middle + half),
            "b": (-half, half),
            "p": 0,
            "q": 0,
            "height": (round(min(corners) - 1e-6, 6), round(max(corners) + 1e-6, 6)),
        },
    )


def acrobot_tree(depth: int) -> Mixture:
    """Tests of both angular velocities, of depth two or three."""
    left, right, none = np.eye(3)[[0, 2, 1]]
    if depth == 2:
        features, tests = [2, 3, -1, -1, 3, -1, -1], [-0.097, -1.131, 0, 0, 1.582, 0, 0]
        lower, upper = [1, 2, -1, -1, 5, -1, -1], [4, 3, -1, -1, 6, -1, -1]
        value = [none, none, left, right, none, left, right]
    else:
        features, tests = [2, 3, 2, -1, -1, -1, 3, -1, -1], [-0.099, -1.351, -2.661, 0, 0, 0, 1.123, 0, 0]
        lower, upper = [1, 2, 3, -1, -1, -1, 7, -1, -1], [6, 5, 4, -1, -1, -1, 8, -1, -1]
        value = [none, none, none, right, left, right, none, left, right]
    places = [np.array(numbers, np.int32) for numbers in (features, lower, upper)]
    tree = Tree(places[0], np.array(tests, float), places[1], places[2], np.array(value))
    return Mixture(np.zeros((1, 5)), [0.0], [tree], ["left", "none", "right"])


def quadrotor() -> systems.SampledSystem:
    """Six states, eight actions, in a wind that changes three times."""
    wind = [("0.25", "-0.25")] * 10 + [("0.25", "0.25")] * 10 + [("0", "0.25")] * 5 + [("-0.25", "0.25")]
    actions = {
        f"{k}": {
            "tilt": "0.1" if k & 1 else "-0.1",
            "roll": "0.1" if k & 2 else "-0.1",
            "lift": 11.81 if k & 4 else 7.81,
        }
        for k in range(8)
    }
    return systems.SampledSystem(
        "quadrotor",
        flow={
            "px": "vx - wx",
            "py": "vy - wy",
            "pz": "vz",
            "vx": "9.81 * tan(tilt)",
            "vy": "-9.81 * tan(roll)",
            "vz": "lift - 9.81",
        },
        actions=actions,
        period="0.2",
        schedule={"wx": [x for x, _ in wind], "wy": [y for _, y in wind]},
        initial={"px": ("-0.05", "0.05"), "py": ("-0.05", "0.05"), "pz": 0, "vx": 0, "vy": 0, "vz": 0},
    )


def quadrotor_tree() -> DecisionTreeClassifier:
    """Depth ten, fitted to 500 samples of a law that keeps the place."""
    rows = np.random.default_rng(0).uniform(-1, 1, (500, 6)) * [0.5, 0.5, 0.5, 1, 1, 1]
    px, py, pz, vx, vy, vz = rows.T
    wanted = (px + 1.2 * vx < 0) + 2 * (py + 1.2 * vy > 0) + 4 * (pz + 1.2 * vz < 0)
    return DecisionTreeClassifier(max_depth=10, random_state=0).fit(rows, wanted)


def tank() -> systems.SampledSystem:
    """A tank whose valve lets a flow through that is known to a tenth."""
    return systems.SampledSystem(
        "tank",
        flow={"level": "(0.5 * inflow - 0.3 * sqrt(level)) / 2"},
        actions={"shut": {"inflow": 0}, "open": {"inflow": ("0.9", "1.1")}},
        period=1,
        initial={"level": ("0.8", "1.2")},
        domain={"level": ("0.01", 3)},
    )


def tank_tree() -> DecisionTreeClassifier:
    """Open below 1."""
    return DecisionTreeClassifier().fit([[0.5], [0.99], [1.01], [1.5]], ["open", "open", "shut", "shut"])


def mountain_car() -> systems.SampledSystem:
    """Gymnasium's car in its valley as differential equations; the domain ends before the wall on the left."""
    return systems.SampledSystem(
        "mountain car",
        flow={"position": "velocity", "velocity": "0.001 * push - 0.0025 * cos(3 * position)"},
        actions={"left": {"push": -1}, "none": {"push": 0}, "right": {"push": 1}},
        period=1,
        initial={"position": ("-0.6", "-0.4"), "velocity": 0},
        domain={"position": ("-1.199", 1), "velocity": ("-0.07", "0.07")},
    )


def mountain_car_tree() -> DecisionTreeClassifier:
    """Depth six."""
    rows = np.random.default_rng(0).uniform([-1.2, -0.07], [0.6, 0.07], (5000, 2))
    labels = np.array(["left", "none", "right"])[teachers.load("mountaincar").act(rows)]
    return DecisionTreeClassifier(max_depth=6, random_state=0).fit(rows, labels)


def questions() -> list[tuple[str, Any, systems.SampledSystem, str]]:
    """Name, policy, plant and specification."""
    upright = "-0.2095 <= angle <= 0.2095 and -2.4 <= place <= 2.4 until"
    around = " and ".join(f"-{most} <= {name} <= {most}" for name, most in (("px", "1.5"), ("py", "1.5"), ("pz", 3)))
    return [
        ("cart-pole ±0.01, 10 steps", cartpole_tree(), cartpole("0.01"), f"{upright} 0.2"),
        ("cart-pole ±0.05, 10 steps", cartpole_tree(), cartpole("0.05"), f"{upright} 0.2"),
        ("cart-pole ±0.05, 25 steps", cartpole_tree(), cartpole("0.05"), f"{upright} 0.5"),
        *(
            (f"acrobot ±{radius}, depth {depth}", acrobot_tree(depth), acrobot(radius), "reach height >= 1 within 15")
            for radius, depth in (("0.0005", 2), ("0.0005", 3), ("0.001", 2))
        ),
        ("quadrotor, 30 steps", quadrotor_tree(), quadrotor(), f"{around} until 6"),
        ("mountain car, goal in 200 steps", mountain_car_tree(), mountain_car(), "reach position >= 0.5 within 200"),
        ("tank, 1000 steps", tank_tree(), tank(), "0.4 <= level <= 1.6 until 1000"),
    ]


def main() -> None:
    """Print one line per question."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpu-limit", type=float, default=30)
    limit = parser.parse_args().cpu_limit
    for name, policy, plant, spec in questions():
        begin = time.process_time()
        verdict: Verdict = meets(policy, plant, spec, cpu_limit=limit)
        print(f"{name:32} {type(verdict).__name__:8} {time.process_time() - begin:.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
