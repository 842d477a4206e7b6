"""Small models that answer with numbers, and code that judges claims about them without the library's help."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from moet import RegressionMixture


def nudged(mixture: RegressionMixture, by: float = 0.001) -> RegressionMixture:
    """The same gate and tests, laws that begin a little higher."""
    return replace(mixture, trees=tuple(replace(tree, value=tree.value + by) for tree in mixture.trees))


def exact_outputs(mixture: RegressionMixture, x) -> list[Fraction]:
    """Outputs in exact arithmetic, by the six points of the documentation and nothing else."""
    point = [Fraction(float(v)) for v in x]
    logits = [
        Fraction(b) + sum(Fraction(w) * v for w, v in zip(row, point, strict=True))
        for row, b in zip(mixture.gate_weights.tolist(), mixture.gate_bias.tolist(), strict=True)
    ]
    tree, node = mixture.trees[logits.index(max(logits))], 0
    while tree.feature[node] >= 0:
        goes_left = point[tree.feature[node]] <= Fraction(float(tree.threshold[node]))
        node = int(tree.left[node] if goes_left else tree.right[node])
    found = []
    for o in range(mixture.n_outputs):
        u = Fraction(float(tree.value[node, o]))
        if tree.slope is not None:
            u += sum(Fraction(float(s)) * v for s, v in zip(tree.slope[node, o], point, strict=True))
        low, high = float(mixture.low[o]), float(mixture.high[o])
        u = u if np.isinf(low) else max(u, Fraction(low))
        found.append(u if np.isinf(high) else min(u, Fraction(high)))
    return found
