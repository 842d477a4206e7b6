"""Checker of affine models of one step, in integers only. Standard library only; nothing here is used by the search.

Numbers are intervals of integers over 2^BITS, rounded outward. A function of the state is a pair: the values it takes
on a box, and its partial derivatives there. For the claim that step(x) − matrix·x lies between two bounds on a box, the
box is cut until on every piece either the plain interval value or the mean value form f(m) + f'(X)·(X − m) shows it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.meter import Meter
from moet.verify.checker.plain_system import Affine, Equations, PlainSystem
from moet.verify.checker.reading import exact, shown

BITS = 80
ONE = 1 << BITS

MAX_BOXES = 4000
"""Boxes that one claim may be cut into."""

TEST_TOLERANCE = ONE >> 30
"""Where the two sides of a comparison are closer than this, both outcomes count as possible."""

LARGEST = ONE << 1024
"""Beyond this, the values of a step are out of the range of float64, and nothing is said of them."""

MOST_DEPTH = 60
"""Operations inside one another."""

FARTHEST_ANGLE = ONE << 10
"""Sine and cosine of larger numbers are taken to be anything from -1 to 1."""

Interval = tuple[int, int]
Box = list[tuple[Fraction, Fraction]]


class Value(NamedTuple):
    """Values on a box, and derivatives by state; None where the function may jump."""

    range: Interval
    slopes: dict[int, Interval] | None


def rounded(value: Fraction) -> Interval:
    """Smallest interval around a number."""
    return (value.numerator << BITS) // value.denominator, -((-value.numerator << BITS) // value.denominator)


def _add(a: Interval, b: Interval) -> Interval:
    return a[0] + b[0], a[1] + b[1]


def _negative(a: Interval) -> Interval:
    return -a[1], -a[0]


def _times(a: Interval, b: Interval) -> Interval:
    products = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    return _in_range(min(products) >> BITS, -(-max(products) >> BITS))


def _in_range(low: int, high: int) -> Interval:
    if low < -LARGEST or high > LARGEST:
        raise CertificateError("a step may be beyond the range of float64")
    return low, high


def _over(a: Interval, b: Interval) -> Interval:
    if b[0] <= 0 <= b[1]:
        raise CertificateError("a step may divide by zero")
    pairs = [(x << BITS, y) for x in a for y in b]
    return _in_range(min(x // y for x, y in pairs), max(-(-x // y) for x, y in pairs))


def _hull(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), max(a[1], b[1])


def _wave(x: Interval, first: int) -> Interval:
    """Sine (``first`` = 1) or cosine (0) of all numbers in ``x``, by its tangent at the middle: |f''| <= 1."""
    middle = (x[0] + x[1]) >> 1
    if abs(middle) > FARTHEST_ANGLE:
        return -ONE, ONE
    reach = max(x[1] - middle, middle - x[0])
    value, other = _wave_at(middle, first), _wave_at(middle, 1 - first)
    slope = max(abs(other[0]), abs(other[1]))
    change = -(-slope * reach >> BITS) + -(-reach * reach >> (BITS + 1))
    return max(value[0] - change, -ONE), min(value[1] + change, ONE)


@lru_cache(maxsize=2**14)
def _wave_at(x: int, first: int) -> Interval:
    """Sine or cosine at one point: Taylor's series, whose rest is below the first term left out."""
    point = (x, x)
    square = _times(point, point)
    term = point if first else (ONE, ONE)
    total = term
    n = first
    while True:
        n += 2
        term = _times(term, square)
        divisor = n * (n - 1)
        term = _negative((term[0] // divisor, -(-term[1] // divisor)))
        if n * n * ONE > square[1] and max(abs(term[0]), abs(term[1])) <= 4:
            return total[0] - 8, total[1] + 8
        total = _add(total, term)


def _root(x: Interval) -> Interval:
    if x[0] < 0:
        raise CertificateError("a step may take the root of a negative number")
    return isqrt(x[0] << BITS), isqrt(x[1] << BITS) + 1


Expression = Callable[[dict[str, Value]], Value]


class _Equations:
    """The equations of a step, evaluated on boxes; ``size`` is how many operations that takes."""

    def __init__(self, states: list[str], equations: Equations) -> None:
        self.states = states
        self.inputs = {name: [rounded(value) for value in values] for name, values in equations.inputs.items()}
        known = {*states, *self.inputs}
        self.size = 0
        self.let = []
        for name, text in equations.let:
            self.let.append((name, self._compiled(text, known)))
            known.add(name)
        self.step = [self._compiled(text, known) for text in equations.step]

    def _compiled(self, text: str, known: set[str]) -> Expression:
        try:
            tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise CertificateError(f"the equation {shown(text)} cannot be read") from None
        compiler = _Compiler(text, known)
        expression = compiler.compile(tree)
        self.size += compiler.size
        return expression

    def next(self, box: list[Interval], action: int) -> list[Value]:
        """Next states from a box."""
        known = {
            name: Value(side, {k: (ONE, ONE)}) for k, (name, side) in enumerate(zip(self.states, box, strict=True))
        }
        known |= {name: Value(values[action], {}) for name, values in self.inputs.items()}
        for name, expression in self.let:
            known[name] = expression(known)
        return [expression(known) for expression in self.step]


class _Compiler:
    """Makes functions, from the values of names to the value of an expression, of a text."""

    def __init__(self, text: str, known: set[str]) -> None:
        self.text = text
        self.known = known
        self.size = 0

    def compile(self, node: ast.expr, depth: int = 0) -> Expression:
        """Function of an expression."""
        self.size += 1
        if depth > MOST_DEPTH:
            raise CertificateError(f"the equation {shown(self.text)} is nested more than {MOST_DEPTH} deep")
        match node:
            case ast.Name(id=name) if name in self.known:
                return lambda known: known[name]
            case ast.Constant():
                constant = Value(rounded(exact(ast.get_source_segment(self.text, node), "an equation")), {})
                return lambda known: constant
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._applied(_opposite, depth, operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.compile(operand, depth + 1)
            case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(exponent))) if 1 <= exponent <= 16:
                self.size += exponent
                return self._applied(lambda x: _power(x, exponent), depth, base)
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
                return self._applied(_OPERATIONS[type(operation)], depth, left, right)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if (
                name in _FUNCTIONS and len(arguments) == _ARGUMENTS[name]
            ):
                return self._applied(_FUNCTIONS[name], depth, *arguments)
            case ast.IfExp(test=ast.Compare(left=left, ops=[ast.LtE()], comparators=[right]), body=then, orelse=other):
                return self._applied(_choice, depth, left, right, then, other)
            case _:
                raise CertificateError(f"the equation {shown(self.text)} is not understood")

    def _applied(self, function: Callable[..., Value], depth: int, *parts: ast.expr) -> Expression:
        arguments = [self.compile(part, depth + 1) for part in parts]
        return lambda known: function(*[argument(known) for argument in arguments])


def _choice(left: Value, right: Value, then: Value, otherwise: Value) -> Value:
    """``then`` where left <= right, else ``otherwise``; both, where that cannot be told."""
    difference = _minus(left, right).range
    if difference[1] < -TEST_TOLERANCE:
        return then
    if difference[0] > TEST_TOLERANCE:
        return otherwise
    return Value(_hull(then.range, otherwise.range), None)


def _scaled(x: Value, factor: Interval) -> Value:
    slopes = x.slopes
    return Value(_times(x.range, factor), None if slopes is None else {k: _times(s, factor) for k, s in slopes.items()})


def _sum_of_slopes(x: dict[int, Interval] | None, y: dict[int, Interval] | None) -> dict[int, Interval] | None:
    if x is None or y is None:
        return None
    return {k: _add(x.get(k, (0, 0)), y.get(k, (0, 0))) for k in x.keys() | y.keys()}


def _plus(x: Value, y: Value) -> Value:
    return Value(_add(x.range, y.range), _sum_of_slopes(x.slopes, y.slopes))


def _minus(x: Value, y: Value) -> Value:
    return _plus(x, _scaled(y, (-ONE, -ONE)))


def _product(x: Value, y: Value) -> Value:
    slopes = _sum_of_slopes(_scaled(x, y.range).slopes, _scaled(y, x.range).slopes)
    return Value(_times(x.range, y.range), slopes)


def _quotient(x: Value, y: Value) -> Value:
    quotient = _over(x.range, y.range)
    slopes = _sum_of_slopes(x.slopes, _scaled(y, _negative(quotient)).slopes)
    return Value(quotient, None if slopes is None else {k: _over(s, y.range) for k, s in slopes.items()})


def _power(x: Value, exponent: int) -> Value:
    if exponent == 2:
        low, high = x.range
        least = 0 if low <= 0 <= high else min(low * low, high * high) >> BITS
        square = least, -(-max(low * low, high * high) >> BITS)
        return Value(square, _scaled(x, (2 * low, 2 * high)).slopes)
    result = x
    for _ in range(exponent - 1):
        result = _product(result, x)
    return result


def _chain(x: Value, range_: Interval, derivative: Interval) -> Value:
    return Value(range_, _scaled(x, derivative).slopes)


def _square_root(x: Value) -> Value:
    root = _root(x.range)
    if x.slopes is None or root[0] == 0:  # steep without bound at 0
        return Value(root, None)
    return Value(root, {k: _over(slope, (2 * root[0], 2 * root[1])) for k, slope in x.slopes.items()})


def _lesser(x: Value, y: Value) -> Value:
    if x.range[1] <= y.range[0]:
        return x
    if y.range[1] <= x.range[0]:
        return y
    least = min(x.range[0], y.range[0]), min(x.range[1], y.range[1])
    if x.slopes is None or y.slopes is None:
        return Value(least, None)
    slopes = {k: _hull(x.slopes.get(k, (0, 0)), y.slopes.get(k, (0, 0))) for k in x.slopes.keys() | y.slopes.keys()}
    return Value(least, slopes)


def _opposite(x: Value) -> Value:
    return _scaled(x, (-ONE, -ONE))


_OPERATIONS: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: _plus,
    ast.Sub: _minus,
    ast.Mult: _product,
    ast.Div: _quotient,
}
_ARGUMENTS = {"sin": 1, "cos": 1, "sqrt": 1, "abs": 1, "min": 2, "max": 2}
_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "sin": lambda x: _chain(x, _wave(x.range, 1), _wave(x.range, 0)),
    "cos": lambda x: _chain(x, _wave(x.range, 0), _negative(_wave(x.range, 1))),
    "sqrt": _square_root,
    "abs": lambda x: _opposite(_lesser(x, _opposite(x))),
    "min": _lesser,
    "max": lambda x, y: _opposite(_lesser(_opposite(x), _opposite(y))),
}


