"""Equations of a step as a list of operations, which compiled code goes through for many boxes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.verify.systems.equations import Algebra
from moet.verify.systems.intervals import Interval

if TYPE_CHECKING:
    from moet.verify.systems.discrete import NonlinearSystem

VARIABLE, INPUT, CONSTANT, NEGATIVE, ADD, SUBTRACT, MULTIPLY, DIVIDE, SQUARE = range(9)
SINE, COSINE, TANGENT, EXPONENTIAL, ROOT, LEAST, CHOOSE = range(9, 16)

_MOST_ARGUMENTS = 4


class Tape(NamedTuple):
    """Operations, each of which becomes a number that later ones may use.

    Attributes
    ----------
    codes : array of int, shape (n,)
    arguments : array of int, shape (n, 4)
        Places of what is computed with; of a variable or an input its number.
    constants : array of float, shape (n, 2)
        Smallest interval around a constant.
    inputs : array of float, shape (n_actions, n_inputs, 2)
        The same of every input, by action.
    uses : array of bool, shape (n, n_variables)
        Which variables a number depends on.
    results : array of int, shape (n_states,)
        Places of the next values.
    """

    codes: NDArray[np.int64]
    arguments: NDArray[np.int64]
    constants: NDArray[np.float64]
    inputs: NDArray[np.float64]
    uses: NDArray[np.bool_]
    results: NDArray[np.int64]


@lru_cache(maxsize=64)
def tape_of(system: NonlinearSystem) -> Tape:
    """The equations of a system with actions; what occurs twice in them is computed once."""
    writer = _Writer()
    states = [writer.number(VARIABLE, k) for k in range(system.n_states)]
    inputs = {name: writer.number(INPUT, k) for k, name in enumerate(system.inputs)}
    results = system.next_values(states, inputs, Algebra(writer.constant, writer.functions))
    table = np.zeros((len(system.actions), len(system.inputs), 2))
    for k, values in enumerate(system.inputs.values()):
        for action, value in enumerate(values):
            table[action, k] = _around(value)
    operations = list(writer.places)
    arguments = np.zeros((len(operations), _MOST_ARGUMENTS), np.int64)
    constants, uses = np.zeros((len(operations), 2)), np.zeros((len(operations), system.n_states), np.bool_)
    for place, (code, *content) in enumerate(operations):
        if code == CONSTANT:
            constants[place] = _around(content[0])
            continue
        arguments[place, : len(content)] = content
        if code == VARIABLE:
            uses[place, content[0]] = True
        elif code != INPUT:
            uses[place] = np.any(uses[content], axis=0)
    codes = np.array([code for code, *_ in operations], np.int64)
    ends = np.array([number.place for number in results], np.int64)
    return Tape(codes, arguments, constants, table, uses, ends)


def _around(value: Fraction) -> tuple[float, float]:
    exact = Interval.exactly(value)
    return float(exact.low), float(exact.high)


class _Writer:
    """Writes down operations."""

    def __init__(self) -> None:
        self.places: dict[tuple[Any, ...], int] = {}
        unary = {"sin": SINE, "cos": COSINE, "tan": TANGENT, "exp": EXPONENTIAL, "sqrt": ROOT}
        self.functions: dict[str, Callable[..., _Number]] = {
            **{name: partial(self.applied, code) for name, code in unary.items()},
            "min": partial(self.applied, LEAST),
            "max": lambda x, y: -self.applied(LEAST, -x, -y),
            "abs": lambda x: -self.applied(LEAST, x, -x),
            "choose": partial(self.applied, CHOOSE),
        }

    def number(self, code: int, *content: Any) -> _Number:
        return _Number(self, self.places.setdefault((code, *content), len(self.places)))

    def constant(self, value: Fraction) -> _Number:
        return self.number(CONSTANT, value)

    def applied(self, code: int, *numbers: _Number) -> _Number:
        return self.number(code, *[number.place for number in numbers])


class _Number:
    """What an operation will have computed."""

    def __init__(self, writer: _Writer, place: int) -> None:
        self.writer, self.place = writer, place

    def __neg__(self) -> _Number:
        return self.writer.applied(NEGATIVE, self)

    def __add__(self, other: _Number) -> _Number:
        return self.writer.applied(ADD, self, other)

    def __sub__(self, other: _Number) -> _Number:
        return self.writer.applied(SUBTRACT, self, other)

    def __mul__(self, other: _Number) -> _Number:
        return self.writer.applied(MULTIPLY, self, other)

    def __truediv__(self, other: _Number) -> _Number:
        return self.writer.applied(DIVIDE, self, other)

    def __pow__(self, exponent: int) -> _Number:
        if exponent == 2:
            return self.writer.applied(SQUARE, self)
        power = self
        for _ in range(exponent - 1):
            power = power * self
        return power
