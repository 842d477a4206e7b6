"""Files of systems: the JSON document that certificates name by its digest.

``docs/certificate-format.md`` describes the document.
"""

from __future__ import annotations

import json
import os
from functools import partial
from typing import Any

from moet.errors import InputError
from moet.files import written_whole
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.description import exact
from moet.verify.systems.discrete import AffineSystem, NonlinearSystem
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import CONTROLLED, VERSION, System

MAX_BYTES = 16 * 2**20
"""Larger files are not read."""

_LONGEST_NUMBER = 4000
_COMMON = (
    *("format", "version", "name", "states", "initial", "safe", "goal", "domain", "disturbance"),
    *("observation_error", "float32_observations", "dynamics"),
)
_KEYS = {VERSION: (*_COMMON, "actions"), CONTROLLED: (*_COMMON, "controls", "avoid", "observe")}
_OPTIONAL: dict[int, tuple[str, ...]] = {VERSION: (), CONTROLLED: ("effects", "first")}
_OPTIONAL_DYNAMICS = {"affine": ("schedule",), "equations": ("schedule",), "flow": ("schedule", "memory")}
_DYNAMICS = {
    VERSION: {"affine": ("kind", "matrix", "offsets"), "equations": ("kind", "inputs", "let", "step")},
    CONTROLLED: {
        "affine": ("kind", "matrix", "input_matrix", "offset"),
        "equations": ("kind", "let", "step"),
        "flow": ("kind", "period", "parameters", "signals", "let", "flow"),
    },
}


def save(system: System, path: str | os.PathLike[str]) -> None:
    """Write a system to a JSON file, all of it or nothing; ``moet verify`` and ``moet check`` read it.

    Examples
    --------
    >>> import tempfile
    >>> from moet.verify import systems
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     systems.save(systems.pendulum(), f"{folder}/pendulum.json")
    ...     systems.load(f"{folder}/pendulum.json").digest == systems.pendulum().digest
    True
    """
    with written_whole(path) as unfinished:
        unfinished.write_text(json.dumps(system.document(), indent=1) + "\n", encoding="utf-8")


def load(path: str | os.PathLike[str]) -> System:
    """Read a system that :func:`save` wrote, or that was written by hand.

    Raises
    ------
    InputError
        If it is no file of a system, has a key twice or one that is not known, or a number, a name or an equation in
        it makes no sense.

    Examples
    --------
    >>> import tempfile
    >>> from moet.verify import systems
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     systems.save(systems.pendulum(), f"{folder}/pendulum.json")
    ...     systems.load(f"{folder}/pendulum.json").name
    'pendulum'
    """
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise InputError(f"a system has at most {MAX_BYTES} bytes")
        return _system(_document(content))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, MemoryError) as error:
        raise InputError(f"cannot read the system {path}: {error!r}") from None


def _document(content: bytes) -> dict[str, Any]:
    document = json.loads(
        content.decode("utf-8"),
        object_pairs_hook=_unique,
        parse_constant=_no_number,
        parse_int=lambda text: int(_short(text)),
        parse_float=lambda text: float(_short(text)),
    )
    if not isinstance(document, dict) or document.get("format") != "moet-system":
        raise InputError('not a description of a system (no "format": "moet-system")')
    if document.get("version") == 1:
        raise InputError(
            "a system of version 1 does not say which part of observation_error is rounding to float32; put the noise "
            'alone into observation_error, add "float32_observations": true or false, and write "version": 2'
        )
    if type(document.get("version")) is not int or document["version"] not in _KEYS:
        raise InputError(
            f"its format version is {document.get('version')!r}, this moet reads {VERSION} and {CONTROLLED}"
        )
    optional = [name for name in _OPTIONAL[document["version"]] if name in document]
    _check_keys(document, (*_KEYS[document["version"]], *optional), "the system")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise InputError(f"an object has a key twice, its keys are {[key for key, _ in pairs]}")
    return members


def _no_number(name: str) -> Any:
    raise InputError(f"expected finite numbers, got {name}")


def _short(text: str) -> str:
    if len(text) > _LONGEST_NUMBER:
        raise InputError(f"a number has {len(text)} characters, more than {_LONGEST_NUMBER}")
    return text


def _check_keys(value: Any, names: tuple[str, ...], where: str) -> None:
    if not isinstance(value, dict) or set(value) != set(names):
        found = sorted(value) if isinstance(value, dict) else value
        raise InputError(f"{where} must have the keys {', '.join(names)} and no others, got {found!r:.300}")


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{where} must be a list, got {value!r:.60}")
    return value


