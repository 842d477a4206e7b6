"""What systems with controls have in common: limits of actuators, what the policy sees, and what must be avoided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.verify.systems.conditions import HalfSpace, half_spaces
from moet.verify.systems.description import check_identifiers
from moet.verify.systems.equations import FUNCTIONS, PLAIN_FLOATS, Expression

if TYPE_CHECKING:
    from moet.model.regression.mixture import RegressionMixture
    from moet.verify.systems.system import System

Floats = NDArray[np.float64]


def read_observe(observe: Mapping[str, str], states: Sequence[str]) -> dict[str, Expression]:
    """Read what a policy sees, as expressions in the states."""
    if not observe:
        return {}
    check_identifiers(states, FUNCTIONS)
    return {name: Expression(text, set(states)) for name, text in observe.items()}


def read_avoid(avoid: Any, states: Sequence[str]) -> tuple[tuple[HalfSpace, ...], ...]:
    """Read sets that must not be entered."""
    if isinstance(avoid, str) or any(isinstance(part, str | HalfSpace) for part in avoid):
        raise InputError(f"avoid is a list of sets, each a list of conditions: [['1 <= x <= 2']], got {avoid!r:.100}")
    found = tuple(half_spaces(part, states) for part in avoid)
    if not all(found):
        raise InputError("avoid has a set without conditions, which no state is outside of")
    return found


def observed(system: System, states: ArrayLike) -> Floats:
    """What a policy sees of states, one per row, without noise."""
    rows = np.asarray(states, np.float64)
    if system.observe:
        known = dict(zip(system.states, np.moveaxis(rows, -1, 0), strict=True))
        columns = [expression.value(known, PLAIN_FLOATS) for expression in system.observe.values()]
        rows = np.stack([np.broadcast_to(column, rows.shape[:-1]) for column in columns], axis=-1)
    return rows.astype(np.float32).astype(np.float64) if system.float32_observations else rows


def clipped(system: System, controls: ArrayLike) -> Floats:
    """What the actuators make of the controls that are wanted, one row per state."""
    low, high = (np.array(side, np.float64) for side in zip(*system.controls.values(), strict=True))
    return np.clip(np.asarray(controls, np.float64), low, high)


def check_policy(system: System, mixture: RegressionMixture) -> None:
    """Complain about a model that does not see what the system shows, or does not answer with its controls."""
    pairs = (
        ("features", mixture.feature_names, "shows", system.features),
        ("outputs", mixture.outputs, "is controlled with", tuple(system.controls)),
    )
    for what, names, verb, wanted in pairs:
        if len(names) != len(wanted):
            raise InputError(
                f"the model has {len(names)} {what}, and the system {system.name!r} {verb} {len(wanted)}: "
                f"{', '.join(wanted)}"
            )
        if names != wanted and set(names) == set(wanted):
            raise InputError(
                f"the model's {what} {', '.join(names)} are in another order than those of the system {system.name!r}: "
                f"{', '.join(wanted)}"
            )
