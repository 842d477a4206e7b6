"""Systems as plain Python numbers, by the rules of ``docs/certificate-format.md``. Standard library only."""

from __future__ import annotations

import hashlib
import json
import os
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import (
    Affine,
    ControlledAffine,
    ControlledEquations,
    Dynamics,
    Equations,
    Flow,
    Sides,
    Vector,
    check_identifiers,
    different_names,
    named_sides,
    read_dynamics,
    read_let,
    sides_of,
)
from moet.verify.checker.documents.reading import (
    exact,
    interval,
    items,
    members,
    parse,
    read_file,
    shown,
    vector,
    written,
)

VERSION = 2
"""Of systems with actions."""
CONTROLLED = 3
"""Of systems with controls."""
_SHORT = 10**5
"""Bytes of systems that are remembered."""
MOST_BOXES = 200
"""Of first states."""

_KEYS = (
    *("format", "version", "name", "states", "initial", "safe", "goal", "domain", "disturbance"),
    *("observation_error", "float32_observations", "dynamics"),
)
_ACTING = {VERSION: ("actions",), CONTROLLED: ("controls", "avoid", "observe")}
_OPTIONAL: dict[int, tuple[str, ...]] = {VERSION: (), CONTROLLED: ("effects", "first")}


class HalfSpace(NamedTuple):
    """States x with coefficients·x <= bound."""

    coefficients: Vector
    bound: Fraction


class FirstStates(NamedTuple):
    """Where runs begin: in one of the boxes, where all conditions hold."""

    boxes: list[Sides]
    where: list[HalfSpace]


class PlainSystem(NamedTuple):
    """A system; sides of ``domain`` are None where it has no bound. It has actions, or controls.

    ``initial`` is the least box that has all first states. ``effects`` says what labels that stand for controls do to
    each of them.
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
    dynamics: Dynamics
    digest: str
    controls: dict[str, tuple[Fraction, Fraction]]
    avoid: list[list[HalfSpace]]
    observe: list[tuple[str, str]]
    effects: dict[str, Sides]
    first: FirstStates

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
    (name,) = different_names([document["name"]], "name")
    states = different_names(document["states"], "states")
    d = len(states)
    acting = _actions(document) if version == VERSION else _controls(document, states)
    noise = vector(document["observation_error"], "observation_error", len(acting["observe"]) or d)
    if min(noise) < 0:
        raise CertificateError("an observation error is negative")
    if type(document["float32_observations"]) is not bool:
        raise CertificateError(f"float32_observations must be true or false, got {document['float32_observations']!r}")
    dynamics = read_dynamics(document["dynamics"], states, acting)
    initial = sides_of(document["initial"], "initial", d)
    system = PlainSystem(
        name=name,
        states=states,
        initial=initial,
        first=_first(document.get("first"), initial),
        safe=half_spaces(document["safe"], "safe", d),
        goal=half_spaces(document["goal"], "goal", d),
        domain=[None if side is None else interval(side, "domain") for side in items(document["domain"], "domain", d)],
        disturbance=sides_of(document["disturbance"], "disturbance", d),
        noise=noise,
        float32=document["float32_observations"],
        dynamics=dynamics,
        digest="",
        **acting,
    )
    _check_whole(system)
    return system._replace(digest=_digest(system, version))


def _first(value: Any, initial: Sides) -> FirstStates:
    """Where runs begin: all of a box, if nothing else is said."""
    if value is None:
        return FirstStates([initial], [])
    members(value, "first", ("boxes", "where"))
    boxes = [sides_of(box, "first", len(initial)) for box in items(value["boxes"], "first")]
    where = half_spaces(value["where"], "first", len(initial))
    if not 0 < len(boxes) <= MOST_BOXES or len(where) > MOST_BOXES:
        raise CertificateError(f"first states are in 1 to {MOST_BOXES} boxes, and meet at most so many conditions")
    hull = [(min(low for low, _ in side), max(high for _, high in side)) for side in zip(*boxes, strict=True)]
    if hull != initial or (len(boxes) == 1 and not where):
        raise CertificateError("initial is the least box that has all of several boxes of first states")
    return FirstStates(boxes, where)


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
    return {"actions": different_names(document["actions"], "actions"), **nothing}


def _controls(document: dict[str, Any], states: list[str]) -> dict[str, Any]:
    controls = named_sides(document["controls"], "controls")
    if not controls:
        raise CertificateError("a system needs actions, or controls")
    avoid = [half_spaces(part, "avoid", len(states)) for part in items(document["avoid"], "avoid")]
    if not all(avoid):
        raise CertificateError("a set that is to be avoided has no conditions")
    observe = read_let(document["observe"], "observe")
    if observe:
        different_names([name for name, _ in observe], "observe")
        check_identifiers(states)
    effects = _effects(document.get("effects", []), controls)
    return {"actions": [], "controls": controls, "avoid": avoid, "observe": observe, "effects": effects}


def _effects(value: Any, controls: dict[str, tuple[Fraction, Fraction]]) -> dict[str, Sides]:
    """What actions do to controls, within their limits."""
    pairs = [items(pair, "effects", 2) for pair in items(value, "effects")]
    if pairs:
        different_names([name for name, _ in pairs], "effects")
    effects = {name: sides_of(sides, "effects", len(controls)) for name, sides in pairs}
    for sides in effects.values():
        if any(a < low or b > high for (a, b), (low, high) in zip(sides, controls.values(), strict=True)):
            raise CertificateError("an action sets a control beyond its limits")
    return effects


_KINDS: dict[type, str] = {
    **dict.fromkeys((Affine, ControlledAffine), "affine"),
    **dict.fromkeys((Equations, ControlledEquations), "equations"),
    Flow: "flow",
}


def _digest(system: PlainSystem, version: int) -> str:
    """SHA-256 of the canonical document: every number a fraction in lowest terms, as a string; keys in order."""
    dynamics = system.dynamics._asdict()
    for name in ("parameters", "signals", "schedule", "memory"):
        if name in dynamics:
            dynamics[name] = list(dynamics[name].items())
    for name in ("schedule", "memory"):  # which are left out if there is nothing to say
        if not dynamics.get(name):
            dynamics.pop(name, None)
    document = {
        "format": "moet-system",
        "version": version,
        **system._asdict(),
        "safe": [half._asdict() for half in system.safe],
        "goal": [half._asdict() for half in system.goal],
        "controls": list(system.controls.items()),
        "avoid": [[half._asdict() for half in part] for part in system.avoid],
        "effects": list(system.effects.items()),
        "first": {"boxes": system.first.boxes, "where": [half._asdict() for half in system.first.where]},
        "observation_error": system.noise,
        "float32_observations": system.float32,
        "dynamics": {"kind": _KINDS[type(system.dynamics)], **dynamics},
    }
    absent = (*_ACTING[CONTROLLED], "effects") if version == VERSION else _ACTING[VERSION]
    absent += () if system.effects else ("effects",)
    absent += () if len(system.first.boxes) > 1 or system.first.where else ("first",)
    for name in {"noise", "float32", "digest", *absent}:
        del document[name]
    content = json.dumps(document, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(content.encode("ascii")).hexdigest()
