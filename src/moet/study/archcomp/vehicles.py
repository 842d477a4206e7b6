"""Vehicles on the ground: cruise control, a robot between obstacles, a unicycle."""

from __future__ import annotations

from moet.study.archcomp.instance import Demand, Instance, Network, within

ACC = Instance(
    "acc",
    "Adaptive cruise control",
    {
        "flow": {
            "x_lead": "v_lead",
            "v_lead": "a_lead",
            "a_lead": "-2 * a_lead - 4 - 0.0001 * v_lead**2",
            "x_ego": "v_ego",
            "v_ego": "a_ego",
            "a_ego": "-2 * a_ego + 2 * u - 0.0001 * v_ego**2",
        },
        "controls": {"u": (-3, 3)},
        "period": "0.1",
        "initial": {
            "x_lead": (90, 110),
            "v_lead": (32, "32.2"),
            "a_lead": 0,
            "x_ego": (10, 11),
            "v_ego": (30, "30.2"),
            "a_ego": 0,
        },
        "observe": {"speed": "v_ego", "distance": "x_lead - x_ego", "approach": "v_lead - v_ego"},
        "safe": ["x_lead - x_ego >= 10 + 1.4 * v_ego"],
    },
    steps=50,
    demands=[Demand(("x_lead - x_ego >= 10 + 1.4 * v_ego",))],
    origin="published network, distilled",
    network=Network("acc", constants=(30, 1.4)),
    cora=4.89,
)

NAV = Instance(
    "nav",
    "Navigation around an obstacle",
    {
        "flow": {
            "x": "speed * cos(heading)",
            "y": "speed * sin(heading)",
            "speed": "push",
            "heading": "turn",
        },
        "controls": {"push": (-1, 1), "turn": (-1, 1)},
        "period": "0.2",
        "initial": {"x": ("2.9", "3.1"), "y": ("2.9", "3.1"), "speed": 0, "heading": 0},
        "avoid": [["1 <= x <= 2", "1 <= y <= 2"]],
        "goal": ["-0.5 <= x <= 0.5", "-0.5 <= y <= 0.5"],
    },
    steps=30,
    demands=[
        Demand(("1 <= x <= 2", "1 <= y <= 2"), never=True),
        Demand(within(-0.5, 0.5, "x", "y"), start=6),
    ],
    origin="own teacher, evolved",
    cora=5.87,
)

UNICYCLE = Instance(
    "unicycle",
    "Unicycle to the origin",
    {
        "flow": {
            "x": "speed * cos(heading)",
            "y": "speed * sin(heading)",
            "heading": "turn",
            "speed": "push + w",
        },
        "controls": {"push": (-2, 2), "turn": (-2, 2)},
        "period": "0.2",
        "disturbance": {"w": ("-0.0001", "0.0001")},
        "initial": {"x": ("9.5", "9.55"), "y": ("-4.5", "-4.45"), "heading": ("2.1", "2.11"), "speed": ("1.5", "1.51")},
        "goal": ["-0.6 <= x <= 0.6", "-0.2 <= y <= 0.2", "-0.06 <= heading <= 0.06", "-0.3 <= speed <= 0.3"],
    },
    steps=50,
    demands=[
        Demand(
            (
                *within(-0.6, 0.6, "x"),
                *within(-0.2, 0.2, "y"),
                *within(-0.06, 0.06, "heading"),
                *within(-0.3, 0.3, "speed"),
            ),
            start=10,
        )
    ],
    origin="own teacher, evolved",
    cora=7.41,
)

VEHICLES = (ACC, NAV, UNICYCLE)