def _system(document: dict[str, Any]) -> System:
    states = _list(document["states"], "states")
    by_state = partial(_named, states)
    dynamics = document["dynamics"]
    known = _DYNAMICS[document["version"]]
    kind = dynamics.get("kind") if isinstance(dynamics, dict) else None
    if kind not in known:
        raise InputError(f"unknown dynamics: {kind!r}")
    optional = [
        name for name in _OPTIONAL_DYNAMICS.get(kind, ()) if name in dynamics and known is not _DYNAMICS[VERSION]
    ]
    _check_keys(dynamics, (*known[kind], *optional), "dynamics")
    schedule = _pairs(dynamics.get("schedule", []), "schedule")
    description: dict[str, Any] = {
        **_first(document, states),
        "domain": _sides(by_state("domain", document["domain"]), "domain"),
        **{part: _half_spaces(document[part], part) for part in ("safe", "goal")},
        "float32_observations": document["float32_observations"],
        **_acting(document, states),
        "schedule": schedule,
    }
    disturbance = _sides(by_state("disturbance", document["disturbance"]), "disturbance")
    if kind == "flow":
        if any(exact(end) for pair in disturbance.values() for end in pair):
            raise InputError("a flow is disturbed by signals; what is added to the next state must be nothing")
        return SampledSystem(document["name"], **_flow(dynamics, states), **description)
    description |= {"states": states, "disturbance": disturbance}
    if kind == "affine":
        numbers = {key: value for key, value in dynamics.items() if key not in ("kind", "schedule")}
        return AffineSystem(document["name"], **numbers, **description)
    step, let = by_state("step", dynamics["step"]), _pairs(dynamics["let"], "let")
    return NonlinearSystem(document["name"], step=step, inputs=dynamics.get("inputs"), let=let, **description)


def _flow(dynamics: dict[str, Any], states: list[str]) -> dict[str, Any]:
    """What a system in continuous time does; the states that it remembers are the last ones, and do not flow."""
    memory = _pairs(dynamics.get("memory", []), "memory")
    flow = {name: said for name, said in _named(states, "flow", dynamics["flow"]).items() if name not in memory}
    if list(memory) != states[len(flow) :] or any(said != "0" for said in dynamics["flow"][len(flow) :]):
        raise InputError('states of the memory are the last ones, and their flow is "0"')
    return {
        "flow": flow,
        "period": dynamics["period"],
        "parameters": _pairs(dynamics["parameters"], "parameters"),
        "disturbance": {name: _list(pair, "signals") for name, pair in _pairs(dynamics["signals"], "signals").items()},
        "let": _pairs(dynamics["let"], "let"),
        "memory": memory,
    }


def _first(document: dict[str, Any], states: list[str]) -> dict[str, Any]:
    """Where runs begin."""
    hull = _sides(_named(states, "initial", document["initial"]), "initial")
    if "first" not in document:
        return {"initial": hull}
    _check_keys(document["first"], ("boxes", "where"), "first")
    boxes = [_sides(_named(states, "first", box), "first") for box in _list(document["first"]["boxes"], "boxes")]
    for name, side in hull.items():
        ends = [[exact(end) for end in box[name]] for box in boxes]
        if not ends or [exact(end) for end in side] != [min(low for low, *_ in ends), max(end[-1] for end in ends)]:
            raise InputError(f"initial of {name!r} must be the least interval that has those of all first boxes")
    return {"initial": boxes, "initial_where": _half_spaces(document["first"]["where"], "where")}


def _acting(document: dict[str, Any], states: list[str]) -> dict[str, Any]:
    """What the policy sees, and what it does."""
    if document["version"] == VERSION:
        noise = _named(states, "observation_error", document["observation_error"])
        return {"actions": _list(document["actions"], "actions"), "observation_error": noise}
    observe = _pairs(document["observe"], "observe")
    controls = _pairs(document["controls"], "controls")
    effects = _pairs(document.get("effects", []), "effects")
    return {
        "controls": controls,
        "actions": {name: _named(list(controls), "effects", sides) for name, sides in effects.items()},
        "avoid": [_half_spaces(part, "avoid") for part in _list(document["avoid"], "avoid")],
        "observe": observe,
        "observation_error": _named(list(observe) or states, "observation_error", document["observation_error"]),
    }


def _named(names: list[str], part: str, values: Any) -> dict[str, Any]:
    if len(_list(values, part)) != len(names):
        raise InputError(f"{part} must have one entry for each of {', '.join(map(str, names))}, got {len(values)}")
    return dict(zip(names, values, strict=True))


def _sides(pairs: dict[str, Any], part: str) -> dict[str, Any]:
    if part == "domain":
        pairs = {name: pair for name, pair in pairs.items() if pair is not None}
    return {name: _list(pair, part) for name, pair in pairs.items()}


def _pairs(value: Any, where: str) -> dict[str, Any]:
    """A list of pairs, a name and what it stands for, in their order."""
    found = dict(_list(value, where))
    if len(found) < len(value):
        raise InputError(f"{where} has a name twice")
    return found


def _half_spaces(value: Any, where: str) -> list[HalfSpace]:
    spaces = []
    for part in _list(value, where):
        _check_keys(part, ("coefficients", "bound"), where)
        coefficients = tuple(exact(number) for number in _list(part["coefficients"], where))
        spaces.append(HalfSpace(coefficients, exact(part["bound"])))
    return spaces
