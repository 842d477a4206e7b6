"""One step of a system as a list of float64 operations: what a shield computes, in Python and in C alike.

Sine and cosine are Taylor's polynomials in Horner's form, so that no library decides what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from fractions import Fraction
from functools import partial
from math import factorial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.verify.systems.discrete import AffineSystem, NonlinearSystem
from moet.verify.systems.equations import Algebra
from moet.verify.systems.intervals import Interval, cosine, root, sine
from moet.verify.systems.system import System

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST_ARGUMENT = 8.0
"""Sine and cosine are computed without taking off turns."""

_SMALLEST = Fraction(1, 2**1000)
"""To divide by a number is to multiply by its reciprocal, which is faster, if that is no subnormal and finite. Its one
rounding is that which the checker allows the number itself."""


class Operation(IntEnum):
    """What a line of a program does with earlier results."""

    ADD = 0
    SUBTRACT = 1
    MULTIPLY = 2
    DIVIDE = 3
    NEGATE = 4
    SINE = 5
    COSINE = 6
    ROOT = 7
    ABSOLUTE = 8
    LESSER = 9
    LARGER = 10
    CHOOSE = 11


class Program(NamedTuple):
    """Registers hold the states, the inputs of the action, the constants, then the result of every line.

    Attributes
    ----------
    code : array of int, shape (n_lines, 5)
        An operation and the registers it is about.
    constants : array of float
    inputs : array of float, shape (n_actions, n_inputs)
    outputs : array of int, shape (n_states,)
        Registers of the next state.
    """

    code: Ints
    constants: Floats
    inputs: Floats
    outputs: Ints


class _Node:
    """A register of the program that is being written."""

    def __init__(self, writer: _Writer, key: Any, number: Fraction | None = None) -> None:
        self.writer, self.key, self.number = writer, key, number

    def __add__(self, other: _Node) -> _Node:
        return self.writer.line(Operation.ADD, self, other)

    def __sub__(self, other: _Node) -> _Node:
        return self.writer.line(Operation.SUBTRACT, self, other)

    def __mul__(self, other: _Node) -> _Node:
        return self.writer.line(Operation.MULTIPLY, self, other)

    def __truediv__(self, other: _Node) -> _Node:
        if self.number is None and other.number is not None and _SMALLEST < abs(other.number) < 1 / _SMALLEST:
            return self * self.writer.constant(1 / other.number)
        return self.writer.line(Operation.DIVIDE, self, other)

    def __neg__(self) -> _Node:
        return self.writer.line(Operation.NEGATE, self)

    def __pow__(self, exponent: int) -> _Node:
        power = self
        for _ in range(exponent - 1):
            power = power * self
        return power


class _Writer:
    """Collects lines; what was computed once is not computed again."""

    def __init__(self) -> None:
        self.constants: dict[Fraction, _Node] = {}
        self.lines: dict[tuple[Any, ...], _Node] = {}

    def constant(self, value: Fraction) -> _Node:
        return self.constants.setdefault(value, _Node(self, ("constant", value), value))

    def line(self, operation: Operation, *arguments: _Node) -> _Node:
        key = (operation, *(argument.key for argument in arguments))
        return self.lines.setdefault(key, _Node(self, key))


_FUNCTIONS = {
    "sin": Operation.SINE,
    "cos": Operation.COSINE,
    "sqrt": Operation.ROOT,
    "abs": Operation.ABSOLUTE,
    "min": Operation.LESSER,
    "max": Operation.LARGER,
    "choose": Operation.CHOOSE,
}


def step_program(system: System) -> Program:
    """Write one step of a system as a program, its operations in the order of the equations."""
    if system.controls:
        raise InputError(f"a shield of this kind is for systems with actions, and {system.name!r} has controls")
    writer = _Writer()
    states = [_Node(writer, ("state", k)) for k in range(system.n_states)]
    if isinstance(system, AffineSystem):
        inputs = np.array(system.offsets, np.float64)
        offsets = [_Node(writer, ("input", k)) for k in range(system.n_states)]
        following = [_affine(writer, row, states, offset) for row, offset in zip(system.matrix, offsets, strict=True)]
    elif isinstance(system, NonlinearSystem):
        inputs = np.array([*system.inputs.values()], np.float64).reshape(-1, len(system.actions)).T
        named = {name: _Node(writer, ("input", k)) for k, name in enumerate(system.inputs)}
        functions: dict[str, Any] = {name: partial(writer.line, what) for name, what in _FUNCTIONS.items()}
        functions |= {name: partial(_not_in_shields, name) for name in ("tan", "exp")}
        following = system.next_values(states, named, Algebra(writer.constant, functions))
    else:
        raise InputError(f"a shield is for affine and nonlinear systems, and {system.name!r} is neither")
    return _numbered(writer, system.n_states, np.ascontiguousarray(inputs), following)


def _not_in_shields(name: str, *arguments: _Node) -> _Node:
    raise InputError(f"a shield does not compute {name}; write the step with {', '.join(_FUNCTIONS)}")


def _affine(writer: _Writer, row: Sequence[Fraction], states: list[_Node], offset: _Node) -> _Node:
    total: _Node | None = None
    for coefficient, state in zip(row, states, strict=True):
        if coefficient:
            term = writer.constant(coefficient) * state
            total = term if total is None else total + term
    return offset if total is None else total + offset


def _numbered(writer: _Writer, n_states: int, inputs: Floats, following: list[_Node]) -> Program:
    """Give every node its register."""
    registers: dict[Any, int] = {("state", k): k for k in range(n_states)}
    registers |= {("input", k): n_states + k for k in range(inputs.shape[1])}
    registers |= {("constant", value): len(registers) + k for k, value in enumerate(writer.constants)}
    code = np.zeros((len(writer.lines), 5), np.int64)
    for line, key in enumerate(writer.lines):
        code[line, : len(key)] = [key[0], *(registers[argument] for argument in key[1:])]
        registers[key] = len(registers)
    outputs = np.array([registers[node.key] for node in following])
    return Program(code, np.array([*map(float, writer.constants)]), inputs, outputs)


def polynomials(terms: int) -> tuple[Floats, Floats]:
    """Coefficients of Taylor's polynomials of sine and cosine, by powers of x², of which sine has one more factor x."""
    signs = [(-1) ** k for k in range(terms)]
    sines = [float(Fraction(sign, factorial(2 * k + 1))) for k, sign in enumerate(signs)]
    return np.array(sines), np.array([float(Fraction(sign, factorial(2 * k))) for k, sign in enumerate(signs)])


