"""What a policy acts on: states, actions, and how one state leads to the next.

A system has exact numbers only (:class:`~fractions.Fraction`), so that the search and the checker of certificates mean
the same system. ``document`` is all that the checker reads of it.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.model.mixture import Mixture
from moet.verify.limits import Deadline
from moet.verify.systems.conditions import HalfSpace, half_spaces
from moet.verify.systems.description import (
    EVERYWHERE,
    NOTHING,
    Number,
    by_state,
    check_identifiers,
    distinct_names,
    exact,
    float_above,
    interval,
    point_or_interval,
    radius_or_interval,
    table,
    texts,
)
from moet.verify.systems.equations import FUNCTIONS, Algebra, Expression

Floats = NDArray[np.float64]

VERSION = 2
"""Version of the documents; the first did not tell noise from rounding."""

_FLOAT32_UNIT = Fraction(1, 2**24)


class System(ABC):
    """States, where they begin, where they must stay, and how far the next one is uncertain.

    Parameters
    ----------
    name : str
    states : sequence of str
        What the policy sees, in the order of its features.
    actions : sequence of str
        By action number.
    initial : mapping from state to (low, high) or a number
        The closed box of first states.
    safe, goal : sequence of str or HalfSpace
        Linear conditions that all must hold, such as ``"-2.4 <= position <= 2.4"``.
    domain : mapping from state to (low, high), optional
        Where this description holds. A proof shows that no run leaves it.
    disturbance : mapping from state to (low, high) or radius, optional
        What may be added to the next state in every step.
    observation_error : mapping from state to radius, optional
        The noise of a sensor: how far what it measures may be from the state.
    float32_observations : bool
        Whether the policy sees what is measured rounded to float32, which needs a bounded domain.

    Attributes
    ----------
    noise : tuple of Fraction
        The observation error as it was given, for every state.
    observation_error : tuple of Fraction
        How far what the policy sees may be from the state: noise, and the rounding of the noisy state to float32.
        (Every number is rounded to float64 before; proofs cover that, too.)
    """

    def __init__(
        self,
        name: str,
        *,
        states: Sequence[str],
        actions: Sequence[str],
        initial: Mapping[str, Any],
        safe: Sequence[str | HalfSpace],
        goal: Sequence[str | HalfSpace] = (),
        domain: Mapping[str, tuple[Number, Number]] | None = None,
        disturbance: Mapping[str, Any] | None = None,
        observation_error: Mapping[str, Number] | None = None,
        float32_observations: bool = False,
    ) -> None:
        (self.name,) = distinct_names([name], "the name of a system")
        self.states = distinct_names(states, "states")
        self.actions = distinct_names(actions, "actions")
        self.initial = tuple(by_state(initial, self.states, "initial", point_or_interval, None))
        self.domain = tuple(by_state(domain or {}, self.states, "domain", interval, EVERYWHERE))
        self.disturbance = tuple(by_state(disturbance or {}, self.states, "disturbance", radius_or_interval, NOTHING))
        self.safe = half_spaces(safe, self.states)
        self.goal = half_spaces(goal, self.states)
        if not self.safe and not self.goal:
            raise InputError("a system needs conditions: safe=['-1 <= x <= 1'], or a goal")
        if not isinstance(float32_observations, bool):
            raise InputError(f"float32_observations must be True or False, got {float32_observations!r}")
        self.float32_observations = float32_observations
        self.noise = tuple(by_state(observation_error or {}, self.states, "observation_error", exact, 0))
        if min(self.noise) < 0:
            raise InputError(f"an observation error cannot be negative, got {observation_error!r}")
        rounding = self._float32_error() if float32_observations else [Fraction(0)] * self.n_states
        self.observation_error = tuple(a + b for a, b in zip(self.noise, rounding, strict=True))

    @property
    def n_states(self) -> int:
        """Number of variables of a state."""
        return len(self.states)

    @abstractmethod
    def fitted_matrix(self, low: Floats, high: Floats) -> Floats:
        """Matrix of an affine map that is close to one step on a box, whatever the action."""

    @abstractmethod
    def residuals(
        self, matrix: Floats, lows: Floats, highs: Floats, deadline: Deadline | None = None
    ) -> tuple[Floats, Floats]:
        """Bound, from below and above, what a step adds to matrix·x on each of several boxes, disturbance included.

        Boxes are rows of ``lows`` and ``highs``; the bounds have shape (n_boxes, n_actions, n_states). They are
        infinite where a step may have no value. Raises Stopped if time is up.
        """

    @abstractmethod
    def successor(self, states: ArrayLike, actions: ArrayLike) -> Floats:
        """Next states in float64, one per row, without disturbance."""

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
        return {
            "format": "moet-system",
            "version": VERSION,
            "name": self.name,
            "states": list(self.states),
            "actions": list(self.actions),
            "initial": texts(self.initial),
            "safe": [half.document() for half in self.safe],
            "goal": [half.document() for half in self.goal],
            "domain": texts(self.domain),
            "disturbance": texts(self.disturbance),
            "observation_error": texts(self.noise),
            "float32_observations": self.float32_observations,
            "dynamics": self._dynamics(),
        }

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
        return tuple(self._action(label) for label in mixture.classes.tolist())

    def _action(self, label: Any) -> int:
        if isinstance(label, str) and label in self.actions:
            return self.actions.index(label)
        if isinstance(label, int) and not isinstance(label, bool) and 0 <= label < len(self.actions):
            return label
        known = ", ".join(f"{k} or {name!r}" for k, name in enumerate(self.actions))
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
        return f"{type(self).__name__}({self.name!r}, states={list(self.states)}, actions={list(self.actions)})"


class AffineSystem(System):
    """A system with x' = matrix·x + offsets[action] + disturbance.

    Parameters
    ----------
    name : str
    matrix : rows of numbers, shape (n_states, n_states)
    offsets : rows of numbers, shape (n_actions, n_states)
        What each action adds.
    **description
        As for :class:`System`.
    """

    def __init__(
        self, name: str, *, matrix: Sequence[Sequence[Number]], offsets: Sequence[Sequence[Number]], **description: Any
    ) -> None:
        super().__init__(name, **description)
        self.matrix = table(matrix, "matrix", self.n_states, self.n_states)
        self.offsets = table(offsets, "offsets", len(self.actions), self.n_states)

    def fitted_matrix(self, low: Floats, high: Floats) -> Floats:
        """The matrix, in floats; the box does not matter."""
        return self._floats[0].copy()

    def residuals(
        self, matrix: Floats, lows: Floats, highs: Floats, deadline: Deadline | None = None
    ) -> tuple[Floats, Floats]:
        """Bound what a step adds to matrix·x on each of several boxes, disturbance included."""
        bounds = np.array([self._residual(matrix, low, high) for low, high in zip(lows, highs, strict=True)])
        return bounds[..., 0], bounds[..., 1]

    def _residual(self, matrix: Floats, low: Floats, high: Floats) -> list[list[tuple[float, float]]]:
        """Least and largest residual on one box, per action and state."""
        sides = [(Fraction(a), Fraction(b)) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        ranges = []
        for row, given, (least, most) in zip(self.matrix, matrix.tolist(), self.disturbance, strict=True):
            slopes = [a - Fraction(b) for a, b in zip(row, given, strict=True)]
            ends = [sorted((slope * a, slope * b)) for slope, (a, b) in zip(slopes, sides, strict=True)]
            ranges.append((least + sum(end[0] for end in ends), most + sum(end[1] for end in ends)))
        return [
            [(-float_above(-(a + add)), float_above(b + add)) for (a, b), add in zip(ranges, offset, strict=True)]
            for offset in self.offsets
        ]

    def successor(self, states: ArrayLike, actions: ArrayLike) -> Floats:
        """Next states in float64, one per row, without disturbance."""
        matrix, offsets = self._floats
        return np.asarray(states, np.float64) @ matrix.T + offsets[np.asarray(actions)]

    @cached_property
    def _floats(self) -> tuple[Floats, Floats]:
        """Matrix and offsets."""
        return np.array(self.matrix, np.float64), np.array(self.offsets, np.float64)

    def _dynamics(self) -> dict[str, Any]:
        return {"kind": "affine", "matrix": texts(self.matrix), "offsets": texts(self.offsets)}


class NonlinearSystem(System):
    """A system whose next state is given by equations.

    Parameters
    ----------
    name : str
    step : mapping from state to str
        Its next value, as an expression in the states, the inputs and the names of ``let``.
    inputs : mapping from name to numbers
        Constants that depend on the action: one number per action.
    let : mapping from name to str, optional
        Expressions to use in later ones and in ``step``.
    **description
        As for :class:`System`.
    """

    def __init__(
        self,
        name: str,
        *,
        step: Mapping[str, str],
        inputs: Mapping[str, Sequence[Number]],
        let: Mapping[str, str] | None = None,
        **description: Any,
    ) -> None:
        super().__init__(name, **description)
        check_identifiers([*self.states, *inputs, *(let or {})], FUNCTIONS)
        values = table([*inputs.values()], "inputs", len(inputs), len(self.actions))
        self.inputs = dict(zip(inputs, values, strict=True))
        known = {*self.states, *inputs}
        self.let: dict[str, Expression] = {}
        for defined, text in (let or {}).items():
            self.let[defined] = Expression(text, known)
            known.add(defined)
        self.step = tuple(Expression(t, known) for t in by_state(step, self.states, "step", lambda t: t, None))

    def fitted_matrix(self, low: Floats, high: Floats) -> Floats:
        """Slopes of a fit to the equations on a box."""
        from moet.verify.systems.enclose import fitted_matrix

        return fitted_matrix(self, low, high)

    def residuals(
        self, matrix: Floats, lows: Floats, highs: Floats, deadline: Deadline | None = None
    ) -> tuple[Floats, Floats]:
        """Bound what a step adds to matrix·x on each of several boxes, disturbance included."""
        from moet.verify.systems.enclose import residual_ranges

        low, high = residual_ranges(self, matrix, lows, highs, deadline)
        least, most = (np.array(side) for side in zip(*self._float_disturbance, strict=True))
        return np.nextafter(low + least, -np.inf), np.nextafter(high + most, np.inf)

    @cached_property
    def _float_disturbance(self) -> list[tuple[float, float]]:
        return [(-float_above(-low), float_above(high)) for low, high in self.disturbance]

    def next_values(self, values: Sequence[Any], action_inputs: Mapping[str, Any], algebra: Algebra) -> list[Any]:
        """Next value of every state, in any kind of numbers, without disturbance."""
        known = dict(zip(self.states, values, strict=True)) | dict(action_inputs)
        for name, expression in self.let.items():
            known[name] = expression.value(known, algebra)
        return [expression.value(known, algebra) for expression in self.step]

    def successor(self, states: ArrayLike, actions: ArrayLike) -> Floats:
        """Next states in float64, one per row, without disturbance."""
        rows, chosen = np.asarray(states, np.float64), np.asarray(actions)
        inputs = {name: np.array(values, np.float64)[chosen] for name, values in self.inputs.items()}
        columns = self.next_values(list(rows.T), inputs, _PLAIN_FLOATS)
        return np.stack([np.broadcast_to(column, chosen.shape) for column in columns], axis=-1)

    def _dynamics(self) -> dict[str, Any]:
        return {
            "kind": "equations",
            "inputs": {name: texts(values) for name, values in self.inputs.items()},
            "let": [[name, expression.text] for name, expression in self.let.items()],
            "step": [expression.text for expression in self.step],
        }


_PLAIN_FLOATS = Algebra(
    constant=np.float64,  # which overflows to infinity instead of raising
    functions={
        "sin": np.sin,
        "cos": np.cos,
        "sqrt": np.sqrt,
        "abs": np.abs,
        "min": np.minimum,
        "max": np.maximum,
        "choose": lambda left, right, then, otherwise: np.where(left <= right, then, otherwise),
    },
)
