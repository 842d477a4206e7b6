"""When an expert answers rather than another, as conditions on the variables of a question. Standard library only."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Records
from moet.verify.checker.documents.model import PlainModel
from moet.verify.checker.meter import Meter, cost
from moet.verify.checker.rows.body import Space

_LARGEST_LOGIT = 2**1020
_EXACT = 2**53


class Condition(NamedTuple):
    """coefficients·z >= bound, or > if strict; all times the scale of the gate, the bound times the unit as well."""

    coefficients: list[int]
    bound: int
    strict: bool

    def times(self, factor: int) -> Condition:
        """The same over another scale."""
        return Condition([factor * c for c in self.coefficients], factor * self.bound, self.strict)


class Weights:
    """Numbers of a model's gate as integers over one scale: what is the same for all rows that are asked about."""

    def __init__(self, model: PlainModel, meter: Meter) -> None:
        numbers = [[Fraction(number) for number in (*row, b)] for row, b in zip(model.weights, model.bias, strict=True)]
        self.scale = lcm(*(number.denominator for row in numbers for number in row))
        meter.spend(cost(4 * sum(map(len, numbers)), self.scale.bit_length()))
        whole = [[number.numerator * (self.scale // number.denominator) for number in row] for row in numbers]
        self.rows, self.bias = [row[:-1] for row in whole], [row[-1] for row in whole]
        self.units = [lcm(*(number.denominator for number in row)) for row in numbers]
        self._ahead: dict[tuple[int, int], list[int]] = {}

    def ahead(self, e: int, k: int) -> list[int]:
        """Weights of an expert less those of another."""
        if (e, k) not in self._ahead:
            self._ahead[e, k] = [own - other for own, other in zip(self.rows[e], self.rows[k], strict=True)]
        return self._ahead[e, k]


class Gate:
    """Conditions with whole numbers under which an expert answers rather than another, when asked for."""

    def __init__(self, weights: Weights, space: Space, variables: list[int], deployed: bool, records: Records) -> None:
        self._weights, self._space, self._variables = weights, space, variables
        low, high, _ = space.body
        reach = [max(abs(low[k]), abs(high[k])) * (space.unit if space.group[k] >= 0 else 1) for k in variables]
        unit = weights.scale * space.unit
        sizes = [
            Fraction(abs(b) * space.unit + sum(abs(w) * x for w, x in zip(row, reach, strict=True) if w), unit)
            for row, b in zip(weights.rows, weights.bias, strict=True)
        ]
        if len(sizes) > 1 and max(sizes) >= _LARGEST_LOGIT:
            raise CertificateError("the gate's logits may overflow in the domain")
        self._errors = [Fraction(0)] * len(sizes)
        if deployed and not all(self._adds_exactly(e, size) for e, size in enumerate(sizes)):
            self._errors = [Fraction(len(variables) + 2, 2**53) * size + Fraction(1, 2**300) for size in sizes]
        self._rounds = any(self._errors)
        self.scale = lcm(weights.scale, *(error.denominator for error in self._errors))
        bits = self.scale.bit_length() + space.unit.bit_length()
        self._price = cost(len(variables) + 1, bits)
        self._meter = records.meter
        self._meter.spend(cost(len(sizes) * (len(variables) + 1), bits))
        self._known: dict[tuple[int, int], Condition] = {}

    def condition(self, e: int, k: int) -> Condition:
        """That an expert is ahead of another."""
        if (e, k) not in self._known:
            self._meter.spend(self._price)
            self._known[e, k] = self._condition(e, k)
        return self._known[e, k]

    def _condition(self, e: int, k: int) -> Condition:
        coefficients, factor = [0] * len(self._space.is_whole), self.scale // self._weights.scale
        for variable, ahead in zip(self._variables, self._weights.ahead(e, k), strict=True):
            coefficients[variable] += ahead * factor
        bound = (self._weights.bias[k] - self._weights.bias[e]) * factor
        bound -= int((self._errors[e] + self._errors[k]) * self.scale)
        strict = k < e and not self._rounds
        used = [j for j, c in enumerate(coefficients) if c]
        if used and all(self._space.is_whole[j] for j in used):
            divisor = gcd(*(coefficients[j] for j in used))
            steps = bound // divisor + 1 if strict else -(-bound // divisor)
            bound, strict = steps * divisor, False
        return Condition(coefficients, bound * self._space.unit, strict)

    def _adds_exactly(self, e: int, size: Fraction) -> bool:
        """Whether float64 arithmetic does not round a logit: whole multiples of a unit, and few enough of them."""
        row, unit = self._weights.rows[e], self._weights.units[e]
        if any(w and not self._space.is_whole[k] for w, k in zip(row, self._variables, strict=True)):
            return False
        return unit <= 2**1000 and size * unit <= _EXACT
