"""The affine plants of Zhu, Xiong, Magill and Jagannathan (PLDI 2019), which must stay safe for ever.

Nine are in discrete time; the other three are differential equations, seen every hundredth of a second. States are
relative to the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moet.study.archcomp.instance import Demand, Instance
from moet.verify import systems

Matrix = Sequence[Sequence[float]]
_ORIGIN = "own teacher, optimal regulator"


def _box(sides: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Sides by name, as the decimal numbers that are written; one number is half a width."""
    pairs = (side if isinstance(side, tuple) else (-side, side) for side in sides)
    return {name: (str(low), str(high)) for name, (low, high) in zip(names, pairs, strict=True)}


def _affine(
    name: str, title: str, matrix: Matrix, inputs: Matrix, start: Sequence[Any], safe: Sequence[Any], most: float
) -> Instance:
    """A plant x+ = A x + B u in discrete time."""
    return _instance(name, title, matrix, inputs, start, safe, most, systems.AffineSystem)


def _instance(
    name: str,
    title: str,
    matrix: Matrix,
    inputs: Matrix,
    start: Sequence[Any],
    safe: Sequence[Any],
    most: float,
    kind: type[systems.System],
) -> Instance:
    states = [f"x{k + 1}" for k in range(len(matrix))]
    controls = [f"u{k + 1}" for k in range(len(inputs[0]))]
    conditions = tuple(f"{low} <= {state} <= {high}" for state, (low, high) in _box(safe, states).items())
    dynamics: dict[str, Any]
    if kind is systems.AffineSystem:
        dynamics = {"states": states, "matrix": _decimal(matrix), "input_matrix": _decimal(inputs)}
    else:
        rows = [[*row, *gain] for row, gain in zip(matrix, inputs, strict=True)]
        dynamics = {"flow": {state: _sum(row, [*states, *controls]) for state, row in zip(states, rows, strict=True)}}
        dynamics["period"] = "0.01"
    return Instance(
        name,
        title,
        {
            **dynamics,
            "controls": _box([most] * len(controls), controls),
            "initial": _box(start, states),
            "safe": list(conditions),
        },
        steps=None,
        demands=[Demand(conditions)],
        origin=_ORIGIN,
        kind=kind,
    )


def _decimal(matrix: Matrix) -> list[list[str]]:
    return [[str(a) for a in row] for row in matrix]


def _sum(row: Sequence[float], names: Sequence[str]) -> str:
    """A row of a matrix as text."""
    return " + ".join(f"({a}) * {name}" for a, name in zip(row, names, strict=True) if a) or "0"


def _platoon(cars: int) -> tuple[list[list[float]], list[list[float]]]:
    """Speed of the first car, then distance and relative speed of each car to the one before, as derivatives."""
    n = 2 * cars - 1
    matrix = [[0.0] * n for _ in range(n)]
    inputs = [[0.0] * cars for _ in range(n)]
    inputs[0][0] = 1.0
    for k in range(1, cars):
        matrix[2 * k - 1][2 * k] = 1.0
        inputs[2 * k][k - 1], inputs[2 * k][k] = 1.0, -1.0
    return matrix, inputs


def _euler(matrix: Matrix, step: str) -> list[list[Any]]:
    """1 + step·A of a matrix of zeros and ones, with exact numbers."""
    return [[1 if i == j else step if a else 0 for j, a in enumerate(row)] for i, row in enumerate(matrix)]


_FOUR, _EIGHT = _platoon(4), _platoon(8)

ZHU = (
    _affine("zhu_pendulum", "Pendulum", [[1.9027, -1], [1, 0]], [[1], [0]], [0.5] * 2, [0.6] * 2, 1),
    _affine("zhu_quadcopter", "Quadcopter", [[1, 1], [0, 1]], [[0], [1]], [0.5] * 2, [1, 1], 15),
    _affine("zhu_satellite", "Satellite", [[2, -1], [1, 0]], [[2], [0]], [1, 1], [1.5] * 2, 10),
    _affine("zhu_cruise", "Cruise", [[0.99501]], [[0.0078125]], [1], [1.5], 10),
    _affine("zhu_dcmotor", "DC motor", [[0.98965, 1.4747e-8], [7.4506e-9, 0]], [[128], [0]], [1, 1], [1.5] * 2, 1),
    _affine(
        "zhu_pointer",
        "Magnetic pointer",
        [[2.6629, -1.1644, 0.66598], [2, 0, 0], [0, 0.5, 0]],
        [[0.25], [0], [0]],
        [1] * 3,
        [3.5] * 3,
        15,
    ),
    _affine(
        "zhu_suspension",
        "Suspension",
        [[0.02366, -0.31922, 0.0012041, -4.0292e-17], [0.25, 0, 0, 0], [0, 0.0019531, 0, 0], [0, 0, 0.0019531, 0]],
        [[256], [0], [0], [0]],
        [1] * 4,
        [3] * 4,
        10,
    ),
    _affine(
        "zhu_tape",
        "Tape drive",
        [[5.5197e-17, -3.5503e-17, 6.2468e-32], [2.7756e-17, 0, 0], [0, 2.7756e-17, 0]],
        [[0.25], [0], [0]],
        [1] * 3,
        [3] * 3,
        10,
    ),
    _affine(
        "zhu_cooling",
        "Cooling of a data centre",
        [[1.01, 0.01, 0], [0.01, 1.01, 0.01], [0, 0.01, 1.01]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [(1.6, 3.2)] * 3,
        [3.2] * 3,
        1,
    ),
    _affine(
        "zhu_platoon4",
        "Platoon of four cars",
        _euler(_FOUR[0], "0.1"),
        [[gain / 10 for gain in row] for row in _FOUR[1]],
        [0.1] * 7,
        [2, 0.5, 0.35, 0.5, 1, 0.5, 1],
        10,
    ),
    _instance(
        "zhu_cartpole",
        "Cart-pole, continuous",
        [[0, 1, 0, 0], [0, 0, 0.716, 0], [0, 0, 0, 1], [0, 0, 15.76, 0]],
        [[0], [0.9755], [0], [1.46]],
        [0.05, 0.1, 0.05, 0.05],
        [0.3, 0.5, 0.3, 0.5],
        15,
        systems.SampledSystem,
    ),
    _instance(
        "zhu_platoon8",
        "Platoon of eight cars, continuous",
        *_EIGHT,
        [0.1] * 15,
        [2, (-0.9, 0.5), 1, *[0.5, 1] * 6],
        10,
        systems.SampledSystem,
    ),
)
