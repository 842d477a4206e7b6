"""The equations of a step on boxes of states, in integers only. Standard library only; the search does not use it.

Numbers are intervals of integers over 2^BITS, rounded outward. A function of the state is a pair: the values it takes
on a box, and its partial derivatives there, None where it may jump. Equations are taken apart once into operations, of
which equal ones are shared; what depends on no state is computed once per action.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Equations
from moet.verify.checker.documents.reading import exact, shown
from moet.verify.checker.loops.intervals import (
    ONE,
    Interval,
    add,
    exponential_of,
    hull,
    negative,
    over,
    root_of,
    rounded,
    square_of,
    tangent_of,
    times,
    wave,
)

TEST_TOLERANCE = ONE >> 30
"""Where the two sides of a comparison are closer than this, both outcomes count as possible."""

MOST_DEPTH = 60
"""Operations inside one another."""

Slopes = dict[int, Interval]
Value = tuple[Interval, Slopes | None]
"""Values on a box, and derivatives by state; None where the function may jump."""


def _scaled(slopes: Slopes | None, factor: Interval) -> Slopes | None:
    return slopes and {k: times(slope, factor) for k, slope in slopes.items()}


def _sum_of_slopes(x: Slopes | None, y: Slopes | None) -> Slopes | None:
    if x is None or y is None:
        return None
    if not x or not y:
        return x or y
    total = dict(x)
    for k, slope in y.items():
        total[k] = add(total[k], slope) if k in total else slope
    return total


def _opposite(x: Value) -> Value:
    range_, slopes = x
    return negative(range_), slopes and {k: negative(slope) for k, slope in slopes.items()}


def _plus(x: Value, y: Value) -> Value:
    return add(x[0], y[0]), _sum_of_slopes(x[1], y[1])


def _minus(x: Value, y: Value) -> Value:
    return _plus(x, _opposite(y))


def _product(x: Value, y: Value) -> Value:
    return times(x[0], y[0]), _sum_of_slopes(_scaled(x[1], y[0]), _scaled(y[1], x[0]))


def _quotient(x: Value, y: Value) -> Value:
    quotient = over(x[0], y[0])
    slopes = _sum_of_slopes(x[1], _scaled(y[1], negative(quotient)))
    return quotient, slopes and {k: over(slope, y[0]) for k, slope in slopes.items()}


def _square(x: Value) -> Value:
    low, high = x[0]
    return square_of(x[0]), _scaled(x[1], (2 * low, 2 * high))


def _power(exponent: int) -> Callable[[Value], Value]:
    def power(x: Value) -> Value:
        result = x
        for _ in range(exponent - 1):
            result = _product(result, x)
        return result

    return _square if exponent == 2 else power


def _sine(x: Value) -> Value:
    return wave(x[0], 1), _scaled(x[1], wave(x[0], 0)) if x[1] else x[1]


def _cosine(x: Value) -> Value:
    return wave(x[0], 0), _scaled(x[1], negative(wave(x[0], 1))) if x[1] else x[1]


def _tangent(x: Value) -> Value:
    values = tangent_of(x[0])
    return values, _scaled(x[1], add((ONE, ONE), square_of(values))) if x[1] else x[1]


def _exponential(x: Value) -> Value:
    values = exponential_of(x[0])
    return values, _scaled(x[1], values)


def _square_root(x: Value) -> Value:
    root, slopes = root_of(x[0]), x[1]
    if slopes is None or (slopes and root[0] == 0):  # steep without bound at 0
        return root, None
    return root, {k: over(slope, (2 * root[0], 2 * root[1])) for k, slope in slopes.items()}


def _lesser(x: Value, y: Value) -> Value:
    (x_low, x_high), (y_low, y_high) = x[0], y[0]
    if x_high <= y_low:
        return x
    if y_high <= x_low:
        return y
    least = min(x_low, y_low), min(x_high, y_high)
    if x[1] is None or y[1] is None:
        return least, None
    return least, {k: hull(x[1].get(k, (0, 0)), y[1].get(k, (0, 0))) for k in x[1].keys() | y[1].keys()}


def _larger(x: Value, y: Value) -> Value:
    return _opposite(_lesser(_opposite(x), _opposite(y)))


def _magnitude(x: Value) -> Value:
    return _larger(x, _opposite(x))


def _choice(left: Value, right: Value, then: Value, otherwise: Value) -> Value:
    """``then`` where left <= right, else ``otherwise``; both, where that cannot be told."""
    low, high = add(left[0], negative(right[0]))
    if high < -TEST_TOLERANCE:
        return then
    if low > TEST_TOLERANCE:
        return otherwise
    return hull(then[0], otherwise[0]), None


_OPERATIONS: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: _plus,
    ast.Sub: _minus,
    ast.Mult: _product,
    ast.Div: _quotient,
}
_FUNCTIONS: dict[str, tuple[int, Callable[..., Value]]] = {
    "sin": (1, _sine),
    "cos": (1, _cosine),
    "tan": (1, _tangent),
    "exp": (1, _exponential),
    "sqrt": (1, _square_root),
    "abs": (1, _magnitude),
    "min": (2, _lesser),
    "max": (2, _larger),
}


class Operations:
    """The equations of a step as a list of operations on earlier entries of the list.

    ``size`` is how much work they are, ``variables`` the states that each next state depends on.
    """

    def __init__(self, states: list[str], n_actions: int, equations: Equations) -> None:
        self.size = 0
        self._n_actions = n_actions
        self._operations: list[tuple[Callable[..., Value], tuple[int, ...]] | None] = []
        self._places: dict[Any, int] = {}
        self._constants: dict[int, list[Value]] = {}
        named = {name: self._entry(("state", k)) for k, name in enumerate(states)}
        self._states = list(named.values())
        for name, values in equations.inputs.items():
            named[name] = self._entry(("input", name))
            self._constants[named[name]] = [(rounded(value), {}) for value in values]
        for name, text in equations.let:
            named[name] = self._read(text, named)
        self._rows = [self._read(text, named) for text in equations.step]
        self._depends = self._dependencies()
        self.variables = [sorted(self._depends[row]) for row in self._rows]
        self._order = cache(self._order_of)
        self._known = cache(self._known_for)

    def values(self, rows: tuple[int, ...], box: list[Interval], action: int, slopes: bool) -> list[Value]:
        """Next values of some states from a box, with derivatives if they are wanted.

        Raises
        ------
        Undefined
            If there are none, or if that cannot be told.
        """
        values = list(self._known(action))
        for k, place in enumerate(self._states):
            values[place] = box[k], ({k: (ONE, ONE)} if slopes else {})
        for place, function, arguments in self._order(rows):
            values[place] = function(*[values[i] for i in arguments])
        return [values[self._rows[row]] for row in rows]

    @property
    def rows(self) -> list[int]:
        """Entry of every next state."""
        return self._rows

    def entries(self) -> list[tuple[int, Any, tuple[int, ...]]]:
        """What the next states need: place, what it is, and the entries that it is made of, which come before it.

        It is a number, ``"state"``, ``"input"``, an operator of :mod:`ast`, ``("power", n)`` or the name of a function.
        """
        needed = {place for place, _, _ in self._order(tuple(range(len(self._rows))))} | set(self._rows)
        keys = {place: key for key, place in self._places.items()}
        waiting = list(needed)
        while waiting:
            operation = self._operations[waiting.pop()]
            for argument in operation[1] if operation is not None else ():
                if argument not in needed:
                    needed.add(argument)
                    waiting.append(argument)
        return [self._entry_at(place, keys[place]) for place in sorted(needed)]

    def _entry_at(self, place: int, key: Any) -> tuple[int, Any, tuple[int, ...]]:
        operation = self._operations[place]
        if operation is not None:
            return place, key[0], operation[1]
        return place, key if isinstance(key, Fraction) else key[0], ()

    def ranges(self, box: list[Interval], action: int) -> list[Any]:
        """Values of all entries that the next states need on a box, by place; raises Undefined if there are none."""
        values = list(self._known(action))
        for k, place in enumerate(self._states):
            values[place] = box[k], {}
        for place, function, arguments in self._order(tuple(range(len(self._rows)))):
            values[place] = function(*[values[i] for i in arguments])
        return [value and value[0] for value in values]

    def _entry(self, key: Any, operation: tuple[Callable[..., Value], tuple[int, ...]] | None = None) -> int:
        if key not in self._places:
            self.size += 1
            self._places[key] = len(self._operations)
            self._operations.append(operation)
        return self._places[key]

    def _read(self, text: str, named: dict[str, int]) -> int:
        try:
            tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise CertificateError(f"the equation {shown(text)} cannot be read") from None
        return self._taken_apart(tree, text, named)

    def _taken_apart(self, node: ast.expr, text: str, named: dict[str, int], depth: int = 0) -> int:
        """Place of an expression in the list."""
        if depth > MOST_DEPTH:
            raise CertificateError(f"the equation {shown(text)} is nested more than {MOST_DEPTH} deep")

        def applied(name: Any, function: Callable[..., Value], *parts: ast.expr) -> int:
            arguments = tuple(self._taken_apart(part, text, named, depth + 1) for part in parts)
            return self._entry((name, arguments), (function, arguments))

        match node:
            case ast.Name(id=name) if name in named:
                return named[name]
            case ast.Constant():
                number = exact(ast.get_source_segment(text, node), "an equation")
                place = self._entry(number)
                self._constants[place] = [(rounded(number), {})] * self._n_actions
                return place
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return applied("opposite", _opposite, operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._taken_apart(operand, text, named, depth + 1)
            case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(exponent))) if 1 <= exponent <= 16:
                self.size += exponent
                return applied(("power", exponent), _power(exponent), base)
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
                return applied(type(operation), _OPERATIONS[type(operation)], left, right)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS and _FUNCTIONS[
                name
            ][0] == len(arguments):
                return applied(name, _FUNCTIONS[name][1], *arguments)
            case ast.IfExp(test=ast.Compare(left=left, ops=[ast.LtE()], comparators=[right]), body=then, orelse=other):
                return applied("choice", _choice, left, right, then, other)
            case _:
                raise CertificateError(f"the equation {shown(text)} is not understood")

    def _dependencies(self) -> list[set[int]]:
        """For every entry, the states that it depends on."""
        depends: list[set[int]] = []
        for operation in self._operations:  # entries come after their arguments, and states before all others
            arguments = operation[1] if operation is not None else ()
            depends.append(set().union(*(depends[i] for i in arguments)))
            if len(depends) <= len(self._states):
                depends[-1] = {len(depends) - 1}
        return depends

    def _known_for(self, action: int) -> list[Any]:
        """Values of all entries that depend on no state."""
        values: list[Any] = [None] * len(self._operations)
        for place, operation in enumerate(self._operations):
            if place in self._constants:
                values[place] = self._constants[place][action]
            elif operation is not None and not self._depends[place]:
                values[place] = operation[0](*[values[i] for i in operation[1]])
        return values

    def _order_of(self, rows: tuple[int, ...]) -> list[tuple[int, Callable[..., Value], tuple[int, ...]]]:
        """What to compute, one after the other, for the next values of some states."""
        needed: set[int] = set()
        waiting = [self._rows[row] for row in rows]
        while waiting:
            place = waiting.pop()
            operation = self._operations[place]
            if place in needed or operation is None or not self._depends[place]:
                continue
            needed.add(place)
            waiting += operation[1]
        return [(place, *operation) for place in sorted(needed) if (operation := self._operations[place]) is not None]
