"""How a system goes from one state to the next, read from its document. Standard library only."""

from __future__ import annotations

import keyword
import unicodedata
from fractions import Fraction
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.reading import exact, interval, items, members, shown, text, vector

MOST_NAMES = 1000
LONGEST_NAME = 200
LONGEST_EQUATION = 4000
MOST_SCHEDULED = 100_000
FUNCTIONS = ("sin", "cos", "tan", "exp", "sqrt", "abs", "min", "max")

Vector = list[Fraction]
Sides = list[tuple[Fraction, Fraction]]
Schedule = dict[str, Sides]
"""For names, an interval for every step from the first on; the last one holds on."""


class Affine(NamedTuple):
    """x' = matrix·x + offsets[action]."""

    matrix: list[Vector]
    offsets: list[Vector]


class Equations(NamedTuple):
    """Next states as texts; ``inputs`` has one number per action, ``let`` names of expressions in their order."""

    inputs: dict[str, Vector]
    let: list[tuple[str, str]]
    step: list[str]


class ControlledAffine(NamedTuple):
    """x' = matrix·x + input_matrix·u + offset, and what is scheduled for a state."""

    matrix: list[Vector]
    input_matrix: list[Vector]
    offset: Vector
    schedule: Schedule


class ControlledEquations(NamedTuple):
    """Next states as texts, in terms of states, controls, scheduled numbers and the names of ``let``."""

    let: list[tuple[str, str]]
    step: list[str]
    schedule: Schedule


class Flow(NamedTuple):
    """Derivatives as texts, and the time for which a control is held.

    States in ``memory`` do not flow: at the next look they are what its expressions said at this one.
    """

    period: Fraction
    parameters: dict[str, tuple[Fraction, Fraction]]
    signals: dict[str, tuple[Fraction, Fraction]]
    let: list[tuple[str, str]]
    flow: list[str]
    schedule: Schedule
    memory: dict[str, str]


Dynamics = Affine | Equations | ControlledAffine | ControlledEquations | Flow


def different_names(value: Any, where: str) -> list[str]:
    """A list of names."""
    names = [text(name, where) for name in items(value, where)]
    if not 0 < len(names) <= MOST_NAMES or len(set(names)) < len(names):
        raise CertificateError(f"{where} must be different names, 1 to {MOST_NAMES} of them")
    for name in names:
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or name != name.strip():
            raise CertificateError(f"{where} has the name {shown(name)}, which is empty, too long or not printable")
    return names


def sides_of(value: Any, where: str, d: int) -> Sides:
    """A list of intervals."""
    return [interval(side, where) for side in items(value, where, d)]


def named_sides(value: Any, where: str) -> dict[str, tuple[Fraction, Fraction]]:
    """Names with an interval each."""
    pairs = [items(pair, where, 2) for pair in items(value, where)]
    if pairs:
        different_names([name for name, _ in pairs], where)
    return {name: interval(side, where) for name, side in pairs}


def read_let(value: Any, where: str) -> list[tuple[str, str]]:
    """Names with an expression each."""
    pairs = (items(pair, where, 2) for pair in items(value, where))
    return [(text(name, where), _equation(said)) for name, said in pairs]


def read_dynamics(value: Any, states: list[str], acting: dict[str, Any]) -> Dynamics:
    """How one state leads to the next."""
    kind = value.get("kind") if type(value) is dict else None
    controls: dict[str, Any] = acting["controls"]
    readers: dict[Any, Any] = (
        {"affine": _controlled_affine, "equations": _controlled_equations, "flow": _flow}
        if controls
        else {"affine": _affine, "equations": _equations}
    )
    if type(kind) is not str or kind not in readers:
        raise CertificateError(f"unknown dynamics {shown(kind)}")
    return readers[kind](value, states, list(controls) or acting["actions"])


def _affine(value: Any, states: list[str], actions: list[str]) -> Affine:
    members(value, "dynamics", ("kind", "matrix", "offsets"))
    d = len(states)
    return Affine(_matrix(value["matrix"], "matrix", d, d), _matrix(value["offsets"], "offsets", len(actions), d))


