"""Files of systems: the JSON document that certificates name by its digest."""

from __future__ import annotations

import json
import os
from typing import Any

from moet.errors import InputError
from moet.files import written_whole
from moet.verify.systems.system import AffineSystem, NonlinearSystem, System


def save(system: System, path: str | os.PathLike[str]) -> None:
    """Write a system to a JSON file, all of it or nothing; ``moet verify`` and ``moet check`` read it."""
    with written_whole(path) as unfinished:
        unfinished.write_text(json.dumps(system.document(), indent=1) + "\n", encoding="utf-8")


def load(path: str | os.PathLike[str]) -> System:
    """Read a system that :func:`save` wrote.

    Raises
    ------
    InputError
        If it is no file of a system, or a number or an equation in it makes no sense.
    """
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        if document["format"] != "moet-system" or document["version"] != 1:
            raise InputError('not a description of a system (no "format": "moet-system", "version": 1)')
        return _system(document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"cannot read the system {path}: {error!r}") from None


def _system(document: dict[str, Any]) -> System:
    states = document["states"]

    def by_state(values: Any) -> dict[str, Any]:
        return {name: value for name, value in zip(states, values, strict=True) if value is not None}

    def conditions(parts: Any) -> list[str]:
        sums = [" + ".join(f"({c}) * {name}" for name, c in by_state(part["coefficients"]).items()) for part in parts]
        return [f"{total} <= {part['bound']}" for total, part in zip(sums, parts, strict=True)]

    description = {
        "states": states,
        "actions": document["actions"],
        **{part: by_state(document[part]) for part in ("initial", "domain", "disturbance", "observation_error")},
        **{part: conditions(document[part]) for part in ("safe", "goal")},
    }
    dynamics = document["dynamics"]
    if dynamics["kind"] == "affine":
        return AffineSystem(document["name"], matrix=dynamics["matrix"], offsets=dynamics["offsets"], **description)
    if dynamics["kind"] == "equations":
        return NonlinearSystem(
            document["name"],
            step=by_state(dynamics["step"]),
            inputs=dynamics["inputs"],
            let=dict(dynamics["let"]),
            **description,
        )
    raise InputError(f"unknown dynamics: {dynamics['kind']!r}")
