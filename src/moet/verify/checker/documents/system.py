"""Systems as plain Python numbers, by the rules of ``docs/certificate-format.md``. Standard library only."""

from __future__ import annotations

import hashlib
import json
import keyword
import os
import unicodedata
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.reading import (
    exact,
    interval,
    items,
    members,
    parse,
    read_file,
    shown,
    text,
    vector,
    written,
)

VERSION = 2
"""Of systems with actions."""
CONTROLLED = 3
"""Of systems with controls."""
MOST_NAMES = 1000
LONGEST_NAME = 200
LONGEST_EQUATION = 4000
_SHORT = 10**5
"""Bytes of systems that are remembered."""
FUNCTIONS = ("sin", "cos", "tan", "exp", "sqrt", "abs", "min", "max")

_KEYS = (
    *("format", "version", "name", "states", "initial", "safe", "goal", "domain", "disturbance"),
    *("observation_error", "float32_observations", "dynamics"),
)
_ACTING = {VERSION: ("actions",), CONTROLLED: ("controls", "avoid", "observe")}
_OPTIONAL: dict[int, tuple[str, ...]] = {VERSION: (), CONTROLLED: ("effects",)}

Vector = list[Fraction]
Sides = list[tuple[Fraction, Fraction]]


class HalfSpace(NamedTuple):
    """States x with coefficients·x <= bound."""

    coefficients: Vector
    bound: Fraction


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
    """x' = matrix·x + input_matrix·u + offset."""

    matrix: list[Vector]
    input_matrix: list[Vector]
    offset: Vector


class ControlledEquations(NamedTuple):
    """Next states as texts, in terms of states, controls and the names of ``let``."""

    let: list[tuple[str, str]]
    step: list[str]


class Flow(NamedTuple):
    """Derivatives as texts, and the time for which a control is held."""

    period: Fraction
    parameters: dict[str, tuple[Fraction, Fraction]]
    signals: dict[str, tuple[Fraction, Fraction]]
    let: list[tuple[str, str]]
    flow: list[str]


class PlainSystem(NamedTuple):
    """A system; sides of ``domain`` are None where it has no bound. It has actions, or controls.

    ``effects`` says what labels that stand for controls do to each of them.
    """

    name: str
    states: list[str]
    actions: list[str]
    initial: Sides
    safe: list[HalfSpace]
    goal: list[HalfSpace]
    domain: list[tuple[Fraction, Fraction] | None]
    disturbance: Sides
    noise: Vector
    float32: bool
    dynamics: Affine | Equations | ControlledAffine | ControlledEquations | Flow
    digest: str
    controls: dict[str, tuple[Fraction, Fraction]]
    avoid: list[list[HalfSpace]]
    observe: list[tuple[str, str]]
    effects: dict[str, Sides]

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def features(self) -> list[str]:
        """Names of what the policy sees."""
        return [name for name, _ in self.observe] or self.states


def read_system(system: Any) -> PlainSystem:
    """Read a system from a file, from its document, or from an object that has one."""
    try:
        content = _content(system)
        return _remembered(content) if len(content) <= _SHORT else _plain(parse(content))
    except CertificateError as error:
        raise CertificateError(f"the system cannot be read: {error}") from None


def _content(system: Any) -> bytes:
    if isinstance(system, str | os.PathLike):
        return read_file(system)
    if not isinstance(system, dict) and not callable(getattr(system, "document", None)):
        raise CertificateError(f"expected a system, its document or a file of it, got {type(system).__name__}")
    return written(system if isinstance(system, dict) else system.document())


@lru_cache(maxsize=8)  # one system is often asked about many policies
def _remembered(content: bytes) -> PlainSystem:
    """Read a system; the same text is the same system, which nobody changes once it is read."""
    return _plain(parse(content))


def half_spaces(value: Any, where: str, d: int) -> list[HalfSpace]:
    """Conditions a·x <= b."""
    found = []
    for part in items(value, where):
        members(part, where, ("coefficients", "bound"))
        found.append(HalfSpace(vector(part["coefficients"], where, d), exact(part["bound"], where)))
    return found


