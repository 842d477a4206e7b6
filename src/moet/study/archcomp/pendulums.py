"""Things that swing: one and two pendulums, a cart-pole, and a translational oscillator with a rotating mass (TORA)."""

from __future__ import annotations

from typing import Any

from moet.study.archcomp.instance import Demand, Instance, Network, within

_SINGLE: dict[str, Any] = {
    "flow": {"angle": "velocity", "velocity": "2 * sin(angle) + 8 * torque"},
    "controls": {"torque": (-1, 1)},
    "period": "0.05",
    "goal": ["0 <= angle <= 1"],
}
_UPRIGHT = [Demand(within(0, 1, "angle"), start=0.5)]

SINGLE_PENDULUM = Instance(
    "single_pendulum",
    "Single pendulum, first angle up to 1.175",
    {**_SINGLE, "initial": {"angle": (1, "1.175"), "velocity": (0, "0.2")}},
    steps=20,
    demands=_UPRIGHT,
    origin="published network, distilled",
    network=Network("single_pendulum"),
    cora=8.47,
)

SINGLE_PENDULUM_WIDE = Instance(
    "single_pendulum_wide",
    "Single pendulum, first angle up to 1.2",
    {**_SINGLE, "initial": {"angle": (1, "1.2"), "velocity": (0, "0.2")}},
    steps=20,
    demands=_UPRIGHT,
    origin="own teacher, evolved (the network fails)",
    network=Network("single_pendulum"),
    cora=8.47,
)

_DOUBLE: dict[str, Any] = {
    "let": {
        "difference": "angle1 - angle2",
        "first": "4 * torque1 + 2 * sin(angle1) - velocity2**2 * sin(difference) / 2",
        "second": "velocity1**2 * sin(difference) + 8 * torque2 + 2 * sin(angle2) - cos(difference) * first",
        "inertia": "cos(difference)**2 / 2 - 1",
    },
    "flow": {
        "angle1": "velocity1",
        "angle2": "velocity2",
        "velocity1": "first + cos(difference) * second / (2 * inertia)",
        "velocity2": "-second / inertia",
    },
    "controls": {"torque1": (-10, 10), "torque2": (-10, 10)},
    "initial": dict.fromkeys(("angle1", "angle2", "velocity1", "velocity2"), (1, "1.3")),
}

DOUBLE_PENDULUM_LESS = Instance(
    "double_pendulum_less",
    "Double pendulum, less robust",
    {**_DOUBLE, "period": "0.05", "safe": list(within(-1.7, 2, *_DOUBLE["flow"]))},
    steps=20,
    demands=[Demand(within(-1.7, 2, *_DOUBLE["flow"]))],
    origin="own teacher, evolved",
    network=Network("double_pendulum_less_robust"),
    cora=6.0,
)

DOUBLE_PENDULUM_MORE = Instance(
    "double_pendulum_more",
    "Double pendulum, more robust",
    {**_DOUBLE, "period": "0.02", "safe": list(within(-1.5, 1.5, *_DOUBLE["flow"]))},
    steps=20,
    demands=[Demand(within(-1.5, 1.5, *_DOUBLE["flow"]))],
    origin="own teacher, evolved (the network fails)",
    network=Network("double_pendulum_more_robust"),
    cora=5.3,
)

BALANCING = Instance(
    "balancing",
    "Balancing a pole on a cart",
    {
        "flow": {
            "position": "velocity",
            "velocity": "2 * force",
            "angle": "turn",
            "turn": "(0.08 * 0.41 * (9.8 * sin(angle) - 2 * force * cos(angle)) - 0.0021 * turn) / 0.0105",
        },
        "controls": {"force": (-3, 3)},
        "period": "0.02",
        "initial": {
            "position": ("-0.1", "0.1"),
            "velocity": ("-0.05", "0.05"),
            "angle": ("-0.1", "0.1"),
            "turn": ("-0.05", "0.05"),
        },
        "goal": list(within(-0.001, 0.001, "position", "angle", "turn")),
    },
    steps=500,
    demands=[Demand(within(-0.001, 0.001, "position", "angle", "turn"), start=8)],
    origin="own teacher, optimal regulator",
    network=Network("balancing"),
    cora=305.85,
)

_TORA: dict[str, Any] = {
    "flow": {"x1": "x2", "x2": "-x1 + 0.1 * sin(x3)", "x3": "x4", "x4": "u"},
}

TORA_REMAIN = Instance(
    "tora_remain",
    "TORA, remain",
    {
        **_TORA,
        "controls": {"u": (-10, 10)},
        "period": 1,
        "initial": {"x1": ("0.6", "0.7"), "x2": ("-0.7", "-0.6"), "x3": ("-0.4", "-0.3"), "x4": ("0.5", "0.6")},
        "safe": list(within(-2, 2, *_TORA["flow"])),
    },
    steps=20,
    demands=[Demand(within(-2, 2, *_TORA["flow"]))],
    origin="published network, distilled",
    network=Network("tora_remain", shift=-10),
    cora=12.45,
)

TORA_REACH = Instance(
    "tora_reach",
    "TORA, reach",
    {
        **_TORA,
        "controls": {"u": (-11, 11)},
        "period": "0.5",
        "initial": {
            "x1": ("-0.77", "-0.75"),
            "x2": ("-0.45", "-0.43"),
            "x3": ("0.51", "0.54"),
            "x4": ("-0.3", "-0.28"),
        },
        "goal": ["-0.1 <= x1 <= 0.2", "-0.9 <= x2 <= -0.6"],
    },
    steps=10,
    demands=[Demand((*within(-0.1, 0.2, "x1"), *within(-0.9, -0.6, "x2")), start=5)],
    origin="own teacher, evolved",
    cora=6.96,
)

PENDULUMS = (
    TORA_REMAIN,
    TORA_REACH,
    SINGLE_PENDULUM,
    SINGLE_PENDULUM_WIDE,
    DOUBLE_PENDULUM_LESS,
    DOUBLE_PENDULUM_MORE,
    BALANCING,
)
