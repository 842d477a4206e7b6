"""What a policy acts on: states, actions, and how one state leads to the next.

A system has exact numbers only (:class:`~fractions.Fraction`), so that the search and the checker of certificates mean
the same system. ``document`` is all that the checker reads of it.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.model.mixture import Mixture
from moet.verify.limits import Deadline
from moet.verify.systems.conditions import HalfSpace, half_spaces
from moet.verify.systems.controls import read_avoid, read_effects, read_observe
from moet.verify.systems.description import (
    EVERYWHERE,
    NOTHING,
    Number,
    Schedule,
    Side,
    by_state,
    distinct_names,
    exact,
    interval,
    named_intervals,
    radius_or_interval,
    texts,
)
from moet.verify.systems.first import FirstStates

Floats = NDArray[np.float64]

VERSION = 2
"""Version of the documents of systems with actions; the first did not tell noise from rounding."""

CONTROLLED = 3
"""Version of the documents of systems with controls."""

_FLOAT32_UNIT = Fraction(1, 2**24)


class System(ABC):
    """States, where they begin, where they must stay, and how far the next one is uncertain.

    Parameters
    ----------
    name : str
    states : sequence of str
        What the policy sees, in the order of its features.
    actions : sequence of str, or mapping from name to controls
        By action number. With controls, what each action does to them: ``{"left": {"force": -10}, "right": ...}``; a
        pair (low, high) is any number between, another one at every step. Then policies that answer with labels act.
    controls : mapping from name to (low, high)
        Numbers that the policy chooses, and the limits of the actuators: what is beyond them is clipped. They may be
        left out if actions say what they do.
    initial : mapping from state to (low, high) or a number, or a sequence of such mappings
        The closed box of first states, or several: a run begins in any of them.
    initial_where : sequence of str or HalfSpace
        Linear conditions that first states fulfil: a box and conditions are a polytope. With controls only, as are
        several boxes.
    safe, goal : sequence of str or HalfSpace
        Linear conditions that all must hold, such as ``"-2.4 <= position <= 2.4"``.
    avoid : sequence of sequences of str or HalfSpace
        Sets that must not be entered: in each of them all of its conditions hold. For systems with controls.
    observe : mapping from name to str, optional
        What the policy sees, as expressions in the states; the states themselves by default. With controls only.
    domain : mapping from state to (low, high), optional
        Where this description holds. A proof shows that no run leaves it.
    disturbance : mapping from state to (low, high) or radius, optional
        What may be added to the next state in every step.
    observation_error : mapping from feature to radius, optional
        The noise of a sensor: how far what it measures may be from the truth.
    float32_observations : bool
        Whether the policy sees what is measured rounded to float32; with actions, that needs a bounded domain.

    Attributes
    ----------
    schedule : dict from name to intervals
        Numbers that change from step to step; the last of each holds on.
    first : FirstStates
        Where runs begin; ``initial`` is the least box that has all of them.
    features : tuple of str
        Names of what the policy sees.
    effects : dict from action to intervals
        What actions do to the controls, in their order; empty if only numbers can be chosen.
    noise : tuple of Fraction
        The observation error as it was given, for every feature.
    observation_error : tuple of Fraction
        How far what the policy sees may be from the state: noise, and the rounding of the noisy state to float32.
        (Every number is rounded to float64 before; proofs cover that, too.) With controls, noise alone: how far
        rounding goes depends on the set of states.

    Examples
    --------
    >>> from moet.verify import systems
    >>> cart = systems.cartpole()
    >>> isinstance(cart, systems.System), cart.states
    (True, ('position', 'velocity', 'angle', 'angular_velocity'))
    """

    def __init__(
        self,
        name: str,
        *,
        states: Sequence[str],
        actions: Sequence[str] | Mapping[str, Mapping[str, Any]] = (),
        controls: Mapping[str, Any] | None = None,
        initial: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        initial_where: Sequence[str | HalfSpace] = (),
        safe: Sequence[str | HalfSpace] = (),
        avoid: Sequence[Sequence[str | HalfSpace]] = (),
        goal: Sequence[str | HalfSpace] = (),
        observe: Mapping[str, str] | None = None,
        domain: Mapping[str, tuple[Number, Number]] | None = None,
        disturbance: Mapping[str, Any] | None = None,
        observation_error: Mapping[str, Number] | None = None,
        float32_observations: bool = False,
        **unknown: Any,
    ) -> None:
        if unknown:
            raise InputError(_no_such_part(name, type(self), next(iter(unknown))))
        (self.name,) = distinct_names([name], "the name of a system")
        self.schedule: Schedule = {}
        self.states = distinct_names(states, "states")
        self.controls = named_intervals(controls or {}, "controls")
        self.effects: dict[str, tuple[Side, ...]] = {}
        if isinstance(actions, Mapping) and actions:
            self.effects, self.controls = read_effects(actions, self.controls)
        elif bool(actions) == bool(controls):
            raise InputError(
                f"{name!r} needs either actions=['left', 'right'] or controls={{'u': (-1, 1)}}; what actions do to "
                "controls is actions={'left': {'u': -1}, 'right': {'u': 1}}"
            )
        self.actions = () if self.controls else distinct_names(list(actions), "actions")
        if not self.controls and (avoid or observe):
            raise InputError(f"avoid and observe are for systems with controls, and {name!r} has actions")
        self.observe = read_observe(observe or {}, self.states)
        self.features = tuple(self.observe) or self.states
        self.first = FirstStates(initial, initial_where, self.states)
        if not self.controls and not self.first.is_box:
            raise InputError(f"first states of a system with actions are one box, and {name!r} has others")
        self.initial = self.first.hull
        self.domain = tuple(by_state(domain or {}, self.states, "domain", interval, EVERYWHERE))
        self.disturbance = tuple(by_state(disturbance or {}, self.states, "disturbance", radius_or_interval, NOTHING))
        self.safe = half_spaces(safe, self.states)
        self.goal = half_spaces(goal, self.states)
        self.avoid = read_avoid(avoid, self.states)
        if not self.safe and not self.goal and not self.avoid and not self.controls:
            raise InputError("a system needs conditions: safe=['-1 <= x <= 1'], or a goal")
        if not isinstance(float32_observations, bool):
            raise InputError(f"float32_observations must be True or False, got {float32_observations!r}")
        self.float32_observations = float32_observations
        self.noise = tuple(by_state(observation_error or {}, self.features, "observation_error", exact, 0))
        if min(self.noise) < 0:
            raise InputError(f"an observation error cannot be negative, got {observation_error!r}")
        in_advance = float32_observations and not self.controls
        rounding = self._float32_error() if in_advance else [Fraction(0)] * len(self.noise)
        self.observation_error = tuple(a + b for a, b in zip(self.noise, rounding, strict=True))

    @property
    def n_states(self) -> int:
        """Number of variables of a state."""
        return len(self.states)

    def fitted_matrix(self, low: Floats, high: Floats) -> Floats:
        """Matrix of an affine map that is close to one step on a box, whatever the action."""
        raise InputError(f"{self.name!r} has controls, and this is about actions")

    def residuals(
        self, matrix: Floats, lows: Floats, highs: Floats, deadline: Deadline | None = None
    ) -> tuple[Floats, Floats]:
        """Bound, from below and above, what a step adds to matrix·x on each of several boxes, disturbance included.

        Boxes are rows of ``lows`` and ``highs``; the bounds have shape (n_boxes, n_actions, n_states). They are
        infinite where a step may have no value. Raises Stopped if time is up.
        """
        raise InputError(f"{self.name!r} has controls, and this is about actions")

    @abstractmethod
    def successor(self, states: ArrayLike, actions: ArrayLike, step: int = 0) -> Floats:
        """Next states in float64, one per row, without disturbance; ``actions`` are numbers or rows of controls.

        What is scheduled is that of ``step``, in the middle of its limits.
        """

    @abstractmethod
    def _dynamics(self) -> dict[str, Any]:
        """The part of the document that says how one state leads to the next."""

    def goal_conditions(self, goal: str | Sequence[str] | None = None) -> tuple[HalfSpace, ...]:
        """The goal of a question: conditions of its own, or else the system's."""
        conditions = self.goal
        if goal is not None:
            conditions = half_spaces([goal] if isinstance(goal, str) else goal, self.states)
        if not conditions:
            raise InputError(f"the system {self.name!r} has no goal; give one, such as goal='{self.states[0]} >= 1'")
        return conditions

    def document(self) -> dict[str, Any]:
        """Everything that defines this system, as plain JSON with exact numbers."""
        acting: dict[str, Any] = {"version": VERSION, "actions": list(self.actions)}
        if self.controls:
            acting = {
                "version": CONTROLLED,
                "controls": [[name, texts(side)] for name, side in self.controls.items()],
                "avoid": [[half.document() for half in part] for part in self.avoid],
                "observe": [[name, expression.text] for name, expression in self.observe.items()],
            }
        acting |= self.first.document()
        if self.effects:
            acting["effects"] = [[name, texts(sides)] for name, sides in self.effects.items()]
        return {
            "format": "moet-system",
            **acting,
            "name": self.name,
            "states": list(self.states),
            "initial": texts(self.initial),
            "safe": [half.document() for half in self.safe],
            "goal": [half.document() for half in self.goal],
            "domain": texts(self.domain),
            "disturbance": texts(self.disturbance),
            "observation_error": texts(self.noise),
            "float32_observations": self.float32_observations,
            "dynamics": self._dynamics(),
        }

    def _schedule_document(self) -> dict[str, Any]:
        """The part of the document that has the schedule; nothing if there is none."""
        return {"schedule": [[name, texts(sides)] for name, sides in self.schedule.items()]} if self.schedule else {}

    @cached_property
    def digest(self) -> str:
        """Name of this system by content: the SHA-256 of its document, which has one way to write every number."""
        text = json.dumps(self.document(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def actions_of(self, mixture: Mixture) -> tuple[int, ...]:
        """Action number that each class of a model stands for.

        Raises
        ------
        InputError
            If the model has another number of features than there are states, or a class that is no action.
        """
        if self.controls:
            raise InputError(
                f"the model answers with labels, and the system {self.name!r} is controlled with numbers: "
                f"{', '.join(self.controls)}; ask about a MoETRegressor"
            )
        if mixture.n_features != self.n_states:
            raise InputError(
                f"the model has {mixture.n_features} features, the system {self.name!r} has {self.n_states} states: "
                f"{', '.join(self.states)}"
            )
        if mixture.feature_names != self.states and set(mixture.feature_names) == set(self.states):
            raise InputError(
                f"the model's features {', '.join(mixture.feature_names)} are the system's states in another order: "
                f"{', '.join(self.states)}"
            )
        return tuple(map(self.action_number, mixture.classes.tolist()))

    def action_number(self, label: Any) -> int:
        """Number of the action that a class of a model stands for, by name or by number."""
        names = tuple(self.effects) or self.actions
        if isinstance(label, str) and label in names:
            return names.index(label)
        if isinstance(label, int) and not isinstance(label, bool) and 0 <= label < len(names):
            return label
        known = ", ".join(f"{k} or {name!r}" for k, name in enumerate(names))
        raise InputError(f"the class {label!r} of the model is no action of the system {self.name!r}: {known}")

    def _float32_error(self) -> list[Fraction]:
        """Largest error of rounding noisy states to float32, which is relative to them except for the tiniest."""
        for name, side in zip(self.states, self.domain, strict=True):
            if side is None:
                raise InputError(f"float32 observations need a bounded domain; give domain={{{name!r}: (low, high)}}")
        sides = [side for side in self.domain if side is not None]
        seen = [max(abs(low), abs(high)) + noise for (low, high), noise in zip(sides, self.noise, strict=True)]
        # before that it is rounded to float64, which may add a little
        return [size * _FLOAT32_UNIT * (1 + Fraction(1, 2**28)) + Fraction(1, 2**149) for size in seen]

    def __repr__(self) -> str:
        acting = f"controls={list(self.controls)}" if self.controls else f"actions={list(self.actions)}"
        return f"{type(self).__name__}({self.name!r}, states={list(self.states)}, {acting})"


def _no_such_part(name: str, kind: type[System], part: str) -> str:
    """What to say of a part that systems of a kind do not have."""
    parts = {*signature(System).parameters, *signature(kind).parameters} - {"name", "unknown", "description"}
    close = get_close_matches(part, parts, n=1)
    meant = f"did you mean {close[0]!r}?" if close else f"its parts are {', '.join(sorted(parts))}"
    return f"the system {name!r} has a part {part!r} that a {kind.__name__} does not have; {meant}"