def _controlled_affine(value: Any, states: list[str], controls: list[str]) -> ControlledAffine:
    members(value, "dynamics", ("kind", "matrix", "input_matrix", "offset"), optional=("schedule",))
    d = len(states)
    schedule = _schedule(value)
    if not set(schedule) <= set(states):
        raise CertificateError("something is scheduled for a state that there is not")
    return ControlledAffine(
        _matrix(value["matrix"], "matrix", d, d),
        _matrix(value["input_matrix"], "input_matrix", d, len(controls)),
        vector(value["offset"], "offset", d),
        schedule,
    )


def _matrix(value: Any, where: str, height: int, width: int) -> list[Vector]:
    return [vector(row, where, width) for row in items(value, where, height)]


def _equations(value: Any, states: list[str], actions: list[str]) -> Equations:
    members(value, "dynamics", ("kind", "inputs", "let", "step"))
    if type(value["inputs"]) is not dict:
        raise CertificateError(f"inputs must be an object, got {shown(value['inputs'])}")
    inputs = {name: vector(numbers, "inputs", len(actions)) for name, numbers in value["inputs"].items()}
    let = read_let(value["let"], "let")
    step = [_equation(said) for said in items(value["step"], "step", len(states))]
    check_identifiers([*states, *inputs, *(name for name, _ in let)])
    return Equations(inputs, let, step)


def _controlled_equations(value: Any, states: list[str], controls: list[str]) -> ControlledEquations:
    members(value, "dynamics", ("kind", "let", "step"), optional=("schedule",))
    let, schedule = read_let(value["let"], "let"), _schedule(value)
    check_identifiers([*states, *controls, *schedule, *(name for name, _ in let)])
    step = [_equation(said) for said in items(value["step"], "step", len(states))]
    return ControlledEquations(let, step, schedule)


def _flow(value: Any, states: list[str], controls: list[str]) -> Flow:
    members(value, "dynamics", ("kind", "period", "parameters", "signals", "let", "flow"), ("schedule", "memory"))
    period = exact(value["period"], "period")
    if period <= 0:
        raise CertificateError("the period must be positive")
    parameters, signals = (named_sides(value[part], part) for part in ("parameters", "signals"))
    let, schedule = read_let(value["let"], "let"), _schedule(value)
    check_identifiers([*states, *controls, *parameters, *signals, *schedule, *(name for name, _ in let)])
    flow = [_equation(said) for said in items(value["flow"], "flow", len(states))]
    return Flow(period, parameters, signals, let, flow, schedule, _memory(value, states, flow))


def _schedule(value: dict[str, Any]) -> Schedule:
    """Names with an interval for every step each; the last one holds on."""
    pairs = [items(pair, "schedule", 2) for pair in items(value.get("schedule", []), "schedule")]
    if pairs:
        different_names([name for name, _ in pairs], "schedule")
    found = {name: [interval(side, "schedule") for side in items(listed, "schedule")] for name, listed in pairs}
    if not all(found.values()) or sum(map(len, found.values())) > MOST_SCHEDULED:
        raise CertificateError(f"a schedule has at least one entry for each name, and at most {MOST_SCHEDULED} in all")
    return found


def _memory(value: dict[str, Any], states: list[str], flow: list[str]) -> dict[str, str]:
    """What states that do not flow are at the next look."""
    pairs = read_let(value.get("memory", []), "memory")
    memory = dict(pairs)
    if len(memory) < len(pairs) or not set(memory) <= set(states):
        raise CertificateError("memory has a state twice, or one that there is not")
    if any(said != "0" for name, said in zip(states, flow, strict=True) if name in memory):
        raise CertificateError("a state of the memory does not flow: its derivative is 0")
    return memory


def _equation(value: Any) -> str:
    said = text(value, "an equation")
    if len(said) > LONGEST_EQUATION:
        raise CertificateError(f"an equation has more than {LONGEST_EQUATION} characters")
    return said


def check_identifiers(names: list[str]) -> None:
    """Names in equations are read as Python reads them, which normalises some letters."""
    for name in names:
        plain_name = name.isidentifier() and not keyword.iskeyword(name) and len(name) <= LONGEST_NAME
        if not plain_name or name in FUNCTIONS or unicodedata.normalize("NFKC", name) != name:
            raise CertificateError(f"{shown(name)} cannot be the name of a number in an equation")
    if len(names) > MOST_NAMES or len(set(names)) < len(names):
        raise CertificateError("a name of the system has two meanings, or there are too many")