def _plain(document: Any) -> PlainSystem:
    if type(document) is not dict or document.get("format") != "moet-system":
        raise CertificateError('it is not a system (no "format": "moet-system")')
    version = document.get("version")
    if type(version) is not int or version not in _ACTING:
        raise CertificateError(f"its format version is {shown(version)}, this moet reads {VERSION} and {CONTROLLED}")
    members(document, "the system", (*_KEYS, *_ACTING[version]), optional=_OPTIONAL[version])
    (name,) = _names([document["name"]], "name")
    states = _names(document["states"], "states")
    d = len(states)
    acting = _actions(document) if version == VERSION else _controls(document, states)
    noise = vector(document["observation_error"], "observation_error", len(acting["observe"]) or d)
    if min(noise) < 0:
        raise CertificateError("an observation error is negative")
    if type(document["float32_observations"]) is not bool:
        raise CertificateError(f"float32_observations must be true or false, got {document['float32_observations']!r}")
    dynamics = _dynamics(document["dynamics"], states, acting)
    system = PlainSystem(
        name=name,
        states=states,
        initial=_sides(document["initial"], "initial", d),
        safe=half_spaces(document["safe"], "safe", d),
        goal=half_spaces(document["goal"], "goal", d),
        domain=[None if side is None else interval(side, "domain") for side in items(document["domain"], "domain", d)],
        disturbance=_sides(document["disturbance"], "disturbance", d),
        noise=noise,
        float32=document["float32_observations"],
        dynamics=dynamics,
        digest="",
        **acting,
    )
    _check_whole(system)
    return system._replace(digest=_digest(system, version))


def _check_whole(system: PlainSystem) -> None:
    """Complain about parts that do not go together."""
    if isinstance(system.dynamics, Flow) and any(end for side in system.disturbance for end in side):
        raise CertificateError("a flow is disturbed by signals, not by what is added to the next state")
    if system.controls:
        return
    if system.float32 and None in system.domain:
        raise CertificateError("float32 observations need a bounded domain")
    if not system.safe and not system.goal:
        raise CertificateError("a system needs conditions: safe or goal")


def _actions(document: dict[str, Any]) -> dict[str, Any]:
    nothing: dict[str, Any] = {"controls": {}, "avoid": [], "observe": [], "effects": {}}
    return {"actions": _names(document["actions"], "actions"), **nothing}


def _controls(document: dict[str, Any], states: list[str]) -> dict[str, Any]:
    controls = _named_sides(document["controls"], "controls")
    if not controls:
        raise CertificateError("a system needs actions, or controls")
    avoid = [half_spaces(part, "avoid", len(states)) for part in items(document["avoid"], "avoid")]
    if not all(avoid):
        raise CertificateError("a set that is to be avoided has no conditions")
    observe = _let(document["observe"], "observe")
    if observe:
        _names([name for name, _ in observe], "observe")
        _check_identifiers(states)
    effects = _effects(document.get("effects", []), controls)
    return {"actions": [], "controls": controls, "avoid": avoid, "observe": observe, "effects": effects}


def _effects(value: Any, controls: dict[str, tuple[Fraction, Fraction]]) -> dict[str, Sides]:
    """What actions do to controls, within their limits."""
    pairs = [items(pair, "effects", 2) for pair in items(value, "effects")]
    if pairs:
        _names([name for name, _ in pairs], "effects")
    effects = {name: _sides(sides, "effects", len(controls)) for name, sides in pairs}
    for sides in effects.values():
        if any(a < low or b > high for (a, b), (low, high) in zip(sides, controls.values(), strict=True)):
            raise CertificateError("an action sets a control beyond its limits")
    return effects


def _names(value: Any, where: str) -> list[str]:
    names = [text(name, where) for name in items(value, where)]
    if not 0 < len(names) <= MOST_NAMES or len(set(names)) < len(names):
        raise CertificateError(f"{where} must be different names, 1 to {MOST_NAMES} of them")
    for name in names:
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or name != name.strip():
            raise CertificateError(f"{where} has the name {shown(name)}, which is empty, too long or not printable")
    return names


def _sides(value: Any, where: str, d: int) -> Sides:
    return [interval(side, where) for side in items(value, where, d)]


def _named_sides(value: Any, where: str) -> dict[str, tuple[Fraction, Fraction]]:
    """Names with an interval each."""
    pairs = [items(pair, where, 2) for pair in items(value, where)]
    if pairs:
        _names([name for name, _ in pairs], where)
    return {name: interval(side, where) for name, side in pairs}


def _let(value: Any, where: str) -> list[tuple[str, str]]:
    """Names with an expression each."""
    pairs = (items(pair, where, 2) for pair in items(value, where))
    return [(text(name, where), _equation(said)) for name, said in pairs]


