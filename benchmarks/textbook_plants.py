"""Plants that control engineers know from textbooks, written with docs/plants.md alone, each with a law by hand.

    python benchmarks/textbook_plants.py --cpu-limit 60

Every verdict is printed with its CPU seconds, check included. Refutations are integrated again with SciPy's
`solve_ivp` (DOP853, tolerances of 1e-12), and the largest difference at the looks is printed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from moet import RegressionMixture, RegressionTree, verify
from moet.verify import Refuted, Verdict, systems

System = systems.SampledSystem


class Plant(NamedTuple):
    """A plant, a law for it, its derivatives in Python for one run, and what is asked."""

    system: System
    law: RegressionMixture
    flow: Callable[..., list[Any]]
    questions: list[str]


def affine(system: System, bias: list[float], slope: list[list[float]]) -> RegressionMixture:
    """One affine law."""
    leaf = RegressionTree.leaf(bias, slope=slope)
    nothing = [[0.0] * system.n_states]
    return RegressionMixture(nothing, [0.0], [leaf], list(system.controls), feature_names=list(system.states))


def van_der_pol() -> Plant:
    """A relaxation oscillator that is held in the middle, with a push of unknown size."""
    system = System(
        "Van der Pol",
        flow={"x": "y", "y": "mu * (1 - x**2) * y - x + u + push"},
        controls={"u": (-5, 5)},
        period="0.1",
        parameters={"mu": ("0.9", "1.1")},
        disturbance={"push": "0.05"},
        initial={"x": ("-0.5", "0.5"), "y": ("-0.5", "0.5")},
    )
    return Plant(
        system,
        affine(system, [0.0], [[-2.0, -3.0]]),
        lambda s, u, p: [s[1], p["mu"] * (1 - s[0] ** 2) * s[1] - s[0] + u[0] + p["push"]],
        ["-1.5 <= x <= 1.5 and -2 <= y <= 2", "-0.1 <= x <= 0.1 from 5 to 8", "-0.52 <= x <= 0.52 until 2"],
    )


def quadruple_tank() -> Plant:
    """Johansson's laboratory process, minimum phase."""
    system = System(
        "Quadruple tank",
        let={"out1": "0.071 * sqrt(1962 * h1)", "out2": "0.057 * sqrt(1962 * h2)"}
        | {"out3": "0.071 * sqrt(1962 * h3)", "out4": "0.057 * sqrt(1962 * h4)"},
        flow={
            "h1": "(out3 - out1 + 0.7 * 3.33 * v1) / 28",
            "h2": "(out4 - out2 + 0.6 * 3.35 * v2) / 32",
            "h3": "(0.4 * 3.35 * v2 - out3) / 28",
            "h4": "(0.3 * 3.33 * v1 - out4) / 32",
        },
        controls={"v1": (0, 10), "v2": (0, 10)},
        period=1,
        initial={"h1": ("11.4", "13.4"), "h2": ("11.7", "13.7"), "h3": ("1.6", 2), "h4": ("1.2", "1.6")},
    )

    def flow(s: Any, u: Any, p: Any) -> list[Any]:
        out = np.array([0.071, 0.057, 0.071, 0.057]) * np.sqrt(1962 * np.array(s))
        ins = [out[2] + 0.7 * 3.33 * u[0], out[3] + 0.6 * 3.35 * u[1], 0.4 * 3.35 * u[1], 0.3 * 3.33 * u[0]]
        return list((np.array(ins) - out) / [28, 32, 28, 32])

    levels = "5 <= h1 <= 20 and 5 <= h2 <= 20 and 0.5 <= h3 <= 5 and 0.5 <= h4 <= 5"
    reach = "reach 12 <= h1 <= 12.8 and 12.2 <= h2 <= 13.2 within 60"
    slope = [[-0.3, 0.0, 0.0, 0.0], [0.0, -0.3, 0.0, 0.0]]
    return Plant(system, affine(system, [6.72, 6.81], slope), flow, [levels, reach, "h4 <= 1.62 until 60"])


def motor_pendulum() -> Plant:
    """An inverted pendulum that a DC motor with an inductance turns, its mass and length known to a twentieth."""
    system = System(
        "Pendulum on a motor",
        flow={"th": "w", "w": "9.8 * sin(th) / l + i / (m * l**2)", "i": "-10 * w - 100 * i + 100 * V"},
        parameters={"m": ("0.95", "1.05"), "l": ("0.95", "1.05")},
        controls={"V": (-24, 24)},
        period="0.01",
        initial={"th": ("-0.1", "0.1"), "w": ("-0.1", "0.1"), "i": 0},
    )
    return Plant(
        system,
        affine(system, [0.0], [[-20.0, -5.0, -0.1]]),
        lambda s, u, p: [
            s[1],
            9.8 * np.sin(s[0]) / p["l"] + s[2] / (p["m"] * p["l"] ** 2),
            -10 * s[1] - 100 * s[2] + 100 * u[0],
        ],
        ["-0.5 <= th <= 0.5", "-0.2 <= th <= 0.2 until 2", "-0.102 <= th <= 0.102 until 1"],
    )


