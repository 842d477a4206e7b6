"""Systems as plain Python numbers, by the rules of ``docs/certificate-format.md``. Standard library only."""

from __future__ import annotations

import hashlib
import json
import keyword
import os
import unicodedata
from fractions import Fraction
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.reading import (
    exact,
    interval,
    items,
    members,
    parse,
    plain,
    read_file,
    shown,
    text,
    vector,
)

VERSION = 2
MOST_NAMES = 1000
LONGEST_NAME = 200
LONGEST_EQUATION = 4000
FUNCTIONS = ("sin", "cos", "sqrt", "abs", "min", "max")

_KEYS = (
    "format",
    "version",
    "name",
    "states",
    "actions",
    "initial",
    "safe",
    "goal",
    "domain",
    "disturbance",
    "observation_error",
    "float32_observations",
    "dynamics",
)

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


class PlainSystem(NamedTuple):
    """A system; sides of ``domain`` are None where it has no bound."""

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
    dynamics: Affine | Equations
    digest: str


def plain_system(system: Any) -> PlainSystem:
    """Read a system from a file, from its document, or from an object that has one."""
    try:
        if isinstance(system, str | os.PathLike):
            return _plain(parse(read_file(system)))
        if not isinstance(system, dict) and not callable(getattr(system, "document", None)):
            raise CertificateError(f"expected a system, its document or a file of it, got {type(system).__name__}")
        return _plain(plain(system if isinstance(system, dict) else system.document()))
    except CertificateError as error:
        raise CertificateError(f"the system cannot be read: {error}") from None


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
    if type(document.get("version")) is not int or document["version"] != VERSION:
        raise CertificateError(f"its format version is {shown(document.get('version'))}, this moet reads {VERSION}")
    members(document, "the system", _KEYS)
    (name,) = _names([document["name"]], "name")
    states, actions = _names(document["states"], "states"), _names(document["actions"], "actions")
    d = len(states)
    domain = [None if side is None else interval(side, "domain") for side in items(document["domain"], "domain", d)]
    noise = vector(document["observation_error"], "observation_error", d)
    if min(noise) < 0:
        raise CertificateError("an observation error is negative")
    if type(document["float32_observations"]) is not bool:
        raise CertificateError(f"float32_observations must be true or false, got {document['float32_observations']!r}")
    system = PlainSystem(
        name=name,
        states=states,
        actions=actions,
        initial=_sides(document["initial"], "initial", d),
        safe=half_spaces(document["safe"], "safe", d),
        goal=half_spaces(document["goal"], "goal", d),
        domain=domain,
        disturbance=_sides(document["disturbance"], "disturbance", d),
        noise=noise,
        float32=document["float32_observations"],
        dynamics=_dynamics(document["dynamics"], states, len(actions)),
        digest="",
    )
    if system.float32 and None in domain:
        raise CertificateError("float32 observations need a bounded domain")
    if not system.safe and not system.goal:
        raise CertificateError("a system needs conditions: safe or goal")
    return system._replace(digest=_digest(system))


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


def _dynamics(value: Any, states: list[str], n_actions: int) -> Affine | Equations:
    d = len(states)
    kind = value.get("kind") if type(value) is dict else None
    if kind == "affine":
        members(value, "dynamics", ("kind", "matrix", "offsets"))
        return Affine(
            [vector(row, "matrix", d) for row in items(value["matrix"], "matrix", d)],
            [vector(row, "offsets", d) for row in items(value["offsets"], "offsets", n_actions)],
        )
    if kind != "equations":
        raise CertificateError(f"unknown dynamics {shown(kind)}")
    members(value, "dynamics", ("kind", "inputs", "let", "step"))
    if type(value["inputs"]) is not dict:
        raise CertificateError(f"inputs must be an object, got {shown(value['inputs'])}")
    inputs = {name: vector(numbers, "inputs", n_actions) for name, numbers in value["inputs"].items()}
    let = [
        (text(name, "let"), _equation(said))
        for name, said in (items(pair, "let", 2) for pair in items(value["let"], "let"))
    ]
    step = [_equation(said) for said in items(value["step"], "step", d)]
    _check_identifiers([*states, *inputs, *(name for name, _ in let)])
    return Equations(inputs, let, step)


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


def _digest(system: PlainSystem) -> str:
    """SHA-256 of the canonical document: every number a fraction in lowest terms, as a string; keys in order."""
    dynamics = system.dynamics
    document = {
        "format": "moet-system",
        "version": VERSION,
        **system._asdict(),
        "safe": [half._asdict() for half in system.safe],
        "goal": [half._asdict() for half in system.goal],
        "observation_error": system.noise,
        "float32_observations": system.float32,
        "dynamics": {"kind": "affine" if isinstance(dynamics, Affine) else "equations", **dynamics._asdict()},
    }
    for name in ("noise", "float32", "digest"):
        del document[name]
    content = json.dumps(document, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(content.encode("ascii")).hexdigest()
