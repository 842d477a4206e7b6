"""Questions about random plants with controls, and forged proofs about them, judged by simulated runs.

Plants in discrete time are simulated in exact fractions, or with fifty digits, with noise and disturbance at their
worst; those in continuous time by Runge-Kutta steps that are far finer than the tolerance, and looked at between the
samples, too. Nothing of that is the library's.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import mpmath
import numpy as np

from attack import container
from attack.forgeries import CHANGES, Proof, nudge_somewhere
from attack.judge import WrongVerdictError, accepted
from attack.outputs import PlainLaws, plain_laws
from attack.simulate import HalfSpace, Side, between, half_spaces, holds, moved_by, seen, told
from moet import RegressionMixture, RegressionTree
from moet.errors import CertificateError
from moet.model.file import encoded
from moet.shield import ControlShield
from moet.verify import Proved, Refuted, check, meets, safe, systems

STEPS, RUNS, SUBSTEPS = 4, 10, 60
"""Steps that are asked about, runs that judge them, and Runge-Kutta steps of a period."""

LONG = 40
"""Steps for which claims for ever are tried."""

TOLERANCE = 1e-7
"""Far more than the simulation of a flow is off by, as these plants are."""

CPU_LIMIT = 4.0
_FLOATS = {name: getattr(math, name) for name in ("sin", "cos", "exp", "sqrt")} | {"abs": abs, "min": min, "max": max}


class Plant(NamedTuple):
    """What the document of a system with controls says, as numbers."""

    states: list[str]
    controls: list[tuple[str, Side]]
    initial: list[Side]
    disturbance: list[Side]
    noise: list[Fraction]
    float32: bool
    safe: list[HalfSpace]
    dynamics: dict[str, Any]

    @classmethod
    def of(cls, document: dict[str, Any]) -> Plant:
        """Read a document."""
        return cls(
            document["states"],
            [(name, _side(pair)) for name, pair in document["controls"]],
            [_side(pair) for pair in document["initial"]],
            [_side(pair) for pair in document["disturbance"]],
            [Fraction(size) for size in document["observation_error"]],
            document["float32_observations"],
            half_spaces(document["safe"]),
            document["dynamics"],
        )

    @property
    def flows(self) -> bool:
        """Whether time is continuous."""
        return bool(self.dynamics["kind"] == "flow")


def _side(pair: Sequence[Any]) -> Side:
    return Fraction(pair[0]), Fraction(pair[1])


def run(plant: Plant, policy: Any, steps: int, rng: np.random.Generator) -> list[list[Any]]:
    """States of a run with extreme first states, noise and disturbance; of a flow, at points between samples, too.

    ``policy`` says what is done, given what is seen.
    """
    state: list[Any] = [between(side, rng) for side in plant.initial]
    states = [state]
    for _ in range(steps):
        noise = [between((-most, most), rng) for most in plant.noise]
        wanted = policy(seen(plant, state, noise))
        control = [min(max(Fraction(u), low), high) for u, (_, (low, high)) in zip(wanted, plant.controls, strict=True)]
        states += _period(plant, state, control) if plant.flows else [_next(plant, state, control, rng)]
        state = states[-1]
    return states


def _next(plant: Plant, state: list[Any], control: list[Fraction], rng: np.random.Generator) -> list[Any]:
    dynamics, drift = plant.dynamics, [between(side, rng) for side in plant.disturbance]
    if dynamics["kind"] == "affine":
        rows = zip(dynamics["matrix"], dynamics["input_matrix"], dynamics["offset"], drift, strict=True)
        return [
            sum((Fraction(a) * v for a, v in zip((*row, *gains), (*state, *control), strict=True)), Fraction(add) + w)
            for row, gains, add, w in rows
        ]
    named = dict(zip(plant.states, state, strict=True)) | dict(
        zip([n for n, _ in plant.controls], control, strict=True)
    )
    moved = moved_by(dynamics["let"], dynamics["step"], named)
    return [value + mpmath.mpf(w.numerator) / w.denominator for value, w in zip(moved, drift, strict=True)]


def _period(plant: Plant, state: list[Any], control: list[Fraction]) -> list[list[float]]:
    """States of a flow after the parts of a period."""
    names = {name: float(u) for (name, _), u in zip(plant.controls, control, strict=True)}
    flow = [compile(text, "flow", "eval") for text in plant.dynamics["flow"]]

    def slope(x: np.ndarray) -> np.ndarray:
        known = {**_FLOATS, **names, **dict(zip(plant.states, x.tolist(), strict=True))}
        return np.array([eval(code, {"__builtins__": {}}, known) for code in flow])

    h, x, found = float(Fraction(plant.dynamics["period"])) / SUBSTEPS, np.array([float(v) for v in state]), []
    for k in range(SUBSTEPS):
        a = slope(x)
        b = slope(x + h / 2 * a)
        c = slope(x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + slope(x + h * c))
        if k % 10 == 9:
            found.append(x.tolist())
    return found


def _beyond(half: HalfSpace, state: Sequence[Any]) -> float:
    """By how much a condition is violated, of a flow."""
    return float(sum(float(a) * float(v) for a, v in zip(half[0], state, strict=True)) - float(half[1]))


def _keeps(plant: Plant, conditions: Sequence[HalfSpace], states: Sequence[Sequence[Any]]) -> bool:
    """Whether conditions hold in all these states, as far as one can tell."""
    if plant.flows:
        return all(_beyond(half, state) <= TOLERANCE for half in conditions for state in states)
    return all(holds(conditions, state) for state in states)


def random_policy(rng: np.random.Generator, n_states: int) -> RegressionMixture:
    """One to three affine laws, chosen by a gate, some behind a test."""
    n_experts = int(rng.integers(1, 4))
    trees = []
    for _ in range(n_experts):
        laws = -rng.uniform(0.0, 0.8, (3, 1, n_states)).round(3)
        values = rng.uniform(-0.1, 0.1, (3, 1)).round(3)
        if rng.random() < 0.4:
            feature = [int(rng.integers(n_states)), -1, -1]
            threshold = [float(rng.choice([0.0, 0.1, -0.25])), 0.0, 0.0]
            trees.append(RegressionTree(feature, threshold, [1, -1, -1], [2, -1, -1], values, laws))
        else:
            trees.append(RegressionTree.leaf(values[0], slope=laws[0]))
    weights, bias = rng.normal(size=(n_experts, n_states)).round(2), rng.normal(size=n_experts).round(2)
    return RegressionMixture(weights, bias, trees, ["u"], [-1.0], [1.0], feature_names=["x", "y"][:n_states])


def random_plant(rng: np.random.Generator, **conditions: Any) -> Any:
    """A small plant of any kind, mostly a tame one."""
    d = int(rng.integers(1, 3))
    names = ["x", "y"][:d]
    a, b, c = (str(round(float(v), 3)) for v in rng.uniform(0.05, 0.9, 3))
    width = str(round(float(rng.uniform(0.0, 0.3)), 3))
    common: dict[str, Any] = {
        "controls": {"u": (-1, 1)},
        "initial": dict.fromkeys(names, ("-" + width, width)),
        **conditions,
    }
    if rng.random() < 0.3:
        common["observation_error"] = dict.fromkeys(names, "0.01")
    match int(rng.integers(3)):
        case 0:
            matrix = [[a]] if d == 1 else [[a, "0.1"], ["-" + c, b]]
            if rng.random() < 0.3:
                common["disturbance"] = {"x": "0.01"}
            return systems.AffineSystem(
                "plant", states=names, matrix=matrix, input_matrix=[[b]] if d == 1 else [[0], [b]], **common
            )
        case 1:
            step = {"x": f"{a} * x + {b} * u * u - 0.1 * sin(x)"}
            if d == 2:
                step = {"x": "x + 0.1 * y + 0.05 * max(x, y)", "y": f"{a} * y - 0.2 * sin(x) + {b} * u - 0.1 * x * y"}
            return systems.NonlinearSystem("plant", states=names, step=step, **common)
        case _:
            flow = (
                {"x": f"-{a} * x + {b} * u"}
                if d == 1
                else {"x": "y", "y": f"-sin(x) - {a} * y + {b} * u - 0.2 * x * y"}
            )
            return systems.SampledSystem("plant", flow=flow, period=str(rng.choice(["0.1", "0.25"])), **common)


def attack_plant(seed: int) -> str:
    """A proof must hold in all simulated runs; a counterexample must be a run that breaks a condition."""
    rng = np.random.default_rng(seed)
    drawn = random_plant(np.random.default_rng(seed), safe=["x <= 100"])
    policy = random_policy(rng, len(drawn.states))
    plain, plant = PlainLaws.of(policy), Plant.of(drawn.document())
    runs = [run(plant, plain.deployed, STEPS, rng) for _ in range(RUNS)]
    k, sign = int(rng.integers(len(plant.states))), int(rng.choice([-1, 1]))
    most = max(float(sign * state[k]) for states in runs for state in states)
    bound = round(most + float(rng.choice([-0.02, -1e-4, 0.0, 1e-4, 0.02, 0.2])), 6)
    half: HalfSpace = ([Fraction(sign * (i == k)) for i in range(len(plant.states))], Fraction(str(bound)))
    text = f"{sign} * {plant.states[k]} <= {bound}"
    end = str(STEPS * Fraction(plant.dynamics["period"])) if plant.flows else str(STEPS)
    verdict = accepted(meets(policy, drawn, f"{text} until {end}", cpu_limit=CPU_LIMIT))
    if isinstance(verdict, Proved):
        check(verdict.certificate, policy, drawn)
        broken = [states for states in runs if not _keeps(plant, [half], states)]
        if broken:
            raise WrongVerdictError(f"{text} is proved, and a run is at {list(map(told, broken[0]))}")
    if isinstance(verdict, Refuted):
        _judge_trace(plant, half, verdict.trace)
    return type(verdict).__name__


def _judge_trace(plant: Plant, half: HalfSpace, trace: Any) -> None:
    start = trace.states[0].tolist()
    inside = all(
        low - Fraction(1, 10**9) <= Fraction(v) <= high + Fraction(1, 10**9)
        for v, (low, high) in zip(start, plant.initial, strict=True)
    )
    if not inside:
        raise WrongVerdictError(f"the run begins at {start}, which is no first state")
    worst = max(_beyond(half, state) for state in trace.states.tolist())
    if worst <= -TOLERANCE and not plant.flows:
        raise WrongVerdictError(f"the run keeps the condition by {-worst}")


@cache
def proofs() -> list[Proof]:
    """Proofs about plants of every kind, for some steps and for ever, and a shield."""
    tank = systems.AffineSystem(
        "tank",
        states=["x"],
        controls={"u": (-1, 1)},
        matrix=[["0.9"]],
        input_matrix=[["0.5"]],
        initial={"x": ("-0.2", "0.2")},
        safe=["-1 <= x <= 1"],
        disturbance={"x": "0.01"},
    )
    pendulum = systems.SampledSystem(
        "pendulum",
        flow={"x": "y", "y": "-sin(x) - 0.5 * y + u"},
        controls={"u": (-1, 1)},
        period="0.2",
        initial={"x": ("-0.2", "0.2"), "y": ("-0.1", "0.1")},
        safe=["-0.5 <= x <= 0.5"],
    )
    drain = systems.NonlinearSystem(
        "drain",
        states=["x"],
        controls={"u": (-1, 1)},
        step={"x": "x - 0.2 * sin(x) + 0.1 * u * x"},
        initial={"x": ("-0.2", "0.2")},
        safe=["-1 <= x <= 1"],
    )
    one, two = _law([-0.5]), _law([-0.5, -0.25])
    for_ever = safe(one, tank, None)
    if not for_ever:
        raise WrongVerdictError(f"a simple question was not proved: {for_ever}")
    shield = ControlShield(for_ever.certificate, one, tank)
    return [
        _proof(for_ever.certificate, one, tank),
        _proof(shield.certificate, one, tank),
        _proof(shield.certificate, one, tank),
        *(_proof(safe(law, plant, STEPS).certificate, law, plant) for law, plant in ((two, pendulum), (one, drain))),
    ]


def _law(slopes: list[float]) -> RegressionMixture:
    leaf = RegressionTree.leaf([0.0], slope=[slopes])
    return RegressionMixture([[0.0] * len(slopes)], [0.0], [leaf], ["u"], [-1.0], [1.0])


def _proof(certificate: Any, policy: RegressionMixture, plant: Any) -> Proof:
    return Proof(certificate.kind, container.parts(certificate), [json.loads(encoded(policy))], plant.document())


def forge_plant(seed: int) -> str:
    """Change a proof about a plant, or its shield, ask the checker, and judge what it accepts."""
    rng = np.random.default_rng(seed)
    before = proofs()[int(rng.integers(len(proofs())))]
    proof = copy.deepcopy(before)
    if "shield" in proof.parts.claim and rng.random() < 0.6:
        nudge_somewhere(rng, proof.parts.claim["shield"], gentle=0.9)
    else:
        proof = CHANGES[int(rng.integers(len(CHANGES)))](rng, proof)
    claim = proof.parts.claim
    claim["model"] = container.laws_digest(proof.models[0]) or claim.get("model")
    claim["system"] = container.fitting_system_digest(proof.system) or claim.get("system")
    try:
        check(container.load(proof.parts), *proof.models, proof.system)
    except CertificateError:
        return f"{before.kind} refused"
    _judge(proof, rng)
    return f"{before.kind} accepted, and true"


def _judge(proof: Proof, rng: np.random.Generator) -> None:
    """All runs keep what an accepted proof requires; behind a shield, whatever is wanted."""
    plant, claim = Plant.of(proof.system or {}), proof.parts.claim
    policy = plain_laws(proof.models[0]).deployed
    for _ in range(RUNS // 2):
        acting = _shielded(claim["shield"], plant, policy, rng) if proof.parts.kind == "control_shield" else policy
        for part in claim["spec"]:
            if part["kind"] != "hold" or Fraction(part["from"]) != 0 or any("norms" in c for c in part["conditions"]):
                continue
            unit = Fraction(plant.dynamics["period"]) if plant.flows else Fraction(1)
            steps = LONG if part["to"] is None else min(LONG, int(Fraction(part["to"]) / unit))
            states = run(plant, acting, steps, rng)
            if not _keeps(plant, half_spaces(part["conditions"]), states):
                raise WrongVerdictError(f"the checker was fooled: {list(map(told, states))}: {claim}")


def _shielded(shield: dict[str, Any], plant: Plant, policy: Any, rng: np.random.Generator) -> Any:
    """What the description of a shield says: a wanted control if the test allows it, and the policy's otherwise."""
    wanted = [float(rng.choice([float(low), float(high)])) for _, (low, high) in plant.controls]
    tests, limits = (np.array(shield[name], float) for name in ("tests", "limits"))

    def act(x: list[float]) -> Any:
        return wanted if np.all(tests @ np.array([*x, *wanted]) <= limits) else policy(x)

    return act