def stirred_tank() -> Plant:
    """The reactor of Seborg et al. with Arrhenius' law, at its unstable point."""
    system = System(
        "Stirred-tank reactor",
        let={"rate": "7.2e10 * exp(-8750 / T) * c"},
        flow={"c": "1 - c - rate", "T": "350 - T + 209.2 * rate + 2.092 * (Tc - T)"},
        controls={"Tc": (280, 320)},
        period="0.05",
        initial={"c": ("0.45", "0.55"), "T": (345, 355)},
    )

    def flow(s: Any, u: Any, p: Any) -> list[Any]:
        rate = 7.2e10 * np.exp(-8750 / s[1]) * s[0]
        return [1 - s[0] - rate, 350 - s[1] + 209.2 * rate + 2.092 * (u[0] - s[1])]

    law = affine(system, [1700.0], [[0.0, -4.0]])
    return Plant(system, law, flow, ["0 <= c <= 1 and 330 <= T <= 380", "T <= 355.5 until 2"])


def dubins() -> Plant:
    """A car that passes an obstacle."""
    system = System(
        "Dubins' car",
        flow={"x": "cos(psi)", "y": "sin(psi)", "psi": "omega"},
        controls={"omega": (-1, 1)},
        period="0.1",
        initial={"x": ("-0.1", "0.1"), "y": ("1.4", "1.6"), "psi": ("-0.1", "0.1")},
    )
    return Plant(
        system,
        affine(system, [0.75], [[0.0, -0.5, -1.0]]),
        lambda s, u, p: [np.cos(s[2]), np.sin(s[2]), u[0]],
        [
            "never 2 <= x <= 3 and -0.5 <= y <= 1 until 10; reach x >= 4 within 5",
            "never 2 <= x <= 3 and y <= 1.5 until 10",
        ],
    )


def lane_keeping() -> Plant:
    """A bicycle model in a bend that begins after a second, its speed known to a tenth; the law has an integral."""
    system = System(
        "Lane keeping",
        let={"beta": "0.5 * tan(delta)"},
        flow={"e": "v * sin(psi + beta)", "psi": "v * cos(beta) * tan(delta) / 2.7 - v * kappa"},
        memory={"sum": "sum + 0.05 * e"},
        parameters={"v": (9, 11)},
        schedule={"kappa": [0] * 20 + [("0.01", "0.02")] * 20 + [0]},
        controls={"delta": ("-0.4", "0.4")},
        period="0.05",
        initial={"e": ("-0.3", "0.3"), "psi": ("-0.03", "0.03"), "sum": 0},
    )

    def flow(s: Any, u: Any, p: Any) -> list[Any]:
        beta = 0.5 * np.tan(u[0])
        turn = p["v"] * np.cos(beta) * np.tan(u[0]) / 2.7
        return [p["v"] * np.sin(s[1] + beta), turn - p["v"] * p["kappa"], 0.0]

    law = affine(system, [0.0], [[-0.08, -0.5, -0.01]])
    return Plant(system, law, flow, ["-1 <= e <= 1", "-1 <= e <= 1 until 3", "-0.4 <= e <= 0.4 until 3"])


def buck_converter() -> Plant:
    """The averaged converter, load and source known to a fifth and a twelfth."""
    system = System(
        "Buck converter",
        flow={"i": "(Vin * d - v) / 0.001", "v": "(i - v / R) / 0.0001"},
        parameters={"R": (8, 10), "Vin": (11, 12)},
        controls={"d": (0, 1)},
        period="0.00002",
        initial={"i": ("0.3", "0.7"), "v": (4, 6)},
    )
    return Plant(
        system,
        affine(system, [0.542], [[-0.05, -0.02]]),
        lambda s, u, p: [(p["Vin"] * u[0] - s[1]) / 0.001, (s[0] - s[1] / p["R"]) / 0.0001],
        ["0 <= i <= 3 and 0 <= v <= 9", "v <= 6.01 until 0.002"],
    )


def glucose() -> Plant:
    """Bergman's minimal model with meals, the uptake of the patient known to a fifth."""
    system = System(
        "Glucose and insulin",
        flow={"G": "meal - uptake * (G - 80) - X * G", "X": "0.000013 * I - 0.025 * X", "I": "u / 12 - 0.093 * I"},
        parameters={"uptake": ("0.02", "0.03")},
        disturbance={"meal": (0, 1)},
        controls={"u": (0, 50)},
        period=5,
        initial={"G": (80, 120), "X": (0, "0.001"), "I": (0, 5)},
    )
    return Plant(
        system,
        affine(system, [-8.0], [[0.1, 0.0, 0.0]]),
        lambda s, u, p: [
            p["meal"] - p["uptake"] * (s[0] - 80) - s[1] * s[0],
            0.000013 * s[2] - 0.025 * s[1],
            u[0] / 12 - 0.093 * s[2],
        ],
        ["60 <= G <= 200", "60 <= G <= 200 until 240", "G <= 121 until 240"],
    )


