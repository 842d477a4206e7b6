"""Questions about models that answer with nasty numbers: range, always, equivalent and closest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from attack.inputs import CPU_LIMIT, confirmed, demand, distance_of, inside
from attack.judge import Plain, PlainTree, accepted, nasty_points
from attack.models import Number, nasty_box, nasty_mixture, number_source
from moet import Box, RegressionMixture, RegressionTree
from moet.verify import Proved, Refuted, Unknown, always, closest, equivalent
from moet.verify import range as range_of
from moet.verify.systems.conditions import HalfSpace

_POINTS = 60
_NAMES = ("u", "w")


class PlainLaws(NamedTuple):
    """A mixture of laws in lists; the classes of ``gate`` are numbers of leaves."""

    gate: Plain
    value: list[list[float]]
    slope: list[list[list[float]] | None]
    low: list[float]
    high: list[float]

    @classmethod
    def of(cls, mixture: RegressionMixture) -> PlainLaws:
        """Read the arrays of a mixture."""
        trees, value, slope = [], [], []
        for tree in mixture.trees:
            first = len(value)
            tests = [getattr(tree, name).tolist() for name in ("feature", "threshold", "left", "right")]
            trees.append(PlainTree(*tests, list(range(first, first + tree.n_nodes))))
            value += tree.value.tolist()
            slope += [None] * tree.n_nodes if tree.slope is None else tree.slope.tolist()
        gate = Plain(mixture.gate_weights.tolist(), mixture.gate_bias.tolist(), trees, list(range(len(value))))
        return cls(gate, value, slope, mixture.low.tolist(), mixture.high.tolist())

    def deployed(self, x: Sequence[float]) -> list[float] | None:
        """What a machine answers; None where a sum overflows."""
        sums = self._sums(self.gate.deployed(x), list(x))
        if not all(map(math.isfinite, sums)):
            return None
        return [min(max(u, low), high) for u, low, high in zip(sums, self.low, self.high, strict=True)]

    def exact(self, x: Sequence[Fraction]) -> list[Fraction]:
        """Outputs when nothing is rounded."""
        leaf = self.gate.exact(x)
        found = []
        for o, total in enumerate(map(Fraction, self.value[leaf])):
            law = self.slope[leaf]
            u = total + sum((Fraction(s) * v for s, v in zip(law[o] if law else [], x, strict=False)), Fraction(0))
            u = max(u, Fraction(self.low[o])) if math.isfinite(self.low[o]) else u
            found.append(min(u, Fraction(self.high[o])) if math.isfinite(self.high[o]) else u)
        return found

    def _sums(self, leaf: int, x: list[float]) -> list[float]:
        sums, law = [], self.slope[leaf]
        for o, total in enumerate(self.value[leaf]):
            for s, v in zip(law[o] if law else [], x, strict=False):
                total = total + s * v
            sums.append(total)
        return sums


def plain_laws(document: dict[str, Any]) -> PlainLaws:
    """A document of version 2 in lists."""
    trees, value, slope = [], [], []
    for tree in document["trees"]:
        first, n = len(value), len(tree["feature"])
        tests = [tree[name] for name in ("feature", "threshold", "left", "right")]
        trees.append(PlainTree(*tests, list(range(first, first + n))))
        value += tree["value"]
        slope += tree.get("slope") or [None] * n
    gate = Plain(document["gate"]["weights"], document["gate"]["bias"], trees, list(range(len(value))))
    sides = document["outputs"]
    low, high = (
        [math.copysign(math.inf, sign) if v is None else v for v in sides[name]]
        for name, sign in (("low", -1), ("high", 1))
    )
    return PlainLaws(gate, value, slope, low, high)


def nasty_laws(rng: np.random.Generator, n_features: int, number: Number) -> RegressionMixture:
    """Gate and tests of a nasty mixture, nasty laws behind them, clipped on some sides."""
    frame = nasty_mixture(rng, n_features, 2, number)
    n_outputs = int(rng.integers(1, 3))
    trees = []
    for tree in frame.trees:
        shape = tree.n_nodes, n_outputs
        value = np.array([number() for _ in range(tree.n_nodes * n_outputs)]).reshape(shape)
        slope = np.array([number() for _ in range(value.size * n_features)]).reshape(*shape, n_features)
        laws = None if rng.random() < 0.2 else np.where(rng.random(slope.shape) < 0.2, 0.0, slope)
        trees.append(RegressionTree(tree.feature, tree.threshold, tree.left, tree.right, value, laws))
    low, high = np.sort([[number() for _ in range(n_outputs)] for _ in range(2)], axis=0)
    low, high = np.where(rng.random(n_outputs) < 0.5, low, -np.inf), np.where(rng.random(n_outputs) < 0.5, high, np.inf)
    return RegressionMixture(frame.gate_weights, frame.gate_bias, trees, _NAMES[:n_outputs], low, high)


class _Subject(NamedTuple):
    model: RegressionMixture
    plain: PlainLaws
    domain: Box
    lo: list[float]
    hi: list[float]
    number: Number


def _subject(rng: np.random.Generator) -> _Subject:
    number = number_source(rng)
    model = nasty_laws(rng, int(rng.integers(1, 4)), number)
    domain = nasty_box(rng, model, number)
    lo, hi = domain.bounds(model.feature_names)
    return _Subject(model, PlainLaws.of(model), domain, lo.tolist(), hi.tolist(), number)


def attack_range(seed: int) -> str:
    """No output may be beyond the bounds, and the ends must be attained where it says."""
    rng = np.random.default_rng(seed)
    model, plain, domain, lo, hi, _ = _subject(rng)
    found = accepted(range_of(model, domain, cpu_limit=CPU_LIMIT))
    if isinstance(found, Unknown):
        return "Unknown"
    confirmed(found, model)
    for x in nasty_points([plain.gate], lo, hi, rng, _POINTS):
        outputs = None if plain.gate.overflows(x) else plain.deployed(x)
        if outputs is not None:
            within = all(a <= u <= b for a, u, b in zip(found.low, outputs, found.high, strict=True))
            demand(within, f"{x} is answered {outputs}, proved {found.low.tolist()} to {found.high.tolist()}")
    for o in range(model.n_outputs):
        for at, end in ((found.least_at[o], found.least[o]), (found.largest_at[o], found.largest[o])):
            x = at.tolist()
            demand(all(a <= v <= b for a, v, b in zip(lo, x, hi, strict=True)), f"{x} is outside the domain")
            outputs = plain.deployed(x)
            demand(outputs is not None and outputs[o] == end, f"{x} is answered {outputs}, not {end}")
    return "tight" if not found.caveats else "open" if math.isinf(found.gap) else "loose"


def attack_conditions(seed: int) -> str:
    """A proof must hold for every answer of what is deployed; a counterexample misses exactly and as deployed."""
    rng = np.random.default_rng(seed)
    model, plain, domain, lo, hi, number = _subject(rng)
    conditions = [
        HalfSpace(tuple(Fraction(number()) for _ in range(model.n_outputs)), Fraction(number()))
        for _ in range(int(rng.integers(1, 3)))
    ]

    def missed(outputs: Sequence[Any]) -> bool:
        return any(half.value([Fraction(u) for u in outputs]) > half.bound for half in conditions)

    verdict = accepted(always(model, domain, conditions, cpu_limit=CPU_LIMIT))
    if isinstance(verdict, Proved):
        confirmed(verdict, model)
        for x in nasty_points([plain.gate], lo, hi, rng, _POINTS):
            outputs = None if plain.gate.overflows(x) else plain.deployed(x)
            demand(outputs is None or not missed(outputs), f"{x} is answered {outputs}, which misses a condition")
    if isinstance(verdict, Refuted):
        x = inside(verdict.point, lo, hi)
        demand(missed(plain.deployed(x) or []), f"{x} is answered {plain.deployed(x)}: no counterexample")
        demand(missed(plain.exact([Fraction(v) for v in x])), f"at {x} the conditions hold in exact arithmetic")
    return type(verdict).__name__


def attack_tolerance(seed: int) -> str:
    """A proof must hold in exact arithmetic; a counterexample differs by more exactly and as deployed."""
    rng = np.random.default_rng(seed)
    model, plain, domain, lo, hi, number = _subject(rng)
    moved = [replace(t, value=np.where(rng.random(t.value.shape) < 0.3, number(), t.value)) for t in model.trees]
    other = replace(model, trees=tuple(moved)) if rng.random() < 0.7 else model
    tolerance = Fraction(abs(number()))
    verdict = accepted(equivalent(model, other, domain, tolerance=float(tolerance), cpu_limit=CPU_LIMIT))
    second = PlainLaws.of(other)

    def off(first: Sequence[Any], then: Sequence[Any]) -> Fraction:
        return max(abs(Fraction(a) - Fraction(b)) for a, b in zip(first, then, strict=True))

    if isinstance(verdict, Proved):
        confirmed(verdict, model, other)
        for x in nasty_points([plain.gate, second.gate], lo, hi, rng, _POINTS):
            exact = [Fraction(v) for v in x]
            demand(off(plain.exact(exact), second.exact(exact)) <= tolerance, f"the outputs differ by more at {x}")
    if isinstance(verdict, Refuted):
        x = inside(verdict.point, lo, hi)
        exact = [Fraction(v) for v in x]
        demand(off(plain.exact(exact), second.exact(exact)) > tolerance, f"alike in exact arithmetic at {x}")
        pair = plain.deployed(x), second.deployed(x)
        demand(None not in pair and off(*pair) > tolerance, f"alike as deployed at {x}: {pair}")
    return type(verdict).__name__


def attack_distance(seed: int) -> str:
    """No input that changes an output by more may be nearer, and the point must be one that does."""
    rng = np.random.default_rng(seed)
    model, plain, domain, lo, hi, number = _subject(rng)
    centre = [min(max(number(), -1e150), 1e150) for _ in lo]
    norm, tolerance = rng.choice(["linf", "l1"]).item(), Fraction(abs(number()))
    found = accepted(closest(model, centre, norm, domain, tolerance=float(tolerance), cpu_limit=CPU_LIMIT))
    if isinstance(found, Unknown):
        return "Unknown"
    confirmed(found, model)
    own = plain.exact([Fraction(v) for v in centre])

    def changed(outputs: Sequence[Any]) -> bool:
        return any(abs(Fraction(u) - before) > tolerance for u, before in zip(outputs, own, strict=True))

    for x in nasty_points([plain.gate], lo, hi, rng, _POINTS):
        if changed(plain.exact([Fraction(v) for v in x])):
            gap = distance_of(x, centre, norm)
            demand(found.exact_distance is not None and gap >= found.exact_distance, f"{x} is nearer")
    if found.point is None:
        return "none"
    x = inside(found.point, lo, hi)
    demand(changed(plain.deployed(x) or []), f"the point {x} is answered {plain.deployed(x)}, as the centre is")
    gap = distance_of(x, centre, norm)
    demand(Fraction(found.distance) <= gap <= Fraction(found.point_distance), f"the point {x} is at {float(gap)}")
    return "found"
