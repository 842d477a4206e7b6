"""Things that fly: an airplane, a rigid body, a spacecraft that docks, a quadrotor."""

from __future__ import annotations

from dataclasses import replace

from moet.study.archcomp.instance import Demand, Instance, Network, within

AIRPLANE = Instance(
    "airplane",
    "Airplane",
    {
        "flow": {
            "x": "cos(yaw) * cos(pitch) * u + (cos(yaw) * sin(pitch) * sin(roll) - sin(yaw) * cos(roll)) * v"
            " + (sin(yaw) * sin(roll) + cos(yaw) * sin(pitch) * cos(roll)) * w",
            "y": "sin(yaw) * cos(pitch) * u + (cos(yaw) * cos(roll) + sin(yaw) * sin(pitch) * sin(roll)) * v"
            " + (sin(yaw) * sin(pitch) * cos(roll) - cos(yaw) * sin(roll)) * w",
            "z": "-sin(pitch) * u + cos(pitch) * sin(roll) * v + cos(pitch) * cos(roll) * w",
            "u": "-sin(pitch) + force_x - q * w + r * v",
            "v": "cos(pitch) * sin(roll) + force_y - r * u + p * w",
            "w": "cos(pitch) * cos(roll) + force_z - p * v + q * u",
            "roll": "p + sin(pitch) / cos(pitch) * (sin(roll) * q + cos(roll) * r)",
            "pitch": "cos(roll) * q - sin(roll) * r",
            "yaw": "(sin(roll) * q + cos(roll) * r) / cos(pitch)",
            "r": "moment_z",
            "p": "moment_x",
            "q": "moment_y",
        },
        "controls": dict.fromkeys(("force_x", "force_y", "force_z", "moment_x", "moment_y", "moment_z"), (-10, 10)),
        "period": "0.1",
        "initial": {
            **dict.fromkeys(("x", "y", "z", "r", "p", "q"), 0),
            **dict.fromkeys(("u", "v", "w", "roll", "pitch", "yaw"), (0, 1)),
        },
        "safe": list(within(-1, 1, "y", "roll", "pitch", "yaw")),
    },
    steps=20,
    demands=[Demand(within(-1, 1, "y", "roll", "pitch", "yaw"))],
    origin="own teacher, by hand (the network fails)",
    network=Network("airplane"),
    cora=6.12,
)

AIRPLANE_HALF = replace(
    AIRPLANE,
    name="airplane_half",
    title="Airplane, first angles up to 0.5",
    description={
        **AIRPLANE.description,
        "initial": {**AIRPLANE.description["initial"], **dict.fromkeys(("roll", "pitch", "yaw"), (0, "0.5"))},
    },
)
"""A box that is proved in one part; in :data:`AIRPLANE` first angles touch their limits, with a derivative of 0."""

_UNSAFE = (
    "-0.2 <= x1 <= 0",
    "-0.5 <= x2 <= -0.4",
    "0 <= x3 <= 0.2",
    "-0.7 <= x4 <= -0.6",
    "0.7 <= x5 <= 0.8",
    "-0.4 <= x6 <= -0.2",
)

ATTITUDE = Instance(
    "attitude",
    "Attitude control of a rigid body",
    {
        "let": {"s": "x4**2 + x5**2 + x6**2"},
        "flow": {
            "x1": "0.25 * (u1 + x2 * x3)",
            "x2": "0.5 * (u2 - 3 * x1 * x3)",
            "x3": "u3 + 2 * x1 * x2",
            "x4": "0.5 * (x2 * (s - x6) + x3 * (s + x5) + x1 * (s + 1))",
            "x5": "0.5 * (x1 * (s + x6) + x3 * (s - x4) + x2 * (s + 1))",
            "x6": "0.5 * (x1 * (s - x5) + x2 * (s + x4) + x3 * (s + 1))",
        },
        "controls": {"u1": (-10, 10), "u2": (-10, 10), "u3": (-10, 10)},
        "period": "0.1",
        "initial": {
            "x1": ("-0.45", "-0.44"),
            "x2": ("-0.55", "-0.54"),
            "x3": ("0.65", "0.66"),
            "x4": ("-0.75", "-0.74"),
            "x5": ("0.85", "0.86"),
            "x6": ("-0.65", "-0.64"),
        },
        "avoid": [list(_UNSAFE)],
    },
    steps=30,
    demands=[Demand(_UNSAFE, never=True)],
    origin="published network, distilled",
    network=Network("attitude"),
    cora=7.68,
)

_SLOW = "sqrt(vx**2 + vy**2) <= 0.2 + 0.002054 * sqrt(x**2 + y**2)"

DOCKING = Instance(
    "docking",
    "Docking of a spacecraft",
    {
        "flow": {
            "x": "vx",
            "y": "vy",
            "vx": "0.002054 * vy + 3 * 0.001027**2 * x + force_x / 12",
            "vy": "-0.002054 * vx + force_y / 12",
        },
        "controls": {"force_x": (-1, 1), "force_y": (-1, 1)},
        "period": 1,
        "initial": {"x": (70, 106), "y": (70, 106), "vx": ("-0.28", "0.28"), "vy": ("-0.28", "0.28")},
        "safe": ["x >= 0"],
    },
    steps=40,
    demands=[Demand((_SLOW,))],
    origin="published network, distilled",
    network=Network("docking"),
    cora=451.69,
)

DOCKING_EXPERTS = replace(DOCKING, name="docking_experts", title="Docking of a spacecraft, four experts", cora=None)
"""The same network with a mixture of four affine laws, whose sets are followed with one law for all of them."""

QUAD = Instance(
    "quad",
    "Quadrotor to a height",
    {
        "flow": {
            "x1": "cos(x8) * cos(x9) * x4 + (sin(x7) * sin(x8) * cos(x9) - cos(x7) * sin(x9)) * x5"
            " + (cos(x7) * sin(x8) * cos(x9) + sin(x7) * sin(x9)) * x6",
            "x2": "cos(x8) * sin(x9) * x4 + (sin(x7) * sin(x8) * sin(x9) + cos(x7) * cos(x9)) * x5"
            " + (cos(x7) * sin(x8) * sin(x9) - sin(x7) * cos(x9)) * x6",
            "x3": "sin(x8) * x4 - sin(x7) * cos(x8) * x5 - cos(x7) * cos(x8) * x6",
            "x4": "-x11 * x6 - 9.81 * sin(x8)",
            "x5": "x10 * x6 + 9.81 * cos(x8) * sin(x7)",
            "x6": "x11 * x4 - x10 * x5 + 9.81 * cos(x8) * cos(x7) - 9.81 - u1 / 1.4",
            "x7": "x10 + sin(x7) * sin(x8) / cos(x8) * x11",
            "x8": "cos(x7) * x11",
            "x9": "sin(x7) * x11 / cos(x8)",
            "x10": "u2 / 0.054",
            "x11": "u3 / 0.054",
            "x12": "0",
        },
        "controls": {"u1": (-20, 20), "u2": (-20, 20), "u3": (-20, 20)},
        "period": "0.1",
        "initial": {f"x{k}": ("-0.4", "0.4") if k < 7 else 0 for k in range(1, 13)},
        "goal": ["0.94 <= x3 <= 1.06"],
    },
    steps=50,
    demands=[Demand(within(0.94, 1.06, "x3"), start=5)],
    origin="published network, distilled",
    network=Network("quad"),
    cora=39.84,
)

FLIGHT = (AIRPLANE, AIRPLANE_HALF, ATTITUDE, DOCKING, DOCKING_EXPERTS, QUAD)