def quarter_car() -> Plant:
    """A wheel on a bump for a tenth of a second, with an actuator beside spring and damper; kilonewtons and tons."""
    system = System(
        "Quarter car",
        let={"strut": "16 * (body - wheel) + v_body - v_wheel - force"},
        flow={
            "body": "v_body",
            "wheel": "v_wheel",
            "v_body": "-strut / mass",
            "v_wheel": "(strut - 160 * (wheel - road)) / 0.04",
        },
        parameters={"mass": ("0.28", "0.32")},
        schedule={"road": [("0.018", "0.02")] * 10 + [0]},
        controls={"force": (-1, 1)},
        period="0.01",
        initial={"body": (0, "0.005"), "wheel": 0, "v_body": (0, "0.05"), "v_wheel": 0},
    )

    def rates(s: list[float], u: list[float], p: dict[str, float]) -> list[float]:
        strut = 16 * (s[0] - s[1]) + s[2] - s[3] - u[0]
        return [s[2], s[3], -strut / p["mass"], (strut - 160 * (s[1] - p["road"])) / 0.04]

    asked = ["-0.1 <= body <= 0.1", "-0.002 <= body <= 0.002 from 2 to 3", "body <= 0.012 until 1"]
    return Plant(system, affine(system, [0.0], [[0.0, 0.0, -2.0, 0.0]]), rates, asked)


def ball_and_beam() -> Plant:
    """The rate of the beam is what is chosen; where the ball is is known to two millimetres."""
    system = System(
        "Ball and beam",
        flow={"place": "speed", "speed": "5 / 7 * (place * rate**2 - 9.81 * sin(beam))", "beam": "rate"},
        controls={"rate": (-2, 2)},
        period="0.05",
        initial={"place": ("0.1", "0.2"), "speed": ("-0.05", "0.05"), "beam": ("-0.02", "0.02")},
        observation_error={"place": "0.002"},
    )
    return Plant(
        system,
        affine(system, [0.0], [[2.0, 2.6, -6.0]]),
        lambda s, u, p: [s[1], 5 / 7 * (s[0] * u[0] ** 2 - 9.81 * np.sin(s[2])), u[0]],
        ["-0.5 <= place <= 0.5 and -0.5 <= beam <= 0.5", "-0.03 <= place <= 0.03 from 8 to 10", "place <= 0.2 until 2"],
    )


PLANTS = (
    van_der_pol,
    quadruple_tank,
    motor_pendulum,
    stirred_tank,
    dubins,
    lane_keeping,
    buck_converter,
    glucose,
    quarter_car,
    ball_and_beam,
)


def integrated(plant: Plant, verdict: Refuted) -> float:
    """Largest difference, relative to the size of each state, between a refutation and what SciPy makes of it."""
    trace, system = verdict.trace, plant.system
    assert trace is not None
    period, known = float(system.period), trace.unknowns or {}
    state, worst = np.array([float(x) for x in trace.start or ()]), 0.0
    scale = 1e-9 + np.abs(trace.states).max(axis=0)
    for step, controls in enumerate(trace.actions):
        numbers = {name: float(_at(value, step)) for name, value in known.items()}
        run = solve_ivp(
            lambda _, s, u=controls, p=numbers: plant.flow(s, u, p),
            (0.0, period),
            state,
            method="DOP853",
            rtol=1e-12,
            atol=1e-12,
        )
        before, state = state, run.y[:, -1]
        if "sum" in system.memory:
            state[2] = before[2] + 0.05 * before[0]
        worst = max(worst, float(np.abs((state - trace.states[step + 1]) / scale).max()))
    return worst


def _at(value: Any, step: int) -> Any:
    return value[min(step, len(value) - 1)] if isinstance(value, tuple) else value


def rows(limit: float) -> Iterator[tuple[str, str, Verdict, float, str]]:
    """Every question about every plant."""
    for make in PLANTS:
        plant = make()
        for text in plant.questions:
            begin = time.process_time()
            verdict = verify.meets(plant.law, plant.system, text, cpu_limit=limit)
            seconds = time.process_time() - begin
            off = f"{integrated(plant, verdict):.1e}" if isinstance(verdict, Refuted) else ""
            yield plant.system.name, text, verdict, seconds, off


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu-limit", type=float, default=60.0, help="CPU seconds per question")
    arguments = parser.parse_args()
    print("| plant | question | verdict | CPU s, check included | off from SciPy |\n|---|---|---|--:|--:|")
    for name, text, verdict, seconds, off in rows(arguments.cpu_limit):
        print(f"| {name} | `{text}` | {type(verdict).__name__.lower()} | {seconds:.1f} | {off} |", flush=True)


if __name__ == "__main__":
    main()
