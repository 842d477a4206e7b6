"""Questions about nasty closed loops: noise, float32, fractions that no float is, domains that runs leave."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from attack.inputs import demand
from attack.judge import Plain, accepted
from attack.models import nasty_tree
from attack.simulate import PlainSystem, holds, in_domain, possible_answers, runs, step, surely_holds, told, violated
from moet import Mixture, Tree
from moet.verify import Proved, Refuted, check, reaches, safe
from moet.verify.systems import AffineSystem, NonlinearSystem

CPU_LIMIT = 5.0
LONG = 30
"""Steps for which a proof for ever is tried."""

STEPS = (
    "0.9 * a + 0.2 * sin(b) + u",
    "a + 0.1 * (u - a * abs(a))",
    "max(min(0.8 * a + u, 1.5), -1.5) + 0.05 * b",
    "0.7 * a * cos(b) + u",
    "sqrt(a * a + 0.25) - 0.5 + 0.5 * u",
    "a / (1 + b * b) * 0.9 + u",
    "sqrt(a + 0.75) - 0.5 + u",
    "0.5 * a / b + u",
)

THIRD_STEPS = (
    "0.6 * c + 0.2 * max(a * b, -0.3)",
    "max(0.5 * c + 0.1 * sin(a * b), b - 1)",
    "0.7 * c * max(cos(a), 0.2) + 0.1 * b",
    "c + 0.1 * (sin(a) - c * abs(b))",
    "min(max(a * c, -0.4), 0.4) + 0.3 * sin(b)",
)


class Loop(NamedTuple):
    """A policy, what it acts on, and for how long."""

    mixture: Mixture
    system: Any
    steps: int


def attack_affine(seed: int) -> str:
    """Safety for some steps of an affine system."""
    loop = _affine(np.random.default_rng(seed))
    verdict = safe(loop.mixture, loop.system, loop.steps, cpu_limit=CPU_LIMIT)
    return _judge_safe(loop, verdict, loop.steps, seed)


def attack_affine_for_ever(seed: int) -> str:
    """Safety for ever of an affine system."""
    loop = _affine(np.random.default_rng(seed))
    return _judge_safe(loop, safe(loop.mixture, loop.system, None, cpu_limit=CPU_LIMIT), LONG, seed)


def attack_affine_reaches(seed: int) -> str:
    """Reaching a goal in an affine system."""
    loop = _affine(np.random.default_rng(seed))
    verdict = reaches(loop.mixture, loop.system, within=loop.steps, cpu_limit=CPU_LIMIT)
    return _judge_reaches(loop, verdict, seed)


def attack_nonlinear(seed: int) -> str:
    """Safety for some steps of a nonlinear system."""
    loop = _nonlinear(np.random.default_rng(seed))
    verdict = safe(loop.mixture, loop.system, loop.steps, cpu_limit=CPU_LIMIT)
    return _judge_safe(loop, verdict, loop.steps, seed)


def attack_nonlinear_for_ever(seed: int) -> str:
    """Safety for ever of a nonlinear system."""
    loop = _nonlinear(np.random.default_rng(seed))
    return _judge_safe(loop, safe(loop.mixture, loop.system, None, cpu_limit=CPU_LIMIT), LONG, seed)


def attack_nonlinear_reaches(seed: int) -> str:
    """Reaching a goal in a nonlinear system."""
    loop = _nonlinear(np.random.default_rng(seed))
    verdict = reaches(loop.mixture, loop.system, within=loop.steps, cpu_limit=CPU_LIMIT)
    return _judge_reaches(loop, verdict, seed)


def attack_three_states(seed: int) -> str:
    """Safety for some steps of three states that are coupled by sines, maxima and products."""
    loop = _three_states(np.random.default_rng(seed))
    verdict = safe(loop.mixture, loop.system, loop.steps, cpu_limit=CPU_LIMIT)
    return _judge_safe(loop, verdict, loop.steps, seed)


def attack_long(seed: int) -> str:
    """Safety for many steps of an affine system whose policy pushes it back, so that proofs have long paths."""
    loop = _long(np.random.default_rng(seed))
    verdict = safe(loop.mixture, loop.system, loop.steps, cpu_limit=CPU_LIMIT)
    return _judge_safe(loop, verdict, loop.steps, seed)


def _affine(rng: np.random.Generator) -> Loop:
    number = _fractions(rng)
    names = ["a", "b"][: int(rng.integers(1, 3))]
    n_actions = int(rng.integers(2, 4))
    description = _description(rng, names, number)
    system = AffineSystem(
        "nasty",
        states=names,
        actions=["x", "y", "z"][:n_actions],
        matrix=[[str(number() * Fraction(4, 5)) for _ in names] for _ in names],
        offsets=[[str(number() / 2) for _ in names] for _ in range(n_actions)],
        **description,
    )
    return Loop(_policy(rng, names, n_actions), system, int(rng.integers(0, 6)))


def _nonlinear(rng: np.random.Generator) -> Loop:
    number = _fractions(rng)
    names = ["a", "b"]
    description = _description(rng, names, number)
    system = NonlinearSystem(
        "nasty",
        states=names,
        actions=["x", "y"],
        inputs={"u": [str(number() / 4), str(number() / 4)]},
        step={"a": str(rng.choice(STEPS)), "b": f"{number() * Fraction(1, 2)} * b + 0.1 * a"},
        **description,
    )
    return Loop(_policy(rng, names, 2), system, int(rng.integers(1, 5)))


def _domain(rng: np.random.Generator, names: list[str], limit: Fraction) -> dict[str, Any]:
    """Perhaps a domain and, with it, perhaps float32."""
    if rng.random() < 0.5:
        return {}
    float32 = bool(rng.random() < 0.5)
    return {"domain": {name: _texts(-limit, limit) for name in names}, "float32_observations": float32}


def _three_states(rng: np.random.Generator) -> Loop:
    number = _fractions(rng)
    names = ["a", "b", "c"]
    description = _description(rng, names, lambda: number() / 2)
    description["initial"] = {name: _texts(*sorted([number() / 8, number() / 8])) for name in names}
    description["safe"] = [
        f"{-limit} <= {name} <= {limit}" for name, limit in zip(names, (1.0, 1.25, 0.875), strict=True)
    ]
    if "domain" in description:
        description["domain"] = dict.fromkeys(names, (-2, 2))
    u = sorted(abs(number()) / 4 for _ in range(2))
    system = NonlinearSystem(
        "nasty",
        states=names,
        actions=["x", "y"],
        inputs={"u": [str(-u[0]), str(u[1])]},
        step={
            "a": str(rng.choice(STEPS[:6])),
            "b": f"{abs(number()) * Fraction(1, 3)} * b + 0.1 * sin(a) - 0.2 * u",
            "c": str(rng.choice(THIRD_STEPS)),
        },
        **description,
    )
    return Loop(_policy(rng, names, 2), system, int(rng.integers(1, 4)))


def _long(rng: np.random.Generator) -> Loop:
    """A loop that is nearly at rest: position and speed, pushed towards the middle with some dead band."""
    step, push = Fraction(int(rng.integers(1, 4)), 10), Fraction(int(rng.integers(1, 9)), 10)
    friction = Fraction(int(rng.integers(7, 11)), 10)
    first, limit = Fraction(int(rng.integers(1, 5)), 10), Fraction(int(rng.integers(4, 16)), 10)
    names = ["a", "b"]
    drift = Fraction(int(rng.integers(0, 3)), 100)
    system = AffineSystem(
        "nasty",
        states=names,
        actions=["x", "y"],
        matrix=[[1, str(step)], [str(-step * int(rng.integers(0, 3)) / 2), str(friction)]],
        offsets=[[0, str(push * step)], [0, str(-push * step)]],
        initial={name: _texts(-first, first) for name in names},
        safe=[f"{-limit} <= a <= {limit}", f"b <= {2 * limit}"],
        disturbance={"b": _texts(-drift, drift)} if drift else {},
        **_domain(rng, names, 8 * limit),
    )
    n_experts, sharp = int(rng.integers(2, 5)), float(rng.choice([0.5, 1.0, 2.0]))
    trees = [nasty_tree(rng, 2, 2, int(rng.integers(0, 3)), lambda: float(rng.normal() / 4)) for _ in range(n_experts)]
    signs = np.where(np.arange(n_experts) % 2, 1.0, -1.0)
    weights = signs[:, None] * [sharp, 1.0] + rng.normal(size=(n_experts, 2)) / 8
    trees[:2] = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    mixture = Mixture(weights, (rng.normal(size=n_experts) / 16).tolist(), trees, [0, 1], feature_names=names)
    return Loop(mixture, system, int(rng.integers(4, 16)))


def _fractions(rng: np.random.Generator) -> Any:
    style = rng.choice(["thirds", "round", "ordinary"])

    def number() -> Fraction:
        if style == "thirds":
            return Fraction(int(rng.integers(-6, 7)), 3)
        if style == "round":
            return Fraction(int(rng.integers(-6, 7)), 4)
        return Fraction(float(0.7 * rng.normal()))

    return number


def _description(rng: np.random.Generator, names: list[str], number: Any) -> dict[str, Any]:
    limits = {name: 2 * abs(number()) + Fraction(1, 4) for name in names}
    float32 = bool(rng.random() < 0.3)
    noise = {name: abs(number()) / 10 if rng.random() < 0.3 else Fraction(0) for name in names}
    description: dict[str, Any] = {
        "initial": {name: _texts(*sorted([number(), number()])) for name in names},
        "safe": [f"{-limits[name]} <= {name} <= {limits[name]}" for name in names],
        "goal": [f"{name} <= {number() + Fraction(3, 10)}" for name in names],
        "observation_error": {name: str(size) for name, size in noise.items()},
        "float32_observations": float32,
    }
    if rng.random() < 0.4:
        radii = {name: abs(number()) / 10 for name in names}
        point = {name: number() / 10 for name in names}
        sharp = rng.random() < 0.3
        description["disturbance"] = {
            name: _texts(point[name], point[name]) if sharp else _texts(-radii[name], radii[name]) for name in names
        }
    if float32 or rng.random() < 0.3:
        wide = {name: limits[name] * int(rng.integers(1, 4)) for name in names}
        description["domain"] = {name: _texts(-wide[name], wide[name]) for name in names}
    return description


def _texts(low: Fraction, high: Fraction) -> tuple[str, str]:
    return str(low), str(high)


def _policy(rng: np.random.Generator, names: list[str], n_actions: int) -> Mixture:
    """Thresholds and ties on thirds and quarters, where states of the systems lie."""

    def number() -> float:
        return float(Fraction(int(rng.integers(-6, 7)), int(rng.choice([3, 4]))))

    n_experts = int(rng.integers(1, 4))
    trees = [nasty_tree(rng, len(names), n_actions, int(rng.integers(0, 3)), number) for _ in range(n_experts)]
    weights = [[number() for _ in names] for _ in trees]
    return Mixture(weights, [number() for _ in trees], trees, list(range(n_actions)), feature_names=names)


def _judge_safe(loop: Loop, verdict: Any, steps: int, seed: int) -> str:
    system = PlainSystem.of(loop.system.document())
    accepted(verdict)
    if isinstance(verdict, Proved):
        _confirm(loop, verdict)
        for run in runs(Plain.of(loop.mixture), system, steps, np.random.default_rng([seed, 1])):
            for state in run:
                demand(holds(system.safe, state), f"proved safe, and a run gets to {told(state)}")
    if isinstance(verdict, Refuted):
        states = _replayed(loop, system, verdict.trace)
        demand(violated(system.safe, states[-1]), f"the run ends safely in {told(states[-1])}")
    return type(verdict).__name__


def _judge_reaches(loop: Loop, verdict: Any, seed: int) -> str:
    system = PlainSystem.of(loop.system.document())
    accepted(verdict)
    if isinstance(verdict, Proved):
        _confirm(loop, verdict)
        for run in runs(Plain.of(loop.mixture), system, loop.steps, np.random.default_rng([seed, 1])):
            arrived = any(holds(system.goal, state) for state in run)
            demand(arrived, f"proved to reach the goal, and a run from {told(run[0])} does not")
    if isinstance(verdict, Refuted):
        states = _replayed(loop, system, verdict.trace)
        demand(len(states) == loop.steps + 1, "the run is too short")
        demand(not any(surely_holds(system.goal, state) for state in states), "the run meets the goal")
    return type(verdict).__name__


def _confirm(loop: Loop, verdict: Proved) -> None:
    demand(verdict.checked, "a proof was not checked")
    check(verdict.certificate, loop.mixture, loop.system)


def _replayed(loop: Loop, system: PlainSystem, trace: Any) -> list[list[Any]]:
    """States of a counterexample, followed from its first state with its actions and disturbances, never rounded."""
    plain = Plain.of(loop.mixture)
    state: list[Any] = [Fraction(v) for v in trace.start or trace.states[0].tolist()]
    inside = all(low <= value <= high for value, (low, high) in zip(state, system.initial, strict=True))
    demand(inside, f"the run begins outside, at {told(state)}")
    states = [state]
    for t, action in enumerate(trace.actions):
        demand(in_domain(system, state), f"the run leaves the domain at step {t}, before it ends")
        demand(
            action in possible_answers(plain, system, state), f"the policy does not answer {action} at {told(state)}"
        )
        state = step(system, state, plain.action(action, system.actions), _drift(system, trace, t))
        states.append(state)
    return states


def _drift(system: PlainSystem, trace: Any, t: int) -> list[Fraction]:
    """The disturbance of one step: what the trace says, moved into its interval if floats cannot say it; or idle."""
    given = [Fraction(0)] * len(system.initial)
    if trace.disturbances is not None:
        given = [Fraction(w) for w in trace.disturbances[t].tolist()]
    return [min(max(w, low), high) for w, (low, high) in zip(given, system.disturbance, strict=True)]
