"""One step as a program computes it in float64: what rounding adds, and how fast errors of a state grow.

Standard library only. The program takes the operations of the equations in the order in which they are written, each
in float64: numbers are rounded to the nearest, ``x**n`` is x·x·…·x from left to right, sine and cosine are Taylor's
polynomials of some terms in Horner's form. Numbers here are integers over 2^BITS, and errors are rounded up.

A program may multiply by a number's rounded reciprocal, (1 + δ)/c with |δ| <= u = 2^−53, where it should divide by c: a
is then off by less than in a/(c·(1 + δ)), the quotient by the rounded number, whose bound is (e + |a/c|·u·c)/(c − u·c).
"""

from __future__ import annotations

import ast
from fractions import Fraction
from math import factorial, isqrt
from typing import Any

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Affine, Equations
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.equations import Operations
from moet.verify.checker.loops.intervals import BITS, ONE, Interval, Undefined, rounded
from moet.verify.checker.meter import Meter

MAX_BOXES = 4000
"""Boxes that the proof of a growth may be cut into."""

LARGEST_ARGUMENT = 8 * ONE
"""Sine and cosine are computed without taking off turns, so their arguments must be small."""

_UNIT = 53
"""A result is off by at most 2^−53 of itself."""


class FloatStep:
    """One step in float64 on a box of states.

    Parameters
    ----------
    system : PlainSystem
    box : list of (Fraction, Fraction)
        Where the states are that the program is given.
    terms : int
        Of the polynomials for sine and cosine.
    meter : Meter
    """

    def __init__(self, system: PlainSystem, box: list[tuple[Fraction, Fraction]], terms: int, meter: Meter) -> None:
        self.system, self.terms, self._meter = system, terms, meter
        self._box = [(rounded(low)[0], rounded(high)[1]) for low, high in box]
        self._largest = [max(abs(low), abs(high)) for low, high in self._box]
        if isinstance(system.dynamics, Equations):
            self._operations = Operations(system.states, len(system.actions), system.dynamics)

    def errors(self) -> list[int]:
        """How far every next state may be from what the program computes of the same state, whatever the action."""
        dynamics = self.system.dynamics
        if isinstance(dynamics, Affine):
            return [self._affine_error(dynamics, i) for i in range(len(self._box))]
        found = [self._errors(action) for action in range(len(self.system.actions))]
        return [max(errors) for errors in zip(*found, strict=True)]

    def check_growth(self, shape: list[Fraction], growth: Fraction) -> None:
        """Confirm: states that differ by at most shape lead to states that differ by at most growth·shape."""
        weights = [rounded(weight)[1] for weight in shape]
        limits = [rounded(growth * weight)[0] for weight in shape]
        dynamics = self.system.dynamics
        if isinstance(dynamics, Affine):
            for row, limit in zip(dynamics.matrix, limits, strict=True):
                if rounded(sum((abs(a) * w for a, w in zip(row, shape, strict=True)), Fraction(0)))[1] > limit:
                    raise CertificateError("errors of a state grow faster than the shield says")
            return
        for action in range(len(self.system.actions)):
            self._check_slopes(action, weights, limits)

    def _affine_error(self, dynamics: Affine, i: int) -> int:
        """A sum from left to right, of rounded products of rounded numbers."""
        largest = [abs(offset[i]) for offset in dynamics.offsets]
        size = max(rounded(offset)[1] for offset in largest)
        size += sum(-(-rounded(abs(a))[1] * x >> BITS) for a, x in zip(dynamics.matrix[i], self._largest, strict=True))
        return ((len(self._box) + 4) * size >> _UNIT) + 1

    def _errors(self, action: int) -> list[int]:
        operations = self._operations
        self._meter.spend(40 * operations.size)
        try:
            ranges = operations.ranges(self._box, action)
        except Undefined as undefined:
            raise CertificateError(f"in the box of the shield {undefined}") from None
        errors: dict[int, int] = {}
        for place, what, arguments in operations.entries():
            sizes = [max(map(abs, ranges[i])) for i in arguments]
            parts = [errors[i] for i in arguments]
            size = max(map(abs, ranges[place]))
            if what == "choice":
                errors[place] = self._chosen(ranges, arguments, parts)
            else:
                errors[place] = self._error(what, size, sizes, parts, [ranges[i] for i in arguments])
        return [errors[row] for row in operations.rows]

    def _error(self, what: Any, size: int, sizes: list[int], parts: list[int], ranges: list[Interval]) -> int:
        """Error of one operation on numbers that have errors of their own."""
        if what == "state":
            return 0
        if isinstance(what, Fraction) or what == "input":
            return _after_rounding(size, 0)
        if what in (ast.Add, ast.Sub):
            return _after_rounding(size, sum(parts))
        if what is ast.Mult:
            return _after_rounding(size, _product_error(sizes, parts))
        if what is ast.Div:
            least = min(map(abs, ranges[1])) - parts[1]
            if least <= 0:
                raise CertificateError("in the box of the shield a step may divide by zero")
            return _after_rounding(size, -(-(parts[0] * ONE + size * parts[1]) // least) + 1)
        if what == "sqrt":
            least = ranges[0][0] - parts[0]
            if least <= 0:
                raise CertificateError("in the box of the shield a step may take the root of a number near zero")
            return _after_rounding(size, parts[0] * ONE // _root_below(least) + 1)
        if what in ("sin", "cos"):
            return parts[0] + self._polynomial_error(sizes[0] + parts[0])
        if isinstance(what, tuple):
            return self._power_error(what[1], sizes[0], parts[0])
        if what in ("opposite", "abs", "min", "max"):
            return max(parts)
        raise CertificateError(f"a shield cannot follow {what!r}")

    def _power_error(self, exponent: int, size: int, part: int) -> int:
        total, error = size, part
        for _ in range(exponent - 1):
            following = -(-total * size >> BITS)
            total, error = following, _after_rounding(following, _product_error([total, size], [error, part]))
        return error

    def _polynomial_error(self, argument: int) -> int:
        """What is cut off, by Lagrange's form of the rest, and what rounding adds to the terms that are left.

        Each of them is rounded at most 3·terms + 4 times, and together their sizes are below e^|argument|.
        """
        if argument > LARGEST_ARGUMENT:
            raise CertificateError("in the box of the shield the argument of a sine or cosine is beyond 8")
        exact = Fraction(argument, ONE)
        cut_off = rounded(exact ** (2 * self.terms) / factorial(2 * self.terms) * max(exact, Fraction(1)))[1]
        turns = -(-argument >> BITS)
        return cut_off + ((4 * self.terms + 5) * (3**turns << BITS) >> _UNIT) + 1

    def _chosen(self, ranges: list[Any], arguments: tuple[int, ...], parts: list[int]) -> int:
        """Error of a choice, which must be the same everywhere in the box."""
        (left_low, left_high), (right_low, right_high) = ranges[arguments[0]], ranges[arguments[1]]
        blur = parts[0] + parts[1] + (ONE >> 20)
        if left_high + blur < right_low:
            return parts[2]
        if left_low - blur > right_high:
            return parts[3]
        raise CertificateError("in the box of the shield a step may jump")

    def _check_slopes(self, action: int, weights: list[int], limits: list[int]) -> None:
        operations, rows = self._operations, tuple(range(len(weights)))
        waiting = [self._box]
        for _ in range(MAX_BOXES):
            if not waiting:
                return
            box = waiting.pop()
            self._meter.spend(20 * operations.size * (1 + len(box)))
            if not self._grows_less(operations, rows, box, action, weights, limits):
                k = max(rows, key=lambda k: Fraction(box[k][1] - box[k][0], weights[k]))
                low, high = box[k]
                middle = (low + high) >> 1
                waiting += [[*box[:k], half, *box[k + 1 :]] for half in ((low, middle), (middle, high))]
        raise CertificateError("errors of a state are not shown to grow as slowly as the shield says")

    def _grows_less(
        self,
        operations: Operations,
        rows: tuple[int, ...],
        box: list[Interval],
        action: int,
        weights: list[int],
        limits: list[int],
    ) -> bool:
        try:
            values = operations.values(rows, box, action, slopes=True)
        except Undefined:
            return False
        for (_, slopes), limit in zip(values, limits, strict=True):
            if slopes is None:
                return False
            grown = sum(max(map(abs, slope)) * weights[k] for k, slope in slopes.items())
            if -(-grown >> BITS) > limit:
                return False
        return True


def _after_rounding(size: int, error: int) -> int:
    """Error of a result of at most this size, computed from numbers that are off: one more rounding."""
    return error + (size + error >> _UNIT) + 2


def _product_error(sizes: list[int], parts: list[int]) -> int:
    return (sizes[0] * parts[1] + sizes[1] * parts[0] + parts[0] * parts[1] >> BITS) + 1


def _root_below(value: int) -> int:
    """A number below the square root."""
    return max(isqrt(value << BITS) - 1, 1)