class EnclosureChecker:
    """Checks claims about one step of a system."""

    def __init__(self, system: PlainSystem, meter: Meter) -> None:
        self.disturbance = system.disturbance
        self._meter = meter
        self._affine = system.dynamics if isinstance(system.dynamics, Affine) else None
        if isinstance(system.dynamics, Equations):
            self._equations = _Equations(system.states, system.dynamics)

    def check(
        self, matrix: list[list[Fraction]], box: Box, action: int, low: list[Fraction], high: list[Fraction]
    ) -> None:
        """Confirm that step(x) − matrix·x, with any disturbance, lies between ``low`` and ``high`` for x in the box."""
        allowed = [(a - noise[0], b - noise[1]) for a, b, noise in zip(low, high, self.disturbance, strict=True)]
        if self._affine is not None:
            holds = self._affine_holds(self._affine, matrix, box, action, allowed)
        else:
            holds = self._holds(matrix, box, action, allowed)
        if not holds:
            raise CertificateError(f"a model of the step does not hold for action {action}")

    def _affine_holds(
        self,
        affine: Affine,
        matrix: list[list[Fraction]],
        box: Box,
        action: int,
        allowed: list[tuple[Fraction, Fraction]],
    ) -> bool:
        self._meter.spend(100 * len(box) ** 2)
        for row, given, offset, (least, most) in zip(
            affine.matrix, matrix, affine.offsets[action], allowed, strict=True
        ):
            ends = [sorted(((a - b) * x[0], (a - b) * x[1])) for a, b, x in zip(row, given, box, strict=True)]
            if offset + sum(end[0] for end in ends) < least or offset + sum(end[1] for end in ends) > most:
                return False
        return True

    def _holds(
        self, matrix: list[list[Fraction]], box: Box, action: int, allowed: list[tuple[Fraction, Fraction]]
    ) -> bool:
        rows = [{k: rounded(value) for k, value in enumerate(row) if value} for row in matrix]
        inner = [(rounded(a)[1], rounded(b)[0]) for a, b in allowed]
        boxes = [[(rounded(low)[0], rounded(high)[1]) for low, high in box]]
        n_boxes = 1
        while boxes:
            piece = boxes.pop()
            self._meter.spend(30 * self._equations.size * (1 + len(box)))
            blame = self._failing(rows, piece, action, inner)
            if blame is None:
                continue
            n_boxes += 1
            if n_boxes > MAX_BOXES:
                return False
            k = max(range(len(piece)), key=blame.__getitem__)
            low, high = piece[k]
            middle = (low + high) >> 1
            if not low < middle < high:
                return False
            boxes.append([*piece[:k], (low, middle), *piece[k + 1 :]])
            boxes.append([*piece[:k], (middle, high), *piece[k + 1 :]])
        return True

    def _failing(
        self, rows: list[dict[int, Interval]], box: list[Interval], action: int, allowed: list[Interval]
    ) -> list[int] | None:
        """None if the bounds hold on a box; otherwise how much each variable adds to the width of what was found."""
        values = self._equations.next(box, action)
        middle = [(low + high) >> 1 for low, high in box]
        steps = [(low - m, high - m) for (low, high), m in zip(box, middle, strict=True)]
        at_middle: list[Value] | None = None
        blame = [0] * len(box)
        failing = False
        for i, (value, row, (least, most)) in enumerate(zip(values, rows, allowed, strict=True)):
            plain = value.range
            for k, factor in row.items():
                plain = _add(plain, _negative(_times(factor, box[k])))
            if least <= plain[0] and plain[1] <= most:
                continue
            if value.slopes is None:
                failing = True
                blame = [max(b, high - low) for b, (low, high) in zip(blame, box, strict=True)]
                continue
            if at_middle is None:
                at_middle = self._equations.next([(m, m) for m in middle], action)
            found = at_middle[i].range
            for k in range(len(box)):
                factor = row.get(k, (0, 0))
                found = _add(found, _negative(_times(factor, (middle[k], middle[k]))))
                slope = _add(value.slopes.get(k, (0, 0)), _negative(factor))
                change = _times(slope, steps[k])
                found = _add(found, change)
                blame[k] = max(blame[k], change[1] - change[0])
            low, high = max(found[0], plain[0]), min(found[1], plain[1])
            failing |= not (least <= low and high <= most)
        return blame if failing else None
