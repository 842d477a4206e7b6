"""Numbers of which a system knows limits only, and where between these a run has them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.verify.systems.description import Side
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_MOST_MIXED = 8
"""How many ways are tried in which some unknown numbers are at their lower limits and others at their upper ones."""


class Shares(NamedTuple):
    """Where unknown numbers are, from 0 at the lower limit to 1 at the upper: by name, and all others."""

    common: Fraction
    named: Mapping[str, Fraction]

    def of(self, name: str) -> Fraction:
        """Where the number with this name is."""
        return self.named.get(name, self.common)

    def at(self, name: str, side: Side) -> Fraction:
        """The number with this name, between these limits."""
        return side[0] + self.of(name) * (side[1] - side[0])

    def added(self, system: System) -> Floats:
        """What is added to every next state."""
        sides = zip(system.states, system.disturbance, strict=True)
        return np.array([self.at(name, side) for name, side in sides], np.float64)

    def values(self, system: System) -> dict[str, Any]:
        """Parameters and signals; for each that is scheduled, its numbers; for each action, its controls."""
        found: dict[str, Any] = {name: self.at(name, side) for name, side in _constants(system).items()}
        for name, sides in system.schedule.items():
            if any(low < high for low, high in sides):
                found[name] = tuple(self.at(name, side) for side in sides)
        for action, sides in system.effects.items():
            if any(low < high for low, high in sides):
                found[action] = tuple(low + self.common * (high - low) for low, high in sides)
        return found


def shares_of(system: System, seed: int) -> list[Shares]:
    """Ways to fix unknown numbers: all in the middle, all at one side, and some at one side and some at the other."""
    names = _unknown(system)
    if not names and not _has_vague_actions(system):
        return [Shares(Fraction(1, 2), {})]
    alike = [Shares(share, {}) for share in (Fraction(1, 2), Fraction(0), Fraction(1))]
    return alike + [Shares(Fraction(1, 2), dict(zip(names, mixed, strict=True))) for mixed in _mixed(len(names), seed)]


def _mixed(n: int, seed: int) -> list[tuple[Fraction, ...]]:
    if n < 2:
        return []
    ends = (Fraction(0), Fraction(1))
    if 2**n - 2 <= _MOST_MIXED:
        return [sides for sides in product(ends, repeat=n) if len(set(sides)) > 1]
    drawn = np.random.default_rng(seed).integers(0, 2, (_MOST_MIXED, n)).tolist()
    return [tuple(ends[side] for side in row) for row in drawn]


def _constants(system: System) -> dict[str, Side]:
    return {**system.parameters, **system.signals} if isinstance(system, SampledSystem) else {}


def _unknown(system: System) -> list[str]:
    """Names of the numbers of which only limits are known."""
    constants = [name for name, (low, high) in _constants(system).items() if low < high]
    planned = [name for name, sides in system.schedule.items() if any(low < high for low, high in sides)]
    added = [name for name, (low, high) in zip(system.states, system.disturbance, strict=True) if low < high]
    return [*constants, *planned, *added]


def _has_vague_actions(system: System) -> bool:
    return any(low < high for sides in system.effects.values() for low, high in sides)
