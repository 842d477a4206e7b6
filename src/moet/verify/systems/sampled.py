"""Systems in continuous time: differential equations, and a control that is held between samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.verify.systems.controls import clipped, controls_of, observed
from moet.verify.systems.description import (
    Number,
    by_state,
    check_identifiers,
    exact,
    named_intervals,
    read_schedule,
    scheduled,
    texts,
)
from moet.verify.systems.equations import FUNCTIONS, PLAIN_FLOATS, Algebra, Expression, read_let, values_of
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

STEPS_PER_PERIOD = 40
"""Runge-Kutta steps with which a period is simulated, at least, unless told otherwise."""


class Acting(Protocol):
    """What chooses controls or actions: a mixture, a fitted estimator or a policy."""

    def predict(self, features: Floats, /) -> Any:
        """Controls or labels of actions, one row per row of features."""


class SampledSystem(System):
    """A plant x' = f(x, u, w): the policy sees the state every ``period``, and its control is held until the next time.

    Safety means safety at all times, not only when the policy looks.

    Parameters
    ----------
    name : str
    flow : mapping from state to str
        The derivative of every state, as an expression in states, controls, parameters, signals and names of ``let``.
        Its keys are the states, in the order of the policy's features.
    controls : mapping from name to (low, high)
        Numbers that the policy chooses, and the limits of the actuators.
    actions : mapping from name to controls, optional
        For policies that answer with labels, what each does: ``{"left": {"force": -10}, "right": {"force": 10}}``.
    period : number
        Time between two looks of the policy.
    let : mapping from name to str, optional
        Expressions to use in later ones and in ``flow``.
    parameters : mapping from name to (low, high), optional
        Numbers of which only these limits are known; one value each for all of a run.
    disturbance : mapping from name to (low, high) or radius, optional
        Signals in ``flow`` that may take any values between these limits, at any time.
    schedule : mapping from name to numbers, optional
        Numbers in ``flow`` that change from look to look, from the first on; the last one holds on. A pair (low, high)
        is any number between, held for the period.
    memory : mapping from name to str, optional
        States that do not flow, which the policy sees, too: at the next look each is what its expression says at this
        one. So a plant has modes, a controller an integral, and a command a delay.
    **description
        ``initial``, ``initial_where``, ``safe``, ``avoid``, ``goal``, ``domain``, ``observe``, ``observation_error``
        and ``float32_observations``, as for :class:`~moet.verify.systems.System`.

    Examples
    --------
    >>> pendulum = SampledSystem(
    ...     "pendulum",
    ...     flow={"angle": "speed", "speed": "2 * sin(angle) + 8 * torque"},
    ...     controls={"torque": (-1, 1)},
    ...     period="0.05",
    ...     initial={"angle": (1, "1.2"), "speed": (0, "0.2")},
    ...     safe=["angle <= 1.3"],
    ... )
    >>> pendulum.successor([[1.0, 0.0]], [[-1.0]]).round(4)
    array([[ 0.9921, -0.316 ]])
    """

    def __init__(
        self,
        name: str,
        *,
        flow: Mapping[str, str],
        controls: Mapping[str, Any] | None = None,
        period: Number | None = None,
        actions: Mapping[str, Mapping[str, Any]] | None = None,
        let: Mapping[str, str] | None = None,
        parameters: Mapping[str, Any] | None = None,
        disturbance: Mapping[str, Any] | None = None,
        schedule: Mapping[str, Any] | None = None,
        memory: Mapping[str, str] | None = None,
        **description: Any,
    ) -> None:
        acting = [part for part in (controls, actions) if part]
        if not acting or not all(isinstance(part, Mapping) for part in (flow, *acting)):
            raise InputError(
                "a sampled system needs flow={'x': 'u - x'} and controls={'u': (-1, 1)}, or, for policies that answer "
                "with labels, actions={'left': {'u': -1}, 'right': {'u': 1}}"
            )
        memory = memory or {}
        if twice := set(flow) & set(memory):
            raise InputError(f"{sorted(twice)} cannot both flow and be in the memory")
        states = (*flow, *memory)
        super().__init__(name, states=states, controls=controls, actions=actions or (), **description)
        if period is None:
            raise InputError(f"the system {name!r} needs the time between two looks of the policy, as in period='0.1'")
        self.period = exact(period)
        if self.period <= 0:
            raise InputError(f"the period must be a positive number, got {period!r}")
        self.parameters = named_intervals(parameters or {}, "parameters")
        signals = {key: (-exact(v), exact(v)) if isinstance(v, Number) else v for key, v in (disturbance or {}).items()}
        self.signals = named_intervals(signals, "disturbance")
        if pushed := set(self.signals) & set(self.states):
            raise InputError(
                f"{sorted(pushed)} are states: a disturbance of a flow is a signal with a name of its own, as in "
                "flow={'x': 'u + gust'}, disturbance={'gust': '0.1'}"
            )
        self.schedule = read_schedule(schedule)
        given = [*self.states, *self.controls, *self.parameters, *self.signals, *self.schedule]
        check_identifiers([*given, *(let or {})], FUNCTIONS)
        self.let = read_let(let or {}, set(given))
        lines = by_state({**flow, **dict.fromkeys(memory, "0")}, self.states, "flow", lambda text: text, None)
        self.flow = tuple(Expression(text, {*given, *self.let}) for text in lines)
        self.memory = {state: Expression(text, {*given, *self.let}) for state, text in memory.items()}
        said = (*self.let.values(), *self.flow, *self.memory.values())
        _check_used({"parameters": self.parameters, "disturbance": self.signals, "schedule": self.schedule}, said)
        for expression in said:
            if not expression.is_smooth:
                raise InputError(f"a flow has no 'if', for it must not jump: {expression.text!r}; use min, max or abs")

    def equations(self, known: Mapping[str, Any], algebra: Algebra) -> list[Any]:
        """Derivative of every state for values of all names, in any kind of numbers."""
        return values_of(self.let, self.flow, known, algebra)

    def remembered(self, known: Mapping[str, Any], algebra: Algebra) -> list[Any]:
        """What the states of the memory are at the next look, for values of all names at this one."""
        return values_of(self.let, tuple(self.memory.values()), known, algebra)

    def successor(self, states: ArrayLike, actions: ArrayLike, step: int = 0) -> Floats:
        """States one period later in float64, one per row; parameters and signals in the middle of their limits."""
        return self.between(states, actions, 1, step=step)[:, -1]

    def between(
        self,
        states: ArrayLike,
        controls: ArrayLike,
        n: int,
        fixed: Mapping[str, Any] | None = None,
        steps: int = STEPS_PER_PERIOD,
        step: int = 0,
    ) -> Floats:
        """States at ``n`` + 1 evenly spaced times of one period, shape (n_rows, n + 1, n_states), in float64.

        ``fixed`` has values of parameters, signals and what is scheduled, numbers or one per row; others are in the
        middle of their limits, in this ``step``. ``steps`` is the least number of Runge-Kutta steps. At the end, states
        of the memory are what they are at the next look.
        """
        rows = first = np.asarray(states, np.float64)
        held = dict(zip(self.controls, clipped(self, controls).T, strict=True)) | self._middles()
        held |= scheduled(self.schedule, step) | dict(fixed or {})
        inner = -(-steps // n)
        h = float(self.period) / (n * inner)
        found = [rows]
        for _ in range(n):
            for _ in range(inner):
                rows = self._runge_kutta(rows, held, h)
            found.append(rows)
        if self.memory:
            known = dict(zip(self.states, first.T, strict=True)) | held
            found[-1] = rows.copy()
            for name, value in zip(self.memory, self.remembered(known, PLAIN_FLOATS), strict=True):
                found[-1][:, self.states.index(name)] = value
        return np.stack(found, axis=1)

    def simulate(
        self, policy: Acting, starts: ArrayLike, steps: int, points: int = 10, fixed: Mapping[str, Any] | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Runs of a policy: times, states at ``points`` per period and at the end, and the controls of every period."""
        rows = np.asarray(starts, np.float64)
        states, controls = [rows[:, None]], []
        for step in range(steps):
            wanted = controls_of(self, policy.predict(observed(self, rows)))
            controls.append(clipped(self, wanted))
            states.append(self.between(rows, wanted, points, fixed, step=step)[:, 1:])
            rows = states[-1][:, -1]
        times = np.arange(steps * points + 1, dtype=np.float64) * (float(self.period) / points)
        return np.asarray(times), np.concatenate(states, axis=1), np.stack(controls, axis=1)

    def _middles(self) -> dict[str, float]:
        return {name: float((low + high) / 2) for name, (low, high) in (self.parameters | self.signals).items()}

    def _runge_kutta(self, rows: Floats, held: dict[str, Any], h: float) -> Floats:
        def rate(x: Floats) -> Floats:
            found = np.empty_like(x)
            for k, column in enumerate(self.equations(dict(zip(self.states, x.T, strict=True)) | held, PLAIN_FLOATS)):
                found[:, k] = column
            return found

        first = rate(rows)
        second = rate(rows + h / 2 * first)
        third = rate(rows + h / 2 * second)
        last = rate(rows + h * third)
        return np.asarray(rows + h / 6 * (first + 2 * second + 2 * third + last))

    def _dynamics(self) -> dict[str, Any]:
        return {
            "kind": "flow",
            "period": str(self.period),
            "parameters": [[name, texts(side)] for name, side in self.parameters.items()],
            "signals": [[name, texts(side)] for name, side in self.signals.items()],
            "let": [[name, expression.text] for name, expression in self.let.items()],
            "flow": [expression.text for expression in self.flow],
            **self._schedule_document(),
            **({"memory": [[name, said.text] for name, said in self.memory.items()]} if self.memory else {}),
        }


def _check_used(given: Mapping[str, Mapping[str, Any]], expressions: Sequence[Expression]) -> None:
    """Complain about an unknown number that no equation has: a proof would say that it was thought of."""
    used = set().union(*(expression.names for expression in expressions))
    for what, names in given.items():
        if idle := [name for name in names if name not in used]:
            raise InputError(
                f"{what} names {idle}, which no equation uses: write it into flow, let or memory where it acts, or "
                "leave it out"
            )
