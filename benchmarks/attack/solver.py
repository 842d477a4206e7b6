"""An encoding of our own in z3: what a model answers in exact arithmetic, as nested ifs over rational numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import z3

from attack.judge import Plain, PlainTree

_MILLISECONDS = 3000


def differ_somewhere(first: Plain, second: Plain, lo: Sequence[float], hi: Sequence[float]) -> bool | None:
    """Whether two models answer differently at some point of a box; None if z3 does not know."""
    x = [z3.Real(f"x{k}") for k in range(len(lo))]
    return _satisfiable([*_sides(x, lo, hi), _answer(first, x) != _answer(second, x)])


def answers_otherwise(model: Plain, permitted: Sequence[Any], lo: Sequence[float], hi: Sequence[float]) -> bool | None:
    """Whether a model gives an answer that is not permitted at some point of a box; None if z3 does not know."""
    x = [z3.Real(f"x{k}") for k in range(len(lo))]
    answer = _answer(model, x)
    return _satisfiable([*_sides(x, lo, hi), *(answer != model.classes.index(label) for label in permitted)])


def _satisfiable(assertions: Sequence[Any]) -> bool | None:
    solver = z3.Solver()
    solver.set("timeout", _MILLISECONDS)
    solver.add(*assertions)
    result = solver.check()
    return None if result == z3.unknown else result == z3.sat


def _sides(x: Sequence[Any], lo: Sequence[float], hi: Sequence[float]) -> list[Any]:
    below = [v >= _number(a) for v, a in zip(x, lo, strict=True) if math.isfinite(a)]
    return below + [v <= _number(b) for v, b in zip(x, hi, strict=True) if math.isfinite(b)]


def _answer(model: Plain, x: Sequence[Any]) -> Any:
    logits = [
        z3.Sum([_number(b), *(_number(w) * v for w, v in zip(row, x, strict=True))])
        for row, b in zip(model.weights, model.bias, strict=True)
    ]
    answer = _leaf(model.trees[-1], 0, x)
    for j in reversed(range(len(logits) - 1)):
        beats_later = z3.And([logits[j] >= logits[k] for k in range(j + 1, len(logits))])
        answer = z3.If(beats_later, _leaf(model.trees[j], 0, x), answer)
    return answer


def _leaf(tree: PlainTree, node: int, x: Sequence[Any]) -> Any:
    if tree.feature[node] < 0:
        return z3.IntVal(tree.label[node])
    left, right = (_leaf(tree, child[node], x) for child in (tree.left, tree.right))
    return z3.If(x[tree.feature[node]] <= _number(tree.threshold[node]), left, right)


def _number(value: float) -> Any:
    exact = Fraction(value)
    return z3.RealVal(f"{exact.numerator}/{exact.denominator}")
