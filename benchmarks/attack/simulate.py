"""Simulation of closed loops from the documents of systems: exact for affine ones, with many digits for others.

What the policy sees is the state, plus noise, rounded to float32 if that is so, and then to float64.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple, Protocol

import mpmath
import numpy as np

from attack.judge import Plain, neighbours

mpmath.mp.dps = 50
SLACK = mpmath.mpf(10) ** -40
"""What a simulation with many digits may be off by."""

N_RUNS = 12

_FUNCTIONS = {"sin": mpmath.sin, "cos": mpmath.cos, "sqrt": mpmath.sqrt, "abs": abs, "min": min, "max": max}
_LITERAL = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])")

Side = tuple[Fraction, Fraction]
HalfSpace = tuple[list[Fraction], Fraction]


class PlainSystem(NamedTuple):
    """What a system's document says, as numbers."""

    states: list[str]
    actions: list[str]
    initial: list[Side]
    domain: list[Side | None]
    disturbance: list[Side]
    noise: list[Fraction]
    float32: bool
    safe: list[HalfSpace]
    goal: list[HalfSpace]
    dynamics: dict[str, Any]

    @classmethod
    def of(cls, document: dict[str, Any]) -> PlainSystem:
        """Read a document."""
        return cls(
            states=document["states"],
            actions=document["actions"],
            initial=[_side(pair) for pair in document["initial"]],
            domain=[None if pair is None else _side(pair) for pair in document["domain"]],
            disturbance=[_side(pair) for pair in document["disturbance"]],
            noise=[Fraction(size) for size in document["observation_error"]],
            float32=document["float32_observations"],
            safe=half_spaces(document["safe"]),
            goal=half_spaces(document["goal"]),
            dynamics=document["dynamics"],
        )


class Seeing(Protocol):
    """A system of which a policy sees the states."""

    @property
    def float32(self) -> bool:
        """Whether what is seen is rounded to float32."""


def half_spaces(conditions: Sequence[dict[str, Any]]) -> list[HalfSpace]:
    """Coefficients and bounds of conditions."""
    return [([Fraction(c) for c in half["coefficients"]], Fraction(half["bound"])) for half in conditions]


def _side(pair: Sequence[Any]) -> Side:
    return Fraction(pair[0]), Fraction(pair[1])


def runs(plain: Plain, system: PlainSystem, steps: int, rng: np.random.Generator) -> list[list[list[Any]]]:
    """Runs with extreme first states, disturbances and noise; each ends where the description stops to hold."""
    return [_run(plain, system, steps, rng) for _ in range(N_RUNS)]


def _run(plain: Plain, system: PlainSystem, steps: int, rng: np.random.Generator) -> list[list[Any]]:
    state: list[Any] = [between(side, rng) for side in system.initial]
    states = [state]
    for _ in range(steps):
        if not in_domain(system, state):
            break
        noise = [size * int(rng.integers(-2, 3)) / 2 for size in system.noise]
        answer = plain.deployed(seen(system, state, noise))
        drift = [between(side, rng) for side in system.disturbance]
        state = step(system, state, plain.action(answer, system.actions), drift)
        states.append(state)
    return states


def between(side: Side, rng: np.random.Generator) -> Fraction:
    share = Fraction(int(rng.choice([0, 0, 1, 2, 3, 4, 4])), 4)
    return side[0] + share * (side[1] - side[0])


def seen(system: Seeing, state: Sequence[Any], noise: Sequence[Fraction]) -> list[float]:
    return [_rounded(_sum(value, error), system.float32) for value, error in zip(state, noise, strict=True)]


def _rounded(value: Any, float32: bool) -> float:
    if not float32:
        return float(value)
    near = float(np.float32(float(value)))
    beside = [near, *(float(np.nextafter(np.float32(near), np.float32(way))) for way in (-np.inf, np.inf))]
    return min(beside, key=lambda candidate: abs(_sum(value, -Fraction(candidate))))


