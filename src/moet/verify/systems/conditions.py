"""Linear conditions on states: from text to half-spaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from moet.errors import InputError
from moet.verify.systems.description import check_identifiers, exact
from moet.verify.systems.equations import FUNCTIONS, Algebra, Expression, comparison_sides


class HalfSpace(NamedTuple):
    """States x with ``coefficients``·x <= ``bound``.

    Examples
    --------
    >>> from moet.verify import systems
    >>> systems.cartpole_linear().safe[0]
    HalfSpace(coefficients=(Fraction(-1, 1), Fraction(0, 1), Fraction(0, 1), Fraction(0, 1)), bound=Fraction(12, 5))
    """

    coefficients: tuple[Fraction, ...]
    bound: Fraction

    def value(self, state: Sequence[Fraction]) -> Fraction:
        """``coefficients``·x."""
        return sum((a * x for a, x in zip(self.coefficients, state, strict=True) if a), Fraction(0))

    def document(self) -> dict[str, Any]:
        """The condition as plain JSON with exact numbers."""
        return {"coefficients": [str(a) for a in self.coefficients], "bound": str(self.bound)}


def half_spaces(conditions: Sequence[str | HalfSpace], states: Sequence[str]) -> tuple[HalfSpace, ...]:
    """Read conditions such as ``"-2.4 <= position <= 2.4"``, of which all must hold; half-spaces stay as they are."""
    if isinstance(conditions, str):
        raise InputError(f"expected a list of conditions, got the string {conditions!r}")
    spaces = []
    for condition in conditions:
        if isinstance(condition, HalfSpace):
            spaces.append(_exactly(condition, states))
            continue
        check_identifiers(states, FUNCTIONS)  # with a state called a-b, the text would mean something else
        for smaller, larger in comparison_sides(condition, set(states)):
            difference = _affine(smaller, states) - _affine(larger, states)
            spaces.append(_exactly(HalfSpace(difference.coefficients, -difference.constant), states))
    return tuple(spaces)


def _exactly(half: HalfSpace, states: Sequence[str]) -> HalfSpace:
    if len(half.coefficients) != len(states):
        raise InputError(f"a condition has {len(half.coefficients)} coefficients, and there are {len(states)} states")
    return HalfSpace(tuple(exact(value) for value in half.coefficients), exact(half.bound))


@dataclass(frozen=True)
class _Affine:
    """A linear function of the states plus a constant."""

    coefficients: tuple[Fraction, ...]
    constant: Fraction

    def __neg__(self) -> _Affine:
        return self._times(Fraction(-1))

    def __add__(self, other: _Affine) -> _Affine:
        pairs = zip(self.coefficients, other.coefficients, strict=True)
        return _Affine(tuple(a + b for a, b in pairs), self.constant + other.constant)

    def __sub__(self, other: _Affine) -> _Affine:
        return self + -other

    def __mul__(self, other: _Affine) -> _Affine:
        return self._times(other._number()) if not any(other.coefficients) else other._times(self._number())

    def __truediv__(self, other: _Affine) -> _Affine:
        return self._times(1 / other._number())

    def _number(self) -> Fraction:
        if any(self.coefficients):
            raise ArithmeticError
        return self.constant

    def _times(self, factor: Fraction) -> _Affine:
        return _Affine(tuple(factor * a for a in self.coefficients), factor * self.constant)


def _affine(expression: Expression, states: Sequence[str]) -> _Affine:
    zero = (Fraction(0),) * len(states)
    units = {name: (*zero[:k], Fraction(1), *zero[k + 1 :]) for k, name in enumerate(states)}
    variables = {name: _Affine(unit, Fraction(0)) for name, unit in units.items()}
    try:
        affine: _Affine = expression.value(variables, Algebra(lambda value: _Affine(zero, value), functions={}))
    except (ArithmeticError, LookupError, TypeError):
        raise InputError(f"a condition must be linear in the states, got {expression.text!r}") from None
    return affine
