"""Systems in discrete time: affine maps, and equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.verify.limits import Deadline
from moet.verify.systems.controls import clipped
from moet.verify.systems.description import (
    Number,
    Schedule,
    by_state,
    check_identifiers,
    float_above,
    read_schedule,
    scheduled,
    table,
    texts,
)
from moet.verify.systems.equations import FUNCTIONS, PLAIN_FLOATS, Algebra, Expression, read_let, values_of
from moet.verify.systems.system import System

Floats = NDArray[np.float64]


class AffineSystem(System):
    """A system with x' = matrix·x + offsets[action] + disturbance.

    With controls u, it is x' = matrix·x + input_matrix·u + offset + disturbance.

    Parameters
    ----------
    name : str
    matrix : rows of numbers, shape (n_states, n_states)
    offsets : rows of numbers, shape (n_actions, n_states)
        What each action adds.
    input_matrix : rows of numbers, shape (n_states, n_controls)
        With controls, what each of them adds per unit.
    offset : numbers, one per state, optional
        With controls, what is always added.
    schedule : mapping from state to numbers, optional
        With controls, what is added in every step from the first on besides; the last number goes on being added. A
        pair (low, high) is anything between.
    **description
        As for :class:`System`.

    Examples
    --------
    >>> tank = AffineSystem(
    ...     "tank", states=["level"], controls={"inflow": (0, 1)}, matrix=[["0.9"]], input_matrix=[[2]],
    ...     initial={"level": (1, 2)}, safe=["level <= 5"],
    ... )
    >>> tank.successor([[1.0]], [[0.5]])
    array([[1.9]])
    """

    def __init__(
        self,
        name: str,
        *,
        matrix: Sequence[Sequence[Number]],
        offsets: Sequence[Sequence[Number]] = (),
        input_matrix: Sequence[Sequence[Number]] = (),
        offset: Sequence[Number] | None = None,
        schedule: Mapping[str, Any] | None = None,
        **description: Any,
    ) -> None:
        super().__init__(name, **description)
        self.schedule = _own_schedule(self, schedule)
        if unknown := set(self.schedule) - set(self.states):
            raise InputError(f"schedule names {sorted(unknown)}, but the states are {list(self.states)}")
        self.matrix = table(matrix, "matrix", self.n_states, self.n_states)
        self.offsets = table(offsets, "offsets", len(self.actions), self.n_states)
        if self.actions and (len(input_matrix) or offset is not None):
            raise InputError("input_matrix and offset are for controls; what each action adds are its offsets")
        rows = self.n_states if self.controls else 0
        self.input_matrix = table(input_matrix, "input_matrix", rows, len(self.controls))
        always = [0] * self.n_states if offset is None else offset
        (self.offset,) = table([always], "offset", 1, self.n_states)

    def equations(self, known: Mapping[str, Any], algebra: Algebra) -> list[Any]:
        """Next value of every state for values of states and controls, in any kind of numbers, without disturbance."""
        names = (*self.states, *self.controls)
        rows = zip(self.matrix, self.input_matrix, self.offset, strict=True)
        sums = [[(a, known[n]) for a, n in zip((*row, *gain), names, strict=True) if a] for row, gain, _ in rows]
        constants = map(algebra.constant, self.offset)
        found = [sum((algebra.constant(a) * x for a, x in terms), c) for terms, c in zip(sums, constants, strict=True)]
        added = [known.get(_added_to(name)) for name in self.states]
        return [value if more is None else value + more for value, more in zip(found, added, strict=True)]

    @property
    def scheduled_names(self) -> dict[str, str]:
        """Names that ``equations`` has for what is scheduled, by state."""
        return {state: _added_to(state) for state in self.schedule}

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

    def successor(self, states: ArrayLike, actions: ArrayLike, step: int = 0) -> Floats:
        """Next states in float64, one per row, without disturbance."""
        matrix, offsets = self._floats
        moved = np.asarray(states, np.float64) @ matrix.T
        if self.controls:
            pushed = clipped(self, actions) @ np.array(self.input_matrix, np.float64).T
            added = scheduled(self.schedule, step)
            always = [float(value) + added.get(name, 0.0) for name, value in zip(self.states, self.offset, strict=True)]
            return np.asarray(moved + pushed + np.array(always, np.float64))
        return np.asarray(moved + offsets[np.asarray(actions)])

    @cached_property
    def _floats(self) -> tuple[Floats, Floats]:
        """Matrix and offsets."""
        return np.array(self.matrix, np.float64), np.array(self.offsets, np.float64)

    def _dynamics(self) -> dict[str, Any]:
        if self.controls:
            numbers = {"matrix": self.matrix, "input_matrix": self.input_matrix, "offset": self.offset}
            return {"kind": "affine", **{k: texts(v) for k, v in numbers.items()}, **self._schedule_document()}
        return {"kind": "affine", "matrix": texts(self.matrix), "offsets": texts(self.offsets)}


class NonlinearSystem(System):
    """A system whose next state is given by equations.

    Parameters
    ----------
    name : str
    step : mapping from state to str
        Its next value, as an expression in the states, the inputs and the names of ``let``.
    inputs : mapping from name to numbers
        Constants that depend on the action: one number per action. With controls there are none.
    let : mapping from name to str, optional
        Expressions to use in later ones and in ``step``.
    schedule : mapping from name to numbers, optional
        With controls, numbers in the equations that change from step to step, from the first on; the last one holds on.
        A pair (low, high) is anything between.
    **description
        As for :class:`System`.

    Examples
    --------
    >>> from moet.verify import systems
    >>> tank = systems.NonlinearSystem(
    ...     "tank", states=["level"], actions=["closed", "open"], inputs={"inflow": (0, "0.3")},
    ...     step={"level": "level + 0.1 * (inflow - 0.15 * sqrt(level))"},
    ...     initial={"level": (0.9, 1.1)}, safe=["0.5 <= level <= 1.5"],
    ... )
    >>> tank.states
    ('level',)
    """

    def __init__(
        self,
        name: str,
        *,
        step: Mapping[str, str],
        inputs: Mapping[str, Sequence[Number]] | None = None,
        let: Mapping[str, str] | None = None,
        schedule: Mapping[str, Any] | None = None,
        **description: Any,
    ) -> None:
        super().__init__(name, **description)
        inputs = inputs or {}
        self.schedule = _own_schedule(self, schedule)
        check_identifiers([*self.states, *self.controls, *self.schedule, *inputs, *(let or {})], FUNCTIONS)
        values = table([*inputs.values()], "inputs", len(inputs), len(self.actions))
        self.inputs = dict(zip(inputs, values, strict=True))
        known = {*self.states, *self.controls, *self.schedule, *inputs}
        self.let = read_let(let or {}, known)
        texts_of_step = by_state(step, self.states, "step", lambda text: text, None)
        self.step = tuple(Expression(text, known | set(self.let)) for text in texts_of_step)

    def equations(self, known: Mapping[str, Any], algebra: Algebra) -> list[Any]:
        """Next value of every state for values of states and controls, in any kind of numbers, without disturbance."""
        return values_of(self.let, self.step, known, algebra)

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
        return self.equations(dict(zip(self.states, values, strict=True)) | dict(action_inputs), algebra)

    def successor(self, states: ArrayLike, actions: ArrayLike, step: int = 0) -> Floats:
        """Next states in float64, one per row, without disturbance."""
        rows = np.asarray(states, np.float64)
        if self.controls:
            inputs = dict(zip(self.controls, clipped(self, actions).T, strict=True)) | scheduled(self.schedule, step)
        else:
            inputs = {name: np.array(values, np.float64)[np.asarray(actions)] for name, values in self.inputs.items()}
        columns = self.next_values(list(rows.T), inputs, PLAIN_FLOATS)
        return np.stack([np.broadcast_to(column, rows.shape[:-1]) for column in columns], axis=-1)

    def _dynamics(self) -> dict[str, Any]:
        inputs = {name: texts(values) for name, values in self.inputs.items()}
        return {
            "kind": "equations",
            **({} if self.controls else {"inputs": inputs}),
            "let": [[name, expression.text] for name, expression in self.let.items()],
            "step": [expression.text for expression in self.step],
            **self._schedule_document(),
        }


def _own_schedule(system: System, given: Mapping[str, Any] | None) -> Schedule:
    if given and not system.controls:
        raise InputError(f"a schedule is for systems with controls, and {system.name!r} has actions")
    return read_schedule(given)


def _added_to(state: str) -> str:
    """A name that no state or control has."""
    return f"+{state}"