def _dynamics(value: Any, states: list[str], acting: dict[str, Any]) -> Any:
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
    members(value, "dynamics", ("kind", "matrix", "input_matrix", "offset"))
    d = len(states)
    return ControlledAffine(
        _matrix(value["matrix"], "matrix", d, d),
        _matrix(value["input_matrix"], "input_matrix", d, len(controls)),
        vector(value["offset"], "offset", d),
    )


def _matrix(value: Any, where: str, height: int, width: int) -> list[Vector]:
    return [vector(row, where, width) for row in items(value, where, height)]


def _equations(value: Any, states: list[str], actions: list[str]) -> Equations:
    members(value, "dynamics", ("kind", "inputs", "let", "step"))
    if type(value["inputs"]) is not dict:
        raise CertificateError(f"inputs must be an object, got {shown(value['inputs'])}")
    inputs = {name: vector(numbers, "inputs", len(actions)) for name, numbers in value["inputs"].items()}
    let = _let(value["let"], "let")
    step = [_equation(said) for said in items(value["step"], "step", len(states))]
    _check_identifiers([*states, *inputs, *(name for name, _ in let)])
    return Equations(inputs, let, step)


def _controlled_equations(value: Any, states: list[str], controls: list[str]) -> ControlledEquations:
    members(value, "dynamics", ("kind", "let", "step"))
    let = _let(value["let"], "let")
    _check_identifiers([*states, *controls, *(name for name, _ in let)])
    return ControlledEquations(let, [_equation(said) for said in items(value["step"], "step", len(states))])


def _flow(value: Any, states: list[str], controls: list[str]) -> Flow:
    members(value, "dynamics", ("kind", "period", "parameters", "signals", "let", "flow"))
    period = exact(value["period"], "period")
    if period <= 0:
        raise CertificateError("the period must be positive")
    parameters, signals = (_named_sides(value[part], part) for part in ("parameters", "signals"))
    let = _let(value["let"], "let")
    _check_identifiers([*states, *controls, *parameters, *signals, *(name for name, _ in let)])
    flow = [_equation(said) for said in items(value["flow"], "flow", len(states))]
    return Flow(period, parameters, signals, let, flow)


def _equation(value: Any) -> str:
    said = text(value, "an equation")
    if len(said) > LONGEST_EQUATION:
        raise CertificateError(f"an equation has more than {LONGEST_EQUATION} characters")
    return said


def _check_identifiers(names: list[str]) -> None:
    """Names in equations are read as Python reads them, which normalises some letters."""
    for name in names:
        plain_name = name.isidentifier() and not keyword.iskeyword(name) and len(name) <= LONGEST_NAME
        if not plain_name or name in FUNCTIONS or unicodedata.normalize("NFKC", name) != name:
            raise CertificateError(f"{shown(name)} cannot be the name of a number in an equation")
    if len(names) > MOST_NAMES or len(set(names)) < len(names):
        raise CertificateError("a name of the system has two meanings, or there are too many")


_KINDS: dict[type, str] = {
    **dict.fromkeys((Affine, ControlledAffine), "affine"),
    **dict.fromkeys((Equations, ControlledEquations), "equations"),
    Flow: "flow",
}


def _digest(system: PlainSystem, version: int) -> str:
    """SHA-256 of the canonical document: every number a fraction in lowest terms, as a string; keys in order."""
    dynamics = system.dynamics._asdict()
    for name in ("parameters", "signals"):
        if name in dynamics:
            dynamics[name] = list(dynamics[name].items())
    document = {
        "format": "moet-system",
        "version": version,
        **system._asdict(),
        "safe": [half._asdict() for half in system.safe],
        "goal": [half._asdict() for half in system.goal],
        "controls": list(system.controls.items()),
        "avoid": [[half._asdict() for half in part] for part in system.avoid],
        "effects": list(system.effects.items()),
        "observation_error": system.noise,
        "float32_observations": system.float32,
        "dynamics": {"kind": _KINDS[type(system.dynamics)], **dynamics},
    }
    others = (*_ACTING[CONTROLLED], "effects") if version == VERSION else _ACTING[VERSION]
    for name in (
        "noise",
        "float32",
        "digest",
        *others,
        *(() if system.effects or version == VERSION else ("effects",)),
    ):
        del document[name]
    content = json.dumps(document, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(content.encode("ascii")).hexdigest()
