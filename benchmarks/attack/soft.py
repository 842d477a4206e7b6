"""Attacks on proofs about soft mixtures, judged with sixty decimal digits and an own exponential.

Float64 may decide otherwise where two classes have almost the same share of the votes, so inputs count only where the
first leads by more than ``CLEAR``.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from attack.inputs import confirmed, demand, distance_of, inside
from attack.judge import Plain, accepted, nasty_points
from attack.models import disguised, nasty_box, nasty_mixture, number_source
from moet import Mixture
from moet.verify import Box, Proved, Refuted, always, closest, equivalent

CLEAR = Decimal("1e-9")
_DIGITS = Context(prec=60)
_SMALLEST = Decimal(-10_000)
"""Logits that are further behind the first have no weight."""
_POINTS = 60
CPU_LIMIT = 1.0
"""Of a question; where two classes tie everywhere, bounds never tell, and only time ends the search."""


def attack_soft(seed: int) -> str:
    """One question about a soft mixture: always, equivalent or closest."""
    rng = np.random.default_rng(seed)
    number = number_source(rng)
    mixture = _softened(nasty_mixture(rng, int(rng.integers(1, 3)), int(rng.integers(2, 4)), number), rng)
    lo, hi = nasty_box(rng, mixture, number).bounds(mixture.feature_names)
    lo, hi = np.where(np.isfinite(lo), lo, -10.0), np.where(np.isfinite(hi), hi, 10.0)
    lo, hi = np.minimum(lo, hi), np.maximum(lo, hi)
    question = (_always, _equivalent, _closest)[seed % 3]
    return question(rng, mixture, Box.from_bounds(lo, hi), lo.tolist(), hi.tolist(), number)


def _softened(mixture: Mixture, rng: np.random.Generator) -> Mixture:
    """Leaves with shares of eighths, where ties are common."""
    trees = []
    for tree in mixture.trees:
        counts = rng.multinomial(8, np.full(len(mixture.classes), 1 / len(mixture.classes)), size=tree.n_nodes)
        trees.append(replace(tree, value=counts / 8.0))
    return Mixture(mixture.gate_weights, mixture.gate_bias, trees, mixture.classes.tolist(), prediction="soft")


def _always(rng: np.random.Generator, mixture: Mixture, domain: Box, lo: Any, hi: Any, _: Any) -> str:
    permitted = rng.choice(mixture.classes, size=rng.integers(1, len(mixture.classes)), replace=False).tolist()
    verdict = accepted(always(mixture, domain, permitted, cpu_limit=CPU_LIMIT))
    if isinstance(verdict, Proved):
        confirmed(verdict, mixture)
        for x in nasty_points([Plain.of(mixture)], lo, hi, rng, _POINTS):
            demand(clear_answer(mixture, x) in (None, *permitted), f"{x}: {clear_answer(mixture, x)}, not {permitted}")
    if isinstance(verdict, Refuted):
        x = inside(verdict.point, lo, hi)
        answer = clear_answer(mixture, x)
        demand(answer is None or answer not in permitted, f"{x} is answered {answer}: no counterexample")
    return f"always {type(verdict).__name__}"


def _equivalent(rng: np.random.Generator, mixture: Mixture, domain: Box, lo: Any, hi: Any, number: Any) -> str:
    other = disguised(rng, mixture, number)
    verdict = accepted(equivalent(mixture, other, domain, cpu_limit=CPU_LIMIT))
    if isinstance(verdict, Proved):
        confirmed(verdict, mixture, other)
        for x in nasty_points([Plain.of(mixture), Plain.of(other)], lo, hi, rng, _POINTS):
            answers = {clear_answer(mixture, x), clear_answer(other, x)} - {None}
            demand(len(answers) < 2, f"{x} is answered {answers}")
    if isinstance(verdict, Refuted):
        x = inside(verdict.point, lo, hi)
        first, second = clear_answer(mixture, x), clear_answer(other, x)
        demand(first is None or first != second, f"both answer {first} at {x}")
    return f"equivalent {type(verdict).__name__}"


def _closest(rng: np.random.Generator, mixture: Mixture, domain: Box, lo: Any, hi: Any, _: Any) -> str:
    centre, norm = [float(rng.uniform(a, b)) if a < b else a for a, b in zip(lo, hi, strict=True)], "linf"
    own = clear_answer(mixture, centre)
    found = accepted(closest(mixture, centre, norm, domain, cpu_limit=CPU_LIMIT))
    if own is None or type(found).__name__ == "Unknown":
        return f"closest {type(found).__name__}"
    for x in nasty_points([Plain.of(mixture)], lo, hi, rng, _POINTS):
        if clear_answer(mixture, x) not in (None, own):
            reached = found.point is not None and distance_of(x, centre, norm) >= Fraction(found.distance)
            demand(reached, f"{x} has another answer and is nearer than {found}")
    return "closest " + ("none" if found.point is None else "found")


def clear_answer(mixture: Mixture, x: list[float]) -> Any:
    """The class with the most votes, if it is ahead by more than rounding may change; else None."""
    exact = [Fraction(value) for value in x]
    logits = [
        sum((Fraction(w) * v for w, v in zip(row, exact, strict=True)), Fraction(bias))
        for row, bias in zip(mixture.gate_weights.tolist(), mixture.gate_bias.tolist(), strict=True)
    ]
    most = max(logits)
    shares = [exponential(logit - most) for logit in logits]
    votes = [Decimal(0)] * len(mixture.classes)
    for share, tree in zip(shares, mixture.trees, strict=True):
        for c, value in enumerate(tree.value[_leaf(tree, x)].tolist()):
            votes[c] = _DIGITS.add(votes[c], _DIGITS.multiply(share, Decimal(value)))
    first, second = sorted(votes, reverse=True)[:2]
    slack = CLEAR + Decimal(float(abs(most)) * 1e-12) if abs(most) < 2**500 else None
    if slack is None or first - second <= slack * sum(votes):
        return None
    return mixture.classes.tolist()[votes.index(first)]


def exponential(logit: Fraction) -> Decimal:
    """The exponential of a number that is not positive, with sixty digits."""
    if logit < int(_SMALLEST):
        return Decimal(0)
    return _DIGITS.exp(_DIGITS.divide(Decimal(logit.numerator), Decimal(logit.denominator)))


def _leaf(tree: Any, x: list[float]) -> int:
    node = 0
    while tree.feature[node] >= 0:
        node = int((tree.left if x[tree.feature[node]] <= tree.threshold[node] else tree.right)[node])
    return node
