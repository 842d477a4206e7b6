"""What systems with controls have in common: limits of actuators, what the policy sees, and what must be avoided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.verify.systems.conditions import HalfSpace, half_spaces
from moet.verify.systems.description import Side, check_identifiers, distinct_names, named_intervals
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


def read_effects(
    actions: Mapping[str, Any], controls: dict[str, Side]
) -> tuple[dict[str, tuple[Side, ...]], dict[str, Side]]:
    """Read what actions do to controls; also the controls, whose limits are those of the actions if none are given."""
    distinct_names(list(actions), "actions")
    given = {action: named_intervals(sides, f"the action {action!r}") for action, sides in actions.items()}
    names = list(controls) or list(next(iter(given.values())))
    for action, sides in given.items():
        if set(sides) != set(names) or not names:
            raise InputError(f"the action {action!r} must say what it does to {', '.join(names)}, got {list(sides)}")
    effects = {action: tuple(sides[name] for name in names) for action, sides in given.items()}
    ends = [[sides[k] for sides in effects.values()] for k in range(len(names))]
    reach = {n: (min(low for low, _ in end), max(high for _, high in end)) for n, end in zip(names, ends, strict=True)}
    for name, (low, high) in controls.items():
        if reach[name][0] < low or reach[name][1] > high:
            raise InputError(f"an action sets {name!r} beyond its limits, {low} and {high}")
    return effects, controls or reach


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


def effects_at(system: System, share: float) -> Floats:
    """What every action does to the controls, at this share of the way between the limits of each."""
    sides = np.array([*system.effects.values()], np.float64)
    return np.asarray(sides[..., 0] + share * (sides[..., 1] - sides[..., 0]))


def controls_of(system: System, answers: ArrayLike) -> Floats:
    """Controls that answers of a policy stand for, one row per state: labels of actions, or numbers."""
    given = np.asarray(answers)
    if not system.effects or (given.ndim == 2 and given.dtype.kind == "f"):
        return np.asarray(given, np.float64).reshape(len(given), -1)
    labels, where = np.unique(given, return_inverse=True)
    numbers = np.array([system.action_number(label) for label in labels.tolist()], np.int64)
    return np.asarray(effects_at(system, 0.5)[numbers[where.ravel()]])


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