def step(system: PlainSystem, state: Sequence[Any], action: int, drift: Sequence[Fraction]) -> list[Any]:
    """Next state, with a disturbance."""
    return [_sum(value, w) for value, w in zip(_moved(system, state, action), drift, strict=True)]


def _moved(system: PlainSystem, state: Sequence[Any], action: int) -> list[Any]:
    dynamics = system.dynamics
    if dynamics["kind"] == "affine":
        rows = zip(dynamics["matrix"], dynamics["offsets"][action], strict=True)
        return [sum((Fraction(a) * v for a, v in zip(row, state, strict=True)), Fraction(add)) for row, add in rows]
    named = dict(zip(system.states, state, strict=True))
    named |= {name: Fraction(values[action]) for name, values in dynamics["inputs"].items()}
    return moved_by(dynamics["let"], dynamics["step"], named)


def moved_by(let: Sequence[Sequence[str]], step: Sequence[str], named: dict[str, Any]) -> list[Any]:
    """Values of the equations of a step, with many digits."""
    names = {**_FUNCTIONS, "number": mpmath.mpf}
    names |= {name: _many_digits(value) for name, value in named.items()}
    for name, text in let:
        names[name] = _evaluated(text, names)
    return [_evaluated(text, names) for text in step]


def _evaluated(text: str, names: dict[str, Any]) -> Any:
    """Value of an expression whose decimal numbers are what is written, not the nearest floats."""
    return eval(_LITERAL.sub(r"number('\1')", text), {"__builtins__": {}}, names)


def _many_digits(value: Any) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def _sum(value: Any, number: Fraction) -> Any:
    return value + (number if isinstance(value, Fraction) else _many_digits(number))


def _excess(half: HalfSpace, state: Sequence[Any]) -> Any:
    """By how much a condition is violated."""
    coefficients, bound = half
    if all(isinstance(value, Fraction) for value in state):
        return sum((a * v for a, v in zip(coefficients, state, strict=True)), -bound)
    terms = [_many_digits(a) * _many_digits(v) for a, v in zip(coefficients, state, strict=True)]
    return sum(terms, -_many_digits(bound))


def _doubt(state: Sequence[Any]) -> Any:
    return Fraction(0) if all(isinstance(value, Fraction) for value in state) else SLACK


def holds(conditions: Sequence[HalfSpace], state: Sequence[Any]) -> bool:
    """Whether all conditions hold, as far as one can tell."""
    return all(_excess(half, state) <= _doubt(state) for half in conditions)


def surely_holds(conditions: Sequence[HalfSpace], state: Sequence[Any]) -> bool:
    """Whether all conditions hold without doubt."""
    return all(_excess(half, state) <= -_doubt(state) for half in conditions)


def violated(conditions: Sequence[HalfSpace], state: Sequence[Any]) -> bool:
    """Whether a condition is violated without doubt."""
    return any(_excess(half, state) > _doubt(state) for half in conditions)


def in_domain(system: PlainSystem, state: Sequence[Any]) -> bool:
    """Whether the description holds in a state."""
    for side, value in zip(system.domain, state, strict=True):
        if side is not None and (_sum(value, -side[0]) < -_doubt(state) or _sum(value, -side[1]) > _doubt(state)):
            return False
    return True


def possible_answers(plain: Plain, system: PlainSystem, state: Sequence[Any]) -> set[Any]:
    """Answers of the policy to what it may see of a state, with the noise at its ends, in the middle and between."""
    if not any(system.noise):
        return {plain.deployed(seen(system, state, system.noise))}
    shares = [Fraction(k, 4) for k in range(-4, 5)]
    answers = set()
    for chosen in product(*(shares if size else shares[:1] for size in system.noise)):
        noise = [size * share for size, share in zip(system.noise, chosen, strict=True)]
        beside = [neighbours(value) for value in seen(system, state, noise)]
        answers.update(plain.deployed(list(point)) for point in zip(*beside, strict=True))
    return answers


def told(state: Sequence[Any]) -> list[float]:
    """A state for people."""
    return [float(value) for value in state]
