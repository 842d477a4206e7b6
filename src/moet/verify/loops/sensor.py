"""Whether an environment shows states as precisely as a system says: rounding is part of what is proved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from moet.errors import InputError
from moet.verify.loops.sets.enclosures import limits_of
from moet.verify.systems.system import System


def check_precision(space: Any, system: System) -> None:
    """Complain about an environment that rounds what it shows more than a system says.

    Numbers of float64 do not, nor those of float32 if the system has ``float32_observations``. Others do not if the
    observation error of every state is as large as their rounding, wherever states may be. Whole numbers are exact of
    first states between whole numbers, and rounded of others.

    Parameters
    ----------
    space : gymnasium.Space
        Of observations.
    system : System

    Raises
    ------
    InputError
    """
    for kind in _kinds(space):
        if not _is_said(kind, system):
            covered = "float32" if system.float32_observations else "float64"
            raise InputError(
                f"the environment shows {kind}, which rounds more than {system.name!r} says: its proof covers "
                f"{covered}; describe the system with float32_observations=True, or with an observation_error as large "
                "as the rounding for every state, and prove that"
            )


def _kinds(space: Any) -> Iterator[np.dtype[Any]]:
    """Types of all numbers that are shown; what is one of several things is shown as it is."""
    from gymnasium import spaces

    match space:
        case spaces.Box():
            yield np.dtype(space.dtype)
        case spaces.Dict():
            for part in space.spaces.values():
                yield from _kinds(part)
        case spaces.Tuple():
            for part in space.spaces:
                yield from _kinds(part)


def _is_said(kind: np.dtype[Any], system: System) -> bool:
    if kind.kind != "f":
        whole = all(float(side).is_integer() for sides in system.initial for side in sides)
        return whole or all(noise >= 1 for noise in system.noise)
    if kind.itemsize >= (4 if system.float32_observations else 8):
        return True
    unit = np.finfo(kind)
    rounding = float(unit.eps) * _furthest(system) + float(unit.tiny)
    return all(float(noise) >= most for noise, most in zip(system.noise, rounding, strict=True))


def _furthest(system: System) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How large what is seen may be, by what is said of states; of what is computed from them nothing is."""
    if system.observe:
        return np.full(len(system.features), np.inf)
    return np.max(np.abs(limits_of(system, within_safe=False)), axis=0)