class Sizes(NamedTuple):
    """Largest absolute value of any register on a box, and of any argument of a sine or cosine."""

    register: float
    argument: float


def sizes(program: Program, low: Floats, high: Floats) -> Sizes:
    """Bound what a program computes on a box of states."""
    most_register, most_argument = 0.0, 0.0
    for inputs in program.inputs:
        start = [*zip(low, high, strict=True), *zip(inputs, inputs, strict=True)]
        start += zip(program.constants, program.constants, strict=True)
        registers = [Interval(np.array(a), np.array(b)) for a, b in start]
        for operation, *arguments in program.code.tolist():
            parts = [registers[i] for i in arguments]
            if operation in (Operation.SINE, Operation.COSINE):
                most_argument = max(most_argument, _size(parts[0]))
            with np.errstate(all="ignore"):
                registers.append(_RANGES[operation](*parts))
        most_register = max(most_register, *map(_size, registers))
    return Sizes(most_register, most_argument)


def terms_for(argument: float, cut_off: float) -> int:
    """Terms of the polynomials that leave out no more than this of arguments up to some size."""
    if not argument <= LARGEST_ARGUMENT:
        raise InputError(
            f"a shield computes sines of arguments up to {LARGEST_ARGUMENT:g}, and here they may be {argument:.3g}"
        )
    terms = 1
    while Fraction(argument) ** (2 * terms) > factorial(2 * terms) * Fraction(cut_off):
        terms += 1
    return terms


def _size(x: Interval) -> float:
    return float(max(abs(x.low), abs(x.high)))


def _lesser(x: Interval, y: Interval, *_: Interval) -> Interval:
    return Interval(np.minimum(x.low, y.low), np.minimum(x.high, y.high))


_RANGES: dict[int, Any] = {
    Operation.ADD: lambda x, y, *_: x + y,
    Operation.SUBTRACT: lambda x, y, *_: x - y,
    Operation.MULTIPLY: lambda x, y, *_: x * y,
    Operation.DIVIDE: lambda x, y, *_: x / y,
    Operation.NEGATE: lambda x, *_: -x,
    Operation.SINE: lambda x, *_: sine(x),
    Operation.COSINE: lambda x, *_: cosine(x),
    Operation.ROOT: lambda x, *_: root(x),
    Operation.ABSOLUTE: lambda x, *_: x.hull(-x),
    Operation.LESSER: _lesser,
    Operation.LARGER: lambda x, y, *_: -_lesser(-x, -y),
    Operation.CHOOSE: lambda left, right, then, otherwise: then.hull(otherwise),
}
