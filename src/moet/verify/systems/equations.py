"""Equations as text: what they may say, and their value over any kind of number.

An expression is written as in Python, with ``+ - * /``, whole powers, ``sin``, ``cos``, ``tan``, ``exp``, ``sqrt``,
``abs``, ``min``, ``max`` and ``a if x <= y else b``. Numbers mean what is written: ``0.1`` is one tenth. Nothing in it
is executed: the text is parsed, every part of it is checked against this list, and a walk over what remains computes
the value.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from moet.errors import InputError
from moet.verify.systems.description import exact

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
FUNCTIONS = {"sin": 1, "cos": 1, "tan": 1, "exp": 1, "sqrt": 1, "abs": 1, "min": 2, "max": 2}
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?", re.ASCII)
_LARGEST_POWER = 16
_MOST_DEPTH = 60
_LONGEST = 4000


@dataclass(frozen=True)
class Algebra:
    """A kind of numbers: how to make one from a constant, and its functions (with ``choose`` for ``if … else``)."""

    constant: Callable[[Fraction], Any]
    functions: Mapping[str, Callable[..., Any]]


PLAIN_FLOATS = Algebra(
    constant=np.float64,  # which overflows to infinity instead of raising
    functions={
        "sin": np.sin,
        "cos": np.cos,
        "tan": np.tan,
        "exp": np.exp,
        "sqrt": np.sqrt,
        "abs": np.abs,
        "min": np.minimum,
        "max": np.maximum,
        "choose": lambda left, right, then, otherwise: np.where(left <= right, then, otherwise),
    },
)
"""Arrays of float64."""


class Expression:
    """A checked expression.

    Parameters
    ----------
    text : str
    known : container of str
        Names it may use.
    """

    def __init__(self, text: str, known: Mapping[str, Any] | set[str]) -> None:
        self.text = text
        if not isinstance(text, str) or len(text) > _LONGEST:
            raise InputError(f"an expression is a text of at most {_LONGEST} characters, got {text!r:.60}")
        try:
            self._tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise InputError(f"cannot read the expression {text!r}: {error}") from None
        self._numbers: dict[ast.expr, Fraction] = {}
        self._check(self._tree, known)
        self._floats = {node: PLAIN_FLOATS.constant(number) for node, number in self._numbers.items()}

    def value(self, values: Mapping[str, Any], algebra: Algebra) -> Any:
        """Value for these values of the names."""
        return self._value(self._tree, values, algebra)

    @property
    def is_smooth(self) -> bool:
        """Whether nothing in it chooses between two expressions."""
        return not any(isinstance(node, ast.IfExp) for node in ast.walk(self._tree))

    @property
    def names(self) -> set[str]:
        """Names it uses."""
        return {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)}

    def _check(self, node: ast.expr, known: Mapping[str, Any] | set[str], depth: int = 0) -> None:
        """Complain about anything in ``node`` that the language does not have, and read its numbers."""
        if depth > _MOST_DEPTH:
            raise InputError(f"operations are more than {_MOST_DEPTH} deep in {self.text!r:.60}")
        parts: Sequence[ast.expr] = ()
        match node:
            case ast.Name(id=name):
                if name not in known:
                    raise InputError(f"{self.text!r} uses {name!r}; known are {', '.join(sorted(known))}")
            case ast.Constant() if _NUMBER.fullmatch(self._source(node)):
                self._numbers[node] = exact(self._source(node))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                parts = [operand]
            case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(exponent))):
                if not 1 <= exponent <= _LARGEST_POWER:
                    raise InputError(f"powers go from 1 to {_LARGEST_POWER}, got {exponent} in {self.text!r}")
                parts = [base]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                parts = [left, right]
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if FUNCTIONS.get(name) == len(arguments):
                parts = arguments
            case ast.IfExp(test=ast.Compare(left=left, ops=[ast.LtE()], comparators=[right]), body=then, orelse=other):
                parts = [left, right, then, other]
            case _:
                raise InputError(
                    f"{self._source(node)!r} in {self.text!r} is not understood; expressions have numbers, names, "
                    f"+ - * /, whole powers, {', '.join(FUNCTIONS)} and 'a if x <= y else b'"
                )
        for part in parts:
            self._check(part, known, depth + 1)

    def _value(self, node: ast.expr, values: Mapping[str, Any], algebra: Algebra) -> Any:
        def value(part: ast.expr) -> Any:
            return self._value(part, values, algebra)

        match node:
            case ast.Name(id=name):
                return values[name]
            case ast.Constant():
                return self._floats[node] if algebra is PLAIN_FLOATS else algebra.constant(self._numbers[node])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.UnaryOp(operand=operand):
                return value(operand)
            case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(exponent))):
                return value(base) ** exponent
            case ast.BinOp(left=left, op=op, right=right):
                return _ARITHMETIC[type(op)](value(left), value(right))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return algebra.functions[name](*map(value, arguments))
            case ast.IfExp(test=ast.Compare(left=left, comparators=[right]), body=then, orelse=other):
                return algebra.functions["choose"](value(left), value(right), value(then), value(other))
            case _:
                raise AssertionError("the expression was checked")

    def _source(self, node: ast.expr) -> str:
        return ast.get_source_segment(self.text, node) or ""


def read_let(let: Mapping[str, str], known: set[str]) -> dict[str, Expression]:
    """Read expressions that have a name, each of which the later ones may use."""
    found: dict[str, Expression] = {}
    for name, text in let.items():
        found[name] = Expression(text, known | set(found))
    return found


def values_of(
    let: Mapping[str, Expression], wanted: Sequence[Expression], known: Mapping[str, Any], algebra: Algebra
) -> list[Any]:
    """Values of expressions that use the names of ``let``."""
    values = dict(known)
    for name, expression in let.items():
        values[name] = expression.value(values, algebra)
    return [expression.value(values, algebra) for expression in wanted]


def comparison_sides(text: str, known: set[str]) -> list[tuple[Expression, Expression]]:
    """Pairs (smaller, larger) that a comparison such as ``"-1 <= x <= 2"`` demands."""
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise InputError(f"a condition is a text of at most {_LONGEST} characters, got {text!r:.60}")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"cannot read the condition {text!r}: {error}") from None
    if not isinstance(tree, ast.Compare) or not all(isinstance(op, ast.LtE | ast.GtE) for op in tree.ops):
        raise InputError(f"a condition is a comparison with <= or >=, such as '-1 <= x <= 2'; got {text!r}")
    sides = [Expression(ast.get_source_segment(text, node) or "", known) for node in (tree.left, *tree.comparators)]
    pairs = zip(sides, sides[1:], tree.ops, strict=False)
    return [(a, b) if isinstance(op, ast.LtE) else (b, a) for a, b, op in pairs]
