"""Specifications of controlled systems: what must hold when, as text and as numbers.

Clauses are separated by ``;``, conditions by ``and``::

    -2 <= x1 <= 2 until 20; never 1 <= x1 <= 2 and 1 <= x2 <= 2; reach x1 <= 0.2 within 5
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from moet.errors import InputError
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.description import exact
from moet.verify.systems.equations import Algebra, Expression, comparison_sides

_TIMES = re.compile(
    r"(?P<body>.*?)\s*(?:\bat\s+(?P<at>\S+)|(?:\bfrom\s+(?P<start>\S+))?\s*(?:\b(?:to|until|within)\s+(?P<end>\S+))?)\s*",
    re.S,
)


class Norm(NamedTuple):
    """factor·‖(rows[0]·x, rows[1]·x)‖."""

    factor: Fraction
    rows: tuple[tuple[Fraction, ...], tuple[Fraction, ...]]


class Condition(NamedTuple):
    """coefficients·x + norms <= bound."""

    coefficients: tuple[Fraction, ...]
    bound: Fraction
    norms: tuple[Norm, ...] = ()

    def document(self) -> dict[str, Any]:
        """The condition as plain JSON with exact numbers."""
        document: dict[str, Any] = {"coefficients": list(map(str, self.coefficients)), "bound": str(self.bound)}
        if self.norms:
            document["norms"] = [
                {"factor": str(norm.factor), "rows": [list(map(str, row)) for row in norm.rows]} for norm in self.norms
            ]
        return document


class Requirement(NamedTuple):
    """What must be so from one time to another, None for no end.

    ``"hold"``: all conditions at all of these times; ``"avoid"``: never all of them; ``"reach"``: all of them at some
    sample.
    """

    kind: str
    start: Fraction
    end: Fraction | None
    conditions: tuple[Condition, ...]

    def document(self) -> dict[str, Any]:
        """The requirement as plain JSON."""
        end = None if self.end is None else str(self.end)
        conditions = [condition.document() for condition in self.conditions]
        return {"kind": self.kind, "from": str(self.start), "to": end, "conditions": conditions}


@dataclass(frozen=True)
class Spec:
    """Requirements that all must be met.

    A clause is conditions joined by ``and``, which must hold; ``never`` before them: never all at once; ``reach``: all
    of them at some time at which the policy looks. Then come times: ``at 5``, ``from 8 to 10``, ``until 20``; without
    an end it is for ever or, if something is to be reached, until then. Times are those of the system: steps in
    discrete time. Conditions are linear, and may have terms such as ``0.2 * sqrt(vx**2 + vy**2)``.

    Parameters
    ----------
    requirements : sequence of Requirement
    states : sequence of str

    Examples
    --------
    >>> spec = Spec.read("-1 <= x <= 1 from 8 to 10; never x >= 2 and y <= 0; reach y <= 0.5 within 10", ["x", "y"])
    >>> len(spec.requirements)
    3
    >>> print(spec)
    -x <= 1 and x <= 1 from 8 to 10; never -x <= -2 and y <= 0; reach y <= 1/2 within 10
    >>> Spec.read(str(spec), ["x", "y"]) == spec
    True
    """

    requirements: tuple[Requirement, ...]
    states: tuple[str, ...]

    @classmethod
    def read(cls, text: str, states: Sequence[str]) -> Spec:
        """Read a specification about these states."""
        if not isinstance(text, str):
            raise InputError(f"a specification is a text such as '-1 <= {states[0]} <= 1 until 20', got {text!r:.60}")
        clauses = [clause.strip() for clause in text.split(";") if clause.strip()]
        if not clauses:
            raise InputError("a specification without clauses demands nothing")
        return cls(tuple(_clause(clause, tuple(states)) for clause in clauses), tuple(states))

    def __str__(self) -> str:
        return "; ".join(_written(part, self.states) for part in self.requirements)


def always(conditions: Sequence[HalfSpace], end: Fraction | None) -> list[Requirement]:
    """The requirement that half-spaces hold; none if there are none."""
    return [Requirement("hold", Fraction(0), end, _of(conditions))] if conditions else []


def never(sets: Sequence[Sequence[HalfSpace]], end: Fraction | None) -> list[Requirement]:
    """The requirements that sets are not entered."""
    return [Requirement("avoid", Fraction(0), end, _of(part)) for part in sets]


def reached(conditions: Sequence[HalfSpace], end: Fraction) -> Requirement:
    """The requirement that a goal is reached."""
    return Requirement("reach", Fraction(0), end, _of(conditions))


def _of(conditions: Sequence[HalfSpace]) -> tuple[Condition, ...]:
    return tuple(Condition(half.coefficients, half.bound) for half in conditions)


def _clause(text: str, states: tuple[str, ...]) -> Requirement:
    kind = "hold"
    for word, meant in (("never", "avoid"), ("reach", "reach"), ("always", "hold")):
        if text.startswith(word + " "):
            kind, text = meant, text.removeprefix(word)
            break
    match = _TIMES.fullmatch(text.strip())
    assert match is not None
    start = exact(match["at"] or match["start"] or 0)
    end = match["at"] or match["end"]
    if kind == "reach" and end is None:
        raise InputError(f"by when is {text.strip()!r} to be reached? write 'reach … within 10'")
    if start < 0 or (end is not None and exact(end) < start):
        raise InputError(f"the times of {text.strip()!r} are before the beginning, or end before they begin")
    parts = re.split(r"\band\b", match["body"])
    conditions = tuple(condition for part in parts for condition in _conditions(part.strip(), states))
    if kind == "avoid" and any(condition.norms for condition in conditions):
        raise InputError(f"a set that is never to be entered has linear conditions: {text.strip()!r}")
    return Requirement(kind, start, None if end is None else exact(end), conditions)


def _conditions(text: str, states: tuple[str, ...]) -> list[Condition]:
    return [
        _condition(text, _cone(smaller, states) - _cone(larger, states))
        for smaller, larger in comparison_sides(text, set(states))
    ]


def _condition(text: str, cone: _Cone) -> Condition:
    if sum(norm.factor > 0 for norm in cone.norms) > 1:
        raise InputError(f"in {text!r} more than one root is to be small; ask about them one by one")
    return Condition(cone.coefficients, -cone.constant, cone.norms)


@dataclass(frozen=True)
class _Cone:
    """A linear function, and multiples of norms."""

    coefficients: tuple[Fraction, ...]
    constant: Fraction
    norms: tuple[Norm, ...] = ()

    def __neg__(self) -> _Cone:
        return self._times(Fraction(-1))

    def __add__(self, other: _Cone) -> _Cone:
        sums = tuple(a + b for a, b in zip(self.coefficients, other.coefficients, strict=True))
        return _Cone(sums, self.constant + other.constant, self.norms + other.norms)

    def __sub__(self, other: _Cone) -> _Cone:
        return self + -other

    def __mul__(self, other: _Cone) -> _Cone:
        return self._times(other._number()) if other._is_number() else other._times(self._number())

    def __truediv__(self, other: _Cone) -> _Cone:
        return self._times(1 / other._number())

    def __pow__(self, exponent: int) -> _Squares:
        if exponent != 2 or self.norms or self.constant:
            raise ArithmeticError
        return _Squares((self.coefficients,))

    def _is_number(self) -> bool:
        return not any(self.coefficients) and not self.norms

    def _number(self) -> Fraction:
        if not self._is_number():
            raise ArithmeticError
        return self.constant

    def _times(self, factor: Fraction) -> _Cone:
        norms = tuple(Norm(factor * norm.factor, norm.rows) for norm in self.norms)
        return _Cone(tuple(factor * a for a in self.coefficients), factor * self.constant, norms)


@dataclass(frozen=True)
class _Squares:
    """A sum of squares of linear functions."""

    rows: tuple[tuple[Fraction, ...], ...]

    def __add__(self, other: _Squares) -> _Squares:
        return _Squares(self.rows + other.rows)


def _root(squares: Any) -> _Cone:
    if not isinstance(squares, _Squares) or len(squares.rows) > 2:
        raise ArithmeticError
    zero = (Fraction(0),) * len(squares.rows[0])
    first, second = (*squares.rows, zero)[:2]
    return _Cone(zero, Fraction(0), (Norm(Fraction(1), (first, second)),))


def _cone(expression: Expression, states: tuple[str, ...]) -> _Cone:
    zero = (Fraction(0),) * len(states)
    units = {name: (*zero[:k], Fraction(1), *zero[k + 1 :]) for k, name in enumerate(states)}
    known = {name: _Cone(unit, Fraction(0)) for name, unit in units.items()}
    try:
        found = expression.value(known, Algebra(lambda value: _Cone(zero, value), {"sqrt": _root}))
        if not isinstance(found, _Cone):
            raise TypeError
    except (ArithmeticError, LookupError, TypeError, AttributeError):
        raise InputError(
            f"a condition is linear, or has roots of two squares such as sqrt(x**2 + y**2); got {expression.text!r} "
            "(-1 <= x <= 1 is what abs(x) <= 1 says)"
        ) from None
    return found


def _written(part: Requirement, states: tuple[str, ...]) -> str:
    word = {"hold": "", "avoid": "never ", "reach": "reach "}[part.kind]
    conditions = " and ".join(_condition_text(condition, states) for condition in part.conditions)
    if part.end == part.start:
        return f"{word}{conditions} at {part.start}"
    start = f" from {part.start}" if part.start else ""
    until = {"reach": "within", "hold": "to" if part.start else "until"}.get(part.kind, "until")
    return f"{word}{conditions}{start}" + ("" if part.end is None else f" {until} {part.end}")


def _condition_text(condition: Condition, states: tuple[str, ...]) -> str:
    terms = [(a, name) for a, name in zip(condition.coefficients, states, strict=True) if a]
    for norm in condition.norms:
        inner = [_sum([(a, n) for a, n in zip(row, states, strict=True) if a]) for row in norm.rows if any(row)]
        terms.append((norm.factor, f"sqrt({' + '.join(f'({text})**2' for text in inner)})"))
    return f"{_sum(terms)} <= {condition.bound}"


def _sum(terms: list[tuple[Fraction, str]]) -> str:
    text = ""
    for factor, what in terms:
        sign = ("-" if factor < 0 else "") if not text else (" - " if factor < 0 else " + ")
        size = abs(factor)
        written = "" if size == 1 else (f"{size} * " if size.denominator == 1 else f"({size}) * ")
        text += sign + written + what
    return text or "0"
