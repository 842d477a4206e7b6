"""The gate as whole numbers: when an expert answers rather than another, rounding included. Standard library only.

Coordinates are multiplied by one number, and weights by another, that make them whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from operator import add
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Records
from moet.verify.checker.documents.model import PlainGate
from moet.verify.checker.inputs.agreement import Condition, Side
from moet.verify.checker.meter import cost

Open = list[Fraction | None]
"""Sides of a box, None where it is open."""

_MOST_OPEN = 16
_LARGEST_LOGIT = 2**1023
"""Logits below this do not overflow, nor does any sum on the way."""

_FAR = 10**150
"""Where a side is open, proofs hold for numbers up to this, and further out as long as no logit overflows."""


def used_by_gate(model: PlainGate) -> set[int]:
    """Features that decide which expert answers."""
    return {k for row in model.weights for k, w in enumerate(row) if w} if len(model.bias) > 1 else set()


def parts_of_one_sign(used: set[int], lo: Open, hi: Open) -> Iterable[tuple[Open, Open]]:
    """Cut the domain at zero along open features that are used, so that their absolute values are linear."""
    choices = []
    for k, (low, high) in enumerate(zip(lo, hi, strict=True)):
        is_open = k in used and (low is None or high is None)
        crosses = (low is None or low < 0) and (high is None or high > 0)
        zero = Fraction(0)
        choices.append([(low, zero), (zero, high)] if is_open and crosses else [(low, high)])
    if sum(len(choice) > 1 for choice in choices) > _MOST_OPEN:
        raise CertificateError("too many open features")
    for part in product(*choices):
        yield [low for low, _ in part], [high for _, high in part]


def sides_of(lo: Open, hi: Open, unit: int) -> list[tuple[Side, Side]]:
    """Sides of a box in these units."""
    return [
        (
            Side(-math.inf if low is None else int(low * unit)),
            Side(math.inf if high is None else int(high * unit)),
        )
        for low, high in zip(lo, hi, strict=True)
    ]


def coordinate_unit(models: Sequence[PlainGate], values: Iterable[Fraction | None]) -> int:
    """Number that makes all coordinates integers: those given, and the thresholds of the models."""
    thresholds = (Fraction(t) for model in models for tree in model.trees for t in tree.threshold)
    denominators = {value.denominator for value in (*values, *thresholds) if value is not None}
    return math.lcm(*denominators)


class Sum(NamedTuple):
    """bias + weights·x, and how far float64 arithmetic may be from it: error + slope·x."""

    weights: list[Fraction]
    bias: Fraction
    slope: list[Fraction]
    error: Fraction


def exact_sum(weights: Sequence[float], bias: float) -> Sum:
    """A sum in exact arithmetic."""
    return Sum([Fraction(w) for w in weights], Fraction(bias), [Fraction(0)] * len(weights), Fraction(0))


def rounded_sum(exact: Sum, lo: Open, hi: Open) -> tuple[Sum, Fraction]:
    """A sum with the errors of float64 arithmetic, from left to right, and how large its terms may be in all.

    The error is at most (d + 2)·2⁻⁵³·(|b| + Σ|w_i||x_i|) + 2⁻³⁰⁰; |x_i| is at most the larger absolute value of two
    finite sides, and ±x_i where a side is open and the box on one side of zero. That holds wherever no sum on the way
    overflows; surely where the terms, |x_i| up to 10¹⁵⁰ where a side is open, are below 2¹⁰²³ in all. A constant has no
    error: what is added to it are zeros.
    """
    if not any(exact.weights):
        return exact, abs(exact.bias)
    factor = Fraction(len(lo) + 2, 2**53)
    size, slope, further = abs(exact.bias), [], Fraction(0)
    for w, low, high in zip(exact.weights, lo, hi, strict=True):
        if low is not None and high is not None:
            size += abs(w) * max(abs(low), abs(high))
            slope.append(Fraction(0))
        else:
            sign = 1 if low is not None and low >= 0 else -1
            slope.append(sign * factor * abs(w))
            further += abs(w) * _FAR
    return Sum(exact.weights, exact.bias, slope, factor * size + Fraction(1, 2**300)), size + further


def exact_logits(model: PlainGate) -> list[Sum]:
    """Logits in exact arithmetic."""
    return [exact_sum(row, b) for row, b in zip(model.weights, model.bias, strict=True)]


def rounded_logits(model: PlainGate, lo: Open, hi: Open) -> list[Sum]:
    """Logits with the errors of float64 arithmetic; nothing is claimed of inputs for which they overflow."""
    logits = []
    for logit in exact_logits(model):
        rounded, size = rounded_sum(logit, lo, hi)
        if size >= _LARGEST_LOGIT and len(model.bias) > 1:
            raise CertificateError("the gate's logits may overflow in the domain")
        logits.append(rounded)
    return logits


class GateConditions:
    """Conditions with whole numbers under which an expert answers rather than each of the others, when asked for.

    Where neither logit is rounded, the first of equals answers; if there are errors, each of them may.
    """

    def __init__(self, logits: list[Sum], scale: int, unit: int, records: Records) -> None:
        self._plus = [[int((w + s) * scale) for w, s in zip(g.weights, g.slope, strict=True)] for g in logits]
        self._minus = [[int((s - w) * scale) for w, s in zip(g.weights, g.slope, strict=True)] for g in logits]
        self._least = [int((g.bias - g.error) * scale) * unit for g in logits]
        self._most = [int((g.bias + g.error) * scale) * unit for g in logits]
        self._exact = [not g.error for g in logits]
        self._price = cost(len(logits) * (len(logits[0].weights) + 1), scale.bit_length() + unit.bit_length())
        self._meter = records.meter
        self._known: dict[int, list[Condition]] = {}

    def __call__(self, e: int) -> list[Condition]:
        """Conditions for expert ``e``, one per expert."""
        if e not in self._known:
            self._meter.spend(self._price)
            rivals = enumerate(zip(self._minus, self._least, strict=True))
            self._known[e] = [
                Condition(list(map(add, self._plus[e], row)), least - self._most[e], k < e and self._are_exact(k, e))
                for k, (row, least) in rivals
            ]
        return self._known[e]

    def _are_exact(self, *experts: int) -> bool:
        return all(self._exact[e] for e in experts)
